"""Reaching a broker: addresses, logins, and what comes late or not at all."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import selectors
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import aiomqtt
import pytest

from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.client import MqttConnection, NotConnected, address_of, reason_of
from motiond.daemon.mqtt.client.connection import MOST_SENT
from tests.daemon.broker.wire import UNSUBACK, Wire, ack, connack, publish, suback
from tests.daemon.conftest import Embedded
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from tests.daemon.mqtt.stand_in import StandIn
    from tests.virtual import VirtualLoop


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        ({}, "mqtt://127.0.0.1:1883"),
        ({"listen": "0.0.0.0:1884"}, "mqtt://127.0.0.1:1884"),
        ({"listen": "192.0.2.7:1884"}, "mqtt://192.0.2.7:1884"),
        ({"broker": "mqtt://broker.example"}, "mqtt://broker.example:1883"),
        ({"broker": "mqtts://me:secret@broker.example"}, "mqtts://broker.example:8883"),
        ({"broker": "mqtt://[2001:db8::1]:1885"}, "mqtt://[2001:db8::1]:1885"),
        ({"broker": "ws://[::1]:1884/mqtt"}, "ws://[::1]:1884/mqtt"),
        ({"listen": "[::1]:1883"}, "mqtt://[::1]:1883"),
        ({"listen": "[::]:1883"}, "mqtt://[::1]:1883"),
        ({"listen": "[fe80::1%lo]:1883"}, "mqtt://[fe80::1%lo]:1883"),
    ],
)
def test_an_address_is_shown_without_its_login(settings: dict[str, Any], address: str) -> None:
    assert str(address_of(MqttSettings(**settings))) == address


async def says_something(settings: MqttSettings) -> None:
    async with MqttConnection(settings) as client:
        await client.publish("motiond/test", b"{}", qos=1)


async def test_a_broker_that_hangs_up_first_leaves_no_complaint(
    mosquitto: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    async with MqttConnection(mosquitto.settings) as client:
        await client.subscribe("motiond/#")
        await mosquitto.kill()
        hung_up, _ = await asyncio.wait((client._lost,), timeout=PATIENCE_S)
        assert hung_up
    del client
    gc.collect()
    assert "never retrieved" not in caplog.text


async def test_who_gives_up_before_a_thread_has_begun_to_dial_waits_for_none(mosquitto: StandIn) -> None:
    loop = asyncio.get_running_loop()
    client, began_s = MqttConnection(mosquitto.settings), loop.time()
    connecting = asyncio.create_task(client.__aenter__())
    await asyncio.sleep(0)  # it has asked for a thread
    connecting.cancel()
    await asyncio.wait((connecting,))
    assert (connecting.cancelled(), loop.time()) == (True, began_s)


async def test_a_cancellation_that_comes_with_the_broker_s_answer_is_heeded(
    mosquitto: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with MqttConnection(mosquitto.settings) as client:
        subscribing = asyncio.create_task(client.subscribe("motiond/#"), name="subscribes")
        take = client._on_acknowledged

        def take_and_cancel(*answer: Any) -> None:
            take(*answer)
            subscribing.cancel()

        monkeypatch.setattr(client._paho, "on_subscribe", take_and_cancel)
        await asyncio.wait((subscribing,), timeout=PATIENCE_S)
        assert subscribing.cancelled()


async def test_an_answer_that_came_while_the_machine_stood_still_is_not_missed(mosquitto: StandIn) -> None:
    async with MqttConnection(mosquitto.settings) as client:
        mosquitto.freeze()
        publishing = asyncio.create_task(client.publish("motiond/test", b"{}", qos=1, timeout=1.0))
        for _ in range(5):  # it is sent at once
            await asyncio.sleep(0)
        mosquitto.thaw()
        cast("VirtualLoop", asyncio.get_running_loop()).stand_still(4.0)
        await publishing


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda file: file.write_bytes(b"secr\xff\n"), "the password is not UTF-8; save it as UTF-8"),
        (os.mkfifo, "no such file; write the password there"),
        (lambda _: None, "no such file; write the password there"),
    ],
)
async def test_a_password_file_that_cannot_be_used_is_one_clear_error(
    tmp_path: Path, make: Callable[[Path], object], reason: str
) -> None:
    file = tmp_path / "password"
    make(file)
    settings = MqttSettings(broker="mqtt://127.0.0.1:9", username="arm", password_file=file)
    with pytest.raises(NotConnected, match=f"^{re.escape(f'{file}: {reason}')}$"):
        await says_something(settings)


async def test_what_fails_in_taking_a_message_does_not_end_the_connection(
    mosquitto: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    taken: list[object] = []
    third = asyncio.Event()

    def take(message: aiomqtt.Message) -> None:
        taken.append(message.payload)
        if len(taken) == 3:
            third.set()
        if len(taken) == 2:
            raise ZeroDivisionError

    async with MqttConnection(mosquitto.settings, receive=take) as client:
        await client.subscribe("numbers", qos=1)
        for number in range(3):
            await client.publish("numbers", str(number).encode(), qos=1)
        await asyncio.wait_for(third.wait(), PATIENCE_S)
    assert taken == [b"0", b"1", b"2"]
    assert caplog.messages == ["a message of 1 bytes was left out"]


# -- what comes late, and what is left in the event loop ----------------------------------------------------

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
    while await wire.next():  # what the client sends to the end
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
    broker, received = Embedded(free_port), asyncio.Queue[bytes]()
    await broker.start()
    async with MqttConnection(broker.settings, "c", session_s=60) as earlier:
        await earlier.subscribe(TOPIC, 1)
    async with MqttConnection(broker.settings, "other") as other:
        await other.publish(TOPIC, b"old", 1)
        client = MqttConnection(
            broker.settings, "c", session_s=60, receive=lambda message: received.put_nowait(message.payload)
        )
        with monkeypatch.context() as patched:
            patched.setattr(client, "_dial", not_yet)
            with pytest.raises(NotConnected):
                await client.__aenter__()
        async with client, asyncio.timeout(PATIENCE_S):
            await client.subscribe(TOPIC, 1)
            await other.publish(TOPIC, b"new", 1)
            assert await received.get() == b"new"
    await broker.kill()


async def not_yet() -> None:
    """Fail, as while the broker is not there yet."""
    raise NotConnected("not there yet")


# -- WebSockets ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 404 Not Found\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept:x\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: \xff\r\n\r\n",
        b"",
    ],
)
async def test_whatever_answers_in_place_of_a_web_socket_is_one_clear_error_each_time(
    answer: bytes,
) -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(reply, "127.0.0.1", 0)
    settings = MqttSettings(broker=f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/mqtt")
    client = MqttConnection(settings)
    async with server:
        for _ in range(2):
            with pytest.raises(NotConnected) as caught:
                await client.__aenter__()
            assert str(caught.value) == (
                "nobody speaks WebSocket there, or not on this path; "
                "correct port and path in mqtt.broker, or write mqtt://"
            )
