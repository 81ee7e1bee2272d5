"""The bridge, at the embedded broker and at another one over both versions of the protocol."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import aiomqtt
import numpy as np
import orjson
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from motiond.daemon.api import Dispatcher, Report, ReportHub
from motiond.daemon.broker import EmbeddedBroker
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.config.settings import MOST_ROBOTS
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.mqtt.bridge.main_session import FORMER_S
from motiond.daemon.mqtt.client import MqttConnection
from tests.daemon import answers
from tests.daemon.conftest import (
    MqttObserver,
    Robots,
    WatchedBridge,
    comes_true,
    data_of,
    happens,
    is_connected,
    is_lost,
    listening,
    running,
)
from tests.daemon.mqtt.cutter import Cutter
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from tests.daemon.conftest import AnyBroker
    from tests.daemon.mqtt.stand_in import StandIn

pytestmark = pytest.mark.slow

BRIDGE = "motiond/bridge/d1/availability"
RETAINED: dict[str, Any] = {
    BRIDGE: {"state": "online", "requests_qos": 1},
    "motiond/arm/availability": {"state": "online", "bridge": "d1"},
    "motiond/arm/description": answers.DESCRIPTION,
    "motiond/arm/motions": answers.MOTIONS,
    "motiond/arm/state": answers.state(),
}


async def is_published(broker: AnyBroker, topics: dict[str, Any]) -> None:
    """Hold what a subscriber receives against what is expected."""
    async with listening(broker.settings) as subscriber:
        for topic, data in topics.items():
            message = await subscriber.until(topic)
            received = data_of(message)
            if topic == BRIDGE:
                assert received.pop("host") == socket.gethostname()
                assert len(received.pop("instance")) == 8
            assert (topic, received, message.retain) == (topic, data, True)


async def test_results_and_events_without_a_broker_are_published_later_and_streams_are_not(
    broker: AnyBroker, bridge: WatchedBridge, hub: ReportHub
) -> None:
    bridge.may_return.clear()
    await broker.kill()
    await is_lost(bridge)
    hub.publish(Report("arm", "telemetry", answers.telemetry([1.0])))
    hub.publish(Report("arm", "result", answers.result("g1")))
    hub.publish(Report("arm", "event", answers.event("reconnected")))
    await broker.start()
    async with listening(broker.settings) as observer:
        bridge.may_return.set()
        assert data_of(await observer.until("motiond/arm/result")) == answers.result("g1")
        assert data_of(await observer.until("motiond/arm/event")) == answers.event("reconnected")
        hub.publish(Report("arm", "telemetry", answers.telemetry([2.0])))
        assert data_of(await observer.until("motiond/arm/telemetry")) == answers.telemetry([2.0])


@pytest.mark.usefixtures("bridge")
async def test_streams_come_once_with_null_for_nan(observer: MqttObserver, hub: ReportHub) -> None:
    hub.publish(Report("arm", "telemetry", answers.telemetry(np.array([0.5, np.nan]))))
    message = await observer.until("motiond/arm/telemetry")
    assert data_of(message) == answers.telemetry([0.5, None])
    assert not message.retain


@pytest.mark.usefixtures("bridge")
async def test_a_report_that_is_not_json_is_left_out(
    observer: MqttObserver, hub: ReportHub, caplog: pytest.LogCaptureFixture
) -> None:
    hub.publish(Report("arm", "event", {"kind": "driver", "message": object()}))
    hub.publish(Report("arm", "event", answers.event("next")))
    assert data_of(await observer.until("motiond/arm/event")) == answers.event("next")
    assert "motiond/arm/event: the report is not JSON and was left out" in caplog.text


@pytest.mark.usefixtures("bridge")
async def test_a_request_reaches_its_robot_and_is_answered(observer: MqttObserver, robots: Robots) -> None:
    answer = await observer.ask("motiond/hand/request/motions/reload", b"")
    assert answer == {"status": "ok", "data": answers.MOTIONS, "transaction": None}
    assert robots.handled.pop() == ("hand", "motions/reload", {})
    answer = await observer.ask("motiond/arm/request/play", b'{"motion":"wave","transaction":"t1"}')
    assert answer == {"status": "ok", "data": {"goal_id": "g1"}, "transaction": "t1"}
    assert robots.handled == [("arm", "play", {"motion": "wave", "transaction": "t1"})]


async def test_a_retained_request_is_refused_on_every_connection(
    broker: AnyBroker, robots: Robots, hub: ReportHub, observer: MqttObserver
) -> None:
    await observer.client.publish("motiond/arm/request/play", b'{"motion":"wave","transaction":"t"}', 1, True)
    for _ in range(2):
        async with running(WatchedBridge(broker.settings, robots, hub)):
            assert data_of(await observer.until("motiond/arm/response/play")) == {
                "status": "error",
                "code": "RETAINED",
                "error": "arm/play: retained; it would act at every reconnect; "
                "clear it with an empty retained message and send it without the flag",
                "data": {},
                "problems": [
                    {
                        "subject": "arm/play",
                        "problem": "retained",
                        "reason": "it would act at every reconnect",
                        "hint": "clear it with an empty retained message and send it without the flag",
                    }
                ],
                "transaction": "t",
            }
    assert robots.handled == []


async def test_on_version_5_a_request_is_refused_when_it_is_sent_with_the_retain_flag(
    mosquitto: StandIn, robots: Robots, hub: ReportHub
) -> None:
    async with (
        running(WatchedBridge(mosquitto.settings, robots, hub)),
        listening(mosquitto.settings) as observer,
    ):
        await observer.client.publish("motiond/arm/request/reset", b"{}", 1, True)
        assert data_of(await observer.until("motiond/arm/response/reset"))["code"] == "RETAINED"
        await observer.client.publish(
            "motiond/arm/request/reset", b"", 1, True
        )  # clears it, and asks nothing
        await observer.ask("motiond/arm/request/status", b"")
    assert robots.verbs() == ["status"]


async def test_what_was_begun_outlives_the_connection_and_its_answer_can_be_had_again(
    broker: AnyBroker, bridge: WatchedBridge, robots: Robots
) -> None:
    robots.gate.clear()
    play = b'{"motion":"wave","transaction":"t"}'
    async with listening(broker.settings) as observer:
        await observer.client.publish("motiond/arm/request/play", play, 1)
        await observer.ask("motiond/arm/request/status", b"")
        await broker.kill()
        await is_lost(bridge)
        robots.gate.set()
    await broker.start()
    async with listening(broker.settings) as observer:
        await is_connected(bridge)
        answer = await observer.ask("motiond/arm/request/play", play)
    assert answer == {"status": "ok", "data": {"goal_id": "g1"}, "transaction": "t"}
    assert robots.verbs() == ["play", "status"]


async def test_on_version_5_the_answer_goes_where_the_request_says(
    mosquitto: StandIn, robots: Robots, hub: ReportHub
) -> None:
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's is untyped
    properties.ResponseTopic = "motiond/arm/response/mine"
    properties.CorrelationData = b"\x01\x02"
    properties.MessageExpiryInterval = 60
    async with (
        running(WatchedBridge(mosquitto.settings, robots, hub)),
        listening(mosquitto.settings) as observer,
    ):
        await observer.client.publish("motiond/arm/request/stop", b"{}", 1, properties=properties)
        answer = await observer.until("motiond/arm/response/mine")
        await observer.ask("motiond/arm/request/status", b"")
        properties.ResponseTopic = "motiond/arm/state"  # not the client's own
        await observer.client.publish("motiond/arm/request/estop", b"{}", 1, properties=properties)
        assert data_of(await observer.until("motiond/arm/response/estop"))["status"] == "ok"
    assert data_of(answer)["status"] == "ok"
    assert getattr(answer.properties, "CorrelationData", None) == b"\x01\x02"
    assert observer.on("motiond/arm/response/stop") == []


async def test_a_clean_shutdown_publishes_what_is_left_and_then_offline(
    broker: AnyBroker, robots: Robots, hub: ReportHub, observer: MqttObserver
) -> None:
    async with running(WatchedBridge(broker.settings, robots, hub)):
        await observer.until(BRIDGE, lambda data: data["state"] == "online")
        hub.publish(Report("arm", "result", answers.result("g1", "CANCELED")))
    await observer.until("motiond/arm/result", lambda data: data["code"] == "CANCELED")
    await observer.until(BRIDGE, lambda data: data["state"] == "offline")
    gone = {"state": "offline", "bridge": "d1"}
    await is_published(broker, {BRIDGE: {"state": "offline"}, "motiond/hand/availability": gone})


async def test_the_last_will_reports_broken_where_the_connection_breaks(
    broker: AnyBroker, bridge: WatchedBridge, observer: MqttObserver
) -> None:
    await observer.until(BRIDGE, lambda data: data["state"] == "online")
    bridge.may_return.clear()
    assert bridge._client is not None
    bridge._client.break_off()
    await observer.until(BRIDGE, lambda data: data["state"] == "broken")
    await is_published(broker, {BRIDGE: {"state": "broken"}})
    bridge.may_return.set()


async def test_nothing_is_left_when_cancelled_while_a_broker_does_not_answer(
    robots: Robots, hub: ReportHub
) -> None:
    called, over = asyncio.Event(), asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.set()
        await reader.read()
        writer.close()
        over.set()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = MqttSettings(broker=f"mqtt://127.0.0.1:{port}", keepalive_s=60)
    bridge = WatchedBridge(settings, robots, hub)
    task = asyncio.create_task(bridge.run())
    async with asyncio.timeout(PATIENCE_S), server:
        await called.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await over.wait()


# -- the daemon's heartbeat ---------------------------------------------------------------------------------


async def test_a_broker_that_hangs_is_lost_in_time_and_found_again(
    mosquitto: StandIn, robots: Robots, hub: ReportHub
) -> None:
    settings = mosquitto.settings.model_copy(update={"stop_when_lost_s": 4.0})
    bridge = WatchedBridge(settings, robots, hub)
    async with running(bridge):
        bridge.lost.clear()
        received_s = bridge.received_s
        mosquitto.freeze()
        await is_lost(bridge)
        assert not bridge.connected.is_set()
        assert bridge.received_s - received_s < 3.0
        mosquitto.thaw()
        await is_connected(bridge)
        async with listening(settings) as observer:
            assert (await observer.ask("motiond/arm/request/status", b""))["status"] == "ok"


# -- stops and floods ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("bridge")
async def test_a_stop_does_not_wait_for_those_who_ask_too_much(broker: AnyBroker, robots: Robots) -> None:
    robots.gate.clear()
    async with MqttConnection(broker.settings) as flood:
        for number in range(1000):
            await flood.publish("motiond/arm/request/play", b'{"motion":"wave%d"}' % number)
        await flood.subscribe("motiond/arm/response/stop", qos=1)  # one for all would be flooded itself
        stopped = await MqttObserver(flood).ask("motiond/arm/request/stop", b"")
        assert stopped["status"] == "ok"
        assert robots.verbs()[-1] == "stop"
        robots.gate.set()


async def test_a_stop_is_served_while_another_client_has_the_daemons_name(
    broker: AnyBroker, bridge: WatchedBridge, robots: Robots, observer: MqttObserver
) -> None:
    bridge.may_return.clear()
    async with MqttConnection(broker.settings, "motiond-d1"):
        await is_lost(bridge)
        assert (await observer.ask("motiond/arm/request/stop", b""))["status"] == "ok"
    assert robots.verbs() == ["stop"]
    bridge.may_return.set()
    await is_connected(bridge)


@pytest.mark.parametrize("held_up", ["motiond/arm/request/stop", "motiond/arm/state"])
async def test_a_stop_is_served_while_the_main_connection_is_still_subscribing(
    broker: AnyBroker,
    bridge: WatchedBridge,
    robots: Robots,
    held_up: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With many robots on a busy machine, that takes many seconds."""
    subscribe = MqttConnection.subscribe
    is_held_up, may_go_on = asyncio.Event(), asyncio.Event()

    async def slowly(client: MqttConnection, topics: Any, *args: Any, **options: Any) -> Any:
        if client.identifier == "motiond-d1" and held_up in dict(topics):
            is_held_up.set()
            await may_go_on.wait()
        return await subscribe(client, topics, *args, **options)

    monkeypatch.setattr(MqttConnection, "subscribe", slowly)
    await broker.kill()
    await is_lost(bridge)
    await broker.start()
    await happens(is_held_up, "the main connection subscribes")
    await happens(bridge._others.ready, "the other connection has subscribed")
    async with listening(broker.settings) as observer:
        assert (await observer.ask("motiond/arm/request/stop", b""))["status"] == "ok"
    assert robots.verbs() == ["stop"]
    may_go_on.set()
    await is_connected(bridge)


