"""One master for each device: locks that a stream process holds from before it opens its driver to its end.

A port that was unplugged may come back by another name; then that is locked before it is opened again. What
is a file or a device node is locked by its number as well, as it may have several names at once.

A lock is an abstract Unix socket named after the device, or its number. The kernel frees it when the process
ends, however it ends. Who finds it held connects to it: the connection names the process that holds it, and
breaks when that ends.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from motiond.drivers import DriverError, lock_names
from motiond.local import Peer, holder_of, named_user, peer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from ..ipc.channel import Channel

    Wait: TypeAlias = Callable[[Sequence[int], float], list[int]]

TITLE = "motiond stream"
"""How a stream process is listed (`ps`), followed by its robot."""
_LONGEST_NAME = 107
_WAITING = 128


def address_of(name: str) -> bytes:
    """Return the socket's name for a name of a device (`lock_names`): its digest where that is too long."""
    address = os.fsencode(f"\0motiond:{name}")
    is_short = len(address) <= _LONGEST_NAME
    return address if is_short else b"\0motiond:" + sha256(address).hexdigest().encode()


def wait_readable(fds: Sequence[int], timeout_s: float) -> list[int]:
    """Wait until one of some descriptors can be read, for so long at most; return those that can."""
    poller = select.poll()
    for fd in fds:
        poller.register(fd, select.POLLIN)
    return [fd for fd, _ in poller.poll(1000.0 * timeout_s)]


class Holder:
    """The process that holds a device, as one that waits for it sees it."""

    def __init__(self, device: str, name: str | None = None) -> None:
        self._device, address = device, address_of(name or device)
        self._peer: Peer | None = None
        self._connection: socket.socket | None = None
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            connection.connect(address)
            self._peer = peer_of(connection)
        except OSError:  # it has just ended, or takes no connection: look again soon
            connection.close()
            self._peer = holder_of(address)
            return
        self._connection = connection

    def __str__(self) -> str:
        """Return which device is held by which process, for users."""
        reason = "one device has one master"
        return f"{self._device}: held by {self._who()}; {reason}; waiting until that process ends"

    def _who(self) -> str:
        if self._peer is None:
            return "another process"
        pid, user = self._peer
        process = f"process {pid}{_purpose_of(pid)}" if pid else "a process"
        return process if user == os.geteuid() and pid else f"{process} of user {named_user(user)}"

    def has_ended(self, channel: Channel, timeout_s: float, wait: Wait = wait_readable) -> bool:
        """Wait until the process ends or the channel can be read; return whether to look again."""
        connection = None if self._connection is None else self._connection.fileno()
        ready = wait([fd for fd in (channel.fileno(), connection) if fd is not None], timeout_s)
        return connection is None or connection in ready

    def close(self) -> None:
        """Wait no longer."""
        if self._connection is not None:
            self._connection.close()


def _purpose_of(pid: int) -> str:
    """Return what a process is for, where it is a stream process that may be looked at."""
    robot = _robot_of(pid)
    return f" ({TITLE} of robot '{robot}')" if robot else ""


def _robot_of(pid: int) -> str:
    """Return the robot of a stream process that may be looked at; '' for any other."""
    try:
        title = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").rstrip("\0")
    except OSError:
        return ""
    program, _, robot = title.rpartition(" ")
    return robot if program == TITLE else ""


def robot_at(devices: Iterable[str]) -> str:
    """Return the robot whose stream process holds one of some devices; '' where that is not known."""
    holders = (holder_of(address_of(device)) for device in devices)
    return next((robot for one in holders if one and (robot := _robot_of(one.pid))), "")


class DeviceLocks:
    """Locks on all devices of one robot: all are held, or none.

    What is held is held until this process has ended, also where nothing knows of the locks any more, as a
    vendor's threads may outlive a driver; but for `close` and `follow`.
    """

    def __init__(self, devices: Iterable[str]) -> None:
        self._devices = sorted(set(devices))
        self._held: dict[str, int] = {}

    def take(self) -> Holder | None:
        """Take all locks that are not held; where another has one, take none and return who holds it.

        To be called again once a driver is open: a file may have come into being with it.

        Raises DriverError if the system refuses to lock at all.
        """
        taken: dict[str, int] = {}
        for name, device in self._names().items():
            if name in self._held:
                continue
            try:
                taken[name] = _lock(name)
            except OSError as error:
                _release(taken)
                if error.errno == errno.EADDRINUSE:
                    return Holder(device, name)
                reason = error.strerror or str(error)
                raise DriverError(device, "cannot be locked", reason, "allow Unix sockets") from error
        self._held |= taken
        return None

    def _names(self) -> dict[str, str]:
        """Return the device of each name to be held now, by the name."""
        return {name: device for device in self._devices for name in lock_names(device)}

    def follow(self, devices: Iterable[str]) -> None:
        """Release what is not driven any more, as names may stand for other devices; then `take` again."""
        self._devices = sorted(set(devices))
        _release({name: self._held.pop(name) for name in self._held.keys() - self._names().keys()})

    def close(self) -> None:
        """Let others have the devices; any number of times."""
        _release(self._held)
        self._held = {}


def _lock(name: str) -> int:
    """Bind the socket of a name, and return its descriptor."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as lock:
        lock.bind(address_of(name))
        lock.listen(_WAITING)
        return lock.detach()


def _release(held: dict[str, int]) -> None:
    for fd in held.values():
        socket.close(fd)
