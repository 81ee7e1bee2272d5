"""A broker that takes no more than QoS 1, such as nats-server 2.9, hangs up on who publishes by more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from motiond.daemon.api import Report, ReportHub
from motiond.daemon.mqtt.client import MqttConnection, granted_qos
from tests import ports
from tests.daemon.conftest import MqttObserver, WatchedBridge, data_of, listening, running, started_broker
from tests.daemon.mqtt.stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.conftest import Robots

RESULT = "motiond/arm/result"


class Limited(NamedTuple):
    broker: StandIn
    takes_qos_2: bool


@pytest.fixture(params=["5 max_qos 1", "3.1.1 max_qos 1", "5", "3.1.1"])
async def limited(request: pytest.FixtureRequest) -> AsyncIterator[Limited]:
    """Run a broker that takes QoS 1 at most, or any."""
    protocol, _, line = request.param.partition(" ")
    broker = StandIn(ports.free_port(), protocol)
    broker.configure(*[line] * bool(line))
    async with started_broker(broker):
        yield Limited(broker, takes_qos_2=not line)


async def test_results_go_out_with_qos_2_or_the_highest_that_the_broker_takes(
    limited: Limited, robots: Robots, hub: ReportHub
) -> None:
    settings = limited.broker.settings
    bridge = WatchedBridge(settings, robots, hub)
    async with running(bridge), MqttConnection(settings) as client:
        await client.subscribe(RESULT, qos=2)
        observer = MqttObserver(client, checked=False)
        for number in range(3):
            hub.publish(Report("arm", "result", {"goal_id": f"g{number}"}))
        results = [await observer.until(RESULT) for _ in range(3)]
        assert not bridge.lost.is_set()
    assert [data_of(result)["goal_id"] for result in results] == ["g0", "g1", "g2"]
    assert {result.qos for result in results} == {1 + limited.takes_qos_2}


async def test_subscriptions_and_answers_have_qos_0_where_the_broker_takes_no_more_than_qos_1(
    limited: Limited, robots: Robots, hub: ReportHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise an answer waits until a cluster has logged what was answered before."""
    qos, settings = int(limited.takes_qos_2), limited.broker.settings
    subscribed = subscriptions_of(monkeypatch)
    async with (
        running(WatchedBridge(settings, robots, hub)),
        listening(settings, checked=False) as observer,
    ):
        for verb in ("status", "stop"):  # on the one connection and on the other
            await observer.client.publish(f"motiond/arm/request/{verb}", b"{}", 1)
            assert (await observer.until(f"motiond/arm/response/{verb}")).qos == qos
        assert data_of(await observer.until("motiond/bridge/d1/availability"))["requests_qos"] == qos
    assert subscribed.pop("motiond/bridge/d1/availability") == 2
    assert {"motiond/arm/request/#", "motiond/hand/request/stop", "motiond/arm/state"} < subscribed.keys()
    heartbeats = [topic for topic in subscribed if topic.endswith("/heartbeat")]
    assert {subscribed.pop(topic) for topic in heartbeats} == {0}
    assert set(subscribed.values()) == {qos}


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


def subscriptions_of(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Return by which quality of service each topic is subscribed to from now on, but by observers."""
    asked: dict[str, int] = {}
    subscribe = MqttConnection.subscribe

    async def noting(client: MqttConnection, topics: Any, *args: Any, **options: Any) -> Any:
        if isinstance(topics, list):
            asked.update((topic, getattr(one, "QoS", one)) for topic, one in topics)
        return await subscribe(client, topics, *args, **options)

    monkeypatch.setattr(MqttConnection, "subscribe", noting)
    return asked
