"""What must hold for the embedded broker and whatever bytes a client sends, without a socket."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from motiond.daemon.broker.connection import Connection, ConnectionRegistry
from motiond.daemon.broker.limits import Limits
from motiond.daemon.broker.packets import PacketError, frame_at
from motiond.daemon.broker.router import Router
from motiond.daemon.log import RateLimitedLog
from tests.daemon.broker.wire import (
    DISCONNECT,
    PINGREQ,
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    Will,
    ack,
    connect,
    publish,
    subscribe,
    unsubscribe,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_ROUNDS = 100_000
READ_BYTES = 65_536


class Transport(asyncio.Transport):
    """Takes what is written, and says what is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.closed = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def setsockopt(self, *option: Any) -> None: ...

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ARG002 # as asyncio has it
        return self if name == "socket" else ("127.0.0.1", 1)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        self.closed = True

    abort = close


class BrokerFuzz:
    """The embedded broker as a thing to be fuzzed, as the readers of formats are."""

    name = "mqtt"
    seeds = (
        connect(will=Will("w", b"x", 1, retain=True), username="u", password=b"p") + PINGREQ + DISCONNECT,
        connect(clean=False) + subscribe("#", qos=2) + publish("a/b", b"1", 1, retain=True) + ack(PUBACK, 1),
        connect() + subscribe("a/+", "$x/#", qos=1) + publish("a/b", b"1") + unsubscribe("a/+"),
        connect() + subscribe("a", qos=2) + publish("a", b"1", 2) + ack(PUBREC, 1) + ack(PUBCOMP, 1),
        connect() + publish("a", b"1", 2, again=True) + ack(PUBREL, 1) + publish("a", retain=True),
    )
    words = (b"MQTT", b"a/b", b"#", b"+", b"/", b"$x")

    def allowance(self, data: bytes) -> int:
        """Return the memory that serving some bytes may take, in bytes."""
        return 2_000_000 + 400 * len(data)

    def check(self, data: bytes) -> None:
        """Serve bytes, cut in pieces and whole; nothing may fail but the connection."""
        asyncio.run(self._serve([data]))
        asyncio.run(self._serve([data[:7], data[7:20], data[20:]]))

    async def _serve(self, pieces: Sequence[bytes]) -> None:
        rate_limited = RateLimitedLog()
        router = Router(Limits(), rate_limited)
        registry = ConnectionRegistry(Limits(), None)
        transports = []
        for piece in ([connect("witness", clean=False), subscribe("#", qos=2)], pieces):
            transport = Transport()
            connection = Connection(router, registry)
            connection.connection_made(transport)
            transports.append(transport)
            for data in piece:
                await feed(connection, data)
        connection.connection_lost(None)
        await asyncio.sleep(0)
        for transport in transports:
            check_written(transport.written)
        assert not transports[0].closed, "who listens was disconnected for what another sent"
        assert router.memory.held >= 0
        router.begin("witness", clean=True)
        assert len(registry.connections) == 1


async def feed(connection: Connection, data: bytes) -> None:
    """Give a connection bytes as the event loop would."""
    for begin in range(0, len(data), READ_BYTES):
        piece = data[begin : begin + READ_BYTES]
        connection.get_buffer(-1)[: len(piece)] = piece
        connection.buffer_updated(len(piece))
        for _ in range(MOST_ROUNDS):
            if not connection.is_busy:
                break
            await asyncio.sleep(0)


def check_written(written: bytearray) -> None:
    """Check that what was sent is a row of whole packets."""
    at = 0
    while at < len(written):
        first = written[at]
        written[at] = 0x30  # that the length is read alike is all that matters
        try:
            frame = frame_at(written, at)
        except PacketError as error:
            raise AssertionError(f"0x{first:02x} at {at}: {error}") from error
        assert frame is not None
        assert frame.end <= len(written)
        at = frame.end


class _Fails(logging.Handler):
    """Makes what the broker logs as a failure of its own a failure of the check."""

    def emit(self, record: logging.LogRecord) -> None:
        raise AssertionError(record.getMessage()) from (record.exc_info[1] if record.exc_info else None)


logging.getLogger("motiond.daemon.broker.connection").addHandler(_Fails(logging.ERROR))
