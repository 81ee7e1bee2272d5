"""A recording's file while it is written, `….mcap.part`, and how it gets its name: it replaces nothing."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUFFIX, PART, KEEP = ".mcap", ".part", ".keep"
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""Of file systems on which a file has one name, as FAT."""


class NoRecording(ValueError):
    """A file is no recording at all."""


def mark_of(path: Path) -> Path:
    """Return the file that marks a recording to be kept."""
    return path.with_name(path.name + KEEP)


def part_of(path: Path) -> Path:
    """Return where a recording is written."""
    return path.with_name(path.name + PART)


def name_finished(part: Path) -> Path:
    """Give a whole file its name, and return it: with a number where the name is taken.

    Raises `OSError`.
    """
    whole = part.with_name(part.name.removesuffix(PART))
    path = next(path for path in numbered(whole) if _moves(part, path))
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # some file systems have no such thing
            os.fsync(folder)
    finally:
        os.close(folder)
    return path


def numbered(path: Path) -> Iterator[Path]:
    """Yield a path, and then others with numbers, for where its name is taken."""
    yield path
    for number in count(2):
        yield path.with_name(f"{path.stem}-{number}{path.suffix}")


def _moves(part: Path, path: Path) -> bool:
    """Rename a file; False where another has the name."""
    try:
        os.link(part, path)
    except FileExistsError:
        if not path.samefile(part):  # it is where a crash came in between
            return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():
            return False
        part.rename(path)
        return True
    part.unlink()
    return True
