"""Brokers that take no packet as long as the daemon's list of motions."""

from __future__ import annotations

import asyncio
import logging

import pytest

from motiond.daemon.api import Report, ReportHub
from motiond.daemon.mqtt.client import MqttConnection
from motiond.daemon.mqtt.client.packet_limit import RAISE_IT, packet_bytes
from tests.daemon import answers
from tests.daemon.asking import ask
from tests.daemon.conftest import (
    Robots,
    WatchedBridge,
    data_of,
    is_connected,
    is_lost,
    listening,
    reconfigured,
    running,
)
from tests.daemon.mqtt.stand_in import StandIn

MOTIONS = "motiond/arm/motions"
MANY = {"motions": [{**answers.MOTIONS["motions"][0], "name": f"wave_{number:03d}"} for number in range(150)]}
LONG = "the elbow stands in the way; " * 40
BY_SIZE = "max_packet_size"
BY_PAYLOAD = "message_size_limit"


@pytest.fixture
def hub(hub: ReportHub) -> ReportHub:
    hub.publish(Report("arm", "motions", MANY))
    return hub


def fits(topic: str, payload: bytes, most: int, broker: StandIn) -> bool:
    return packet_bytes(topic, len(payload), 1, None, v5=broker.settings.protocol == "5") <= most


def reported(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line for line in caplog.messages if line.startswith("motiond/")]


@pytest.mark.parametrize(
    ("option", "most"), [(BY_SIZE, 20_000), (BY_SIZE, 3_000), (BY_PAYLOAD, 20_000), (BY_PAYLOAD, 3_000)]
)
async def test_a_robot_is_usable_and_its_list_of_motions_is_cut(
    mosquitto_of_any_version: StandIn,
    robots: Robots,
    hub: ReportHub,
    *,
    option: str,
    most: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "motiond")
    broker = mosquitto_of_any_version
    await reconfigured(broker, f"{option} {most}")
    async with running(WatchedBridge(broker.settings, robots, hub)), listening(broker.settings) as observer:
        assert data_of(await observer.until("motiond/arm/availability"))["state"] == "online"
        message = await observer.until(MOTIONS)
        assert fits(MOTIONS, message.payload, most, broker)
        cut = data_of(message)
        assert cut["motions"] == MANY["motions"][: len(cut["motions"])]
        assert len(cut["motions"]) > 5
        assert cut["more"] == 150 - len(cut["motions"])
        accepted = await observer.ask("motiond/arm/request/play", b'{"motion":"wave"}')
        assert accepted["status"] == "ok"
        hub.publish(Report("arm", "motions", MANY))  # the next is reported no more
        await observer.until(MOTIONS)
    lines = reported(caplog)
    assert len(lines) == 1
    assert lines[0].startswith(f"{MOTIONS}: ")
    assert RAISE_IT in lines[0]


async def test_a_limit_that_is_lowered_while_the_daemon_runs_is_kept_to(
    mosquitto_of_any_version: StandIn, robots: Robots, hub: ReportHub
) -> None:
    broker = mosquitto_of_any_version
    bridge = WatchedBridge(broker.settings, robots, hub)
    async with running(bridge):
        async with listening(broker.settings) as observer:
            assert data_of(await observer.until(MOTIONS)) == MANY
        bridge.may_return.clear()
        await reconfigured(broker, "max_packet_size 5000")
        await is_lost(bridge)
        hub.publish(Report("arm", "motions", MANY))
        hub.publish(
            Report("arm", "event", answers.event(LONG * 10))
        )  # kept by the session, and too long by then
        bridge.may_return.set()
        async with listening(broker.settings) as observer:
            assert data_of(await observer.until(MOTIONS))["more"] > 100
            assert data_of(await observer.until("motiond/arm/event"))["message"].startswith(
                "the elbow stands"
            )
        await is_connected(bridge)


async def test_nothing_begins_while_the_connection_for_stops_is_thrown_out_again_and_again(
    free_port: int, robots: Robots, hub: ReportHub
) -> None:
    broker = StandIn(free_port, "3.1.1")
    broker.configure("max_packet_size 20000")
    await broker.start()
    bridge = WatchedBridge(broker.settings, robots, hub)
    bridge.may_return.clear()
    task = asyncio.create_task(bridge.run())
    try:
        await is_lost(bridge)
        refused = await ask(broker.settings, "arm", "status")
        assert refused == answers.ANSWERS["status"]
        with pytest.raises(Exception, match="the daemon's connection for stops is not there"):
            await ask(broker.settings, "arm", "play", {"motion": "wave"})
        assert await ask(broker.settings, "arm", "stop") == answers.ANSWERS["stop"]
        assert {*robots.verbs()} == {"status", "stop"}
        bridge.may_return.set()
        await is_connected(bridge)
        await ask(broker.settings, "arm", "play", {"motion": "wave"})
        assert robots.verbs()[-1] == "play"
    finally:
        bridge.may_return.set()
        task.cancel()
        await asyncio.wait((task,))
        await broker.kill()


async def test_who_waits_for_all_does_not_wait_for_what_is_too_long_for_the_next_connection(
    mosquitto: StandIn,
) -> None:
    client = MqttConnection(mosquitto.settings, "c", session_s=60)
    number = client.hand_over("a/b", bytes(2000), 1)
    await reconfigured(mosquitto, "max_packet_size 1000")
    async with client, asyncio.timeout(10.0):
        await client.all_delivered()
    assert client.take_withdrawn() == [number]
