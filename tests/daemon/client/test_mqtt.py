"""The client at a broker: embedded, by MQTT 5 and by 3.1.1."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from motiond.client import Broker, ConnectionLost, NoAnswer, Refused, connect
from motiond.daemon.api import Report
from motiond.daemon.mqtt.client import MqttConnection, address_of, speaks_5
from tests.daemon.conftest import comes_true
from tests.daemon.told import state, status
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from motiond.client import Daemon
    from motiond.daemon.api import ReportHub
    from tests.daemon.conftest import AnyBroker, Robots

SOON_S = 0.3


def client_of(broker: AnyBroker, reconnect_s: float = 10.0) -> Daemon:
    at = Broker(str(address_of(broker.settings)), protocol="5" if speaks_5(broker.settings) else "3.1.1")
    return connect(at, reconnect_s=reconnect_s)


@pytest.mark.usefixtures("bridge")
async def test_requests_to_several_robots_are_answered_on_one_connection(
    broker: AnyBroker, robots: Robots
) -> None:
    async with client_of(broker) as daemon:
        arm, hand = daemon.robot("arm"), daemon.robot("hand")
        answers = await asyncio.gather(arm.request("play", motion="wave"), hand.status())
    assert list(answers) == [{"goal_id": "g1"}, status()]
    assert sorted((robot, verb) for robot, verb, _ in robots.handled) == [("arm", "play"), ("hand", "status")]


@pytest.mark.usefixtures("bridge")
async def test_a_refusal_is_raised_as_the_daemon_sent_it(broker: AnyBroker) -> None:
    async with client_of(broker) as daemon:
        with pytest.raises(Refused) as caught:
            await daemon.robot("arm").play("unknown")
    refusal = caught.value
    assert (refusal.code, refusal.message, refusal.data) == (
        "UNKNOWN_MOTION",
        "arm: no motion 'unknown'",
        {"known": ["wave"]},
    )


@pytest.mark.usefixtures("bridge")
async def test_robots_are_those_of_which_the_broker_has_reports(broker: AnyBroker) -> None:
    async with client_of(broker) as daemon:
        assert [robot.name for robot in await daemon.robots()] == ["arm", "hand"]


@pytest.mark.usefixtures("bridge")
async def test_who_begins_to_listen_gets_what_is_known_and_then_what_is_new(
    broker: AnyBroker, hub: ReportHub
) -> None:
    async with client_of(broker) as daemon, daemon.robot("arm").states() as states:
        assert await anext(states) == state()
        hub.publish(Report("arm", "state", state(state="playing")))
        assert await anext(states) == state(state="playing")
        async with daemon.robot("arm").states() as others:
            assert await anext(others) == state(state="playing")


async def test_without_a_broker_there_is_no_connection(free_port: int) -> None:
    with pytest.raises(NoAnswer) as caught:
        async with connect(f"mqtt://127.0.0.1:{free_port}"):
            pass
    assert str(caught.value) == (
        f"mqtt://127.0.0.1:{free_port}: no connection to the broker; nobody listens there; "
        "start the daemon or the broker, or correct the URL"
    )


async def test_without_a_daemon_there_is_no_answer(broker: AnyBroker) -> None:
    async with client_of(broker) as daemon:
        with pytest.raises(NoAnswer) as caught:
            await daemon.robot("arm").request("status", timeout_s=SOON_S)
    assert str(caught.value) == (
        "arm: no answer in 0.3 s; no daemon has been at this broker; start it with `motiond run`"
    )


@pytest.mark.usefixtures("bridge")
async def test_a_robot_that_no_daemon_has_is_named_with_those_there_are(broker: AnyBroker) -> None:
    async with client_of(broker) as daemon:
        with pytest.raises(NoAnswer) as caught:
            await daemon.robot("arn").request("status", timeout_s=SOON_S)
    assert str(caught.value) == (
        "arn: no answer in 0.3 s; the robots here are arm, hand; did you mean 'arm'?"
    )


async def test_a_stop_is_sent_until_it_is_answered_where_no_broker_keeps_it(broker: AnyBroker) -> None:
    received: list[str] = []
    async with MqttConnection(broker.settings) as ear:
        await ear.subscribe("motiond/arm/request/+", 1)
        async with client_of(broker) as daemon:
            for verb in ("stop", "status"):
                with pytest.raises(NoAnswer):
                    await daemon.robot("arm").request(verb, timeout_s=1.75)
        async with asyncio.timeout(PATIENCE_S):
            while "status" not in received:
                received.append((await anext(ear.messages)).topic.value.rpartition("/")[2])
    stops = 1 if speaks_5(broker.settings) else 5
    assert received == ["stop"] * stops + ["status"]


@pytest.mark.usefixtures("bridge")
async def test_a_stream_goes_on_over_a_broker_that_restarts(broker: AnyBroker, hub: ReportHub) -> None:
    async with client_of(broker) as daemon, daemon.robot("arm").states() as states:
        assert await anext(states) == state()
        await broker.kill()
        await broker.start()
        hub.publish(Report("arm", "state", state(state="playing")))
        async with asyncio.timeout(PATIENCE_S):
            while (await anext(states))["state"] != "playing":
                pass
        assert await daemon.robot("arm").status() == status()


async def test_a_broker_that_does_not_come_back_ends_streams_and_requests(broker: AnyBroker) -> None:
    async with client_of(broker, reconnect_s=1.0) as daemon, daemon.robot("arm").events() as events:
        await broker.kill()
        with pytest.raises(ConnectionLost):
            await anext(events)
        with pytest.raises(ConnectionLost):
            await daemon.robot("arm").request("status", timeout_s=SOON_S)


@pytest.mark.usefixtures("bridge")
async def test_a_request_that_was_sent_when_the_connection_broke_may_have_been_acted_on(
    broker: AnyBroker, robots: Robots
) -> None:
    async with client_of(broker) as daemon:
        robots.gate.clear()
        playing = asyncio.create_task(daemon.robot("arm").request("play", motion="wave"))
        await comes_true("the play is served", lambda: robots.handled)
        await broker.kill()
        with pytest.raises(ConnectionLost) as caught:
            await playing
        robots.gate.set()
    assert str(caught.value) == (
        "arm/play: the connection was lost before the answer came; it may have been acted on; "
        "look at what the robot does"
    )
