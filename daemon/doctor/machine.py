"""Where the machine is read: files of the kernel, and calls for the rest."""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from motiond.drivers.hebi import open_lookup

from ..clock import ask_chrony
from ..config.state_folder import state_folder
from .versions import installed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..clock import Tracking
    from .modules import Look

MOST_BYTES = 4096
SERVICE_FOLDER = Path("/var/lib/motiond")
"""Where the unit of systemd lets the daemon write."""


class Room(NamedTuple):
    """What is free on the file system that holds a path."""

    device: int
    free_bytes: int  # for processes without special rights
    free_files: int | None  # None where it sets no limit


def room_at(path: Path) -> Room:
    """Ask the system what is free at a path, which must be there."""
    room = os.statvfs(path)
    return Room(path.stat().st_dev, room.f_bavail * room.f_frsize, room.f_favail if room.f_files else None)


def may_use(path: Path) -> bool:
    """Whether this user may read and write a file."""
    return os.access(path, os.R_OK | os.W_OK)


def folders() -> dict[str, Path]:
    """Return where a daemon of this user writes and, where motiond is a service, where that does."""
    state = state_folder()
    places = {"state": state} if state else {}
    return places | ({"service": SERVICE_FOLDER} if SERVICE_FOLDER.is_dir() else {})


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine to look at; by default this one."""

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    may_use: Callable[[Path], bool] = field(default=may_use)
    room_at: Callable[[Path], Room] = field(default=room_at)
    folders: Callable[[], dict[str, Path]] = field(default=folders)
    ask_chrony: Callable[[], Awaitable[Tracking | None]] = field(default=ask_chrony)
    look: Look = field(default=open_lookup)
    version_of: Callable[[str], str | None] = field(default=installed)


def line_in(path: Path) -> str | None:
    """Return the first line of a file of the kernel's, or None where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.readline(MOST_BYTES).decode(errors="replace").strip()
    except OSError:
        return None


def user_name() -> str:
    """Return as whom this process runs."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # one that the machine has no name for
        return f"user {os.getuid()}"
