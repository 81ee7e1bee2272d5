"""What files look like without reading them, and which failures to read them will pass."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.formats import FormatError

Stamp: TypeAlias = tuple[float, ...]

AGAIN: Stamp = (-1.0,)
"""In place of a file's own: it is to be read again."""
PASSING = frozenset(
    {
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENOBUFS,
        errno.EAGAIN,
        errno.EINTR,
        errno.EIO,
        errno.ESTALE,
        errno.ETIMEDOUT,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
    }
)
"""Why a file could not be read that can be another time, and says nothing of what is in it."""


def is_passing(error: FormatError) -> bool:
    """Whether a file could not be read for a reason that is not its own and will pass."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in PASSING


def stamp_of(path: Path) -> Stamp:
    """Return a file's state without reading it; another file in its place has another inode."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino
