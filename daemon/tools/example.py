"""The examples that are installed with motiond: a configuration, its robot, its motions, and the schema.

They are data of the package `motiond`, and so lie beside its modules whoever has installed them.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from motiond.formats import FormatError, Problem
from motiond.formats.io import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONFIGURATION = "motiond.yaml"
"""What the configuration is called where it is laid down, as `motiond run` looks for it in /etc/motiond."""

EXAMPLES = {
    "demo": ("demo.yaml", "robots/six_axis.hrdf", "motions/*.*"),
    "so101": ("so101.yaml", "robots/so101.urdf", "motions/so101/*.*"),
}
"""By name: the configuration, and then what else belongs to it."""


def example_config(name: str = "demo") -> Path:
    """Return the configuration of an example, beside which its robot, motions and schema lie.

    Raises
    ------
    FormatError
        If it is not there, as where a package was made without it.
    """
    config = Path(str(files("motiond"))) / "example" / EXAMPLES[name][0]
    if not config.is_file():
        reason, hint = "motiond was installed without its data files", "install the wheel"
        raise FormatError([Problem(str(config), 0, "is not there", reason, hint)])
    return config.resolve()


def lay_down(name: str, folder: Path, *, forced: bool) -> list[Path]:
    """Copy an example into a folder, which is made if need be.

    Raises
    ------
    FormatError
        For all files that are there already, before anything is written; or for one that cannot be written.
    """
    copies = {folder / name: source for name, source in _parts(name, example_config(name).parent)}
    if not forced:
        problem, reason, hint = "exists already", "nothing was written", "name another folder, or --force it"
        there = [path for path in copies if path.exists() or path.is_symlink()]
        if there:
            raise FormatError([Problem(str(path), 0, problem, reason, hint) for path in there])
    _copy(folder, copies)
    return list(copies)


def complete(name: str, folder: Path) -> None:
    """Copy an example's robot and motions to where a configuration of the folder names them.

    What is there already stays. Raises FormatError for a file that cannot be written.
    """
    parts = _parts(name, example_config(name).parent)
    copies = {folder / part: source for part, source in parts if "/" in part}
    _copy(folder, {path: source for path, source in copies.items() if not path.exists()})


def _copy(folder: Path, copies: Mapping[Path, Path]) -> None:
    for path, source in copies.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or str(error)
            raise FormatError(
                [Problem(str(folder), 0, "cannot be made", reason, "check the path")]
            ) from error
        with replacing(path) as file:
            file.write(source.read_bytes())


def _parts(example: str, source: Path) -> Iterator[tuple[str, Path]]:
    """Yield each file of an example: its name where it is laid down, and where it lies."""
    configuration, *others = EXAMPLES[example]
    yield CONFIGURATION, source / configuration
    for pattern in ("schema.json", *others):
        for file in sorted(source.glob(pattern)):
            yield file.relative_to(source).as_posix(), file
