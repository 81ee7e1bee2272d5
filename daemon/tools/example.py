"""The example that is installed with motiond: a configuration, its robot, its motions, and the schema.

It is data of the package `motiond`, and so lies beside its modules whoever has installed them.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from motiond.formats import FormatError, Problem
from motiond.formats.io import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIGURATION = "motiond.yaml"
"""What the configuration is called where it is laid down, as `motiond run` looks for it in /etc/motiond."""

_FOLDERS = ("robots", "motions")


def example_config() -> Path:
    """Return the configuration of the example, beside which its robot, motions and schema lie.

    Raises
    ------
    FormatError
        If it is not there, as where a package was made without it.
    """
    config = Path(str(files("motiond"))) / "example" / "demo.yaml"
    if not config.is_file():
        reason, hint = "motiond was installed without its data files", "install the wheel"
        raise FormatError([Problem(str(config), 0, "is not there", reason, hint)])
    return config.resolve()


def lay_down(folder: Path, *, forced: bool) -> list[Path]:
    """Copy the example into a folder, which is made if need be.

    Raises
    ------
    FormatError
        For all files that are there already, before anything is written; or for one that cannot be written.
    """
    copies = {folder / name: source for name, source in _parts(example_config().parent)}
    if not forced:
        problem, reason, hint = "exists already", "nothing was written", "name another folder, or --force it"
        there = [path for path in copies if path.exists() or path.is_symlink()]
        if there:
            raise FormatError([Problem(str(path), 0, problem, reason, hint) for path in there])
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
    return list(copies)


def _parts(source: Path) -> Iterator[tuple[str, Path]]:
    """Yield each file of the example: its name where it is laid down, and where it lies."""
    yield CONFIGURATION, source / "demo.yaml"
    yield "schema.json", source / "schema.json"
    for folder in _FOLDERS:
        for file in sorted((source / folder).iterdir()):
            yield f"{folder}/{file.name}", file
