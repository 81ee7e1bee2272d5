"""A robot whose broker is bridged to a site's, as `config/fleet` sets them up, and what a cut link does."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from motiond.daemon.api import RETAINED, Dispatcher, Report
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.mqtt.client import MqttConnection
from tests.daemon.conftest import MqttObserver, Robots, data_of, listening, running
from tests.daemon.programs import running as daemon_running
from tests.daemon.programs import use
from tests.daemon.rig import Rig
from tests.system.fleet.site import Site
from tests.system.test_end_to_end import trace_at_rest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.daemon.api import ReportHub

DAEMON = "motiond/bridge/arm-pc/availability"
RESULT = "motiond/arm/result"
LINK = "motiond/link/arm"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    site = Site(tmp_path)
    try:
        await site.start()
        yield site
    finally:
        await site.kill()


@asynccontextmanager
async def operator(site: Site) -> AsyncIterator[MqttObserver]:
    """Listen at the site to what an operator may hear."""
    async with MqttConnection(site.settings()) as client:
        for topic in ("motiond/+/+", "motiond/bridge/+/availability", "motiond/+/response/#"):
            await client.subscribe(topic, qos=2)
        yield MqttObserver(client, checked=False)


@asynccontextmanager
async def a_daemon(site: Site, robots: Robots, hub: ReportHub) -> AsyncIterator[MqttBridge]:
    bridge = MqttBridge(site.robot.settings, "arm-pc", robots, Dispatcher(robots), hub)
    async with running(bridge):
        yield bridge


def is_online(data: Any) -> bool:
    return bool(data["state"] == "online")


async def is_up(observer: MqttObserver) -> None:
    await observer.until(LINK, lambda data: data == 1)


async def is_cut(observer: MqttObserver) -> None:
    await observer.until(LINK, lambda data: data == 0)


async def test_a_robot_is_asked_from_its_site_with_all_that_mqtt_5_says_and_its_reports_go_there(
    site: Site, robots: Robots, hub: ReportHub
) -> None:
    async with (
        a_daemon(site, robots, hub),
        operator(site) as observer,
        listening(site.robot.settings, checked=False) as at_robot,
    ):
        await observer.until(DAEMON, is_online)
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's is untyped
        properties.ResponseTopic, properties.CorrelationData = "motiond/arm/response/mine", b"\x00me"
        await observer.client.publish("motiond/arm/request/status", b"{}", 1, properties=properties)
        answer = await observer.until("motiond/arm/response/mine")
        correlation = getattr(answer.properties, "CorrelationData", None)
        assert (data_of(answer)["status"], correlation) == ("ok", b"\x00me")
        hub.publish(Report("arm", "result", {"goal_id": "g1"}))
        assert data_of(await observer.until(RESULT)) == {"goal_id": "g1"}
        for subject in RETAINED & {"description", "motions", "state"}:
            await observer.until(f"motiond/arm/{subject}")
        # What is asked at the robot itself is not asked again by way of the site.
        await at_robot.ask("motiond/arm/request/status", b"{}")
        await observer.until("motiond/arm/response/status")
        await observer.ask("motiond/arm/request/queue", b"{}")
        assert robots.verbs() == ["status", "status", "queue"]
        for subject in ("lease", "reservation"):
            await at_robot.client.publish(f"motiond/arm/{subject}", b'{"epoch":1}', 1, retain=True)
            assert data_of(await observer.until(f"motiond/arm/{subject}")) == {"epoch": 1}


async def test_where_the_link_is_cut_results_arrive_once_when_it_is_back_and_requests_never(
    site: Site, robots: Robots, hub: ReportHub
) -> None:
    async with (
        a_daemon(site, robots, hub),
        operator(site) as observer,
        listening(site.robot.settings, checked=False) as at_robot,
    ):
        await observer.until(DAEMON, is_online)
        await site.link.cut()
        await is_cut(observer)
        await observer.client.publish("motiond/arm/request/play", b'{"motion":"wave"}', 1)
        for number in range(3):
            hub.publish(Report("arm", "result", {"goal_id": f"g{number}"}))
        await at_robot.until(RESULT, lambda data: data["goal_id"] == "g2")
        await site.link.repair()
        await is_up(observer)
        hub.publish(Report("arm", "result", {"goal_id": "last"}))
        await observer.until(RESULT, lambda data: data["goal_id"] == "last")
        earlier = [data_of(one)["goal_id"] for one in observer.received if one.topic.value == RESULT]
        asking = asyncio.create_task(says(observer, "motiond/arm/request/status", b"{}"))
        await observer.until("motiond/arm/response/status")  # by then, what was kept would have come before
        asking.cancel()
        await asyncio.wait((asking,))
    assert earlier == ["g0", "g1", "g2"]
    assert set(robots.verbs()) == {"status"}


async def says(observer: MqttObserver, topic: str, payload: bytes) -> None:
    """Say something again and again: the bridge subscribes after it has said that the link is up."""
    while True:
        await observer.client.publish(topic, payload, 1)
        await asyncio.sleep(0.1)


async def test_a_robot_at_its_own_broker_plays_on_while_the_site_is_down(site: Site, tmp_path: Path) -> None:
    (tmp_path / "rig").mkdir()
    rig = Rig(tmp_path / "rig")
    use(rig, site.robot.settings)
    rig.daemon["id"] = "arm-pc"
    async with daemon_running(rig), listening(site.robot.settings, checked=False) as at_robot:
        async with operator(site) as observer:
            await observer.until("motiond/arm/state", lambda data: data["state"] == "idle")
            request = orjson.dumps({"motion": "short", "loop": 15})
            goal_id = (await observer.ask("motiond/arm/request/play", request))["data"]["goal_id"]
            await observer.until("motiond/arm/state", lambda data: data["state"] == "playing")
        await site.broker.kill()
        await at_robot.until(LINK, lambda data: data == 0)
        ended = data_of(await at_robot.until(RESULT))
        await site.link.cut()  # what the robot's broker keeps comes once, and somebody shall be there
        await site.broker.start()
        async with operator(site) as observer:
            await site.link.repair()
            late = data_of(await observer.until(RESULT))
    assert (ended["goal_id"], ended["code"]) == (goal_id, "SUCCESSFUL")
    assert late == ended


async def test_a_robot_at_the_site_s_broker_stops_softly_where_the_link_is_cut(
    site: Site, tmp_path: Path
) -> None:
    (tmp_path / "rig").mkdir()
    rig = Rig(tmp_path / "rig")
    use(rig, site.settings("motiond", site.link.port), stop_when_lost_s=5.0)
    rig.daemon["id"] = "arm-pc"
    async with daemon_running(rig), operator(site) as observer:
        await observer.until("motiond/arm/state", lambda data: data["state"] == "idle")
        await observer.ask("motiond/arm/request/play", b'{"motion":"long"}')
        await observer.until("motiond/arm/state", lambda data: data["state"] == "playing")
        await site.link.cut()
        await observer.until(DAEMON, lambda data: data["state"] == "broken")
        await asyncio.to_thread(trace_at_rest, rig)
        await site.link.repair()
        ended = data_of(await observer.until(RESULT))
    reason = "the broker has been away for more than 5 s; nobody could stop it"
    assert (ended["code"], ended["message"]) == ("CANCELED", reason)
