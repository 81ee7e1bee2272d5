"""Who is at the other end of a Unix socket, and which of them a program trusts.

Every user of a machine may bind an abstract name, so a name proves nothing. The kernel knows who connected,
and who listened when a connection was taken (unix(7), SO_PEERCRED); of a socket that takes no connection it
knows whose it is (sock_diag(7)).
"""

from __future__ import annotations

import os
import pwd
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVICE_FOLDER = Path("/var/lib/motiond")
"""systemd gives it to the service's user, whatever that is called (`StateDirectory=`)."""
OVERFLOW_USER = Path("/proc/sys/kernel/overflowuid")
"""Every user that a user namespace does not know has this number in it, so it names nobody."""
_CREDENTIALS = struct.Struct("=3i")
_ANSWER_BYTES, _ANSWER_S = 1 << 16, 1.0
_HEADER, _SOCKET, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=4BIII"), struct.Struct("=HH")
_REQUEST = struct.Struct("=BBHIIIII")
_NETLINK_SOCK_DIAG, _BY_FAMILY, _DUMP, _DONE, _ERROR = 4, 20, 0x301, 3, 2
_SHOW_NAME_AND_USER, _NAME, _USER = 0x41, 0, 7
_ALL = 0xFFFFFFFF


class Peer(NamedTuple):
    """A process at the other end of a socket.

    - `pid`: 0 where it is not known: in another PID namespace, or no connection was taken
    - `user`: its number in this user namespace
    """

    pid: int
    user: int

    def __str__(self) -> str:
        """Return who that is, for users."""
        process = f"process {self.pid}" if self.pid else "a process"
        return f"{process} of user {named_user(self.user)}"


def named_user(user: int) -> str:
    """Return a user's number, with its name where it has one."""
    try:
        return f"{user} ({pwd.getpwuid(user).pw_name})"
    except KeyError:
        return str(user)


def peer_of(connection: socket.socket) -> Peer:
    """Return who is at the other end of a connected Unix socket."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, _group = _CREDENTIALS.unpack(credentials)
    return Peer(pid, user)


def believed_users(*paths: Path) -> frozenset[int]:
    """Return who is believed: root, this process's own user, and the owners of files.

    - `*paths`: what is not there has no owner; nor has what belongs to a user of another user namespace
    """
    return frozenset({0, os.geteuid(), *_owners_of(paths)})


def _owners_of(paths: tuple[Path, ...]) -> Iterator[int]:
    nobody = -1
    with suppress(OSError, ValueError):
        nobody = int(OVERFLOW_USER.read_text())
    for path in paths:
        with suppress(OSError, ValueError):
            if (owner := path.stat().st_uid) != nobody:
                yield owner


def holder_of(address: str | bytes) -> Peer | None:
    """Return who has bound an abstract name, for messages; None where that cannot be found out."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.setblocking(False)
        with suppress(OSError):
            connection.connect(address)
            return peer_of(connection)
    with suppress(OSError, struct.error):  # it takes no connection: no `listen`, or its queue is full
        user = _owner_of_socket(os.fsencode(address))
        return None if user is None else Peer(0, user)
    return None


def _owner_of_socket(name: bytes) -> int | None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(_ANSWER_S)
        asked = _REQUEST.pack(socket.AF_UNIX, 0, 0, _ALL, 0, _SHOW_NAME_AND_USER, _ALL, _ALL)
        kernel.send(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _DUMP, 1, 0) + asked)
        while True:
            for kind, body in _messages(kernel.recv(_ANSWER_BYTES)):
                if kind in {_DONE, _ERROR}:
                    return None
                attributes = dict(_attributes(body[_SOCKET.size :]))
                if attributes.get(_NAME) == name and _USER in attributes:
                    return int.from_bytes(attributes[_USER], sys.byteorder)


def _messages(packet: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the type and the body of each message (netlink(7))."""
    while packet:
        length, kind, *_ = _HEADER.unpack_from(packet)
        yield kind, packet[_HEADER.size : length]
        packet = packet[_aligned(length) :]


def _attributes(body: bytes) -> Iterator[tuple[int, bytes]]:
    while len(body) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(body)
        yield kind, body[_ATTRIBUTE.size : length]
        body = body[_aligned(length) :]


def _aligned(length: int) -> int:
    return (length + 3) & ~3
