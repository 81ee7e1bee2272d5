"""When robots are published to Home Assistant, again, and removed."""

from __future__ import annotations

import asyncio
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from motiond.daemon.api import Report, ReportHub
from motiond.daemon.config.mqtt import HomeAssistantSettings
from motiond.daemon.mqtt.client import MqttConnection
from motiond.daemon.mqtt.forget import forget
from tests.daemon.cli.program import Daemon
from tests.daemon.conftest import MqttObserver, Robots, WatchedBridge, data_of, running
from tests.daemon.mqtt.test_home_assistant import ENVIRONMENT, SCHEMA
from tests.daemon.programs import use
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from motiond.daemon.config.mqtt import MqttSettings
    from tests.daemon.mqtt.stand_in import StandIn
    from tests.daemon.rig import Rig

pytestmark = pytest.mark.slow

ON = HomeAssistantSettings()
ARM, HAND = (f"homeassistant/device/motiond_{robot}/config" for robot in ("arm", "hand"))


@asynccontextmanager
async def home_at(settings: MqttSettings) -> AsyncIterator[MqttObserver]:
    """Listen as Home Assistant does."""
    async with MqttConnection(settings) as client:
        await client.subscribe("homeassistant/device/+/config", qos=1)
        await client.subscribe("other/device/+/config", qos=1)
        yield MqttObserver(client, checked=False)  # the document is of what lies below the base


class Home:
    """Presses what Home Assistant shows of a robot."""

    def __init__(self, observer: MqttObserver, message: dict[str, Any]) -> None:
        self.observer = observer
        self._components = message["components"]

    async def sends(self, key: str, value: object = None, *, payload: str = "payload_press") -> Any:
        """Send what a component sends, and return motiond's answer."""
        component = self._components[key]
        template = component.get("command_template")
        text = ENVIRONMENT.from_string(template).render(value=value) if template else component[payload]
        return await self.observer.ask(component["command_topic"], text.encode())

    async def shows(self, key: str, text: str) -> None:
        """Wait until a component shows a text."""
        component = self._components[key]
        template = ENVIRONMENT.from_string(component["value_template"])
        await self.observer.until(
            component["state_topic"], lambda data: template.render(value_json=data) == text
        )


def with_home(settings: MqttSettings, home: HomeAssistantSettings | None = ON) -> MqttSettings:
    return settings.model_copy(update={"home_assistant": home})


def a_bridge(settings: MqttSettings, hub: ReportHub, robots: Robots | None = None) -> WatchedBridge:
    return WatchedBridge(settings, robots or Robots(), hub)


@pytest.fixture
def hub(hub: ReportHub) -> ReportHub:
    """Know motions as a robot lists them."""
    for robot in Robots.robots:
        hub.publish(Report(robot, "motions", listing("nod", "wave")))
    return hub


def listing(*names: str) -> dict[str, Any]:
    return {"motions": [{"name": name, "ok": True} for name in names] + [{"name": "bad", "ok": False}]}


async def kept(settings: MqttSettings) -> dict[str, Any]:
    """Return what a Home Assistant that starts now receives."""
    async with home_at(settings) as home:
        await home.client.subscribe("kept/last", qos=1)
        await home.client.publish("kept/last", b"{}", qos=1)
        await home.until("kept/last")
        return {message.topic.value: data_of(message) for message in home.received if message.retain}


async def becomes(settings: MqttSettings, wanted: set[str]) -> dict[str, Any]:
    """Wait until just these topics are kept."""
    async with asyncio.timeout(PATIENCE_S):
        while (now := await kept(settings)).keys() != wanted:  # noqa: ASYNC110 - a each look is a new subscription
            await asyncio.sleep(0.05)
    return now


async def test_each_robot_is_published_and_retained(
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
        await home.until(ARM, lambda data: data["components"]["motion"]["options"] == wanted)


async def test_robots_are_published_again_whenever_home_assistant_has_started(
    mosquitto: StandIn, hub: ReportHub
) -> None:
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
        await home.until(ARM, lambda data: data == {})
        assert home.received == []


async def test_who_deletes_the_device_in_home_assistant_is_not_contradicted(
    mosquitto: StandIn, hub: ReportHub
) -> None:
    settings = with_home(mosquitto.settings)
    async with running(a_bridge(settings, hub)):
        await becomes(settings, {ARM, HAND})
        async with home_at(settings) as home:
            await home.client.publish(ARM, b"", qos=1, retain=True)
        await asyncio.sleep(1.5)  # what is retained is published again within that time
        assert (await kept(settings)).keys() == {HAND}


# -- removed ------------------------------------------------------------------------------------------------


class HandAlone(Robots):
    robots = ("hand",)


async def test_a_robot_that_was_taken_out_is_removed_and_once_switched_off_all(
    mosquitto_of_any_version: StandIn, hub: ReportHub
) -> None:
    settings = with_home(mosquitto_of_any_version.settings)
    async with running(a_bridge(settings, hub)):
        await becomes(settings, {ARM, HAND})
    rest = ReportHub()
    for report in hub.latest():
        if report.robot == "hand":
            rest.publish(report)
    async with running(a_bridge(settings, rest, HandAlone())):
        await becomes(settings, {HAND})
    async with running(a_bridge(mosquitto_of_any_version.settings, rest, HandAlone())):
        await becomes(settings, set())


# -- what it sends ------------------------------------------------------------------------------------------


async def test_what_home_assistant_sends_moves_a_robot_and_what_it_shows_is_what_the_robot_does(
    rig: Rig, mosquitto: StandIn
) -> None:
    use(rig, mosquitto.settings)
    rig.daemon["mqtt"] = {**rig.daemon["mqtt"], "home_assistant": {}}
    daemon = Daemon(rig.config)
    async with home_at(mosquitto.settings) as observer:
        await observer.client.subscribe("motiond/#", qos=1)
        home = Home(observer, data_of(await observer.until(ARM)))
        await home.shows("state", "idle")
        ok: list[Any] = [await home.sends("torque", payload="payload_on")]
        await home.shows("torque", "ON")
        ok.append(await home.sends("torque", payload="payload_off"))
        await home.shows("torque", "OFF")
        ok.append(await home.sends("motion", "long"))
        await home.shows("motion", "long")
        await home.shows("state", "playing")
        ok.append(await home.sends("speed", 0.5))
        await home.shows("speed", "0.5")
        ok.append(await home.sends("pause"))
        await home.shows("state", "paused")
        ok.append(await home.sends("resume"))
        await home.shows("state", "playing")
        ok.append(await home.sends("motion", "short"))
        replaced = data_of(await observer.until("motiond/arm/result", lambda data: data["motion"] == "long"))
        done = data_of(await observer.until("motiond/arm/result", lambda data: data["motion"] == "short"))
        await home.shows("motion", "None")
        ok.append(await home.sends("stop"))
        ok.append(await home.sends("estop"))
        await home.shows("problem", "ON")
        ok.append(await home.sends("reset"))
        await home.shows("problem", "OFF")
        await observer.until("motiond/arm/diagnostics")
    assert [answer["status"] for answer in ok] == ["ok"] * len(ok), ok
    assert (replaced["code"], done["code"]) == ("PREEMPTED", "SUCCESSFUL")
    daemon.send_signal(signal.SIGTERM)
    assert (await daemon.end()).code == 0
