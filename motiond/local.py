"""The daemons of this machine: where they are asked, whom a program believes, and one request to them.

Each daemon listens at an abstract Unix socket named after its configuration. What is sent and received are
lines of JSON, as `motiond.client` and docs/client.md describe them. A stop loads this module alone.

Every user of a machine may bind an abstract name, so a name proves nothing. The kernel knows who connected,
and who listened when a connection was taken (unix(7), SO_PEERCRED); of a socket that takes no connection it
knows whose it is (sock_diag(7)).

Exception
└── Impostor         somebody has bound a daemon's name who is not believed
"""

from __future__ import annotations

import json
import os
import pwd
import socket
import struct
import sys
from collections import namedtuple
from contextlib import suppress

TYPE_CHECKING = False  # `typing` takes a tenth of what a stop may
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    DaemonHere = tuple[str, tuple[str | Path, ...]]  # its socket, and its configuration where that is known

SERVICE_FOLDER = "/var/lib/motiond"
"""systemd gives it to the service's user, whatever that is called (`StateDirectory=`)."""
OVERFLOW_USER = "/proc/sys/kernel/overflowuid"
"""Every user that a user namespace does not know has this number in it, so it names nobody."""
PREFIX = "\0motiond:control:"
BOUND_NAMES = "/proc/net/unix"
LONGEST_LINE = 1 << 26
LONGEST_HOLDER = 60
_PIECE = 1 << 16
_CREDENTIALS = struct.Struct("=3i")
_ANSWER_BYTES, _ANSWER_S = 1 << 16, 1.0
_HEADER, _SOCKET, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=4BIII"), struct.Struct("=HH")
_REQUEST = struct.Struct("=BBHIIIII")
_NETLINK_SOCK_DIAG, _BY_FAMILY, _DUMP, _DONE, _ERROR = 4, 20, 0x301, 3, 2
_SHOW_NAME_AND_USER, _NAME, _USER = 0x41, 0, 7
_ALL = 0xFFFFFFFF


class Peer(namedtuple("Peer", ("pid", "user"))):  # noqa: PYI024 - `typing` is slow to load
    """A process at the other end of a socket; `str()` names it for users.

    Attributes
    ----------
    pid : int
        0 where it is not known: in another PID namespace, or no connection was taken.
    user : int
        Its number in this user namespace.
    """

    __slots__ = ()

    def __str__(self) -> str:
        process = f"process {self.pid}" if self.pid else "a process"
        return f"{process} of user {named_user(self.user)}"


class Impostor(Exception):
    """Somebody has bound the name of a daemon who may not speak for it; nothing was sent."""

    exit_code = 3

    def __init__(self, subject: str, peer: Peer) -> None:
        super().__init__(
            f"{subject}: {peer} has the socket of its daemon, and is not believed; only root, you and the "
            f"owners of the configuration and of {SERVICE_FOLDER} are; end that process, or make its user "
            "the owner of the configuration"
        )


def address_of(config: str | os.PathLike[str]) -> str:
    """Return the name of the socket at which the daemon of a configuration is asked.

    It is named after the path as it is written: a link may lead to another file by the time of a reload.
    """
    from hashlib import sha256  # noqa: PLC0415 - a stop that names no configuration does without

    return PREFIX + sha256(os.fsencode(os.path.abspath(config))).hexdigest()  # noqa: PTH100


def daemon_of(config: str | os.PathLike[str]) -> str | None:
    """Return the name of the socket at which the daemon of a configuration listens; None where none does.

    It may have been started with this path, or with the one that a link leads to.
    """
    bound = addresses()
    names = address_of(config), address_of(os.path.realpath(config))
    return next((name for name in names if name in bound), None)


def daemons_here(config: str | Path | None) -> list[DaemonHere]:
    """Return how the daemon of a configuration on this machine is reached, or without one all of them."""
    if config is None:
        return [(address, ()) for address in addresses()]
    own = daemon_of(config)
    return [] if own is None else [(own, (config,))]


def hanging(target: str, daemon: object, timeout_s: float) -> str:
    """Return that a daemon of this machine, known by its process, has not answered."""
    problem = f"{target}: no answer in {timeout_s:g} s"
    reason = f"a daemon on this machine hangs, {daemon or 'of an unknown process'}"
    return f"{problem}; {reason}; use the robot's own switch, or end that daemon: its robots then stop softly"


