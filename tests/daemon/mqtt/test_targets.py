"""Targets over MQTT: passed on without an answer, refused as other requests are, and never before a stop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import orjson
import pytest

from motiond.daemon.mqtt.bridge.targets import ANSWERED_BURST, BURST, RATE_HZ
from motiond.daemon.mqtt.client import MqttConnection
from tests.daemon.conftest import MqttObserver, WatchedBridge, comes_true, data_of, running

if TYPE_CHECKING:
    from motiond.daemon.api import ReportHub
    from tests.daemon.conftest import AnyBroker, Robots

TARGET = "motiond/arm/request/follow/target"
HANDS = b'{"goal_id":"g2","positions":[0.9]}'
RESPONSE = "motiond/arm/response/follow/target"


@pytest.fixture(autouse=True)
def followed(robots: Robots) -> None:
    robots.following["g1"] = "arm"


def target(value: float, **keys: object) -> bytes:
    return orjson.dumps({"goal_id": "g1", "positions": [value], **keys})


def values(robots: Robots) -> list[float]:
    return [keys["positions"][0] for _, keys in robots.targets]


@pytest.mark.usefixtures("bridge")
async def test_targets_are_passed_on_in_their_order_and_not_answered(
    observer: MqttObserver, robots: Robots
) -> None:
    for value in (0.1, 0.2, 0.3):
        await observer.client.publish(TARGET, target(value), 0)
    chunk = {"goal_id": "g1", "positions": [[0.4], [0.5]], "period_s": 0.02}
    await observer.client.publish("motiond/arm/request/follow/chunk", orjson.dumps(chunk), 0)
    await observer.ask("motiond/arm/request/status", b"")
    assert values(robots) == [0.1, 0.2, 0.3, [0.4]]
    assert robots.targets[-1] == ("arm", chunk)
    assert [topic for topic in topics(observer) if "follow" in topic and "response" in topic] == []


def topics(observer: MqttObserver) -> list[str]:
    return [message.topic.value for message in observer.received]


@pytest.mark.usefixtures("bridge")
async def test_a_target_with_a_transaction_is_answered(observer: MqttObserver, robots: Robots) -> None:
    robots.answers["follow/target"] = {"goal_id": "g1"}
    answer = await observer.ask(TARGET, target(0.1, transaction="t1"))
    assert answer == {"status": "ok", "data": {"goal_id": "g1"}, "transaction": "t1"}
    assert robots.verbs() == ["follow/target"]


@pytest.mark.usefixtures("bridge")
async def test_a_target_that_is_refused_is_answered_whether_it_has_a_transaction_or_not(
    observer: MqttObserver, robots: Robots
) -> None:
    answer = await observer.ask(TARGET, b'{"goal_id":"g1","positions":["far"]}')
    said = "arm/follow/target: 'positions[0]' is 'far'; it must be a valid number; correct it"
    assert answer["error"] == said
    answer = await observer.ask(TARGET, orjson.dumps({"goal_id": "g0", "positions": [0.1]}))
    assert answer["code"] == "UNKNOWN_GOAL"
    assert robots.targets == []


async def test_a_retained_target_is_refused_on_every_connection(
    broker: AnyBroker, robots: Robots, hub: ReportHub, observer: MqttObserver
) -> None:
    await observer.client.publish(TARGET, target(0.1), 1, True)
    for _ in range(2):
        async with running(WatchedBridge(broker.settings, robots, hub)):
            answer = data_of(await observer.until(RESPONSE))
            assert answer["error"] == (
                "arm/follow/target: retained; it would act at every reconnect; "
                "clear it with an empty retained message and send it without the flag"
            )
    assert robots.targets == []


@pytest.mark.usefixtures("bridge")
async def test_targets_pass_requests_that_wait_for_an_answer(observer: MqttObserver, robots: Robots) -> None:
    robots.gate.clear()
    for number in range(100):  # more than are served at once
        play = b'{"motion":"wave","transaction":"t%d"}' % number
        await observer.client.publish("motiond/arm/request/play", play, 0)
    await observer.client.publish(TARGET, target(0.1), 0)
    await comes_true("the target is passed on", lambda: values(robots), lambda seen: seen == [0.1])
    robots.gate.set()


@pytest.mark.usefixtures("bridge")
async def test_a_flood_of_targets_holds_up_neither_a_stop_nor_other_requests(
    broker: AnyBroker, robots: Robots
) -> None:
    robots.following["g2"] = "hand"
    now = asyncio.get_running_loop().time
    async with MqttConnection(broker.settings) as flood, MqttConnection(broker.settings) as client:
        for topic in ("motiond/arm/response/stop", "motiond/hand/response/status"):
            await client.subscribe(topic, qos=1)
        observer, began_s = MqttObserver(client), now()
        for _ in range(3000):
            await flood.publish(TARGET, target(0.1), 0)
        await client.publish("motiond/hand/request/follow/target", HANDS, 0)
        assert (await observer.ask("motiond/arm/request/stop", b""))["status"] == "ok"
        assert len(robots.targets) <= BURST + RATE_HZ * (now() - began_s) + 1
        assert (await observer.ask("motiond/hand/request/status", b""))["status"] == "ok"
    assert robots.verbs() == ["stop", "status"]
    assert ("hand", {"goal_id": "g2", "positions": [0.9]}) in robots.targets
    assert len(robots.targets) <= BURST + RATE_HZ * (now() - began_s) + 1


@pytest.mark.usefixtures("bridge")
async def test_what_comes_too_fast_is_answered_and_logged_a_few_times(
    observer: MqttObserver, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(500):
        await observer.client.publish(TARGET, target(0.1), 0)
    answer = data_of(await observer.until(RESPONSE))
    line = "arm/follow/target: too many targets; a robot takes 500 a second over MQTT; send fewer"
    assert (answer["code"], answer["error"]) == ("BUSY", line)
    await observer.ask("motiond/arm/request/status", b"")
    assert len(observer.on(RESPONSE)) < ANSWERED_BURST + 5
    assert [message for message in caplog.messages if message == line] == [line] * 10
