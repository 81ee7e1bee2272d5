"""What the command line asks of a running daemon, on each broker."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import aiomqtt
import pytest

from motiond.daemon.api import Dispatcher, Report, RequestError
from motiond.daemon.client.connection import STOP_AGAIN_S, Connection, NoAnswer
from motiond.daemon.client.play import Outcome
from motiond.daemon.client.session import ask, begin_and_wait, watch
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.mqtt.client import MqttConnection, speaks_5
from tests.daemon.conftest import Robots, running
from tests.daemon.told import state, status
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from motiond.daemon.api import ReportHub, Request, Subject
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


class Player(Robots):
    """Reports on what it plays; ends one motion before its acceptance is said, another when asked."""

    def __init__(self, hub: ReportHub) -> None:
        super().__init__()
        self._hub = hub

    async def handle(self, robot: str, verb: str, request: Request) -> dict[str, Any]:
        data = await super().handle(robot, verb, request)
        if verb == "play":
            self._hub.publish(Report(robot, "result", {"goal_id": "another"}))
            self._hub.publish(Report(robot, "state", {"state": "playing", **data}))
        if verb == "status" or getattr(request, "motion", "") == "short":
            self._hub.publish(
                Report(robot, "result", {"goal_id": "g1", "code": "SUCCESSFUL", "follows": "hold"})
            )
        return data


@pytest.mark.parametrize(
    ("motion", "timeout_s", "verbs"),
    [("short", PATIENCE_S, ["play"]), ("long", SILENCE_S, ["play", "status"])],
    ids=["at once", "after a silence"],
)
async def test_begin_and_wait_follows_its_own_goal_to_the_end(
    broker: AnyBroker, hub: ReportHub, motion: str, timeout_s: float, verbs: list[str]
) -> None:
    player = Player(hub)
    async with running(MqttBridge(broker.settings, "d1", player, Dispatcher(player), hub)):
        playing = begin_and_wait(broker.settings, "arm", "play", {"motion": motion}, timeout_s)
        async with asyncio.timeout(PATIENCE_S):
            reports = [(report.subject, report.data) async for report in playing]
    assert reports == [
        ("state", {"state": "playing", "goal_id": "g1"}),
        ("result", {"goal_id": "g1", "code": "SUCCESSFUL", "follows": "hold"}),
    ]
    # Whoever hears nothing of the answer for as long again asks again.
    assert player.verbs()[:2] == verbs
    assert {*player.verbs()[1:]} == {*verbs[1:]}


class Silent(Robots):
    """Answers a play, and publishes no result; the motion waits for a while before it is over."""

    def __init__(self, waits: int) -> None:
        super().__init__()
        self._waits = waits

    async def handle(self, robot: str, verb: str, request: Request) -> dict[str, Any]:
        data = await super().handle(robot, verb, request)
        if verb == "queue":
            self._waits -= 1
            return {"queue": [{"goal_id": "g1", "motion": "wave"}] if self._waits >= 0 else []}
        return data


@pytest.mark.parametrize("waits", [0, 1])
async def test_begin_and_wait_gives_a_result_up_that_never_comes(
    broker: AnyBroker, hub: ReportHub, waits: int
) -> None:
    robots = Silent(waits)
    async with running(MqttBridge(broker.settings, "d1", robots, Dispatcher(robots), hub)):
        playing = begin_and_wait(broker.settings, "arm", "play", {"motion": "wave"}, SOON_S)
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(NoAnswer) as caught:
                [_ async for _ in playing]
    assert str(caught.value) == (
        "arm: its motion is over, and no result comes; the broker may not take it; look at the daemon's log"
    )
    assert robots.verbs().count("queue") == waits + 1


async def test_begin_and_wait_ends_when_the_broker_goes(broker: AnyBroker, hub: ReportHub) -> None:
    player = Player(hub)
    async with running(MqttBridge(broker.settings, "d1", player, Dispatcher(player), hub)):
        playing = begin_and_wait(broker.settings, "arm", "play", {"motion": "long"}, PATIENCE_S)
        async with asyncio.timeout(PATIENCE_S):
            assert (await anext(playing)).data["state"] == "playing"
            await broker.kill()
            with pytest.raises(NoAnswer):
                await anext(playing)


@pytest.mark.usefixtures("bridge")
async def test_watch_gives_what_lasts_at_once_and_the_rest_as_it_comes(
    broker: AnyBroker, hub: ReportHub
) -> None:
    watched = watch(broker.settings, "arm", ("state", "telemetry"))
    async with asyncio.timeout(PATIENCE_S), aclosing(watched) as reports:
        assert await anext(reports) == Report("arm", "state", state())
        hub.publish(Report("arm", "telemetry", {"frame": 1}))
        assert await anext(reports) == Report("arm", "telemetry", {"frame": 1})


async def test_a_base_that_nobody_uses_is_named(broker: AnyBroker) -> None:
    other = broker.settings.model_copy(update={"base": "lab"})
    with pytest.raises(NoAnswer) as caught:
        await ask(other, "arm", "status", timeout_s=SOON_S)
    assert str(caught.value) == (
        "arm: no answer in 0.3 s; no daemon has been at this broker below 'lab'; "
        "start it with `motiond run`, or correct --base or mqtt.base"
    )


class Parking(Robots):
    """Parks after its motion; the state that tells that it has parked comes before the motion's result."""

    def __init__(self, hub: ReportHub, *told: Report) -> None:
        super().__init__()
        self._hub = hub
        self._told = told

    async def handle(self, robot: str, verb: str, request: Request) -> dict[str, Any]:
        data = await super().handle(robot, verb, request)
        if verb == "play":
            result = {"goal_id": "g1", "code": "SUCCESSFUL", "follows": "park", "motion": "wave"}
            self._hub.publish(Report(robot, "result", result))
            return data
        for report in self._told:
            self._hub.publish(report)
        return {"state": "idle", "goal_id": None, "motion": None, "torque": True}


