"""A network that can be cut and mended, between a test's processes and a broker."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tests import ports


class Link:
    """The network between somebody and a broker.

    Parameters
    ----------
    port : int
        The broker's.
    """

    def __init__(self, port: int) -> None:
        self.port = ports.free_port()
        self._to = port
        self._carriers: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def mend(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    async def cut(self) -> None:
        """Break all connections, and let nobody make another."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for carrier in self._carriers:
            carrier.cancel()
        await asyncio.gather(*self._carriers, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry what a connection says, unless the link was cut while it was made."""
        if self._server is None:
            writer.transport.abort()
            return
        carrier = asyncio.create_task(self._join(reader, writer), name="link")
        self._carriers.add(carrier)
        carrier.add_done_callback(self._carriers.discard)
        carrier.add_done_callback(lambda _: writer.close())  # also where it was cancelled before it began

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry both ways until either side goes."""
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            return  # the broker is away
        there = asyncio.create_task(_carry(reader, far_writer), name="link.there")
        back = asyncio.create_task(_carry(far_reader, writer), name="link.back")
        try:
            await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
        finally:
            far_writer.close()  # first: what is awaited may be cancelled
            for way in (there, back):
                way.cancel()
            await asyncio.gather(there, back, return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
