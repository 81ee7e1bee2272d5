"""MQTT over WebSockets, at a real mosquitto: all that goes over a plain connection goes over one of these."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.api import Report, ReportHub
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.client import MqttConnection
from tests.daemon import answers
from tests.daemon.conftest import (
    Mosquitto,
    WatchedBridge,
    data_of,
    listening,
    running,
    started_broker,
    web_sockets,
)
from tests.system.mqtt.listeners import CA, WITH_TLS, passwords
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.daemon.conftest import Robots


@pytest.fixture(params=["ws 3.1.1", "wss 5"])
async def web(request: pytest.FixtureRequest, free_port: int, tmp_path: Path) -> AsyncIterator[Mosquitto]:
    """Run a mosquitto that takes WebSockets alone; with TLS it asks for a login, too."""
    scheme, protocol = request.param.split()
    broker = Mosquitto(free_port, tmp_path, protocol)
    lines: tuple[str, ...] = ("allow_anonymous true",)
    options: dict[str, Any] = {"broker": f"ws://127.0.0.1:{free_port}/mqtt"}
    if scheme == "wss":
        lines = (*passwords(tmp_path, "arm", "s3cret"), *WITH_TLS)
        options = {"broker": f"wss://arm:s3cret@localhost:{free_port}", "ca_file": CA}
    broker.configure(*web_sockets(*lines))
    broker.settings = MqttSettings(**options, protocol=protocol, reconnect_min_s=0.05, reconnect_max_s=0.2)
    async with started_broker(broker):
        yield broker


async def test_requests_reports_and_stops_go_over_a_web_socket(
    web: Mosquitto, robots: Robots, hub: ReportHub
) -> None:
    async with (
        running(WatchedBridge(web.settings, robots, hub)),
        listening(web.settings, checked=False) as observer,
    ):
        assert data_of(await observer.until("motiond/arm/state")) == answers.state()
        for verb in ("status", "stop"):
            assert (await observer.ask(f"motiond/arm/request/{verb}", b"{}"))["status"] == "ok"
        long = "x" * 10_000  # mosquitto 2.0 takes 4 KiB of a WebSocket in each tenth of a second
        hub.publish(Report("arm", "motions", {"motions": [long]}))
        await observer.until("motiond/arm/motions", lambda data: data == {"motions": [long]})
        for number in range(300):
            hub.publish(Report("arm", "result", {"goal_id": f"g{number}"}))
        await observer.until("motiond/arm/result", lambda data: data["goal_id"] == "g299")
        results = [result["goal_id"] for result in observer.on("motiond/arm/result")]
        assert results == [f"g{number}" for number in range(299)]


async def test_many_messages_at_once_are_all_read(web: Mosquitto) -> None:
    taken: list[bytes] = []
    all_there = asyncio.Event()

    def take(message: Any) -> None:
        taken.append(message.payload)
        if len(taken) == 500:
            all_there.set()

    async with MqttConnection(web.settings, receive=take) as client, MqttConnection(web.settings) as other:
        await client.subscribe("numbers", qos=1)
        for number in range(500):
            await other.publish("numbers", b"%d" % number + b" " * (number * 7), qos=1)
        await asyncio.wait_for(all_there.wait(), PATIENCE_S)
    assert [int(payload.split()[0]) for payload in taken] == list(range(500))
