"""Why a serial port may not be opened, and what helps: by the rights of its file (access(2), udev(7))."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

READ_WRITE = 0o6
ROOT = 0
SERIAL_GROUPS = ("dialout", "uucp")
"""What distributions call the group of serial ports: Debian and Fedora, Arch."""


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of a port's file, and what this process has of them.

    `group`: the group's name; None where this machine or container has none for it.
    """

    mode: int
    group_id: int
    group: str | None
    is_member: bool
    is_listed: bool
    is_owner: bool

    @property
    def is_for_group(self) -> bool:
        """Whether there is a group that somebody may be put into to use it; root's is none."""
        return self.group_id != ROOT and (self.mode >> 3) & READ_WRITE == READ_WRITE

    @property
    def is_granted(self) -> bool:
        """Whether the file lets this process read and write, so that something else does not."""
        shift = 6 if self.is_owner else 3 if self.is_member else 0
        return (self.mode >> shift) & READ_WRITE == READ_WRITE


def rights_of(port: Path) -> Rights:
    """Look at a port that is there. Raises OSError if it cannot be looked at."""
    found = port.stat()
    try:
        group: grp.struct_group | None = grp.getgrgid(found.st_gid)
    except KeyError:
        group = None
    return Rights(
        mode=found.st_mode & 0o777,
        group_id=found.st_gid,
        group=group.gr_name if group else None,
        is_member=found.st_gid in {*os.getgroups(), os.getegid()},
        is_listed=group is not None and user_name() in group.gr_mem,
        is_owner=os.geteuid() in {ROOT, found.st_uid},
    )


def user_name() -> str:
    """Return the name of this process's user, or its number where it has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def serial_group() -> str:
    """Return the group that this machine has for serial ports."""
    for name in SERIAL_GROUPS:
        try:
            return grp.getgrnam(name).gr_name
        except KeyError:
            continue
    return SERIAL_GROUPS[0]


def why_denied(port: Path, rights: Rights, user: str, group: str) -> tuple[str, str]:
    """Return why a port may not be opened, and what helps."""
    if rights.is_granted:
        reason = "its file would allow it, and the system does not: a container is not given the device"
        return reason, f"start the container with --device {port}"
    if not rights.is_for_group:
        kernel = re.sub(r"\d+$", "*", port.resolve().name)
        rule = f'add a udev rule, KERNEL=="{kernel}", GROUP="{group}", MODE="0660"'
        if kernel == "*":  # /dev/pts/3, of which udev knows nothing: the rule would be for all devices
            rule = "run motiond as its owner"
        whose = "root" if rights.group_id == ROOT else rights.group or rights.group_id
        reason = f"its mode is {rights.mode:04o} and its group {whose}; no group of users may open it"
        return reason, f"{rule}; or give it to the container with --device {port}"
    if rights.group is None:
        reason = f"its group {rights.group_id} may, and has no name here"
        return reason, f"start the container with --group-add {rights.group_id}"
    reason = f"its group {rights.group} may"
    if rights.is_listed:
        return reason, f"log in again: {user} is in the group {rights.group} only from then on"
    return reason, f"usermod -aG {rights.group} {user}, and log in again"


def why_not_opened(port: Path, error: OSError) -> tuple[str, str] | None:
    """Return why access was denied, and what helps; None where it was not."""
    if error.errno not in {errno.EACCES, errno.EPERM}:
        return None
    try:
        rights = rights_of(port)
    except OSError:
        return "access is denied", "look at the rights of its folder"
    reason, hint = why_denied(port, rights, user_name(), serial_group())
    return f"access is denied; {reason}", hint
