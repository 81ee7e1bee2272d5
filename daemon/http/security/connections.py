"""Bounds what strangers can hold of the server: connections, and the time to ask and to take an answer.

aiohttp bounds the size of a request's head and the time between two requests, but neither the number of
connections, nor how slowly a head may come, nor how slowly an answer may be read.

Of all connections only some are given to requests that are being served, so that however slowly their bodies
come and their answers are read, there is room for another connection, which may bring a stop.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web

if TYPE_CHECKING:
    from ..served import Bounds


class Connections:
    """All connections of one server."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.open: dict[Connection, None] = {}
        self._served: Counter[str] = Counter()

    def makes_room(self) -> bool:
        """Return whether there is room for another one, if need be in place of one that only asks."""
        return len(self.open) < self.bounds.connections or self.ends_one()

    def ends_one(self) -> bool:
        """End the connection that has been asking for longest; return whether there was one."""
        asking = next((one for one in self.open if one.is_asking), None)
        if asking is None:
            return False
        asking.hang_up()
        return True

    def serves(self, address: str) -> bool:
        """Return whether a further request may be served, and count it: `has_served` has to follow."""
        is_full = self._served.total() >= self.bounds.served
        if is_full or self._served[address] >= self.bounds.served_an_address:
            return False
        self._served[address] += 1
        return True

    def has_served(self, address: str) -> None:
        """Note that a request that was counted is served."""
        self._served[address] -= 1
        if not self._served[address]:
            del self._served[address]


class Connection(web.RequestHandler):
    """aiohttp's protocol, which hangs up on who does not get to the point."""

    def __init__(self, connections: Connections, server: web.Server, **options: Any) -> None:
        super().__init__(server, **options)
        self._connections = connections
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self.is_asking = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take up a connection, if there is room."""
        if not self._connections.makes_room():
            cast("asyncio.Transport", transport).abort()
            return
        super().connection_made(transport)
        self._connections.open[self] = None
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Take what has come; the first bytes of another request start its time."""
        if self.transport is None:
            return
        if self.is_asking and self._deadline is None:
            self._expect()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Forget the connection."""
        self._disarm()
        self._is_read()
        self._connections.open.pop(self, None)
        if self.transport is not None:
            super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Note that the client reads too slowly, and bear it for a while."""
        loop = asyncio.get_running_loop()
        self._unread = loop.call_later(self._connections.bounds.read_within_s, self.hang_up)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that the client reads again."""
        self._is_read()
        super().resume_writing()

    def begin_request(self, address: str, *, apart: bool) -> bool:
        """Note that the head of a request is whole; return whether the request may be served."""
        self._disarm()
        self.is_asking = not (apart or self._connections.serves(address))
        return not self.is_asking

    def end_request(self, address: str, *, apart: bool) -> None:
        """Note that a request was answered, so that the next may come; the connection is the newest again."""
        self.is_asking = True
        if not apart:
            self._connections.has_served(address)
        if self in self._connections.open:
            del self._connections.open[self]
            self._connections.open[self] = None

    def hang_up(self) -> None:
        """End the connection at once; the system forgets what is still to be sent, too."""
        self._connections.open.pop(self, None)
        if self.transport is None:
            return
        if not self.transport.is_closing():
            at_once = struct.pack("ii", 1, 0)
            connection = self.transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        self.transport.abort()

    def _expect(self) -> None:
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self._connections.bounds.ask_within_s, self.hang_up)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


def connection_of(request: web.BaseRequest) -> Connection:
    """Return the connection on which a request came."""
    return cast("Connection", request.protocol)
