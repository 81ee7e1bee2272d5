"""A broker that takes no more than QoS 1, such as nats-server 2.9, hangs up on who publishes by more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.api import Report, ReportHub
from motiond.daemon.mqtt.client import MqttConnection, granted_qos
from tests import ports
from tests.daemon.conftest import Ear, WatchedBridge, listening, running, said, started_broker
from tests.daemon.mqtt.stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.conftest import Robots

RESULT = "motiond/arm/result"


@pytest.fixture(params=["5", "3.1.1"])
async def limited(request: pytest.FixtureRequest) -> AsyncIterator[StandIn]:
    """Run a broker that takes QoS 1 at most."""
    broker = StandIn(ports.free_port(), request.param)
    broker.configure("max_qos 1")
    async with started_broker(broker):
        yield broker


async def test_results_go_out_with_qos_1_where_the_broker_takes_no_more(
    limited: StandIn, robots: Robots, hub: ReportHub
) -> None:
    bridge = WatchedBridge(limited.settings, robots, hub)
    async with running(bridge), listening(limited.settings, checked=False) as ear:
        for number in range(3):
            hub.publish(Report("arm", "result", {"goal_id": f"g{number}"}))
        heard = [await ear.until(RESULT) for _ in range(3)]
        assert not bridge.lost.is_set()
    assert [said(one)["goal_id"] for one in heard] == ["g0", "g1", "g2"]
    assert [one.qos for one in heard] == [1, 1, 1]
    assert not [one for one in ear.heard if one.topic.value == RESULT]


async def test_results_go_out_with_qos_2_where_the_broker_takes_it(
    mosquitto_of_any_version: StandIn, robots: Robots, hub: ReportHub
) -> None:
    settings = mosquitto_of_any_version.settings
    async with running(WatchedBridge(settings, robots, hub)), MqttConnection(settings) as client:
        await client.subscribe(RESULT, qos=2)
        hub.publish(Report("arm", "result", {"goal_id": "g0"}))
        assert (await Ear(client, checked=False).until(RESULT)).qos == 2


async def test_the_daemon_subscribes_by_qos_0_where_the_broker_takes_no_more_than_qos_1(
    limited: StandIn, robots: Robots, hub: ReportHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, settings = subscriptions_of(monkeypatch), limited.settings
    async with running(WatchedBridge(settings, robots, hub)), listening(settings, checked=False) as ear:
        assert (await ear.ask("motiond/arm/request/stop", b"{}"))["status"] == "ok"
        assert (await ear.ask("motiond/arm/request/status", b"{}"))["status"] == "ok"
    assert asked.pop("motiond/bridge/d1/availability") == 2
    assert {"motiond/arm/request/#", "motiond/hand/request/stop", "motiond/arm/state"} < asked.keys()
    assert set(asked.values()) == {0}


async def test_the_daemon_subscribes_by_qos_1_where_the_broker_takes_qos_2(
    mosquitto_of_any_version: StandIn, robots: Robots, hub: ReportHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = subscriptions_of(monkeypatch)
    async with running(WatchedBridge(mosquitto_of_any_version.settings, robots, hub)):
        pass
    assert asked.pop("motiond/bridge/d1/availability") == 2
    assert {"motiond/arm/request/#", "motiond/hand/request/stop", "motiond/arm/state"} < asked.keys()
    heartbeats = {topic for topic in asked if topic.endswith("/heartbeat")}
    assert {asked.pop(topic) for topic in heartbeats} == {0}
    assert set(asked.values()) == {1}


async def test_answers_go_out_with_qos_0_where_the_broker_takes_no_more_than_qos_1(
    limited: StandIn, robots: Robots, hub: ReportHub
) -> None:
    """Nothing of theirs waits then until a cluster has logged what was answered before."""
    bridge, settings = WatchedBridge(limited.settings, robots, hub), limited.settings
    async with running(bridge), listening(settings, checked=False) as ear:
        assert await answered_by(ear) == {"status": 0, "stop": 0}
        assert said(await ear.until("motiond/bridge/d1/availability"))["requests_qos"] == 0


async def test_answers_go_out_with_qos_1_where_the_broker_takes_qos_2(
    mosquitto_of_any_version: StandIn, robots: Robots, hub: ReportHub
) -> None:
    settings = mosquitto_of_any_version.settings
    async with running(WatchedBridge(settings, robots, hub)), listening(settings) as ear:
        assert await answered_by(ear) == {"status": 1, "stop": 1}
        assert said(await ear.until("motiond/bridge/d1/availability"))["requests_qos"] == 1


@pytest.mark.parametrize(
    ("granted", "highest"),
    [
        ({2: 2}, 2),
        ({2: 1}, 1),
        ({2: 0x80, 0: 0}, 1),
        ({2: 0x80, 0: 0x80}, 2),
    ],
    ids=["exactly once", "a cluster", "a cluster that elects", "forbidden"],
)
async def test_what_a_broker_takes_is_known_by_what_it_grants(granted: dict[int, int], highest: int) -> None:
    """Else a cluster that elects would be asked for what it refuses then, stops and requests included."""
    client = Granting(granted)
    assert await granted_qos(client, "motiond/bridge/d1/availability", 2) == highest  # type: ignore[arg-type]
    assert client.asked == list(granted)


class Granting:
    """Stands in for a client whose broker answers subscriptions by their QoS."""

    version_5 = False

    def __init__(self, granted: dict[int, int]) -> None:
        self.asked: list[int] = []
        self._granted = granted

    async def subscribe(self, topics: list[tuple[str, int]]) -> list[int]:
        self.asked += [qos for _, qos in topics]
        return [self._granted[qos] for _, qos in topics]


async def answered_by(ear: Ear) -> dict[str, int]:
    """Return by which quality of service two requests are answered, on the one connection and the other."""
    by = {}
    for verb in ("status", "stop"):
        await ear.client.publish(f"motiond/arm/request/{verb}", b"{}", 1)
        by[verb] = (await ear.until(f"motiond/arm/response/{verb}")).qos
    return by


def subscriptions_of(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Return by which quality of service each topic is subscribed to from now on, but by ears."""
    asked: dict[str, int] = {}
    subscribe = MqttConnection.subscribe

    async def noting(client: MqttConnection, topics: Any, *args: Any, **options: Any) -> Any:
        if isinstance(topics, list):
            asked.update((topic, getattr(one, "QoS", one)) for topic, one in topics)
        return await subscribe(client, topics, *args, **options)

    monkeypatch.setattr(MqttConnection, "subscribe", noting)
    return asked
