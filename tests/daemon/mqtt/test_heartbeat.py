"""The daemon hears itself: which beats it sends, and when an echo is missing."""

from __future__ import annotations

import asyncio

import pytest

import motiond.daemon.mqtt.bridge.heartbeat
from motiond.daemon.mqtt.bridge.heartbeat import UNANSWERED, Heartbeat
from motiond.daemon.mqtt.client import ConnectionUseless

ALLOWED_S = 0.01 * (UNANSWERED + 1)


async def test_an_echo_that_comes_while_another_beat_is_sent_is_taken() -> None:
    heartbeat = Heartbeat("beats", ["left", "right"], ALLOWED_S)
    sent: list[str] = []

    async def publish(topic: str, _payload: bytes) -> None:
        sent.append(topic)
        if sent.count("left") == 2:
            heartbeat.hear("right")

    with pytest.raises(ConnectionUseless, match="'beats' has not come back"):
        await asyncio.wait_for(heartbeat.run(publish), 60.0)
    assert sent == [*["beats", "left", "right"], *(UNANSWERED - 1) * ["beats", "left"]]


async def test_it_is_heard_once_a_beat_has_come_back_on_each_topic() -> None:
    heartbeat = Heartbeat("beats", ["left"], ALLOWED_S)
    heartbeat.hear("beats")
    assert not heartbeat.heard.is_set()
    heartbeat.hear("left")
    assert heartbeat.heard.is_set()


async def test_a_topic_that_stays_silent_is_named_though_others_come_back() -> None:
    heartbeat = Heartbeat("beats", ["left"], ALLOWED_S)

    async def publish(topic: str, _payload: bytes) -> None:
        if topic == "beats":
            heartbeat.hear(topic)

    with pytest.raises(ConnectionUseless) as caught:
        await asyncio.wait_for(heartbeat.run(publish), 60.0)
    assert str(caught.value) == (
        "what is published on 'left' has not come back for 0.05 s; permit it in the broker's access list"
    )
    assert not heartbeat.heard.is_set()


async def test_topics_that_come_are_tried_at_once_and_the_first_silent_one_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(motiond.daemon.mqtt.bridge.heartbeat, "TRIED_S", 0.1)
    heartbeat = Heartbeat("beats", [], 3600.0)
    swallowed: set[str] = set()

    async def publish(topic: str, _payload: bytes) -> None:
        if topic not in swallowed:
            heartbeat.hear(topic)

    await heartbeat.try_topics(["left"], publish)
    for topic, hint in (("right", "permit it in the broker's access list"), ("beats", "the broker hangs")):
        swallowed.add(topic)
        with pytest.raises(ConnectionUseless) as caught:
            await heartbeat.try_topics([] if topic == "beats" else [topic], publish)
        assert str(caught.value) == f"what is published on '{topic}' has not come back for 0.1 s; {hint}"
