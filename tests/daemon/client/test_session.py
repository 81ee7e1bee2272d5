"""What the command line asks of a running daemon, on each broker."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import aiomqtt
import pytest

from motiond.client import NoAnswer
from motiond.daemon.api import Dispatcher, RequestError
from motiond.daemon.client.connection import STOP_AGAIN_S, Connection
from motiond.daemon.client.session import ask
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.mqtt.client import MqttConnection, speaks_5
from tests.daemon.answers import status
from tests.daemon.conftest import Robots, running
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from motiond.daemon.api import ReportHub
    from tests.daemon.conftest import AnyBroker

SOON_S = 0.3
SILENCE_S = 1.5


@pytest.mark.usefixtures("bridge")
async def test_ask_gives_the_data_of_the_answer(broker: AnyBroker, robots: Robots) -> None:
    assert await ask(broker.settings, "arm", "play", {"motion": "wave"}, PATIENCE_S) == {"goal_id": "g1"}
    assert await ask(broker.settings, "hand", "status", timeout_s=PATIENCE_S) == status()
    assert [(robot, verb) for robot, verb, _ in robots.handled] == [("arm", "play"), ("hand", "status")]


@pytest.mark.usefixtures("bridge")
async def test_a_refusal_is_raised_as_the_daemon_said_it(broker: AnyBroker) -> None:
    with pytest.raises(RequestError) as caught:
        await ask(broker.settings, "arm", "play", {"motion": "unknown"}, PATIENCE_S)
    refusal = caught.value
    assert (refusal.code, str(refusal)) == ("UNKNOWN_MOTION", "arm: no motion 'unknown'")
    assert refusal.data == {"known": ["wave"]}


async def test_without_a_broker_there_is_no_answer(free_port: int) -> None:
    settings = MqttSettings(listen=f"127.0.0.1:{free_port}")
    with pytest.raises(NoAnswer) as caught:
        await ask(settings, "arm", "status")
    assert str(caught.value) == (
        f"mqtt://127.0.0.1:{free_port}: no connection to the broker; nobody listens there; "
        "start the daemon with `motiond run`"
    )


async def test_without_a_daemon_there_is_no_answer(broker: AnyBroker) -> None:
    with pytest.raises(NoAnswer) as caught:
        await ask(broker.settings, "arm", "status", timeout_s=SOON_S)
    assert str(caught.value) == (
        "arm: no answer in 0.3 s; no daemon has been at this broker; start it with `motiond run`"
    )


async def test_a_stop_is_sent_until_it_is_answered_where_no_broker_keeps_it(broker: AnyBroker) -> None:
    heard: list[aiomqtt.Message] = []
    async with MqttConnection(broker.settings) as client:
        await client.subscribe("motiond/arm/request/+", 1)
        for verb in ("stop", "status"):
            with pytest.raises(NoAnswer):
                await ask(broker.settings, "arm", verb, timeout_s=3.5 * STOP_AGAIN_S)
        async with asyncio.timeout(PATIENCE_S):
            while not heard or heard[-1].topic.value != "motiond/arm/request/status":
                heard.append(await anext(client.messages))
    stops = [message.payload for message in heard[:-1]]
    assert {message.topic.value for message in heard[:-1]} == {"motiond/arm/request/stop"}
    assert len(set(stops)) == 1  # the same request, with one transaction
    if speaks_5(broker.settings):
        assert ({message.qos for message in heard}, len(stops)) == ({1}, 1)
    else:
        assert {message.qos for message in heard} == {0}
        assert len(stops) == 5  # at once, and four times with a pause


@pytest.mark.usefixtures("bridge")
async def test_a_robot_that_nobody_has_is_told_who_there_is(broker: AnyBroker) -> None:
    with pytest.raises(NoAnswer) as caught:
        await ask(broker.settings, "amr", "status", timeout_s=SILENCE_S)
    assert str(caught.value) == "amr: no answer in 1.5 s; the robots here are arm, hand; did you mean 'arm'?"
    with pytest.raises(NoAnswer) as caught:
        await ask(broker.settings, "crane", "motions/reload", timeout_s=SILENCE_S)
    assert str(caught.value) == (
        "crane: no answer in 1.5 s; the robots here are arm, hand; "
        "name one of them, or start the daemon that has it"
    )


@pytest.mark.usefixtures("bridge")
async def test_a_daemon_that_is_too_slow_is_told_from_one_that_is_gone(
    broker: AnyBroker, robots: Robots
) -> None:
    robots.gate.clear()
    with pytest.raises(NoAnswer) as caught:
        await ask(broker.settings, "arm", "play", {"motion": "wave"}, SILENCE_S)
    assert str(caught.value) == (
        "arm: no answer in 1.5 s; its daemon says that it is online; look at the daemon's log"
    )


async def test_a_daemon_that_is_gone_is_told(broker: AnyBroker, robots: Robots, hub: ReportHub) -> None:
    async with running(MqttBridge(broker.settings, "d1", robots, Dispatcher(robots), hub)):
        pass
    with pytest.raises(NoAnswer) as caught:
        await ask(broker.settings, "arm", "status", timeout_s=SILENCE_S)
    assert str(caught.value) == "arm: no answer in 1.5 s; its daemon is offline; start it with `motiond run`"


async def test_a_base_that_nobody_uses_is_named(broker: AnyBroker) -> None:
    other = broker.settings.model_copy(update={"base": "lab"})
    with pytest.raises(NoAnswer) as caught:
        await ask(other, "arm", "status", timeout_s=SOON_S)
    assert str(caught.value) == (
        "arm: no answer in 0.3 s; no daemon has been at this broker below 'lab'; "
        "start it with `motiond run`, or correct --base or mqtt.base"
    )


class Forgetful:
    """A client whose broker forgets to acknowledge subscriptions."""

    def __init__(self, times: int) -> None:
        self.forgets = times
        self.topics: list[str] = []

    async def subscribe(self, topic: str, **_: Any) -> None:
        self.topics.append(topic)
        if len(self.topics) <= self.forgets:
            raise aiomqtt.MqttError("Operation timed out")


async def test_a_subscription_that_is_not_acknowledged_is_asked_for_again() -> None:
    client = Forgetful(2)
    await Connection(cast("MqttConnection", client), MqttSettings(), "arm").listen("state")
    assert client.topics == ["motiond/arm/state"] * 3


async def test_a_broker_that_never_acknowledges_is_given_up() -> None:
    with pytest.raises(aiomqtt.MqttError):
        await Connection(cast("MqttConnection", Forgetful(3)), MqttSettings(), "arm").listen("state")
