"""Opening of regular files alone, where a name may also stand for what never ends, or waits for a writer."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path

_KINDS = {
    stat.S_IFDIR: "it is a folder",
    stat.S_IFIFO: "it is a pipe",
    stat.S_IFSOCK: "it is a socket",
    stat.S_IFCHR: "it is a device",
    stat.S_IFBLK: "it is a device",
}


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading, without waiting for anybody.

    Raises
    ------
    OSError
        If there is none, or it may not be read, or it is no regular file; `strerror` says so.
    ValueError
        If the path holds a NUL.
    """
    _refuse_others(path, path.stat().st_mode)  # opening a device may already have an effect
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        _refuse_others(path, os.fstat(fd).st_mode)
    except OSError:
        os.close(fd)
        raise
    return os.fdopen(fd, "rb")


def _refuse_others(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        why = _KINDS.get(stat.S_IFMT(mode), "it is no regular file")
        raise OSError(errno.EINVAL, why, os.fspath(path))
