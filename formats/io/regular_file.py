"""Regular files alone are opened or replaced: a name may also stand for a device, or what never ends."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path

_KINDS = {
    stat.S_IFDIR: "it is a folder",
    stat.S_IFLNK: "it is a link",
    stat.S_IFIFO: "it is a pipe",
    stat.S_IFSOCK: "it is a socket",
    stat.S_IFCHR: "it is a device",
    stat.S_IFBLK: "it is a device",
}


_KERNEL_FILES = {
    0x9FA0: "proc",
    0x62656572: "sysfs",
    0x64626720: "debugfs",
    0x74726163: "tracefs",
    0x27E0EB: "cgroup",
    0x63677270: "cgroup2",
    0x73636673: "securityfs",
    0x62656570: "configfs",
    0xCAFE4A11: "bpf",
    0xDE5E81E4: "efivarfs",
    0x6165676C: "pstore",
    0x42494E4D: "binfmt_misc",
    0xF97CFF8C: "selinuxfs",
}
"""Filesystems, by their numbers (magic.h), whose files are no files: reading one may wait, or take from
others what it holds."""
_LIBC = ctypes.CDLL(None, use_errno=True)
_STATFS_BYTES = 256
"""`struct statfs` takes 120 on a machine of 64 bits; its first field is the type."""


def open_regular(path: Path, *, follows: bool = True) -> BinaryIO:
    """Open a file for reading, without waiting for anybody.

    `follows`: whether the path may be a link to it.

    Raises `OSError` if there is none, or it may not be read, or it is no regular file; `strerror` says so.
    Raises `ValueError` if the path holds a NUL.
    """
    # Opening a device may already have an effect, and the name may come to stand for another file meanwhile.
    place = os.open(path, os.O_PATH | os.O_CLOEXEC | (0 if follows else os.O_NOFOLLOW))
    try:
        _refuse_others(path, place)
        fd = os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    finally:
        os.close(place)
    return os.fdopen(fd, "rb")


def refuse_irregular(path: Path) -> None:
    """Refuse to replace what is no regular file; nothing may be there.

    Raises `OSError` as `open_regular` does, and `ValueError` if the path holds a NUL.
    """
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        _refuse_others(path, place)
    finally:
        os.close(place)


def _refuse_others(path: Path, place: int) -> None:
    mode = os.fstat(place).st_mode
    if not stat.S_ISREG(mode):
        reason = _KINDS.get(stat.S_IFMT(mode), "it is no regular file")
        raise OSError(errno.EINVAL, reason, os.fspath(path))
    if (filesystem := _KERNEL_FILES.get(_type_of(place))) is not None:
        raise OSError(
            errno.EINVAL, f"it is no file on a disk, but the kernel's ({filesystem})", os.fspath(path)
        )


def _type_of(place: int) -> int:
    """Return the type of the filesystem that a descriptor's file is on; 0 where the system does not say."""
    found = ctypes.create_string_buffer(_STATFS_BYTES)
    if _LIBC.fstatfs(place, found) != 0:
        return 0
    return ctypes.c_ulong.from_buffer(found).value & 0xFFFFFFFF
