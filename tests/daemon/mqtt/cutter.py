"""A wire between clients and a broker that is cut at the worst moment."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, Self

if TYPE_CHECKING:
    from types import TracebackType

Way = Literal["to broker", "from broker"]


class Cutter:
    """Passes connections on to a broker, and cuts one where it is told to.

    Parameters
    ----------
    port : int
        The broker's.

    Attributes
    ----------
    swallows : bool
        Whether what comes from the broker is kept from the clients.
    """

    def __init__(self, port: int) -> None:
        self._broker_port = port
        self.swallows = False
        self._cut: tuple[bytes, Way] | None = None
        self._carriers: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """Where clients connect."""
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def cut_at(self, text: bytes, way: Way) -> None:
        """Cut the connection that next carries a text: once the broker has it, or before the client does."""
        self._cut = text, way

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.close()
        for carrier in self._carriers:
            carrier.cancel()
        await asyncio.gather(*self._carriers, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carriers.add(task)
        broker_reader, broker_writer = await asyncio.open_connection("127.0.0.1", self._broker_port)
        cut = asyncio.Event()
        try:
            async with asyncio.TaskGroup() as ways:
                there = ways.create_task(self._carry(reader, broker_writer, "to broker", cut))
                back = ways.create_task(self._carry(broker_reader, writer, "from broker", cut))
                ended = ways.create_task(cut.wait())
                await asyncio.wait((there, back, ended), return_when=asyncio.FIRST_COMPLETED)
                for way in (there, back, ended):
                    way.cancel()
        finally:
            self._carriers.discard(task)
            writer.close()
            broker_writer.close()

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way, cut: asyncio.Event
    ) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                if self.swallows and way == "from broker":
                    continue
                if self._cut is not None and self._cut[1] == way and self._cut[0] in data:
                    self._cut = None
                    if way == "to broker":
                        writer.write(data)
                        await writer.drain()
                    cut.set()
                    return
                writer.write(data)
                await writer.drain()
