"""The example that is installed with motiond: a configuration, its robot, its motions, and the schema.

It is data of the package `motiond`, and so lies beside its modules whoever has installed them.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from motiond.formats import FormatError, Problem
from motiond.formats.io import remove, replacing

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
        Then what was new is removed again.
    """
    copies = {folder / name: source for name, source in _parts(example_config().parent)}
    if not forced:
        problem, reason, hint = "exists already", "nothing was written", "name another folder, or --force it"
        there = [path for path in copies if path.exists() or path.is_symlink()]
        if there:
            raise FormatError([Problem(str(path), 0, problem, reason, hint) for path in there])
    with ExitStack() as undo:
        for path, source in copies.items():
            _make(path.parent, undo)
            if not path.exists():
                undo.callback(remove, path)
            with replacing(path) as file:
                file.write(source.read_bytes())
        undo.pop_all()
    return list(copies)


def _make(folder: Path, undo: ExitStack) -> None:
    """Make a folder and those above it, as far as need be."""
    try:
        for one in reversed((folder, *folder.parents)):
            if not one.exists():
                one.mkdir()
                undo.callback(_remove_folder, one)
        folder.mkdir(exist_ok=True)  # refused where it is a file
    except OSError as error:
        reason, hint = error.strerror or str(error), "check the path"
        raise FormatError([Problem(str(folder), 0, "cannot be made", reason, hint)]) from error


def _remove_folder(folder: Path) -> None:
    with suppress(OSError):  # somebody else has put something there meanwhile
        folder.rmdir()


def _parts(source: Path) -> Iterator[tuple[str, Path]]:
    """Yield each file of the example: its name where it is laid down, and where it lies."""
    yield CONFIGURATION, source / "demo.yaml"
    yield "schema.json", source / "schema.json"
    for folder in _FOLDERS:
        for file in sorted((source / folder).iterdir()):
            yield f"{folder}/{file.name}", file
