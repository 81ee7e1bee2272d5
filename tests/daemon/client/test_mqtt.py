"""The client at a broker: embedded, by MQTT 5 and by 3.1.1."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import aiomqtt
import pytest

from motiond.client import Broker, ClientError, ConnectionLost, NoAnswer, connect
from motiond.daemon.api import Dispatcher, Report
from motiond.daemon.cli.requests.playing import Outcome
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.mqtt.client import MqttConnection, address_of, speaks_5
from tests.daemon.answers import state, status
from tests.daemon.conftest import Embedded, Robots, comes_true, running, started_broker
from tests.ports import free_port
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from motiond.client import Daemon, Robot
    from motiond.daemon.api import ReportHub, Request, Subject
    from tests.daemon.conftest import AnyBroker

SOON_S = 0.3
LOOK = "look at the daemon's log, and at the broker's access list and limits"
START = "start it with `motiond run`"


def client_of(broker: AnyBroker, reconnect_s: float = 10.0, base: str = "motiond") -> Daemon:
    at = Broker(str(address_of(broker.settings)), protocol="5" if speaks_5(broker.settings) else "3.1.1")
    return connect(at, base=base, reconnect_s=reconnect_s)


@pytest.mark.usefixtures("bridge")
async def test_requests_to_several_robots_are_answered_on_one_connection(
    broker: AnyBroker, robots: Robots
) -> None:
    async with client_of(broker) as daemon:
        arm, hand = daemon.robot("arm"), daemon.robot("hand")
        replies = await asyncio.gather(arm.request("play", motion="wave"), hand.status())
    assert list(replies) == [{"goal_id": "g1"}, status()]
    assert sorted((robot, verb) for robot, verb, _ in robots.handled) == [("arm", "play"), ("hand", "status")]


@pytest.mark.usefixtures("bridge")
async def test_requests_may_have_their_transaction_in_common(broker: AnyBroker) -> None:
    async with client_of(broker) as daemon:
        arm, hand = daemon.robot("arm"), daemon.robot("hand")
        asking = (robot.request("status", transaction="t1") for robot in (arm, arm, hand))
        assert await asyncio.gather(*asking) == [status()] * 3


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


async def test_a_broker_that_does_not_speak_the_version_is_asked_in_another(free_port: int) -> None:
    async with started_broker(Embedded(free_port)):
        with pytest.raises(NoAnswer) as caught:
            async with connect(Broker(f"mqtt://127.0.0.1:{free_port}", protocol="5")):
                pass
    assert str(caught.value) == (
        f"mqtt://127.0.0.1:{free_port}: no connection to the broker; the broker does not speak MQTT 5; "
        "name another protocol, 3.1.1 or 5"
    )


@pytest.mark.parametrize(
    ("robot", "base", "daemon", "reason"),
    [
        ("arm", "motiond", None, f"no daemon has been at this broker; {START}"),
        ("arm", "lab", None, f"no daemon has been at this broker below 'lab'; {START}, or correct the base"),
        ("arn", "motiond", "online", "the robots here are arm, hand; did you mean 'arm'?"),
        (
            "crane",
            "motiond",
            "online",
            "the robots here are arm, hand; name one of them, or start the daemon that has it",
        ),
        (
            "arm",
            "motiond",
            "online",
            f"its daemon reports that it is online; {LOOK}",
        ),
        ("arm", "motiond", "offline", f"its daemon is offline; {START}"),
    ],
)
async def test_what_is_known_of_a_robot_that_does_not_answer_is_reported(  # noqa: PLR0917
    broker: AnyBroker, robots: Robots, hub: ReportHub, robot: str, base: str, daemon: str | None, reason: str
) -> None:
    robots.gate.clear()
    async with AsyncExitStack() as daemons:
        if daemon is not None:
            bridge = MqttBridge(broker.settings, "d1", robots, Dispatcher(robots), hub)
            await daemons.enter_async_context(running(bridge))
        if daemon == "offline":
            await daemons.aclose()
        async with client_of(broker, base=base) as client:
            with pytest.raises(NoAnswer) as caught:
                await client.robot(robot).request("play", motion="wave", timeout_s=SOON_S)
    assert str(caught.value) == f"{robot}: no answer in 0.3 s; {reason}"


@pytest.mark.parametrize("forgotten", [2, 3])
async def test_a_subscription_that_is_not_acknowledged_is_sent_three_times(
    broker: AnyBroker, monkeypatch: pytest.MonkeyPatch, forgotten: int
) -> None:
    sent: list[Any] = []

    async def subscribe(_: aiomqtt.Client, topics: Any, **__: Any) -> None:
        sent.append(topics)
        if len(sent) <= forgotten:
            raise aiomqtt.MqttError("Operation timed out")

    async with client_of(broker) as daemon:
        monkeypatch.setattr(aiomqtt.Client, "subscribe", subscribe)
        with pytest.raises(NoAnswer):
            await daemon.robot("arm").request("status", timeout_s=SOON_S)
        asked = [topics for topics in sent if topics[0][0] == "motiond/+/response/status"]
    assert len(asked) == 3


async def test_a_stop_is_sent_until_it_is_answered(broker: AnyBroker) -> None:
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
    stops = 4 if speaks_5(broker.settings) else 5  # by 3.1.1 also before answers are subscribed to
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


class Player(Robots):
    """Publishes reports on a robot when it is asked for a verb, before it answers."""

    def __init__(self, hub: ReportHub, **reports: list[tuple[Subject, dict[str, Any]]]) -> None:
        super().__init__()
        self._hub, self._reports = hub, reports

    async def handle(
        self, robot: str, verb: str, request: Request, asked_by: str | None = None
    ) -> dict[str, Any]:
        data = await super().handle(robot, verb, request, asked_by)
        for subject, report in self._reports.get(verb, ()):
            self._hub.publish(Report(robot, subject, report))
        return data


@asynccontextmanager
async def client_beside(player: Player, broker: AnyBroker, hub: ReportHub) -> AsyncIterator[Robot]:
    async with (
        running(MqttBridge(broker.settings, "d1", player, Dispatcher(player), hub)),
        client_of(broker) as daemon,
        asyncio.timeout(PATIENCE_S),
    ):
        yield daemon.robot("arm")


OTHERS: tuple[Subject, dict[str, Any]] = "result", {"goal_id": "another"}
PLAYING: tuple[Subject, dict[str, Any]] = "state", {"state": "playing", "goal_id": "g1"}
ENDED: tuple[Subject, dict[str, Any]] = "result", {"goal_id": "g1", "code": "SUCCESSFUL", "follows": "hold"}


@pytest.mark.parametrize(
    ("reports", "verbs"),
    [
        ({"play": [OTHERS, PLAYING, ENDED]}, ["play"]),
        ({"play": [OTHERS, PLAYING], "status": [ENDED]}, ["play", "status"]),
    ],
    ids=["at once", "after a silence"],
)
async def test_a_goal_is_followed_to_its_own_result(
    broker: AnyBroker, hub: ReportHub, reports: dict[str, Any], verbs: list[str]
) -> None:
    player = Player(hub, **reports)
    async with client_beside(player, broker, hub) as arm, arm.goal("play", {"motion": "wave"}) as goal:
        subjects = [report.subject async for report in goal.progress()]
        assert (subjects, (await goal.result()).code) == (["state", "result"], "SUCCESSFUL")
    assert player.verbs() == verbs


async def test_a_result_that_never_comes_is_given_up_once_its_motion_does_not_wait_any_more(
    broker: AnyBroker, hub: ReportHub
) -> None:
    player = Player(hub)
    player.answers["queue"] = {"queue": [{"goal_id": "g1", "motion": "wave"}]}
    async with client_beside(player, broker, hub) as arm:
        playing = asyncio.create_task(arm.play("wave"))
        await comes_true("it waits", lambda: "queue" in player.verbs())
        player.answers["queue"] = {"queue": []}
        with pytest.raises(NoAnswer) as caught:
            await playing
    assert str(caught.value) == (
        "arm: its motion is over, and no result comes; the broker may not take it; look at the daemon's log"
    )
    assert player.verbs().count("queue") == 2


async def test_a_play_is_waited_for_over_a_broker_that_restarts(broker: AnyBroker, hub: ReportHub) -> None:
    player = Player(hub, play=[PLAYING], status=[ENDED])
    async with client_beside(player, broker, hub) as arm:
        playing = asyncio.create_task(arm.play("wave"))
        await comes_true("the play is served", lambda: player.handled)
        await broker.kill()
        await broker.start()
        assert (await playing).code == "SUCCESSFUL"


@pytest.mark.parametrize(
    ("reports", "lines"),
    [
        ([("result", {"goal_id": "g2", "motion": "park", "code": "SUCCESSFUL", "message": "held"})], []),
        ([("event", {"kind": "not_parked", "message": "arm: too far"})], []),
        ([], [(False, "`on_end: park` was not heard of; ask `motiond status`")]),
    ],
    ids=["its result", "why not", "nothing"],
)
async def test_what_follows_a_result_ends_with_its_own_result_or_why_there_is_none_or_is_given_up(
    broker: AnyBroker, hub: ReportHub, reports: list[tuple[Subject, dict[str, Any]]], lines: list[Any]
) -> None:
    parks = {"goal_id": "g1", "code": "SUCCESSFUL", "follows": "park", "motion": "wave", "message": "held"}
    status: list[tuple[Subject, dict[str, Any]]] = [
        ("event", {"kind": "marker", "goal_id": "g1", "message": ""}),
        *reports,
    ]
    player = Player(hub, play=[("result", parks)], status=status)
    player.answers["status"] = {"state": "idle", "goal_id": None, "motion": None, "torque": True}
    async with client_beside(player, broker, hub) as arm, arm.goal("play", {"motion": "wave"}) as goal:
        result = await goal.result()
        *states, last = [report async for report in goal.aftermath()]
    assert {report.subject for report in states} == {"state"}
    assert [(last.subject, last.data)] == (reports or [("state", player.answers["status"])])
    assert reports or [*Outcome(result, last).lines()][1:] == lines


async def test_what_a_motion_was_changed_by_is_told_with_its_end(broker: AnyBroker, hub: ReportHub) -> None:
    warning = "wave: its blend is lengthened from 0.3 to 0.46 s"
    ended = {"goal_id": "g1", "code": "SUCCESSFUL", "motion": "wave", "message": "held"}
    player = Player(hub, play=[("result", ended | {"warnings": [warning]})])
    async with client_beside(player, broker, hub) as arm, arm.goal("play", {"motion": "wave"}) as goal:
        result = await goal.result()
    assert result.warnings == [warning]
    assert [*Outcome(result).lines()] == [(True, warning), (True, "wave ended with SUCCESSFUL; held")]


@pytest.mark.usefixtures("bridge")
async def test_of_several_brokers_the_one_is_asked_where_the_robot_answers(
    broker: AnyBroker, robots: Robots
) -> None:
    port = free_port()
    other = Embedded(port)
    await other.start()
    here = Broker(str(address_of(broker.settings)), protocol="5" if speaks_5(broker.settings) else "3.1.1")
    gone, empty = Broker(f"mqtt://127.0.0.1:{free_port()}"), Broker(f"mqtt://127.0.0.1:{port}")
    async with connect([gone, empty, here]) as daemon:
        arm = daemon.robot("arm")
        assert await arm.request("play", motion="wave") == {"goal_id": "g2"}
        assert (await arm.stop(), await arm.status()) == (robots.answers["stop"], status())
        assert [robot.name for robot in await daemon.robots()] == ["arm", "hand"]
        async with arm.states() as states:
            assert await anext(states) == state()
    assert robots.verbs().count("play") == 1
    await other.kill()


async def test_of_several_brokers_one_that_hangs_keeps_no_stop_from_the_next(
    broker: AnyBroker, robots: Robots, hub: ReportHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiond.client.mqtt.CONNECT_S", 10.0 * PATIENCE_S)
    with socket.create_server(("127.0.0.1", 0)) as hangs:
        places = [f"mqtt://127.0.0.1:{hangs.getsockname()[1]}", str(address_of(broker.settings))]
        async with (
            running(MqttBridge(broker.settings, "d1", robots, Dispatcher(robots), hub)),
            asyncio.timeout(PATIENCE_S),
            connect([Broker(url) for url in places]) as daemon,
        ):
            assert await daemon.robot("arm").stop() == robots.answers["stop"]


async def test_of_several_brokers_one_that_comes_later_is_asked_as_well(
    broker: AnyBroker, robots: Robots, hub: ReportHub
) -> None:
    later = Embedded(free_port())
    places = [Broker(str(address_of(one.settings)), protocol="3.1.1") for one in (later, broker)]
    async with connect(places) as daemon:
        await later.start()
        async with (
            running(MqttBridge(later.settings, "d1", robots, Dispatcher(robots), hub)),
            asyncio.timeout(PATIENCE_S),
        ):
            with pytest.raises(NoAnswer):
                await daemon.robot("arm").request("stop", timeout_s=SOON_S)
            while True:
                with suppress(NoAnswer):
                    assert await daemon.robot("arm").stop() == robots.answers["stop"]
                    break
    await later.kill()


async def test_where_no_broker_of_several_has_the_robot_each_is_named(broker: AnyBroker) -> None:
    gone, here = f"mqtt://127.0.0.1:{free_port()}", str(address_of(broker.settings))
    async with connect([Broker(gone), Broker(here)]) as daemon:
        for verb in ("stop", "status"):
            with pytest.raises(NoAnswer) as caught:
                await daemon.robot("arm").request(verb, timeout_s=SOON_S)
            assert str(caught.value) == (
                "arm: no answer in 0.3 s; look at what stands below\n"
                f"{gone}: no connection to the broker; nobody listens there; "
                "start the daemon or the broker, or correct the URL\n"
                f"{here}: no daemon has been at this broker; start it with `motiond run`"
            )


async def test_groups_are_refused_at_a_broker(broker: AnyBroker) -> None:
    at = str(address_of(broker.settings))
    for where in (at, [Broker(at), Broker(at)]):
        async with connect(where) as daemon:
            with pytest.raises(ClientError) as caught:
                await daemon.group("choir").stop()
        assert str(caught.value) == (
            "choir: groups cannot be asked at a broker; a daemon coordinates them; "
            "connect to its socket or its page, or use `motiond fleet`"
        )
