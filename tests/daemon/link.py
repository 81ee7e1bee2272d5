"""A network that can be cut and fixed, between a test's processes and a broker."""

from __future__ import annotations

import asyncio
import socket
from contextlib import closing, suppress
from typing import Literal

from tests import ports

Way = Literal["to broker", "from broker"]


class Link:
    """The network between somebody and a broker.

    It listens on a socket of its own: a connection that an `asyncio.Server` accepts while it is closed
    is left open (https://github.com/python/cpython/issues/109564).
    """

    def __init__(self, port: int) -> None:
        self.port = ports.free_port()
        self._to = port
        self._carriers: set[asyncio.Task[None]] = set()
        self._listener: socket.socket | None = None

    async def repair(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=100)
        self._listener.setblocking(False)
        asyncio.get_running_loop().add_reader(self._listener, self._accept, self._listener)

    async def cut(self) -> None:
        """Break all connections, and let nobody make another."""
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None
        for carrier in self._carriers:
            carrier.cancel()
        await asyncio.gather(*self._carriers, return_exceptions=True)

    def _accept(self, listener: socket.socket) -> None:
        try:
            near, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # who called has hung up
        near.setblocking(False)
        carrier = asyncio.create_task(self._join(near), name="link")
        self._carriers.add(carrier)
        carrier.add_done_callback(self._carriers.discard)
        carrier.add_done_callback(lambda _: near.close())  # also where it was cancelled before it began

    async def _join(self, near: socket.socket) -> None:
        with closing(socket.socket()) as far:
            far.setblocking(False)
            try:
                await asyncio.get_running_loop().sock_connect(far, ("127.0.0.1", self._to))
            except OSError:
                return  # the broker is away
            there = asyncio.create_task(self._carry(near, far, "to broker"), name="link.there")
            back = asyncio.create_task(self._carry(far, near, "from broker"), name="link.back")
            try:
                await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in (there, back):
                    way.cancel()
                await asyncio.gather(there, back, return_exceptions=True)

    async def _carry(self, source: socket.socket, sink: socket.socket, way: Way) -> None:
        loop = asyncio.get_running_loop()
        with suppress(ConnectionError):
            while (data := await loop.sock_recv(source, 65536)) and await self._pass(data, sink, way):
                pass

    async def _pass(self, data: bytes, sink: socket.socket, way: Way) -> bool:
        """Pass on what one side sent; return whether the connection goes on."""
        del way  # all the same here
        await asyncio.get_running_loop().sock_sendall(sink, data)
        return True


class HangingLink(Link):
    """A way to a broker, which may keep what it is given.

    Attributes
    ----------
    hangs : bool
    """

    hangs = False

    async def _pass(self, data: bytes, sink: socket.socket, way: Way) -> bool:
        return self.hangs or await super()._pass(data, sink, way)
