from __future__ import annotations

import asyncio

import pytest

from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.broker import BrokerError, EmbeddedBroker
from motiond.daemon.mqtt.connection import make_client
from tests.daemon.conftest import PATIENCE_S


async def test_a_port_in_use_is_one_clear_error(caplog: pytest.LogCaptureFixture) -> None:
    async with EmbeddedBroker("127.0.0.1:0") as broker:
        with pytest.raises(BrokerError) as caught:
            await EmbeddedBroker(f"127.0.0.1:{broker.port}").__aenter__()
        assert str(caught.value) == (
            f"127.0.0.1:{broker.port}: cannot listen; address already in use; "
            "stop the other broker or set mqtt.listen"
        )
    assert caplog.text == ""


async def test_a_host_that_is_not_here_is_one_clear_error() -> None:
    with pytest.raises(BrokerError) as caught:
        await EmbeddedBroker("192.0.2.1:0").__aenter__()
    assert str(caught.value) == (
        "192.0.2.1:0: cannot listen; cannot assign requested address; "
        "stop the other broker or set mqtt.listen"
    )


async def test_it_ends_with_clients_connected_and_can_start_again_at_once(free_port: int) -> None:
    settings = MqttSettings(listen=f"127.0.0.1:{free_port}")
    for _ in range(3):
        async with EmbeddedBroker(settings.listen):
            async with make_client(settings) as client:
                await client.subscribe("#", qos=1)
                await client.publish("a", b"1", qos=1, retain=True)
                message = await asyncio.wait_for(anext(client.messages), PATIENCE_S)
                assert (message.topic.value, message.payload) == ("a", b"1")
            idle = await asyncio.open_connection("127.0.0.1", free_port)
        assert await asyncio.wait_for(idle[0].read(), PATIENCE_S) == b""
        idle[1].close()
        await asyncio.wait_for(idle[1].wait_closed(), PATIENCE_S)


async def test_garbage_does_not_end_it(free_port: int) -> None:
    settings = MqttSettings(listen=f"127.0.0.1:{free_port}")
    async with EmbeddedBroker(settings.listen):
        for garbage in (
            b"GET / HTTP/1.1\r\n\r\n",
            b"\x10\xff\xff\xff\x7f",
            b"\x00" * 100,
            b"\x10\x02\x00\x04",
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", free_port)
            writer.write(garbage)
            writer.write_eof()
            await asyncio.wait_for(reader.read(), PATIENCE_S)
            writer.close()
            await asyncio.wait_for(writer.wait_closed(), PATIENCE_S)
        async with make_client(settings) as client:
            await client.publish("a", b"1", qos=1)


CONNECT = b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01c"
CONNACK = b"\x20\x02\x00\x00"
PUBLISH = b"\x30\x04\x00\x01ab"
DISCONNECT = b"\xe0\x00"


async def test_who_subscribes_to_nothing_is_told_nothing_and_may_publish_and_go(free_port: int) -> None:
    settings = MqttSettings(listen=f"127.0.0.1:{free_port}")
    async with EmbeddedBroker(settings.listen), make_client(settings) as client:
        await client.publish("kept", b"1", qos=1, retain=True)
        await client.subscribe("#", qos=1)
        assert (await asyncio.wait_for(anext(client.messages), PATIENCE_S)).topic.value == "kept"
        reader, writer = await asyncio.open_connection("127.0.0.1", free_port)
        writer.write(CONNECT)
        assert await asyncio.wait_for(reader.readexactly(len(CONNACK)), PATIENCE_S) == CONNACK
        writer.write(PUBLISH + DISCONNECT)
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        writer.close()
        message = await asyncio.wait_for(anext(client.messages), PATIENCE_S)
    assert (message.topic.value, message.payload) == ("a", b"b")
