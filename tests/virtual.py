"""Virtual time and a network in memory, on which asynchronous tests run without waiting for anything.

`VirtualLoop` is asyncio's own event loop on a selector whose time jumps to what comes next. While it runs,
`time.monotonic` and `time.time` return its time. While a test runs on it, `socket.socket` makes a
`MemorySocket`: asyncio's transports, aiohttp and paho are the real ones, and only the kernel below them is
not.

It is imported before anything that keeps `time.monotonic` as a default of its own.
"""

from __future__ import annotations

import array
import asyncio
import errno
import ipaddress
import itertools
import os
import select
import selectors
import socket
import struct
import time
from collections import deque
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self

from greenlet import getcurrent

from motiond import local

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
    from types import ModuleType

START_S = 1000.0
UNIX_AT_START_S = 1_764_000_000.0
BUFFER_BYTES = 131_072
"""What a socket holds that is not sent, and as much again that is not read, unless it is set."""
FIRST_PORT = 20_000
MOST_JUMPS = 1_000_000
"""So often may time jump in one test: what is waited for, and does not come, ends it within a minute."""
LOOK_S = 0.001
ROUNDING_S = 1e-9
"""So far a sum of times may be off."""
Address = Any
_getaddrinfo = socket.getaddrinfo


class Owner(Protocol):
    """A program of this process, with a stack, tasks and signals of its own."""

    def run(self, main: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine as `asyncio.run` does."""

    def wait_for(self, awaitable: Awaitable[Any]) -> Any:
        """Let the loop go on until something has come."""

    def own(self, task: asyncio.Task[Any]) -> None:
        """Cancel a task with the program's end, as `asyncio.run` does."""

    def handle(self, number: int, act: Callable[[], object]) -> None:
        """Do something on a signal."""

    def default(self, number: int) -> bool:
        """Do nothing on a signal any more; return whether something was done."""


OWNER: ContextVar[Owner | None] = ContextVar("OWNER", default=None)
"""The program that runs; None is the test."""


class NothingHappensError(AssertionError):
    """Every task waits for something that cannot come any more."""


class Network:
    """All sockets of one virtual machine: who listens where, and which descriptor is whose.

    Attributes
    ----------
    user : int
        Whose sockets are made now; -1 for this process's own.
    """

    def __init__(self) -> None:
        self.listening: dict[tuple[int, Address], MemorySocket] = {}
        self.user = -1
        self.sockets: dict[int, MemorySocket] = {}
        self._ports = itertools.count(FIRST_PORT)

    def attach(self, one: MemorySocket) -> int:
        """Give a socket its descriptor."""
        fileno = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.sockets[fileno] = one
        return fileno

    def close(self) -> None:
        """Close all that was left open."""
        for one in list(self.sockets.values()):
            one.close()

    @property
    def credentials(self) -> bytes:
        """What the kernel notes of who listens and who connects."""
        user, group = (self.user, self.user) if self.user >= 0 else (os.getuid(), os.getgid())
        return struct.pack("3i", os.getpid(), user, group)

    @contextmanager
    def as_user(self, user: int) -> Iterator[None]:
        """Let another user listen and connect while this lasts."""
        self.user = user
        try:
            yield
        finally:
            self.user = -1

    def listens_at(self, port: int) -> bool:
        """Return whether somebody takes connections at a port."""
        listening = [one.getsockname() for one in self.listening.values() if one.listens]
        return any(len(name) > 1 and name[1] == port for name in listening)

    def free_port(self) -> int:
        """Return a port that nothing has had."""
        return next(self._ports)


NETWORK = Network()
"""The one network; each test's sockets are closed by its end."""


class Pipe:
    """One direction of a connection.

    Attributes
    ----------
    event : int
        A descriptor that can be read as long as the pipe can, for who polls it.
    ended : bool
        Whether nothing more is written.
    reset : bool
        Whether it was broken off.
    unsent_bytes, unread_bytes : int
        How much its writer and its reader hold.
    """

    def __init__(self, kind: int) -> None:
        self.packets: deque[tuple[bytes, list[int]]] = deque()
        self.size = 0
        self.unsent_bytes = self.unread_bytes = BUFFER_BYTES
        self.event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.ended = self.reset = self._is_signalled = False
        self._is_stream = kind == socket.SOCK_STREAM

    @property
    def room(self) -> int:
        """How many bytes may be written."""
        return self.unsent_bytes + self.unread_bytes - self.size

    @property
    def readable(self) -> bool:
        """Whether a read would return at once."""
        return bool(self.packets) or self.ended or self.reset

    def write(self, data: bytes, fds: Sequence[int] = ()) -> int:
        """Take what there is room for; return how much that was."""
        taken = data[: self.room] if self._is_stream else data
        if not taken or len(taken) > self.room:
            raise BlockingIOError(errno.EAGAIN, "would block")
        self.packets.append((bytes(taken), [os.dup(fd) for fd in fds]))
        self.size += len(taken)
        self.signal()
        return len(taken)

    def end(self, *, breaks: bool = False) -> None:
        """Write nothing more, or break off."""
        self.ended, self.reset = True, self.reset or breaks
        self.signal()

    def signal(self) -> None:
        """Let `event` show whether a read would return at once."""
        if self.event >= 0 and self.readable != self._is_signalled:
            self._is_signalled = not self._is_signalled
            if self._is_signalled:
                os.eventfd_write(self.event, 1)
            else:
                os.eventfd_read(self.event)

    def read(self, most: int) -> tuple[bytes, list[int]]:
        """Return what has come; b'' at the end."""
        try:
            return self._read(most)
        finally:
            self.signal()

    def _read(self, most: int) -> tuple[bytes, list[int]]:
        if self.reset:
            self.reset = False
            raise ConnectionResetError(errno.ECONNRESET, "connection reset by peer")
        if not self.packets:
            if self.ended:
                return b"", []
            raise BlockingIOError(errno.EAGAIN, "would block")
        if not self._is_stream:
            data, fds = self.packets.popleft()
            self.size -= len(data)
            return data[:most], fds
        data, fds = self._joined(most)
        self.size -= len(data)
        return data, fds

    def _joined(self, most: int) -> tuple[bytes, list[int]]:
        parts, fds, length = [], list[int](), 0
        while self.packets and length < most:
            data, more = self.packets.popleft()
            fds += more
            if len(data) > most - length:
                self.packets.appendleft((data[most - length :], []))
                data = data[: most - length]
            parts.append(data)
            length += len(data)
        return b"".join(parts), fds

    def close(self) -> None:
        """Drop everything: nobody reads any more."""
        self.discard()
        os.close(self.event)
        self.event = -1

    def discard(self) -> None:
        """Drop what has not been read."""
        for _, fds in self.packets:
            for fd in fds:
                os.close(fd)
        self.packets.clear()
        self.size = 0


class MemorySocket:
    """A socket that never leaves this process.

    Connections behave as the kernel's do: a close with unread data, or with SO_LINGER 0, is a reset; what is
    written beyond the peer's buffer blocks. A blocking socket waits in a function that the loop's executor
    runs; elsewhere it fails, as nobody else would run.
    """

    def __init__(
        self,
        family: int = socket.AF_INET,
        type: int = socket.SOCK_STREAM,  # noqa: A002 - as the standard library calls it
        proto: int = 0,
        fileno: int | None = None,
    ) -> None:
        if fileno is not None:
            raise AssertionError("a socket of the system cannot be taken over on virtual time")
        self.family = socket.AddressFamily(family if family >= 0 else socket.AF_INET)
        self.type = socket.SocketKind(type & 0xF if type >= 0 else socket.SOCK_STREAM)
        self.proto = max(proto, 0)
        self._fileno = NETWORK.attach(self)
        self._options: dict[tuple[int, int], Any] = {}
        self._timeout: float | None = None
        self._name: Address = ""
        self._peer_name: Address = None
        self._credentials = NETWORK.credentials
        self._peer_credentials = self._credentials
        self._in: Pipe | None = None
        self._out: Pipe | None = None
        self._backlog: deque[MemorySocket] | None = None
        self._sharers = [self]

    # -- what the selector asks -----------------------------------------------------------------------------

    @property
    def listens(self) -> bool:
        """Whether it takes connections."""
        return self._backlog is not None

    @property
    def readable(self) -> bool:
        """Whether something has come."""
        if self._backlog is not None:
            return bool(self._backlog)
        return self._in is not None and self._in.readable

    @property
    def writable(self) -> bool:
        """Whether something can be written, or a write fails at once."""
        return self._out is None or self._out.room > 0 or self._out.ended or self._is_broken

    @property
    def _is_broken(self) -> bool:
        return self._in is not None and self._in.reset

    def _take(self, incoming: Pipe, outgoing: Pipe | None) -> None:
        """Be connected: the descriptor shows what has come."""
        self._in, self._out = incoming, outgoing
        os.dup2(incoming.event, self._fileno, inheritable=False)
        self._set_buffers()

    def _set_buffers(self) -> None:
        if self._in is not None:
            self._in.unread_bytes = self._options.get((socket.SOL_SOCKET, socket.SO_RCVBUF), BUFFER_BYTES)
        if self._out is not None:
            self._out.unsent_bytes = self._options.get((socket.SOL_SOCKET, socket.SO_SNDBUF), BUFFER_BYTES)

    # -- life -----------------------------------------------------------------------------------------------

    def fileno(self) -> int:
        """Return the descriptor; -1 once closed."""
        return self._fileno

    def close(self) -> None:
        """Close; the last one that shares the connection ends it."""
        if self._fileno < 0:
            return
        NETWORK.sockets.pop(self._fileno, None)
        os.close(self._fileno)
        self._fileno = -1
        self._sharers.remove(self)
        for key in [key for key, one in NETWORK.listening.items() if one is self]:
            if self._sharers:
                NETWORK.listening[key] = self._sharers[0]
            else:
                del NETWORK.listening[key]
        if not self._sharers:
            self._end()

    def _end(self) -> None:
        if self._backlog is not None:
            for one in self._backlog:
                one.close()
        if self._in is not None and self._out is None:
            self._in.close()
        elif self._in is not None and self._out is not None:
            linger = self._options.get((socket.SOL_SOCKET, socket.SO_LINGER), b"")
            breaks = isinstance(linger, bytes) and linger[:4] == struct.pack("i", 1)
            if breaks:
                self._out.discard()
            self._out.end(breaks=breaks or bool(self._in.packets))
            self._in.ended = True
            self._in.close()

    def detach(self) -> int:
        """Return the descriptor, which `socket.close` closes."""
        other = self.dup()
        self.close()
        return other.fileno()

    def dup(self) -> MemorySocket:
        """Return another descriptor of the same."""
        other = MemorySocket(self.family, self.type, self.proto)
        fileno = other._fileno
        other.__dict__.update(self.__dict__ | {"_fileno": fileno})
        if self._in is not None:
            os.dup2(self._in.event, fileno, inheritable=False)
        self._sharers.append(other)
        return other

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- options --------------------------------------------------------------------------------------------

    def setblocking(self, flag: bool) -> None:  # noqa: FBT001 - as the standard library has it
        """Note how it would wait."""
        self._timeout = None if flag else 0.0

    def settimeout(self, value: float | None) -> None:
        """Note how long it would wait."""
        self._timeout = value

    def gettimeout(self) -> float | None:
        """Return how long it would wait."""
        return self._timeout

    def getblocking(self) -> bool:
        """Return whether it would wait."""
        return self._timeout != 0.0

    def setsockopt(self, level: int, name: int, value: Any, *_: Any) -> None:
        """Note an option."""
        self._options[level, name] = value
        self._set_buffers()

    def getsockopt(self, level: int, name: int, size: int = 0) -> Any:
        """Return an option, or what the kernel knows of the connection."""
        if (level, name) == (socket.SOL_SOCKET, socket.SO_PEERCRED):
            return self._peer_credentials
        if (level, name) == (socket.SOL_SOCKET, socket.SO_ERROR):
            return self._taken_error()
        return self._options.get((level, name), bytes(size) if size else 0)

    def _taken_error(self) -> int:
        if self._in is None or not self._in.reset:
            return 0
        self._in.reset = False
        return errno.ECONNRESET

    def getsockname(self) -> Address:
        """Return its own address."""
        return self._name or self._nameless

    def is_connected_to(self, port: int) -> bool:
        """Whether it is the end of who has connected to a port."""
        return self._peer_name is not None and self._peer_name[1:2] == (port,)

    def getpeername(self) -> Address:
        """Return the other's address."""
        if self._peer_name is None:
            raise OSError(errno.ENOTCONN, "not connected")
        return self._peer_name

    @property
    def _nameless(self) -> Address:
        if self.family == socket.AF_UNIX:
            return ""
        return ("0.0.0.0", 0) if self.family == socket.AF_INET else ("::", 0, 0, 0)  # noqa: S104 - nowhere

    # -- connections ----------------------------------------------------------------------------------------

    def bind(self, address: Address) -> None:
        """Take an address, which nobody else may have."""
        if self.family != socket.AF_UNIX:
            host, port, *rest = address
            if not _is_here(host):
                raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
            address = (host or "0.0.0.0", port or NETWORK.free_port(), *rest)  # noqa: S104 - as the kernel
        if self._key(address) in NETWORK.listening:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        self._name = address
        NETWORK.listening[self._key(address)] = self

    def _key(self, address: Address) -> tuple[int, Address]:
        return self.family, address if self.family == socket.AF_UNIX else (self.type, address[1])

    def listen(self, _backlog: int = 128) -> None:
        """Take connections; they wait to be accepted."""
        self._credentials = NETWORK.credentials
        if self._backlog is None:
            self._backlog = deque()
            for other in self._sharers:
                other._backlog = self._backlog

    def accept(self) -> tuple[MemorySocket, Address]:
        """Return the next connection."""
        self._wait_until(lambda: bool(self._backlog))
        assert self._backlog
        one = self._backlog.popleft()
        return one, one._peer_name

    def connect(self, address: Address) -> None:
        """Connect at once, or be refused."""
        if self.family != socket.AF_UNIX:
            address = (address[0], int(address[1]), *address[2:])
        listener = NETWORK.listening.get(self._key(address))
        if listener is None or (listener._backlog is None and listener.type != socket.SOCK_DGRAM):
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        if self.type == socket.SOCK_DGRAM:
            self._peer_name = address
            return
        port = NETWORK.free_port()
        self._name = self._name or ("" if self.family == socket.AF_UNIX else (address[0], port, *address[2:]))
        other = MemorySocket(self.family, self.type)
        join(self, other)
        self._peer_name, other._peer_name = address, self._name
        self._peer_credentials, other._peer_credentials = listener._credentials, NETWORK.credentials
        other._name = address
        listener._backlog.append(other)  # type: ignore[union-attr]

    def connect_ex(self, address: Address) -> int:
        """Connect; return the error's number, 0 if there is none."""
        try:
            self.connect(address)
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def shutdown(self, how: int) -> None:
        """Write nothing more."""
        if self._out is None:
            raise OSError(errno.ENOTCONN, "not connected")
        if how in {socket.SHUT_WR, socket.SHUT_RDWR}:
            self._out.end()
        if how in {socket.SHUT_RD, socket.SHUT_RDWR} and self._in is not None:
            self._in.end()

    # -- data -----------------------------------------------------------------------------------------------

    def send(self, data: Any, _flags: int = 0, *, fds: Sequence[int] = ()) -> int:
        """Write what there is room for."""
        if self._fileno < 0:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        if self._out is None:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        if self._is_broken:
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
        if self._out.ended:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        self._wait_until(lambda: self.writable)
        return self._out.write(bytes(data), fds)

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Write all of it."""
        view = memoryview(data).cast("B")
        while view:
            view = view[self.send(view, flags) :]

    def sendmsg(self, buffers: Any, ancillary: Any = (), _flags: int = 0, _address: Any = None) -> int:
        """Write, with file descriptors."""
        fds = array.array("i")
        for level, kind, data in ancillary:
            assert (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
            fds.frombytes(bytes(data))
        return self.send(b"".join(map(bytes, buffers)), fds=fds)

    def sendto(self, data: Any, *arguments: Any) -> int:
        """Send a datagram."""
        target = NETWORK.listening.get(self._key(arguments[-1]))
        if target is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        if target._in is None:
            target._take(Pipe(socket.SOCK_DGRAM), None)
        assert target._in is not None
        return target._in.write(bytes(data))

    def recv(self, most: int, _flags: int = 0) -> bytes:
        """Read what has come."""
        return self._read(most)[0]

    def recv_into(self, buffer: Any, most: int = 0, _flags: int = 0) -> int:
        """Read what has come into a buffer."""
        view = memoryview(buffer).cast("B")
        data = self.recv(most or len(view))
        view[: len(data)] = data
        return len(data)

    def recvfrom(self, most: int, _flags: int = 0) -> tuple[bytes, Address]:
        """Read a datagram."""
        return self.recv(most), self._peer_name

    def recvmsg(self, most: int, *_: Any) -> tuple[bytes, list[tuple[int, int, bytes]], int, Address]:
        """Read, with file descriptors."""
        data, fds = self._read(most)
        rights = array.array("i", fds).tobytes()
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if fds else []
        return data, ancillary, 0, self._peer_name

    def _read(self, most: int) -> tuple[bytes, list[int]]:
        if self._fileno < 0:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        self._wait_until(lambda: self.readable)
        assert self._in is not None
        return self._in.read(most)

    def _wait_until(self, is_ready: Callable[[], bool]) -> None:
        """Wait as long as a blocking socket does.

        Raises
        ------
        BlockingIOError, TimeoutError
        """
        if is_ready():
            return
        if self._timeout == 0.0:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        _wait_until(is_ready, self._timeout, "a blocking socket would wait for ever")


def join(one: MemorySocket, other: MemorySocket) -> None:
    """Connect two sockets."""
    there, back = Pipe(one.type), Pipe(one.type)
    one._take(back, there)
    other._take(there, back)


def socketpair(
    family: int = socket.AF_UNIX,
    type: int = socket.SOCK_STREAM,  # noqa: A002 - as the standard library calls it
    proto: int = 0,
) -> tuple[MemorySocket, MemorySocket]:
    """Return two sockets that are connected."""
    one, other = MemorySocket(family, type, proto), MemorySocket(family, type, proto)
    join(one, other)
    one._peer_name = other._peer_name = ""
    return one, other


def _is_here(host: str) -> bool:
    """Whether an address is this machine's."""
    address = ipaddress.ip_address((host or "::").partition("%")[0])
    return address.is_loopback or address.is_unspecified


def getaddrinfo(host: Any, *given: Any, **options: Any) -> Any:
    """Return the addresses of a host that needs no name service: there is none."""
    if host not in {None, "", "localhost"}:
        try:
            ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None
    return _getaddrinfo(host, *given, **options)


class VirtualSelector(selectors._BaseSelectorImpl):
    """Waits for sockets in memory; where none is ready, time jumps to what comes next.

    Attributes
    ----------
    time_s : float
        The virtual time.
    next_s : callable
        Returns when the next timer is due.
    rounds : int
        How often the loop has looked.
    """

    def __init__(self) -> None:
        super().__init__()
        self.time_s = START_S
        self.next_s: Callable[[], float] = lambda: 0.0
        self.rounds = self._jumps = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready, or let time pass."""
        self.rounds += 1
        ready = list(self._ready())
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise NothingHappensError("nothing can happen any more: " + _waiting())
        self._jumps += 1
        if self._jumps > MOST_JUMPS:
            raise NothingHappensError(f"what is waited for has not come by {self.time_s:g} s: " + _waiting())
        next_s, self.time_s = self.next_s(), self.time_s + max(0.0, timeout)
        if abs(next_s - self.time_s) < ROUNDING_S:
            self.time_s = next_s
        return []

    def _ready(self) -> Iterator[tuple[selectors.SelectorKey, int]]:
        keys: dict[int, selectors.SelectorKey] = self._fd_to_key  # type: ignore[attr-defined] # its map is slow
        for key in list(keys.values()):
            one = NETWORK.sockets.get(key.fd)
            if one is None:
                if self._can_be_read(key.fd):
                    yield key, key.events & selectors.EVENT_READ
                continue
            events = selectors.EVENT_READ if key.events & selectors.EVENT_READ and one.readable else 0
            if key.events & selectors.EVENT_WRITE and one.writable:
                events |= selectors.EVENT_WRITE
            if events:
                yield key, events

    @staticmethod
    def _can_be_read(fd: int) -> bool:
        """Whether a descriptor that is no socket can be read, such as that of a process."""
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        return bool(poller.poll(0))


def _waiting() -> str:
    return "; ".join(map(repr, asyncio.all_tasks()))


class VirtualLoop(asyncio.SelectorEventLoop):
    """asyncio's event loop on virtual time; what would run in a thread runs at once, in its turn."""

    def __init__(self) -> None:
        self._virtual = VirtualSelector()
        super().__init__(self._virtual)
        self._clock_resolution = ROUNDING_S
        self._virtual.next_s = self._next_s

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._virtual.time_s

    def _next_s(self) -> float:
        timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined] # asyncio's own
        return timers[0].when() if timers else 0.0

    @property
    def rounds(self) -> int:
        """How many rounds there have been."""
        return self._virtual.rounds

    def stand_still(self, duration_s: float) -> None:
        """Let time pass in which nothing of this process runs, as in a call that blocks."""
        self._virtual.time_s += duration_s

    def run_until(self, holds: Callable[[], bool], timeout_s: float | None) -> None:
        """Let the others run while a function of the executor waits, which has a thread of its own elsewhere.

        Raises
        ------
        TimeoutError
            If it does not hold in time.
        """
        ready: deque[asyncio.Handle] = self._ready  # type: ignore[attr-defined] # asyncio's own
        waiting = len(ready)  # of this round: it takes so many more after us
        timer = None if timeout_s is None else self.call_later(timeout_s, lambda: None)
        while not holds():
            if timer is not None and self.time() >= timer.when():
                break
            self._run_once()  # type: ignore[attr-defined] # the same
        else:
            timeout_s = None
        if timer is not None:
            timer.cancel()
        for _ in range(waiting):
            nothing = asyncio.Handle(lambda: None, (), self)
            nothing.cancel()
            ready.append(nothing)
        if timeout_s is not None:
            raise TimeoutError("timed out")

    def run_in_executor(self, _executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Run a function in the next turn, and give its result then."""
        future = self.create_future()
        self.call_soon(self._run_inline, future, func, *args)
        return future

    @staticmethod
    def _run_inline(future: asyncio.Future[Any], func: Callable[..., Any], *args: Any) -> None:
        if future.cancelled():
            return
        try:
            result = func(*args)
        except Exception as error:  # noqa: BLE001 - it is the future's
            if not future.cancelled():
                future.set_exception(error)
        else:
            if not future.cancelled():
                future.set_result(result)

    def _make_self_pipe(self) -> None:
        """Nobody else wakes it."""

    def _close_self_pipe(self) -> None:
        """There is none."""

    def _write_to_self(self) -> None:
        """Nobody sleeps."""

    def create_task(self, *given: Any, **options: Any) -> asyncio.Task[Any]:
        """Begin a task, which is the program's that runs."""
        task = super().create_task(*given, **options)
        if (owner := OWNER.get()) is not None:
            owner.own(task)
        return task

    def add_signal_handler(self, number: int, callback: Callable[..., object], *args: Any) -> None:  # type: ignore[override]
        """Call something when the program that runs gets a signal."""
        owner = OWNER.get()
        if owner is None:
            raise AssertionError("signals are for programs, or for tests of the real thing")
        context = copy_context()
        owner.handle(number, lambda: self.call_soon(callback, *args, context=context))

    def remove_signal_handler(self, number: int) -> bool:
        """Call nothing any more."""
        owner = OWNER.get()
        return owner is not None and owner.default(number)


def _of_the_loop(real: Callable[[], float], ahead_s: float) -> Callable[[], float]:
    """Return a clock that is virtual while a virtual loop runs."""

    def now() -> float:
        loop = asyncio._get_running_loop()
        return loop.time() + ahead_s if isinstance(loop, VirtualLoop) else real()

    return now


time.monotonic = _of_the_loop(time.monotonic, 0.0)
time.time = _of_the_loop(time.time, UNIX_AT_START_S - START_S)


@contextmanager
def in_memory() -> Iterator[None]:
    """Let sockets be in memory, and nobody sleep for real."""
    kept = [(module, name, getattr(module, name)) for module, name, _ in REPLACED]
    for module, name, value in REPLACED:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


def _wait_until(holds: Callable[[], bool], timeout_s: float | None, what: str) -> None:
    """Wait in a function of the executor, or in the stack of a program, which lets all others go on.

    Raises
    ------
    TimeoutError
    """
    owner = OWNER.get()
    if owner is not None and getcurrent().parent is not None:
        owner.wait_for(_looking(holds, timeout_s))
        return
    loop = asyncio._get_running_loop()
    if not isinstance(loop, VirtualLoop) or asyncio.current_task() is not None:
        raise AssertionError(f"{what} on virtual time")
    loop.run_until(holds, timeout_s)


async def _looking(holds: Callable[[], bool], timeout_s: float | None) -> None:
    async with asyncio.timeout(timeout_s):
        while not holds():  # noqa: ASYNC110 - whatever it is
            await asyncio.sleep(LOOK_S)


def _process() -> Any:
    """Return the process in memory that runs; None where the test itself does."""
    return getattr(getcurrent(), "process", None)


def _sleep(duration_s: float) -> None:
    if (process := _process()) is not None:
        process.sleep(duration_s)
        return
    with suppress(TimeoutError):
        _wait_until(lambda: False, duration_s, f"time.sleep({duration_s:g}): nobody else would run")


def run(main: Coroutine[Any, Any, Any], **_: object) -> Any:
    """Stand in for `asyncio.run`: on the loop that runs where a program calls it, else on one of its own."""
    owner = OWNER.get()
    if owner is not None:
        return owner.run(main)
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def _abort() -> NoReturn:
    if (process := _process()) is not None:
        process.abort()
    raise AssertionError("os.abort: the test would end")


def _close(fileno: int) -> None:
    NETWORK.sockets[fileno].close()


def _bound_names() -> list[str]:
    return [os.fsdecode(name) for family, name in NETWORK.listening if family == socket.AF_UNIX]


REPLACED: tuple[tuple[ModuleType, str, object], ...] = (
    (local, "_bound_names", _bound_names),
    (socket, "socket", MemorySocket),
    (socket, "SocketType", MemorySocket),
    (socket, "socketpair", socketpair),
    (socket, "close", _close),
    (socket, "getaddrinfo", getaddrinfo),
    (os, "abort", _abort),
    (time, "sleep", _sleep),
    (asyncio, "run", run),
)
