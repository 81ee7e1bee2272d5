"""Which heartbeats the daemon sends to itself, and when one is missing."""

from __future__ import annotations

import asyncio

import pytest

from motiond.daemon.mqtt.bridge.heartbeat import UNANSWERED, Heartbeat
from motiond.daemon.mqtt.client import ConnectionUseless

ALLOWED_S = 0.01 * (UNANSWERED + 1)


async def test_an_echo_that_comes_while_another_beat_is_sent_is_taken() -> None:
    heartbeat = Heartbeat("beats", ["left", "right"], ALLOWED_S)
    sent: list[str] = []

    async def publish(topic: str, _payload: bytes) -> None:
        sent.append(topic)
        if sent.count("left") == 2:
            heartbeat.receive("right")

    with pytest.raises(ConnectionUseless, match="'beats' has not come back"):
        await asyncio.wait_for(heartbeat.run(publish), 60.0)
    assert sent == [*["beats", "left", "right"], *(UNANSWERED - 1) * ["beats", "left"]]


async def test_it_is_complete_once_a_beat_has_come_back_on_each_topic() -> None:
    heartbeat = Heartbeat("beats", ["left"], ALLOWED_S)
    heartbeat.receive("beats")
    assert not heartbeat.returned.is_set()
    heartbeat.receive("left")
    assert heartbeat.returned.is_set()


async def test_a_topic_that_stays_silent_is_named_though_others_come_back() -> None:
    heartbeat = Heartbeat("beats", ["left"], ALLOWED_S)

    async def publish(topic: str, _payload: bytes) -> None:
        if topic == "beats":
            heartbeat.receive(topic)

    with pytest.raises(ConnectionUseless) as caught:
        await asyncio.wait_for(heartbeat.run(publish), 60.0)
    assert str(caught.value) == (
        "what is published on 'left' has not come back for 0.05 s; permit it in the broker's access list"
    )
    assert not heartbeat.returned.is_set()
