"""Holds a discovery message against Home Assistant's own schemas, and renders templates; run by its Python.

On stdin comes JSON: the `message`, and what is to be rendered: `values` of pairs of a template and a payload,
`commands` of pairs of a template and a value. On stdout goes what was held and what was rendered.
"""

import asyncio
import importlib
import json
import sys
import tempfile
from typing import Any

from homeassistant.components.mqtt import schemas
from homeassistant.const import __version__
from homeassistant.core import HomeAssistant
from homeassistant.helpers.template import Template


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = HomeAssistant(folder)
        asked = json.load(sys.stdin)
        values = [Template(text, home) for text, _ in asked["values"]]
        commands = [Template(text, home) for text, _ in asked["commands"]]
        told = {
            "version": __version__,
            "held": held(asked["message"]),
            "values": [
                one.async_render_with_possible_json_value(payload)
                for one, (_, payload) in zip(values, asked["values"], strict=True)
            ],
            "commands": [
                one.async_render({"value": value}, parse_result=False)
                for one, (_, value) in zip(commands, asked["commands"], strict=True)
            ],
        }
    print(json.dumps(told))


def held(message: dict[str, Any]) -> list[str]:
    """Hold the whole and each component against its schema; return the components."""
    schemas.DEVICE_DISCOVERY_SCHEMA(message)
    shared = {name: message[name] for name in schemas.SHARED_OPTIONS if name in message}
    for component in message["components"].values():
        options = {name: value for name, value in component.items() if name != "platform"}
        platform = importlib.import_module(f"homeassistant.components.mqtt.{component['platform']}")
        options |= shared | {"device": message["device"], "origin": message["origin"]}
        platform.PLATFORM_SCHEMA_MODERN(options)  # which refuses what it does not know
        platform.DISCOVERY_SCHEMA(options)
    return list(message["components"])


asyncio.run(main())
