"""What Home Assistant does at a broker: it listens, shows, and sends what somebody presses."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from motiond.daemon.mqtt.client import MqttConnection
from tests.daemon.conftest import Ear, said
from tests.daemon.mqtt.test_home_assistant import ENVIRONMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from motiond.daemon.config.mqtt import MqttSettings

ARM, HAND = (f"homeassistant/device/motiond_{robot}/config" for robot in ("arm", "hand"))


@asynccontextmanager
async def home_at(settings: MqttSettings) -> AsyncIterator[Ear]:
    """Listen as Home Assistant does."""
    async with MqttConnection(settings) as client:
        await client.subscribe("homeassistant/device/+/config", qos=1)
        await client.subscribe("other/device/+/config", qos=1)
        yield Ear(client, checked=False)  # the document is of what lies below the base


class Home:
    """Presses what Home Assistant shows of a robot."""

    def __init__(self, ear: Ear, message: dict[str, Any]) -> None:
        self.ear = ear
        self._components = message["components"]

    async def sends(self, key: str, value: object = None, *, payload: str = "payload_press") -> Any:
        """Send what a component sends, and return motiond's answer."""
        component = self._components[key]
        template = component.get("command_template")
        text = ENVIRONMENT.from_string(template).render(value=value) if template else component[payload]
        return await self.ear.ask(component["command_topic"], text.encode())

    async def shows(self, key: str, text: str) -> None:
        """Wait until a component shows a text."""
        component = self._components[key]
        template = ENVIRONMENT.from_string(component["value_template"])
        await self.ear.until(component["state_topic"], lambda said: template.render(value_json=said) == text)


async def moves_a_robot(settings: MqttSettings) -> None:
    """Send all that it can, and hold what it shows to what the robot then does; `rig` has the robot."""
    async with home_at(settings) as ear:
        await ear.client.subscribe("motiond/#", qos=1)
        home = Home(ear, said(await ear.until(ARM)))
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
        replaced = said(await ear.until("motiond/arm/result", lambda said: said["motion"] == "long"))
        done = said(await ear.until("motiond/arm/result", lambda said: said["motion"] == "short"))
        await home.shows("motion", "None")
        ok.append(await home.sends("stop"))
        ok.append(await home.sends("estop"))
        await home.shows("problem", "ON")
        ok.append(await home.sends("reset"))
        await home.shows("problem", "OFF")
        await ear.until("motiond/arm/diagnostics")
    assert [answer["status"] for answer in ok] == ["ok"] * len(ok), ok
    assert (replaced["code"], done["code"]) == ("PREEMPTED", "SUCCESSFUL")
