"""A broker that takes no more than QoS 1, such as nats-server 2.9, hangs up on who publishes by more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from motiond.daemon.api.reports import Report, ReportHub
from motiond.daemon.mqtt.connection import make_client
from tests import ports
from tests.daemon.conftest import Ear, Mosquitto, WatchedBridge, listening, running, said

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.daemon.conftest import Robots

RESULT = "motiond/arm/result"


@pytest.fixture(params=["5", "3.1.1"])
async def limited(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Mosquitto]:
    """Run a mosquitto that takes QoS 1 at most."""
    broker = Mosquitto(ports.free_port(), tmp_path, request.param)
    broker.configure("max_qos 1", "allow_anonymous true")
    await broker.start()
    yield broker
    await broker.kill()


async def test_results_go_out_with_qos_1_where_the_broker_takes_no_more(
    limited: Mosquitto, robots: Robots, hub: ReportHub
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
    mosquitto_of_any_version: Mosquitto, robots: Robots, hub: ReportHub
) -> None:
    settings = mosquitto_of_any_version.settings
    async with running(WatchedBridge(settings, robots, hub)), make_client(settings) as client:
        await client.subscribe(RESULT, qos=2)
        hub.publish(Report("arm", "result", {"goal_id": "g0"}))
        assert (await Ear(client, checked=False).until(RESULT)).qos == 2
