"""When Home Assistant is told, told again and told no more."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

import jsonschema
import orjson
import pytest

from motiond.daemon.api import Dispatcher, Report, ReportHub
from motiond.daemon.client.forget import forget
from motiond.daemon.config.mqtt import HomeAssistantSettings
from motiond.daemon.mqtt.bridge import MqttBridge
from tests.daemon.cli.program import Daemon
from tests.daemon.conftest import Robots, running, said
from tests.daemon.mqtt.home import ARM, HAND, home_at, moves_a_robot
from tests.daemon.mqtt.test_home_assistant import SCHEMA
from tests.daemon.programs import use
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from motiond.daemon.config.mqtt import MqttSettings
    from tests.daemon.mqtt.stand_in import StandIn
    from tests.daemon.rig import Rig

pytestmark = pytest.mark.slow

ON = HomeAssistantSettings()


def with_home(settings: MqttSettings, home: HomeAssistantSettings | None = ON) -> MqttSettings:
    return settings.model_copy(update={"home_assistant": home})


def a_bridge(settings: MqttSettings, hub: ReportHub, robots: Robots | None = None) -> MqttBridge:
    robots = robots or Robots()
    return MqttBridge(settings, "d1", robots, Dispatcher(robots), hub)


@pytest.fixture
def hub(hub: ReportHub) -> ReportHub:
    """Know motions as a robot lists them."""
    for robot in Robots.robots:
        hub.publish(Report(robot, "motions", listing("nod", "wave")))
    return hub


def listing(*names: str) -> dict[str, Any]:
    return {"motions": [{"name": name, "ok": True} for name in names] + [{"name": "bad", "ok": False}]}


async def kept(settings: MqttSettings) -> dict[str, Any]:
    """Return what a Home Assistant that starts now is told."""
    async with home_at(settings) as home:
        await home.client.subscribe("kept/last", qos=1)
        await home.client.publish("kept/last", b"{}", qos=1)
        await home.until("kept/last")
        return {one.topic.value: said(one) for one in home.heard if one.retain}


async def becomes(settings: MqttSettings, wanted: set[str]) -> dict[str, Any]:
    """Wait until just these topics are kept."""
    async with asyncio.timeout(PATIENCE_S):
        while (now := await kept(settings)).keys() != wanted:  # noqa: ASYNC110 - a newcomer asks anew
            await asyncio.sleep(0.05)
    return now


async def test_each_robot_is_told_of_and_it_is_kept(
    mosquitto_of_any_version: StandIn, hub: ReportHub
) -> None:
    settings = with_home(mosquitto_of_any_version.settings)
    async with running(a_bridge(settings, hub)):
        now = await becomes(settings, {ARM, HAND})
        for message in now.values():
            jsonschema.validate(message, SCHEMA)
        assert now[ARM]["components"]["motion"]["options"] == ["nod", "wave"]
    await becomes(settings, {ARM, HAND})  # a daemon that has ended is not available, and not gone
    assert ARM in await forget(settings, "arm")
    await becomes(settings, {HAND})


async def test_new_motions_are_new_choices(mosquitto: StandIn, hub: ReportHub) -> None:
    settings = with_home(mosquitto.settings)
    async with home_at(settings) as home, running(a_bridge(settings, hub)):
        await home.until(ARM)
        hub.publish(Report("arm", "motions", listing("nod", "stretch")))
        wanted = ["nod", "stretch"]
        await home.until(ARM, lambda said: said["components"]["motion"]["options"] == wanted)


async def test_it_is_told_again_whenever_it_has_started(mosquitto: StandIn, hub: ReportHub) -> None:
    settings = with_home(mosquitto.settings)
    async with home_at(settings) as home, running(a_bridge(settings, hub)):
        for topic in (ARM, HAND):
            await home.until(topic)
        for payload, answers in ((b"offline", 0), (b"online", 1), (b"online", 1)):
            await home.client.publish("homeassistant/status", payload, qos=0)
            for _ in range(answers):
                for topic in (ARM, HAND):
                    assert not (await home.until(topic)).retain
        await home.client.publish(ARM, b"{}", qos=1)
        await home.until(ARM, lambda said: said == {})
        assert home.heard == []


async def test_who_deletes_the_device_in_home_assistant_is_not_contradicted(
    mosquitto: StandIn, hub: ReportHub
) -> None:
    settings = with_home(mosquitto.settings)
    async with running(a_bridge(settings, hub)):
        await becomes(settings, {ARM, HAND})
        async with home_at(settings) as home:
            await home.client.publish(ARM, b"", qos=1, retain=True)
        await asyncio.sleep(1.5)  # what lasts is told again within that time
        assert (await kept(settings)).keys() == {HAND}


# -- told no more -------------------------------------------------------------------------------------------


async def test_once_switched_off_the_devices_are_removed(
    mosquitto_of_any_version: StandIn, hub: ReportHub
) -> None:
    settings = mosquitto_of_any_version.settings
    async with running(a_bridge(with_home(settings), hub)):
        await becomes(settings, {ARM, HAND})
    async with running(a_bridge(settings, hub)):
        await becomes(settings, set())


class HandAlone(Robots):
    robots = ("hand",)


async def test_a_robot_that_was_taken_out_is_removed_and_the_others_stay(
    mosquitto: StandIn, hub: ReportHub
) -> None:
    settings = with_home(mosquitto.settings)
    async with running(a_bridge(settings, hub)):
        await becomes(settings, {ARM, HAND})
    rest = ReportHub()
    for report in hub.latest():
        if report.robot == "hand":
            rest.publish(report)
    async with running(a_bridge(settings, rest, HandAlone())):
        await becomes(settings, {HAND})


async def test_what_others_say_of_our_robots_does_not_make_us_clear_what_is_theirs(
    mosquitto: StandIn, hub: ReportHub
) -> None:
    theirs = "homeassistant/device/lamp/config"
    async with home_at(mosquitto.settings) as home:
        forged = {"state": "offline", "bridge": "d1", "discovery": theirs}
        await home.client.publish("motiond/arm/availability", orjson.dumps(forged), 1, True)
        await home.client.publish(theirs, b"{}", 1, True)
    async with running(a_bridge(mosquitto.settings, hub)):
        await asyncio.sleep(0.5)
        await becomes(mosquitto.settings, {theirs})


# -- what it sends ------------------------------------------------------------------------------------------


async def test_what_home_assistant_sends_moves_a_robot_and_what_it_shows_is_what_the_robot_does(
    rig: Rig, mosquitto: StandIn
) -> None:
    use(rig, mosquitto.settings)
    rig.daemon["mqtt"] = {**rig.daemon["mqtt"], "home_assistant": {}}
    daemon = Daemon(rig.config)
    await moves_a_robot(mosquitto.settings)
    daemon.send_signal(signal.SIGTERM)
    assert (await daemon.end()).code == 0