async def test_a_stop_that_arrived_before_the_connection_broke_still_acts(
    broker: AnyBroker, bridge: WatchedBridge, robots: Robots
) -> None:
    bridge.may_return.clear()
    await broker.kill()
    await is_lost(bridge)
    bridge._main.take(aiomqtt.Message("motiond/arm/request/stop", b"", 1, False, 1, None))
    await comes_true("the stop acts", robots.verbs)
    assert robots.verbs() == ["stop"]
    bridge.may_return.set()


async def test_subscriptions_to_others_that_the_broker_refuses_are_reported_and_the_daemon_serves(
    mosquitto: StandIn,
    robots: Robots,
    hub: ReportHub,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused = {"motiond/bridge/+/availability", "motiond/+/reservation"}
    subscribe = MqttConnection.subscribe

    async def granting(client: MqttConnection, topics: Any, *args: Any, **options: Any) -> Any:
        codes = await subscribe(client, topics, *args, **options)
        return [0x80 if topic in refused else code for (topic, _), code in zip(topics, codes, strict=True)]

    bridge = MqttBridge(
        mosquitto.settings, "d1", robots, Dispatcher(robots), hub, take_peer_report=lambda *_: None
    )
    with monkeypatch.context() as patched:
        patched.setattr(MqttConnection, "subscribe", granting)
        async with running(bridge):
            pass
    assert caplog.messages == [
        f"{topic}: the broker refuses the subscription; {effect}; permit it"
        for topic, effect in (
            ("motiond/bridge/+/availability", "what others do there goes unnoticed"),
            ("motiond/+/reservation", "starts of groups stop softly after the first row"),
        )
    ]


# -- exactly one result -------------------------------------------------------------------------------------


async def test_a_result_that_is_cut_off_arrives_once(
    mosquitto_of_any_version: StandIn, robots: Robots, hub: ReportHub
) -> None:
    mosquitto = mosquitto_of_any_version
    async with listening(mosquitto.settings) as observer, Cutter(mosquitto.port) as cutter:
        settings = mosquitto.settings.model_copy(update={"broker": f"mqtt://127.0.0.1:{cutter.port}"})
        bridge = WatchedBridge(settings, robots, hub)
        async with running(bridge):
            for number in range(6):
                bridge.lost.clear()
                if number % 2:
                    cutter.cut_at(b'"g%d"' % number, "to broker")
                else:
                    cutter.cut_at(b"", "from broker")
                hub.publish(Report("arm", "result", answers.result(f"g{number}")))
                await is_lost(bridge)
                await is_connected(bridge)
            hub.publish(Report("arm", "result", answers.result("last")))
            await observer.until("motiond/arm/result", lambda data: data["goal_id"] == "last")
    results = [result["goal_id"] for result in observer.on("motiond/arm/result")]
    assert sorted(results) == [f"g{number}" for number in range(6)]


# -- others on the same broker ------------------------------------------------------------------------------


@pytest.mark.usefixtures("bridge")
async def test_what_others_clear_or_overwrite_is_published_again_and_a_will_that_comes_late(
    broker: AnyBroker, observer: MqttObserver
) -> None:
    await observer.until("motiond/arm/state")  # what was kept when it came
    for topic, payload in (
        ("motiond/arm/state", b""),
        ("motiond/arm/state", b'{"state":"playing"}'),
        (BRIDGE, b'{"state":"broken"}'),
    ):
        await observer.client.publish(topic, payload, 1, True)
        observer.received.clear()
        expected = RETAINED[topic].items()
        await observer.until(topic, lambda data, expected=expected: data and expected <= data.items())  # type: ignore[misc]
    await is_published(broker, RETAINED)


async def test_of_two_daemons_with_one_robot_the_first_keeps_it_until_it_goes(
    mosquitto: StandIn, robots: Robots, hub: ReportHub, observer_at_mosquitto: MqttObserver, caplog: Any
) -> None:
    observer, second = observer_at_mosquitto, Robots()
    async with running(MqttBridge(mosquitto.settings, "d2", second, Dispatcher(second), hub)):
        async with running(WatchedBridge(mosquitto.settings, robots, hub)):
            for _ in range(5):
                await observer.ask("motiond/arm/request/status", b"")
            assert (robots.verbs(), second.verbs()) == ([], ["status"] * 5)
            for _ in range(5):
                await observer.ask("motiond/arm/request/stop", b"")
            await comes_true("all stops come", robots.verbs, lambda verbs: len(verbs) >= 5)
            assert (robots.verbs(), second.verbs()[5:]) == (["stop"] * 5, ["stop"] * 5)
            await observer.ask("motiond/hand/request/status", b"")
            assert observer.on("motiond/arm/response/stop") == []  # but for the five that were waited for
            refusal = (
                f"arm: daemon 'd2' on {socket.gethostname()} has a robot of this name on this broker; "
                "ours publishes nothing and takes nothing but stops; rename one of the two"
            )
            assert caplog.messages.count(refusal) == 1
            observer.received.clear()
        assert not [
            message for message in observer.received if message.topic.value.startswith("motiond/arm/")
        ]


# -- robots that are gone -----------------------------------------------------------------------------------


KEPT = ("availability", "description", "motions", "state")


async def keep(client: Any, robot: str, bridge: str, state: str = "online") -> None:
    """Let the broker keep what a daemon publishes of a robot."""
    for subject in KEPT:
        data = {"state": state, "bridge": bridge} if subject == "availability" else {"of": robot}
        await client.publish(f"motiond/{robot}/{subject}", orjson.dumps(data), 1, True)


async def kept_of(settings: MqttSettings, robots: set[str]) -> dict[str, set[str]]:
    """Return which subjects the broker keeps of robots; those of `hand` are there always, and come last."""
    kept: dict[str, set[str]] = {robot: set() for robot in robots}
    async with MqttConnection(settings) as client:
        await client.subscribe([(f"motiond/{robot}/+", 1) for robot in sorted(robots)])
        await client.subscribe("motiond/hand/+", qos=1)
        async with asyncio.timeout(PATIENCE_S):
            async for message in client.messages:
                _, robot, subject = message.topic.value.split("/")
                if robot not in kept and subject == "state":
                    break
                if robot in kept:
                    kept[robot].add(subject)
    return kept


async def test_what_is_kept_of_a_robot_that_is_configured_no_more_is_cleared_and_of_no_other(
    broker: AnyBroker, hub: ReportHub, observer: MqttObserver, caplog: Any
) -> None:
    caplog.set_level("INFO")
    for robot, bridge in (("old", "d1"), ("other", "d2"), ("gone", "d3")):
        await keep(observer.client, robot, bridge)
    await observer.until("motiond/gone/state")
    observer.received.clear()
    async with running(WatchedBridge(broker.settings, Robots(), hub)):
        released = {"state": "offline", "bridge": None}
        await observer.until("motiond/old/availability", lambda data: data == released)
        for subject in KEPT:
            await observer.until(f"motiond/old/{subject}", lambda data: data is None)
        await asyncio.sleep(FORMER_S)
        expected = {"old": set(), "other": set(KEPT), "gone": set(KEPT), "arm": set(KEPT)}
        assert await kept_of(broker.settings, set(expected)) == expected
    assert caplog.messages[1:] == ["old: is not configured any more; what the broker kept of it is cleared"]


async def test_a_daemon_that_shares_its_id_clears_nothing(
    mosquitto: StandIn, robots: Robots, hub: ReportHub
) -> None:

    class OfAnother(Robots):
        robots = ("leg",)

    settings = mosquitto.settings
    first, second = WatchedBridge(settings, robots, hub), WatchedBridge(settings, OfAnother(), ReportHub())
    async with running(first):
        first.may_return.clear()
        async with running(second):  # it clears what it takes for its own
            second.may_return.clear()
            await is_lost(first)
            first.may_return.set()
            await is_lost(second)
            await is_connected(first)
            await keep(first._main._client, "leg", "d1")
            await asyncio.sleep(FORMER_S + 1.0)
            assert await kept_of(settings, {"leg"}) == {"leg": set(KEPT)}
            second.may_return.set()


async def test_a_daemon_of_as_many_robots_as_there_may_be_is_served_by_its_own_broker(
    hub: ReportHub, caplog: pytest.LogCaptureFixture
) -> None:
    robots = Robots()
    robots.robots = tuple(f"arm-{number}" for number in range(MOST_ROBOTS))
    async with EmbeddedBroker("127.0.0.1:0") as broker:
        bridge = WatchedBridge(
            MqttSettings(broker=f"mqtt://127.0.0.1:{broker.port}", protocol="3.1.1"), robots, hub
        )
        async with running(bridge):
            pass
        assert bridge.losses == 0
    assert caplog.messages == []
