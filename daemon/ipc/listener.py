"""Takes connections, one in each round of the event loop, also where the system has no descriptors left.

asyncio's own server tries again for every connection that waits, and logs each try with a traceback. Here the
listener rests until there are descriptors again, and the log has one line at the begin and one at the end. A
descriptor is held in reserve, so that a listener whose connections make room for others goes on all the same:
the next one may bring a stop.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import ssl
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

log = logging.getLogger(__name__)

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
NOT_YET = (BlockingIOError, InterruptedError, ConnectionAbortedError)
LOST = (OSError, ssl.SSLError, TimeoutError)
BACKLOG = 1024
EVERYWHERE_IPV6, EVERYWHERE_IPV4 = "::", "0.0.0.0"  # noqa: S104 # where somebody has named the former
RETRY_S, MADE_ROOM_S = 0.2, 0.01
QUIET_S = 5.0
"""So long nothing may fail before it is logged that it is over."""


class Listener:
    """Listening sockets and what becomes of connections to them.

    - `name`: what is listened at, for messages
    - `sockets`: bound and not listening yet; they are the listener's from now on
    - `make_protocol`: returns the protocol of a connection
    - `make_room`: ends a connection in favour of another one, where no descriptors are left; returns whether
      it did
    - `tls`: returns by what the next connection is encrypted; None where it is not
    - `handshake_s`: so long a handshake may take
    """

    def __init__(
        self,
        name: str,
        sockets: Sequence[socket.socket],
        make_protocol: Callable[[], asyncio.BaseProtocol],
        make_room: Callable[[], bool] = lambda: False,
        *,
        tls: Callable[[], ssl.SSLContext | None] = lambda: None,
        handshake_s: float | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._name = name
        self._sockets = tuple(sockets)
        self._make_protocol = make_protocol
        self._make_room = make_room
        self._tls, self._handshake_s = tls, handshake_s
        self._spare: int | None = None
        self._resting: dict[socket.socket, asyncio.TimerHandle] = {}
        self._over: asyncio.TimerHandle | None = None
        self._since_s = 0.0
        self._beginning: set[asyncio.Task[None]] = set()
        self._take_spare()
        for one in self._sockets:
            one.setblocking(False)
            one.listen(BACKLOG)
            self._loop.add_reader(one, self._accept, one)

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Where it listens: host and port of each of its sockets."""
        return [one.getsockname()[:2] for one in self._sockets]

    def close(self) -> None:
        """Take no more connections; those that were taken stay. Any number of times."""
        for one in self._sockets:
            if one.fileno() >= 0:
                self._loop.remove_reader(one)
                one.close()
        for timer in (*self._resting.values(), *([self._over] if self._over else [])):
            timer.cancel()
        for task in self._beginning:
            task.cancel()
        self._release_spare()

    def _accept(self, listening: socket.socket) -> None:
        """Take one connection; more are taken in the next rounds, in which others are served, too."""
        try:
            connection, _ = listening.accept()
        except NOT_YET:
            return
        except OSError as error:
            if error.errno not in EXHAUSTED:
                raise
            self._rest(listening, error)
            return
        connection.setblocking(False)
        task = self._loop.create_task(self._begin(connection), name="listener")
        self._beginning.add(task)
        task.add_done_callback(partial(self._has_begun, connection))

    def _has_begun(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._beginning.discard(task)
        if task.cancelled():
            connection.close()

    async def _begin(self, connection: socket.socket) -> None:
        """Give a connection its protocol, after the handshake of TLS where there is one."""
        with suppress(*LOST):  # it is gone, or does not speak TLS
            await self._loop.connect_accepted_socket(
                self._make_protocol, connection, ssl=self._tls(), ssl_handshake_timeout=self._handshake_s
            )
            return
        connection.close()

    def _rest(self, listening: socket.socket, error: OSError) -> None:
        """Try again a little later, with the descriptor that is held in reserve or that of another one."""
        if self._over is None:
            self._since_s = self._loop.time()
            what = "%s: not all connections can be taken; %s; others wait; raise LimitNOFILE, or close some"
            log.warning(what, self._name, os.strerror(error.errno or 0).lower())
        else:
            self._over.cancel()
        self._over = self._loop.call_later(QUIET_S, self._note_over)
        freed = self._release_spare() or self._make_room()
        self._loop.remove_reader(listening)
        again_s = MADE_ROOM_S if freed else RETRY_S
        self._resting[listening] = self._loop.call_later(again_s, self._resume, listening)

    def _resume(self, listening: socket.socket) -> None:
        del self._resting[listening]
        self._loop.add_reader(listening, self._accept, listening)

    def _note_over(self) -> None:
        """Note that nothing has failed for a while."""
        self._over = None
        self._take_spare()
        log.info(
            "%s: connections are taken again, after %.0f s", self._name, self._loop.time() - self._since_s
        )

    def _take_spare(self) -> None:
        if self._spare is None:
            with suppress(OSError):
                self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _release_spare(self) -> bool:
        """Give the descriptor in reserve up; return whether there was one."""
        if self._spare is None:
            return False
        os.close(self._spare)
        self._spare = None
        return True


async def listen(
    host: str,
    port: int,
    make_protocol: Callable[[], asyncio.BaseProtocol],
    make_room: Callable[[], bool],
    *,
    name: str,
    tls: Callable[[], ssl.SSLContext | None] = lambda: None,
    handshake_s: float | None = None,
) -> Listener:
    """Listen at each address of a host, at `::` by IPv4 too; otherwise as `Listener`.

    Raises OSError if an address cannot be had.
    """
    hosts = [EVERYWHERE_IPV6, EVERYWHERE_IPV4] if host == EVERYWHERE_IPV6 else host
    loop = asyncio.get_running_loop()
    server = await loop.create_server(asyncio.Protocol, hosts, port, start_serving=False)
    return Listener(name, _taken_over(server), make_protocol, make_room, tls=tls, handshake_s=handshake_s)


async def listen_unix(
    address: str, make_protocol: Callable[[], asyncio.BaseProtocol], *, name: str
) -> Listener:
    """Listen at a Unix socket; otherwise as `listen`."""
    server = await asyncio.get_running_loop().create_unix_server(
        asyncio.Protocol, address, start_serving=False
    )
    return Listener(name, _taken_over(server), make_protocol)


def _taken_over(server: asyncio.Server) -> list[socket.socket]:
    """Return the sockets that asyncio has bound."""
    sockets = [one.dup() for one in server.sockets]
    server.close()
    return sockets
