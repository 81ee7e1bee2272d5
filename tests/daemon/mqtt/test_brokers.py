"""Several brokers: one is used at a time, the next where that is gone, and nothing is lost on the way.

Both are killed, frozen and started again.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import pytest

from motiond.client import NoAnswer
from motiond.daemon.api import Dispatcher, Report, ReportHub
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.fleet.brokers import broker_of
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.mqtt.client import Brokers
from tests import ports
from tests.daemon import answers
from tests.daemon.asking import ask
from tests.daemon.conftest import (
    WatchedBridge,
    data_of,
    is_connected,
    is_lost,
    listening,
    running,
    started_broker,
)
from tests.daemon.mqtt.cutter import Cutter
from tests.daemon.mqtt.stand_in import StandIn
from tests.virtual import NETWORK
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.daemon.conftest import MqttObserver, Robots

pytestmark = pytest.mark.slow

BRIDGE = "motiond/bridge/d1/availability"
RESULT = "motiond/arm/result"


class Pair:
    """Two brokers, and the settings of a daemon that knows both."""

    def __init__(self, first: StandIn, second: StandIn, protocol: Any) -> None:
        self.first, self.second = first, second
        self.settings = MqttSettings(
            broker=[first.settings.url, second.settings.url],
            protocol=protocol,
            reconnect_min_s=0.05,
            reconnect_max_s=0.2,
            stop_when_lost_s=PATIENCE_S,
        )
        self.impatient = self.settings.model_copy(update={"stop_when_lost_s": 3.0})


@pytest.fixture(params=["5", "3.1.1"])
async def pair(request: pytest.FixtureRequest) -> AsyncIterator[Pair]:
    async with (
        started_broker(StandIn(ports.free_port(), request.param)) as first,
        started_broker(StandIn(ports.free_port(), request.param)) as second,
    ):
        yield Pair(first, second, request.param)


@asynccontextmanager
async def a_bridge(settings: MqttSettings, robots: Robots, hub: ReportHub) -> AsyncIterator[WatchedBridge]:
    bridge = WatchedBridge(settings, robots, hub)
    async with running(bridge):
        yield bridge


async def moves(bridge: WatchedBridge, loses: Any) -> None:
    """Take a broker away, and wait until the bridge is at another."""
    bridge.lost.clear()
    await loses
    await is_lost(bridge)
    await is_connected(bridge)


async def freezes(broker: StandIn) -> None:
    broker.freeze()


async def is_kept(broker: StandIn, topics: dict[str, Callable[[Any], bool]]) -> None:
    """Wait until new subscribers receive what is expected."""
    for topic, holds in topics.items():
        is_retained = False
        while not is_retained:
            async with listening(broker.settings, checked=False) as subscriber:
                is_retained = (await subscriber.until(topic, holds)).retain


def results_received(observer: MqttObserver) -> list[str]:
    return [result["goal_id"] for result in observer.on(RESULT)]


# -- from one to the next -----------------------------------------------------------------------------------


async def test_after_a_broker_was_killed_the_next_has_all_retained_topics_and_takes_requests(
    pair: Pair, robots: Robots, hub: ReportHub
) -> None:
    async with (
        a_bridge(pair.settings, robots, hub) as bridge,
        listening(pair.second.settings, checked=False) as observer,
    ):
        assert observer.on(BRIDGE) == []
        await moves(bridge, pair.first.kill())
        hub.publish(Report("arm", "state", {"state": "playing"}))
        assert (await observer.ask("motiond/arm/request/status", b"{}"))["status"] == "ok"
        assert (await observer.ask("motiond/arm/request/stop", b"{}"))["status"] == "ok"
        await is_kept(
            pair.second,
            {
                BRIDGE: lambda data: data["state"] == "online",
                "motiond/arm/availability": lambda data: data == {"state": "online", "bridge": "d1"},
                "motiond/arm/description": lambda data: data == answers.DESCRIPTION,
                "motiond/arm/motions": lambda data: data == answers.MOTIONS,
                "motiond/arm/state": lambda data: data == {"state": "playing"},
            },
        )
    assert robots.verbs() == ["status", "stop"]


async def test_results_arrive_once_each_wherever_the_daemon_is_while_brokers_are_killed_in_turn(
    pair: Pair, robots: Robots, hub: ReportHub
) -> None:
    received: list[str] = []
    present, other = pair.first, pair.second
    count = 0
    async with a_bridge(pair.settings, robots, hub) as bridge:
        for _ in range(6):
            async with listening(other.settings, checked=False) as observer:
                bridge.may_return.clear()
                bridge.lost.clear()
                await present.kill()
                await is_lost(bridge)
                for _ in range(3):
                    hub.publish(Report("arm", "result", {"goal_id": f"g{count}"}))
                    count += 1
                bridge.may_return.set()
                await is_connected(bridge)
                last = f"g{count - 1}"
                await observer.until(RESULT, lambda data, last=last: data["goal_id"] == last)  # type: ignore[misc]
                received += [*results_received(observer), last]
                assert bridge._client is not None
                async with asyncio.timeout(PATIENCE_S):  # what is not confirmed when it is killed comes twice
                    await bridge._client.all_delivered()
            await present.start()
            present, other = other, present
    assert received == [f"g{number}" for number in range(18)]


async def test_a_result_that_a_frozen_broker_has_not_confirmed_is_published_at_the_next_alone(
    pair: Pair, robots: Robots, hub: ReportHub
) -> None:
    async with (
        listening(pair.first.settings, checked=False) as at_first,
        listening(pair.second.settings, checked=False) as at_second,
        a_bridge(pair.impatient, robots, hub) as bridge,
    ):
        await at_first.until(BRIDGE, lambda data: data["state"] == "online")
        bridge.lost.clear()
        pair.first.freeze()
        hub.publish(Report("arm", "result", {"goal_id": "cut off"}))
        hub.publish(Report("arm", "event", {"what": "cut off"}))
        await is_lost(bridge)
        hub.publish(Report("arm", "result", {"goal_id": "later"}))
        await is_connected(bridge)
        await at_second.until("motiond/arm/event", lambda data: data == {"what": "cut off"})
        await at_second.until(RESULT, lambda data: data["goal_id"] == "later")
        assert results_received(at_second) == ["cut off"]
        pair.first.thaw()
        await at_first.until(BRIDGE, lambda data: data["state"] == "broken")
        await asyncio.sleep(0.5)
        await at_first.client.publish("motiond/last", b"{}", qos=1)
        await at_first.until("motiond/last")
        assert results_received(at_first) == []


async def test_a_stop_that_waited_at_a_broker_that_was_left_does_not_come_when_the_daemon_is_back(
    pair: Pair, robots: Robots, hub: ReportHub
) -> None:
    async with a_bridge(pair.impatient, robots, hub) as bridge:
        await moves(bridge, freezes(pair.first))
        pair.first.thaw()
        async with listening(pair.first.settings, checked=False) as observer:
            await observer.until(BRIDGE, lambda data: data["state"] == "broken")
            await observer.client.publish("motiond/arm/request/stop", b"{}", qos=1)
            await moves(bridge, pair.second.kill())
            assert (await observer.ask("motiond/arm/request/status", b"{}"))["status"] == "ok"
    assert robots.verbs() == ["status"]


async def test_what_another_run_has_left_at_the_next_broker_is_no_other_daemon_of_our_id(
    pair: Pair, robots: Robots, hub: ReportHub, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_bridge(pair.second.settings, robots, hub):
        pass
    async with a_bridge(pair.settings, robots, hub) as bridge:
        await moves(bridge, pair.first.kill())
        await is_kept(pair.second, {BRIDGE: lambda data: data["state"] == "online"})
    assert not [line for line in caplog.messages if "another daemon of id" in line]


# -- never at two -------------------------------------------------------------------------------------------


class Watched(Cutter):
    """Notes for each connection that is made how many there are then to another broker."""

    def __init__(self, broker: StandIn) -> None:
        super().__init__(broker.port)
        self.other: Watched | None = None
        self.others: list[int] = []

    def connections(self) -> int:
        """Return how many connections of ours there are here, also half-closed ones."""
        return sum(sock.is_connected_to(self.port) for sock in NETWORK.sockets.values())

    def _accept(self, listener: socket.socket) -> None:
        assert self.other is not None
        self.others.append(self.other.connections())
        super()._accept(listener)


@pytest.mark.parametrize("hangs", [False, True])
async def test_there_are_never_connections_to_two_brokers(
    pair: Pair, robots: Robots, hub: ReportHub, *, hangs: bool
) -> None:
    async with Watched(pair.first) as first, Watched(pair.second) as second:
        first.other, second.other = second, first
        urls = [f"mqtt://127.0.0.1:{broker.port}" for broker in (first, second)]
        settings = (pair.impatient if hangs else pair.settings).model_copy(update={"broker": urls})
        async with a_bridge(settings, robots, hub) as bridge:
            assert (first.connections(), second.connections()) == (2, 0)
            for present, watched in ((pair.first, second), (pair.second, first), (pair.first, second)):
                await moves(bridge, freezes(present) if hangs else present.kill())
                assert watched.connections() == 2
                if hangs:
                    present.thaw()
                else:
                    await present.start()
    assert len(first.others) >= 4
    assert len(second.others) >= 4
    assert set(first.others + second.others) == {0}


# -- waits --------------------------------------------------------------------------------------------------


def test_each_broker_has_waits_of_its_own_and_the_one_that_may_be_tried_first_is() -> None:
    clock_s = [0.0]
    urls = ["mqtt://a", "mqtt://b", "mqtt://c"]
    settings = MqttSettings(broker=urls, reconnect_min_s=1.0, reconnect_max_s=4.0)
    brokers = Brokers(settings, lambda: clock_s[0])
    tried: list[tuple[str, float]] = []
    for _ in range(18):
        tried.append((brokers.present.settings.url, clock_s[0]))
        clock_s[0] += brokers.after(0.0)
    assert [url for url, _ in tried[:3]] == urls
    assert tried[2][1] == 0.0  # nobody waits for a broker that was not tried
    for url in urls:
        times_s = [time_s for one, time_s in tried if one == url]
        waits_s = [after - before for before, after in pairwise(times_s)]
        for wait_s, longest_s in zip(waits_s, (1.0, 2.0, 4.0, 4.0, 4.0), strict=False):
            assert 0.5 * longest_s <= wait_s <= longest_s
        assert len(waits_s) >= 3


def test_after_a_connection_that_lasted_the_waits_of_its_broker_begin_again() -> None:
    settings = MqttSettings(broker=["mqtt://a", "mqtt://b"], reconnect_min_s=1.0, reconnect_max_s=64.0)
    brokers = Brokers(settings, lambda: 0.0)
    first = brokers.present
    for _ in range(6):
        brokers.present = first
        brokers.after(0.0)
    assert first.free_s >= 16.0
    brokers.present = first
    assert brokers.after(60.0) == 0.0
    assert brokers.present.settings.url == "mqtt://b"
    assert first.free_s <= 1.0


# -- what is kept on disk -----------------------------------------------------------------------------------


def kept_in(folder: Path) -> list[Path]:
    return list(folder.glob("results-*"))


async def test_results_that_no_broker_took_are_published_by_the_next_daemon_at_any_broker(
    pair: Pair, robots: Robots, hub: ReportHub, tmp_path: Path
) -> None:
    await pair.first.kill()
    bridge = MqttBridge(pair.settings, "d1", robots, Dispatcher(robots), hub, state_folder=tmp_path)
    async with running(bridge):
        pair.second.freeze()
        hub.publish(Report("arm", "result", {"goal_id": "cut off"}))
        await asyncio.sleep(0.1)
        hub.publish(Report("arm", "result", {"goal_id": "never sent"}))
    pair.second.thaw()
    swapped = pair.settings.model_copy(update={"broker": [*reversed(pair.settings.broker)]})
    async with listening(pair.second.settings, checked=False) as observer:
        async with running(MqttBridge(swapped, "d1", robots, Dispatcher(robots), hub, state_folder=tmp_path)):
            for goal_id in ("cut off", "never sent"):
                assert data_of(await observer.until(RESULT)) == {"goal_id": goal_id}
        await observer.until(BRIDGE, lambda data: data["state"] == "offline")
    assert results_received(observer) == []
    assert not kept_in(tmp_path)


# -- clients ------------------------------------------------------------------------------------------------


async def comes_back_with_old_news(broker: StandIn) -> None:
    """Start a broker that has `online` of a daemon that is elsewhere, as one does that keeps it on disk."""
    await broker.start()
    async with listening(broker.settings, checked=False) as observer:
        for topic, data in (
            (BRIDGE, b'{"state":"online"}'),
            ("motiond/arm/availability", b'{"state":"online","bridge":"d1"}'),
        ):
            await observer.client.publish(topic, data, 1, True)


async def test_a_daemon_that_has_moved_on_is_found_however_seldom_its_heart_beats(
    pair: Pair, robots: Robots, hub: ReportHub
) -> None:
    seldom = pair.settings.model_copy(update={"stop_when_lost_s": 600.0})
    async with a_bridge(seldom, robots, hub) as bridge:
        await moves(bridge, pair.first.kill())
        await comes_back_with_old_news(pair.first)
        assert (await ask(pair.settings, "arm", "stop"))["state"] == "idle"
        assert (await ask(pair.settings, "arm", "estop"))["state"] == "estopped"
        assert "goal_id" in await ask(pair.settings, "arm", "play", {"motion": "wave"})
        assert (await broker_of(pair.settings)).url == pair.second.settings.url
    # Over MQTT 3.1.1 each stop is sent again until it is answered.
    asked = [verb for verb, _ in groupby(verb for verb in robots.verbs() if verb != "status")]
    assert asked == ["stop", "estop", "play"]


async def test_a_stop_goes_to_every_broker_and_all_else_to_that_of_the_daemon_if_there_is_one(
    pair: Pair, robots: Robots, hub: ReportHub
) -> None:
    async with (
        a_bridge(pair.settings, robots, hub),
        listening(pair.second.settings, checked=False) as observer,
    ):
        with pytest.raises(NoAnswer, match="no answer in 5 s"):
            await ask(pair.settings, "leg", "play", {"motion": "wave"})
        for verb, payload in (("play", {"motion": "wave"}), ("stop", {}), ("estop", {})):
            await ask(pair.settings, "arm", verb, payload)
        await observer.until("motiond/arm/request/stop")
        await observer.until("motiond/arm/request/estop")
        assert not [message for message in observer.received if message.topic.value.endswith("/request/play")]