def addresses() -> list[str]:
    """Return the names of all such sockets on this machine at which somebody listens."""
    return sorted({name for name in _bound_names() if name.startswith(PREFIX)})


def _bound_names() -> list[str]:
    """Return the abstract names that are bound on this machine."""
    try:
        with open(BOUND_NAMES, encoding="utf-8", errors="replace") as lines:  # noqa: PTH123 - loads less
            return ["\0" + line.rpartition(" @")[2].rstrip("\n") for line in lines if " @" in line]
    except OSError:
        return []


def named_user(user: int) -> str:
    """Return a user's number, with its name where it has one."""
    try:
        return f"{user} ({pwd.getpwuid(user).pw_name})"
    except KeyError:
        return str(user)


def own_holder(command: str) -> str:
    """Return what others are shown of who is in control: the user, the machine and the subcommand."""
    from getpass import getuser  # noqa: PLC0415 - a stop does without

    try:
        user = getuser()
    except (OSError, KeyError):  # one that the machine has no name for
        user = "somebody"
    holder = f"{user}@{socket.gethostname()} (motiond {command})"
    return "".join(one if one.isprintable() else "?" for one in holder)[:LONGEST_HOLDER].strip()


def peer_of(connection: socket.socket) -> Peer:
    """Return who is at the other end of a connected Unix socket."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, _group = _CREDENTIALS.unpack(credentials)
    return Peer(pid, user)


def believed_users(*paths: str | os.PathLike[str]) -> frozenset[int]:
    """Return who is believed: root, this process's own user, and the owners of files.

    Parameters
    ----------
    *paths : str or path
        What is not there has no owner; nor has what belongs to a user of another user namespace.
    """
    return frozenset({0, os.geteuid(), *_owners_of(paths)})


def _owners_of(paths: tuple[str | os.PathLike[str], ...]) -> Iterator[int]:
    nobody = -1
    with suppress(OSError, ValueError), open(OVERFLOW_USER, encoding="ascii") as file:  # noqa: PTH123
        nobody = int(file.read())
    for path in paths:
        with suppress(OSError, ValueError):
            if (owner := os.stat(path).st_uid) != nobody:  # noqa: PTH116 - loads less
                yield owner


def connected(address: str, *paths: str | os.PathLike[str], timeout_s: float) -> socket.socket:
    """Return a connection to a daemon; whoever has its socket otherwise need not take connections.

    Parameters
    ----------
    address : str
        As `address_of` or `addresses` returns it, or the path of a socket.
    *paths : str or path
        The configuration, whose owner is believed.
    timeout_s : float
        How long it waits each time.

    Raises
    ------
    Impostor
    OSError
        If nobody listens there, or no connection is taken.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout_s)
        try:
            connection.connect(address)
        except OSError:
            _refuse_impostor(holder_of(address), paths)
            raise
        _refuse_impostor(peer_of(connection), paths)
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_impostor(peer: Peer | None, paths: tuple[str | os.PathLike[str], ...]) -> None:
    if peer is not None and peer.user not in believed_users(*paths, SERVICE_FOLDER):
        raise Impostor(str(paths[0]) if paths else "this machine", peer)


class Asked:
    """One request to a daemon of this machine, and its answer.

    Parameters
    ----------
    connection : socket
    request : dict
        `robot` or `group` or neither, `verb`, and `body`.

    Attributes
    ----------
    peer : Peer
        Who is asked.
    """

    def __init__(self, connection: socket.socket, request: dict[str, Any]) -> None:
        self.peer = peer_of(connection)
        self._connection = connection
        self._received = bytearray()
        connection.sendall(json.dumps({"id": 1, **request}).encode() + b"\n")

    def answer(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the answer; None where it has not come in time, which may be asked again.

        Raises
        ------
        OSError
            If the connection breaks.
        ValueError
            If the answer is none.
        """
        self._connection.settimeout(timeout_s)
        while b"\n" not in self._received:
            try:
                piece = self._connection.recv(_PIECE)
            except (BlockingIOError, TimeoutError):
                return None
            if not piece or len(self._received) > LONGEST_LINE:
                raise OSError("the connection was closed before the answer came")
            self._received += piece
        answer: dict[str, Any] = json.loads(self._received.partition(b"\n")[0])["answer"]
        return answer


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
