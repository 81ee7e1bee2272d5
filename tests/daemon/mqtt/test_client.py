"""The client of a broker, once it is connected: what comes late, and what it leaves in the event loop."""

from __future__ import annotations

import asyncio
import gc
import selectors
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiomqtt
import pytest

from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.client import MqttConnection, NotConnected, reason_of
from motiond.daemon.mqtt.client.connection import MOST_SENT
from tests.daemon.broker.wire import UNSUBACK, Wire, ack, connack, publish, suback
from tests.daemon.conftest import Embedded
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


SOON_S = 0.05
TOPIC = "motiond/arm/state"
CONNACK_5, TAKEN_OVER_5 = b"\x20\x03\x00\x00\x00", b"\xe0\x02\x8e\x00"  # MQTT 5.0, 3.2 and 3.14


@asynccontextmanager
async def at_scripted_broker() -> AsyncIterator[tuple[MqttConnection, Wire]]:
    """Give a client, and the other end of its connection."""
    wires: asyncio.Queue[Wire] = asyncio.Queue()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = Wire(reader, writer)
        await wire.next()
        wire.send(connack())
        wires.put_nowait(wire)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = MqttSettings(broker=f"mqtt://127.0.0.1:{port}", protocol="3.1.1")
    async with MqttConnection(settings) as client:
        wire = await wires.get()
        yield client, wire
    while await wire.next():  # what the client says to the end
        pass
    wire.writer.close()
    await wire.writer.wait_closed()
    server.close()


@pytest.mark.parametrize(
    ("ask", "late"),
    [
        (lambda client: client.subscribe([(TOPIC, 0)], timeout=SOON_S), suback(0)),
        (lambda client: client.unsubscribe(TOPIC, timeout=SOON_S), ack(UNSUBACK, 1)),
    ],
)
async def test_what_is_granted_too_late_is_no_trouble(
    ask: Callable[[Any], Awaitable[Any]], late: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with at_scripted_broker() as (client, wire):
        with pytest.raises(aiomqtt.MqttError):
            await ask(client)
        wire.send(late, publish(TOPIC, b"next"))
        async with asyncio.timeout(PATIENCE_S):
            assert (await anext(client.messages)).payload == b"next"
    assert caplog.messages == []


async def test_a_connection_that_is_taken_over_as_soon_as_it_is_made_says_so_and_leaves_no_complaint(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def take_over(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await Wire(reader, writer).next()
        writer.write(CONNACK_5 + TAKEN_OVER_5)
        writer.close()

    server = await asyncio.start_server(take_over, "127.0.0.1", 0)
    settings = MqttSettings(broker=f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    with pytest.raises(aiomqtt.MqttError) as caught:
        async with asyncio.timeout(PATIENCE_S), MqttConnection(settings, "motiond-d1") as client:
            await client.broken()
    server.close()
    assert reason_of(caught.value) == (
        "another client has connected under the same name; give each daemon an `id` of its own"
    )
    gc.collect()
    assert caplog.messages == []


async def test_what_is_sent_as_soon_as_it_is_connected_leaves_nothing_to_be_written(free_port: int) -> None:
    """An event loop that waits to write what there is not never sleeps."""
    broker = Embedded(free_port)
    await broker.start()
    client = MqttConnection(broker.settings, "c", session_s=60)
    for _ in range(MOST_SENT + 1):
        client.hand_over(TOPIC, b"kept", 1)
    async with client, asyncio.timeout(PATIENCE_S):
        await client.all_delivered()
        loop: Any = asyncio.get_running_loop()
        assert loop._selector.get_key(client._paho.socket()).events == selectors.EVENT_READ
    await broker.kill()


async def test_nothing_of_an_earlier_process_comes_also_where_the_first_try_to_connect_fails(
    free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, heard = Embedded(free_port), asyncio.Queue[bytes]()
    await broker.start()
    async with MqttConnection(broker.settings, "c", session_s=60) as earlier:
        await earlier.subscribe(TOPIC, 1)
    async with MqttConnection(broker.settings, "other") as other:
        await other.publish(TOPIC, b"old", 1)
        client = MqttConnection(
            broker.settings, "c", session_s=60, receive=lambda message: heard.put_nowait(message.payload)
        )
        with monkeypatch.context() as patched:
            patched.setattr(client, "_dial", not_yet)
            with pytest.raises(NotConnected):
                await client.__aenter__()
        async with client, asyncio.timeout(PATIENCE_S):
            await client.subscribe(TOPIC, 1)
            await other.publish(TOPIC, b"new", 1)
            assert await heard.get() == b"new"
    await broker.kill()


async def not_yet() -> None:
    """Fail, as while the broker is not there yet."""
    raise NotConnected("not there yet")
