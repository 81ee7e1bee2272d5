"""What `motiond status` hears of all robots at a broker, and how long it listens."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.client.connection import NoAnswer
from motiond.daemon.client.session import SILENCE_S
from motiond.daemon.client.status import overview, robots_at
from motiond.daemon.mqtt.client import MqttConnection
from tests.daemon.told import status
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from tests.daemon.conftest import AnyBroker, Robots


async def keep(broker: AnyBroker, *robots: str) -> None:
    """Let the broker retain what a daemon that is gone has told of robots, long lists of motions among it."""
    motions = [{"name": f"motion {number}", "ok": True} for number in range(50)]
    told: dict[str, Any] = {
        "availability": {"state": "offline", "bridge": "gone"},
        "motions": {"motions": motions, "more": 0},
    }
    async with MqttConnection(broker.settings) as client:
        for robot in robots:
            for subject, data in told.items():
                topic = f"motiond/{robot}/{subject}"
                await client.publish(topic, orjson.dumps(data), qos=1, retain=True)


@pytest.mark.usefixtures("bridge")
async def test_once_a_robot_has_answered_nobody_waits_for_silence(broker: AnyBroker, robots: Robots) -> None:
    async with asyncio.timeout(SILENCE_S):
        rows = await overview(broker.settings)
        assert await overview(broker.settings, "hand") == [row for row in rows if row["robot"] == "hand"]
        assert await robots_at(broker.settings) == ["arm", "hand"]
    assert [row["robot"] for row in rows] == ["arm", "hand"]
    assert all(row["state"] == status()["state"] for row in rows)
    assert set(robots.verbs()) == {"status"}


@pytest.mark.usefixtures("bridge")
async def test_all_that_is_retained_comes_before_the_answer_however_much_it_is(broker: AnyBroker) -> None:
    gone = [f"gone{number:02}" for number in range(60)]  # more than are on their way at once
    await keep(broker, *gone)
    async with asyncio.timeout(SILENCE_S):
        assert await robots_at(broker.settings) == ["arm", *gone, "hand"]


async def test_a_robot_that_does_not_answer_soon_hides_no_other(broker: AnyBroker) -> None:
    await keep(broker, "one", "two")
    async with MqttConnection(broker.settings) as client:
        hung = orjson.dumps({"state": "online", "bridge": "hung"})
        await client.publish("motiond/one/availability", hung, qos=1, retain=True)
    async with asyncio.timeout(PATIENCE_S):
        assert await robots_at(broker.settings) == ["one", "two"]


async def test_where_all_daemons_are_gone_silence_ends_it(broker: AnyBroker) -> None:
    await keep(broker, "one", "two")
    async with asyncio.timeout(PATIENCE_S):
        assert await robots_at(broker.settings) == ["one", "two"]


async def test_a_broker_where_nobody_has_been_is_told_as_such(broker: AnyBroker) -> None:
    with pytest.raises(NoAnswer) as caught:
        await overview(broker.settings)
    assert str(caught.value) == "no daemon has been at this broker; start it with `motiond run`"


@pytest.mark.usefixtures("bridge")
async def test_other_work_is_begun_once_when_a_robot_has_answered(broker: AnyBroker) -> None:
    begun: list[str] = []
    rows = await overview(broker.settings, meanwhile=lambda: begun.append("tables"))
    assert ([row["robot"] for row in rows], begun) == (["arm", "hand"], ["tables"])


async def test_no_other_work_is_begun_where_no_robot_answers(broker: AnyBroker) -> None:
    await keep(broker, "one")
    begun: list[str] = []
    await overview(broker.settings, meanwhile=lambda: begun.append("tables"))
    assert begun == []
