"""MQTT over WebSockets: where they are, and what is logged of a place where there is none."""

from __future__ import annotations

import asyncio

import pytest

from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.client import MqttConnection, NotConnected


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
