"""Publishes the robots to Home Assistant, by its MQTT device discovery (release 2024.12 and later).

Each robot is a device, with a message of its own with the topics that it is seen and commanded by. The
topics are motiond's; what each command's template makes of a value is a request (docs/home_assistant.md).
"""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import orjson

from ...api import STOPS
from ...config.types import LEVELS
from ...ipc.states import State

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from ...config.mqtt import HomeAssistantSettings
    from ..topics import Topics

BORN = b"online"
ONLINE = "{{ 'online' if value_json.state == 'online' else 'offline' }}"
"""Home Assistant knows two words only; `broken` is `offline` to it."""
BUTTONS = {
    "stop": ("Stop", "mdi:stop"),
    "estop": ("Emergency stop", "mdi:alert-octagon"),
    "pause": ("Pause", "mdi:pause"),
    "resume": ("Resume", "mdi:play"),
    "reset": ("Reset", "mdi:restart"),
}
MOST_OPTIONS = 1000
MOST_OUTDATED = 1000
LONGEST_TOPIC = 1000


class HomeAssistant:
    """What one daemon publishes to Home Assistant.

    The robot's availability names the topic of its message. So a later run of the daemon knows what
    it has to clear, at whichever broker it comes to.
    """

    def __init__(
        self,
        settings: HomeAssistantSettings | None,
        topics: Topics,
        daemon_id: str,
        robots: Collection[str],
        needs_lease: Callable[[str], bool],
    ) -> None:
        self._settings = settings
        self._topics = topics
        self._daemon_id = daemon_id
        self._robots = robots
        self._needs_lease = needs_lease
        self._outdated: dict[str, str] = {}

    @property
    def status_topic(self) -> str | None:
        """Where Home Assistant reports its start; None without the option."""
        return self._settings.status_topic if self._settings else None

    def topic(self, robot: str) -> str | None:
        """Return where a robot is published to it; None where it is not."""
        if self._settings is None or robot not in self._robots:
            return None
        return f"{self._settings.prefix}/device/{device_id(self._topics.base, robot)}/config"

    # -- what was published before -----------------------------------------------------------------------

    def take(self, robot: str, data: dict[str, Any]) -> None:
        """Note a robot's availability, which names where this daemon has published it."""
        if data.get("bridge") == self._daemon_id:
            topic = discovery_topic(self._topics, robot, data)
            has_room = robot in self._outdated or len(self._outdated) < MOST_OUTDATED
            if topic is not None and topic != self.topic(robot) and has_room:
                self._outdated[robot] = topic

    def outdated(self, robot: str) -> str | None:
        """Return where a robot was published and is not any more, once."""
        return self._outdated.pop(robot, None)

    def forget(self) -> None:
        """Begin on a new connection."""
        self._outdated.clear()

    # -- what is published -------------------------------------------------------------------------------

    def config(self, robot: str, motions: Iterable[str]) -> dict[str, Any]:
        """Return the message for a robot."""
        topics, identifier = self._topics, device_id(self._topics.base, robot)
        own = {"name": "motiond", "sw_version": version("motiond")}
        availability = (topics.daemon(self._daemon_id), topics.report(robot, "availability"))
        components = self._components(robot, list(motions)[:MOST_OPTIONS])
        return {
            "device": {
                "identifiers": [identifier],
                "name": robot,
                "manufacturer": own["name"],
                "sw_version": own["sw_version"],
            },
            "origin": own,
            "availability": [{"topic": topic, "value_template": ONLINE} for topic in availability],
            "availability_mode": "all",
            "components": {
                key: {**component, "unique_id": f"{identifier}_{key}", "qos": 1}
                for key, component in components.items()
            },
        }

    def _components(self, robot: str, motions: list[str]) -> dict[str, dict[str, Any]]:
        """Return the entities; nothing that would be refused, which Home Assistant does not show."""
        if self._needs_lease(robot):
            stops = {verb: self._button(robot, verb, *BUTTONS[verb]) for verb in STOPS}
            return stops | self._sensors(robot)
        return {
            "motion": self._motion(robot, motions),
            "speed": self._speed(robot),
            "torque": self._torque(robot),
            **{verb: self._button(robot, verb, *look) for verb, look in BUTTONS.items()},
            **self._sensors(robot),
        }

    def _motion(self, robot: str, motions: list[str]) -> dict[str, Any]:
        """Return the choice of a motion; a way that is none of a file's, such as `park`, is no choice."""
        known = orjson.dumps(motions).decode()
        return {
            "platform": "select",
            "name": "Motion",
            "icon": "mdi:robot-industrial",
            "options": motions,
            "state_topic": self._topics.report(robot, "state"),
            "value_template": f"{{{{ value_json.motion if value_json.motion in {known} else 'None' }}}}",
            "command_topic": self._topics.request(robot, "play"),
            "command_template": '{"motion": {{ value | tojson }}, "on_busy": "replace"}',
        }

    def _speed(self, robot: str) -> dict[str, Any]:
        return {
            "platform": "number",
            "name": "Speed",
            "icon": "mdi:speedometer",
            "min": 0.1,
            "max": 10,
            "step": 0.05,
            "mode": "box",
            "state_topic": self._topics.report(robot, "state"),
            "value_template": "{{ value_json.speed if value_json.speed is defined else 'None' }}",
            "command_topic": self._topics.request(robot, "speed"),
            "command_template": '{"speed": {{ value }}}',
        }

    def _torque(self, robot: str) -> dict[str, Any]:
        return {
            "platform": "switch",
            "name": "Torque",
            "icon": "mdi:engine",
            "state_topic": self._topics.report(robot, "state"),
            "value_template": "{{ 'ON' if value_json.torque else 'OFF' }}",
            "state_on": "ON",
            "state_off": "OFF",
            "command_topic": self._topics.request(robot, "torque"),
            "payload_on": '{"on": true}',
            "payload_off": '{"on": false}',
        }

    def _button(self, robot: str, verb: str, name: str, icon: str) -> dict[str, Any]:
        return {
            "platform": "button",
            "name": name,
            "icon": icon,
            "command_topic": self._topics.request(robot, verb),
            "payload_press": "{}",
        }

    def _sensors(self, robot: str) -> dict[str, dict[str, Any]]:
        state = self._topics.report(robot, "state")
        hottest = "{% set known = value_json.temperature_c | reject('none') | list %}"
        progress = "(100 * value_json.progress) | round(1) if value_json.progress is defined else 'None'"
        return {
            "state": {
                "platform": "sensor",
                "name": "State",
                "device_class": "enum",
                "options": [str(state) for state in State],
                "state_topic": state,
                "value_template": "{{ value_json.state }}",
            },
            "progress": {
                "platform": "sensor",
                "name": "Progress",
                "icon": "mdi:progress-clock",
                "unit_of_measurement": "%",
                "state_topic": state,
                "value_template": f"{{{{ {progress} }}}}",
            },
            "temperature": {
                "platform": "sensor",
                "name": "Temperature",
                "device_class": "temperature",
                "unit_of_measurement": "°C",
                "state_class": "measurement",
                "entity_category": "diagnostic",
                "state_topic": self._topics.report(robot, "diagnostics"),
                "value_template": hottest + "{{ known | max | round(1) if known else 'None' }}",
            },
            "recording": {
                "platform": "binary_sensor",
                "name": "Recording",
                "device_class": "running",
                "entity_category": "diagnostic",
                "state_topic": self._topics.report(robot, "recording"),
                "value_template": "{{ 'ON' if value_json.recording else 'OFF' }}",
            },
            "problem": {
                "platform": "binary_sensor",
                "name": "Problem",
                "device_class": "problem",
                "entity_category": "diagnostic",
                "state_topic": state,
                "value_template": "{{ 'ON' if value_json.state in ['fault', 'estopped'] else 'OFF' }}",
                "json_attributes_topic": state,
                "json_attributes_template": "{{ {'message': value_json.message} | tojson }}",
            },
        }


def device_id(base: str, robot: str) -> str:
    """Return how Home Assistant knows a robot, whichever daemon has it."""
    return f"{base.replace('/', '_')}_{robot}"


def discovery_topic(topics: Topics, robot: str, availability: dict[str, Any]) -> str | None:
    """Return where a robot is published to Home Assistant by its availability; None where it is not.

    Only a topic that can be such a one is believed: others could have the daemon clear anything.
    """
    topic = availability.get("discovery")
    end = re.escape(f"/device/{device_id(topics.base, robot)}/config")
    if not isinstance(topic, str) or len(topic) > LONGEST_TOPIC or not re.fullmatch(f"{LEVELS}{end}", topic):
        return None
    return None if topic.startswith(f"{topics.base}/") else topic
