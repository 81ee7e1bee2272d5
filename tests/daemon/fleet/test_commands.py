"""Commands to whole groups, before stand-ins for its robots."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from motiond.client import connect
from motiond.daemon.api import VERBS, ReportHub
from motiond.daemon.config.client import brokers_of
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.fleet.coordinator.commands import command
from motiond.daemon.fleet.coordinator.conversation import MORE_S, Conversation
from motiond.daemon.fleet.gateway.gateway import Gateway
from motiond.daemon.mqtt.client import MqttConnection, at_broker
from tests.daemon.conftest import Embedded
from tests.daemon.fleet.members import Members, members, until
from tests.virtual import NETWORK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


STOPPED = {"state": "stopping", "goal_id": "g"}


@pytest.fixture
async def choir(broker: Embedded) -> AsyncIterator[Members]:
    async with members(broker.settings) as choir:
        for name in ("left", "right"):
            choir.add(name, "choir")
        choir.add("drum", "band")
        await choir.settle()
        yield choir


async def test_all_of_a_group_stop_and_no_other(broker: Embedded, choir: Members) -> None:
    gathered = await command(broker.settings, "choir", "stop")
    assert [one.payload() for one in gathered] == [
        {"robot": "left", "ok": True, "data": STOPPED},
        {"robot": "right", "ok": True, "data": STOPPED},
    ]
    assert {robot for robot, _, _ in choir.asked} == {"left", "right"}


async def test_it_is_over_as_soon_as_the_broker_has_delivered_what_it_retains(
    broker: Embedded, choir: Members
) -> None:
    del choir
    async with asyncio.timeout(2 * MORE_S):
        await command(broker.settings, "choir", "stop")


async def test_a_stop_goes_out_before_it_is_known_who_else_is_a_member(
    broker: Embedded, choir: Members
) -> None:
    stopping = asyncio.create_task(command(broker.settings, "choir", "stop"))
    async with asyncio.timeout(MORE_S):
        await until(lambda: choir.asked_for("stop") == {"left", "right"})
        choir.add("late", "choir")
        await until(lambda: "stop" in choir.verbs("late"))
    assert [one.robot for one in await stopping] == ["late", "left", "right"]


@pytest.fixture
async def absent(choir: Members) -> str:
    """Let `right` be reported offline, and not answer a stop."""
    choir.report("right", "availability", {"state": "offline", "bridge": "d1"}, retain=True)
    await choir.settle()
    choir.robots["right"].silent_at.add("stop")
    return "right"


async def test_a_stop_is_sent_to_an_absent_robot(broker: Embedded, choir: Members, absent: str) -> None:
    left, right = await command(broker.settings, "choir", "stop")
    assert set(choir.verbs(absent)) == {"stop"}
    assert left.payload()["ok"]
    reason = "right: no answer; its daemon 'd1' does not run it now; look at the robot"
    assert right.payload() == {"robot": "right", "ok": False, "code": "OFFLINE", "error": reason}


async def test_an_absent_robot_has_1_s_longer_than_all_others_to_answer_a_stop(
    broker: Embedded, choir: Members, absent: str
) -> None:
    stopping = asyncio.create_task(command(broker.settings, "choir", "stop"))
    await until(lambda: "stop" in choir.verbs(absent))
    await asyncio.sleep(MORE_S + 0.9)
    assert not stopping.done()
    request = choir.bodies("stop")[absent]
    answer = {"status": "ok", "data": STOPPED, "transaction": request["transaction"]}
    choir.report(absent, "response/stop", answer)
    assert [(member.robot, member.data) for member in await stopping] == [
        ("left", STOPPED),
        ("right", STOPPED),
    ]


@pytest.mark.usefixtures("choir")
async def test_a_stop_goes_to_every_broker_of_several(broker: Embedded) -> None:
    unused = f"mqtt://127.0.0.1:{NETWORK.free_port()}"
    there = f"mqtt://{broker.settings.listen}"
    several = MqttSettings(broker=[unused, there], protocol="3.1.1")
    gathered = await command(several, "choir", "stop")
    assert [(one.robot, one.error) for one in gathered] == [("left", None), ("right", None)]


@pytest.fixture
async def elsewhere() -> AsyncIterator[Embedded]:
    """A broker where the robots' daemon was before."""
    broker = Embedded(NETWORK.free_port())
    await broker.start()
    async with MqttConnection(broker.settings) as client:
        for topic in ("motiond/left/availability", "motiond/bridge/d1/availability"):
            await client.publish(topic, b'{"state":"online","bridge":"d1"}', 1, retain=True)
    yield broker
    await broker.kill()


def at_both(*brokers: Embedded) -> MqttSettings:
    return MqttSettings(broker=[f"mqtt://{one.settings.listen}" for one in brokers], protocol="3.1.1")


@pytest.mark.usefixtures("choir")
async def test_a_robot_of_a_start_is_stopped_wherever_its_daemon_has_gone(
    broker: Embedded, elsewhere: Embedded
) -> None:
    async with (
        at_broker(elsewhere.settings) as client,
        connect(brokers_of(at_both(elsewhere, broker))) as all_,
    ):
        at_the_wrong_one = Conversation(client, elsewhere.settings, all_)
        assert await at_the_wrong_one.ask("left", "stop", {}) == STOPPED


@pytest.mark.usefixtures("choir")
async def test_monitor_and_page_stop_a_robot_wherever_its_daemon_has_gone(
    broker: Embedded, elsewhere: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def the_wrong_one(settings: MqttSettings) -> MqttSettings:
        return settings.each()[0]

    monkeypatch.setattr("motiond.daemon.fleet.gateway.gateway.broker_of", the_wrong_one)
    gateway = Gateway(at_both(elsewhere, broker), ReportHub())
    listening = asyncio.create_task(gateway.run())
    await until(lambda: "left" in gateway.robots.robots)
    assert await gateway.robots.handle("left", "stop", VERBS["stop"].request()) == STOPPED
    listening.cancel()
    await asyncio.wait((listening,))
