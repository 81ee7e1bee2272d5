"""The pages of the reference name all that the code has: nothing is left to be kept up by hand."""

from __future__ import annotations

import re

import pytest
import typer.main

from motiond import formats
from motiond.daemon.cli.app import app
from motiond.daemon.config.settings import json_schema
from motiond.daemon.http.openapi import openapi
from motiond.daemon.mqtt.asyncapi import asyncapi
from motiond.drivers.registry import driver_options_schema
from scripts.docs_reference import PAGES, kind


def missing(page: str, names: list[str]) -> list[str]:
    assert len(names) > 10
    written = PAGES[f"reference/{page}.md"]()
    return [name for name in names if name not in written]


def test_every_option_of_the_configuration_has_a_row() -> None:
    schema = json_schema()
    owners = [schema, *schema["$defs"].values()]
    assert missing("configuration", [f"\n| `{key}` |" for one in owners for key in one["properties"]]) == []


def test_every_option_of_each_driver_has_a_row() -> None:
    schemas = driver_options_schema()
    keys = [f"\n| `{key}` |" for schema in schemas.values() for key in schema["properties"]]
    assert missing("drivers", [*keys, *(f"\n## `type: {name}`\n" for name in schemas)]) == []


def test_every_command_has_a_section_with_its_options() -> None:
    group = typer.main.get_command(app)
    commands = getattr(group, "commands", {})
    sections = [f"\n## motiond {name}\n" for name in commands]
    options = [
        f"`{option}`" for one in commands.values() for param in one.params for option in param.opts[-1:]
    ]
    assert missing("cli", [*sections, *(option for option in options if option.startswith("`--"))]) == []


def test_every_path_and_message_is_there() -> None:
    assert missing("http", list(openapi()["paths"])) == []
    channels = [f"\n### `{one['address']}`\n" for one in asyncapi()["channels"].values()]
    written = PAGES["reference/mqtt.md"]()
    headings = {f"#{name.lower()}" for name in re.findall(r"^## (.+)$", written, re.MULTILINE)}
    assert set(re.findall(r"\]\((#[^)]+)\)", written)) <= headings
    assert missing("mqtt", [one for one in channels if "/response/" not in one]) == []


def test_every_public_name_is_there() -> None:
    assert missing("python", [f"::: motiond.formats.{name}\n" for name in formats.__all__]) == []


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#/$defs/MqttSettings"}, "[MqttSettings](#mqttsettings)"),
        ({"anyOf": [{"type": "number", "minimum": 0.5}, {"type": "null"}]}, "number, from 0.5 or null"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 16}, "list of string, at most 16"),
        ({"enum": ["5", "3.1.1"]}, "`5`, `3.1.1`"),
    ],
)
def test_a_value_is_told_in_words(schema: dict[str, object], words: str) -> None:
    assert kind(schema) == words