@pytest.mark.parametrize(
    ("subject", "data"),
    [
        ("result", {"goal_id": "g2", "motion": "park", "code": "SUCCESSFUL"}),
        ("event", {"kind": "not_parked", "message": "arm: too far"}),
    ],
)
async def test_what_follows_a_result_ends_with_its_own_result_or_the_event_that_says_why_not(
    broker: AnyBroker, hub: ReportHub, subject: Subject, data: dict[str, Any]
) -> None:
    others = Report("arm", "event", {"kind": "marker", "goal_id": "g1", "message": ""})
    told = Report("arm", subject, data)
    player = Parking(hub, others, told)
    async with running(MqttBridge(broker.settings, "d1", player, Dispatcher(player), hub)):
        begun = begin_and_wait(broker.settings, "arm", "play", {"motion": "wave"}, PATIENCE_S)
        async with asyncio.timeout(PATIENCE_S):
            reports = [report async for report in begun]
    assert (reports[0].subject, reports[-1]) == ("result", told)
    assert {report.subject for report in reports[1:-1]} == {"state"}


async def test_what_follows_a_result_and_is_not_heard_of_is_given_up(
    broker: AnyBroker, hub: ReportHub
) -> None:
    player = Parking(hub)
    async with running(MqttBridge(broker.settings, "d1", player, Dispatcher(player), hub)):
        begun = begin_and_wait(broker.settings, "arm", "play", {"motion": "wave"}, 3.0)
        async with asyncio.timeout(PATIENCE_S):
            last = [report async for report in begun][-1]
    ended = {"motion": "wave", "code": "SUCCESSFUL", "message": "held", "follows": "park"}
    assert [*Outcome(ended, last).lines()] == [
        (True, "wave ended with SUCCESSFUL; held"),
        (False, "`on_end: park` was not heard of; ask `motiond status`"),
    ]


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
