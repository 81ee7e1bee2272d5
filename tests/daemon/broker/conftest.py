"""An embedded broker, and clients of it on raw sockets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.broker import EmbeddedBroker
from tests.daemon.broker.wire import Wire, connack, connect, suback, subscribe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Any


class Wires:
    """Opens connections to one broker, and closes them all."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._opened: list[Wire] = []

    async def open(self, *, reads_little: bool = False) -> Wire:
        wire = await Wire.open(self.port, reads_little=reads_little)
        self._opened.append(wire)
        return wire

    async def connected(
        self, client_id: str = "c", *, present: bool = False, reads_little: bool = False, **options: Any
    ) -> Wire:
        wire = await self.open(reads_little=reads_little)
        wire.send(connect(client_id, **options))
        assert await wire.next() == connack(present=present)
        return wire

    async def subscribed(self, filter_: str, client_id: str = "c", *, qos: int = 0, **options: Any) -> Wire:
        """Connect a client that subscribes to a filter."""
        wire = await self.connected(client_id, **options)
        wire.send(subscribe(filter_, qos=qos))
        assert await wire.next() == suback(qos)
        return wire

    async def close(self) -> None:
        for wire in self._opened:
            wire.vanish()
        for _ in range(3):  # asyncio closes a socket in the round after the next
            await asyncio.sleep(0)


@pytest.fixture
async def wires() -> AsyncIterator[Wires]:
    async with EmbeddedBroker("127.0.0.1:0") as broker:
        wires = Wires(broker.port)
        yield wires
        await wires.close()
