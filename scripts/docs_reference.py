"""Writes the pages of the reference from the code: each option, command, message, path and public name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer.main

from motiond import formats
from motiond.daemon.cli.app import app
from motiond.daemon.config.settings import json_schema
from motiond.daemon.http.openapi import openapi
from motiond.daemon.mqtt.asyncapi import asyncapi
from motiond.drivers.registry import driver_options_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

BOUNDS = {
    "minimum": "from {:g}",
    "exclusiveMinimum": "above {:g}",
    "maximum": "to {:g}",
    "exclusiveMaximum": "below {:g}",
    "minLength": "at least {:g} characters",
    "maxLength": "at most {:g} characters",
    "minItems": "at least {:g}",
    "maxItems": "at most {:g}",
    "minProperties": "at least {:g}",
}


# -- schemas ------------------------------------------------------------------------------------------------


def cell(text: str) -> str:
    """Return a text as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield ""
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(cell(one) for one in row)} |" for row in rows)
    yield ""


def kind(schema: Mapping[str, Any]) -> str:
    """Return in words what a value of a schema is; other schemas are links to their headings."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(kind(one) for one in schema[key])
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{one}`" for one in schema.get("enum", [schema.get("const")]))
    told = schema.get("type", "anything")
    told = " or ".join(told) if isinstance(told, list) else told
    if told == "array" and isinstance(schema.get("items"), dict):
        told = f"list of {kind(schema['items'])}"
    if isinstance(values := schema.get("additionalProperties"), dict):
        told = f"mapping to {kind(values)}"
    if "pattern" in schema:
        told += f" like `{schema['pattern']}`"
    return ", ".join([told, *(words.format(schema[key]) for key, words in BOUNDS.items() if key in schema)])


def default_of(name: str, schema: Mapping[str, Any], owner: Mapping[str, Any]) -> str:
    """Return the default of a key, as it is written in YAML and JSON."""
    if name in owner.get("required", []):
        return "required"
    default = schema.get("default", {})
    return "" if isinstance(default, dict) else f"`{json.dumps(default, ensure_ascii=False)}`"


def object_(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the description of an object, and a table of its keys."""
    yield schema.get("description", "")
    yield from keys_of(schema)


def keys_of(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table of the keys of an object."""
    keys = schema.get("properties", {})
    rows = [
        (f"`{name}`", kind(one), default_of(name, one, schema), one.get("description", ""))
        for name, one in keys.items()
    ]
    yield from table(("key", "value", "default", "what"), rows) if rows else ("",)


def schemas(named: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a section for each schema that others refer to."""
    for name, schema in named.items():
        yield f"## {name}"
        yield ""
        yield from object_(schema)


def page(title: str, told: str, lines: Iterator[str]) -> str:
    """Return a page that begins with what it is made of."""
    return "\n".join([f"# {title}", "", told, "", *lines, ""])


# -- pages --------------------------------------------------------------------------------------------------


def configuration() -> str:
    """Return the page of the configuration: its JSON Schema, as tables."""
    schema = json_schema()
    told = (
        "Made of `config/schema.json`, by which editors check the file. "
        "[Configuration](../configuration.md) tells what the options are for."
    )

    def lines() -> Iterator[str]:
        yield "## The file"
        yield ""
        yield from object_(schema)
        yield from schemas(schema["$defs"])

    return page("Every option of the configuration", told, lines())


def drivers() -> str:
    """Return the page of the options of each driver that is installed with motiond."""

    def lines() -> Iterator[str]:
        for name, schema in driver_options_schema().items():
            yield f"## `type: {name}`"
            yield ""
            yield from object_(schema)
            for part, one in schema.get("$defs", {}).items():
                yield f"### {part}"
                yield ""
                yield from object_(one)

    told = "Made of the models of options. [Drivers](../drivers.md) tells what they are for."
    return page("Every option of drivers", told, lines())


def http() -> str:
    """Return the page of the HTTP interface: its OpenAPI document, as tables."""
    document = openapi()
    rows = [
        (f"`{method.upper()} {path}`", operation.get("summary", ""), _body_of(operation))
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if isinstance(operation, dict)
    ]

    def lines() -> Iterator[str]:
        yield "## Paths"
        yield from table(("path", "does", "body"), rows)
        yield from schemas(document["components"]["schemas"])

    told = "Made of [openapi.json](../../daemon/http/openapi.json). [HTTP](../http.md) tells more."
    return page("Every path of HTTP", told, lines())


def _body_of(operation: Mapping[str, Any]) -> str:
    contents = operation.get("requestBody", {}).get("content", {})
    return ", ".join(kind(one["schema"]) for one in contents.values() if "schema" in one)


def mqtt() -> str:
    """Return the page of the MQTT interface: its AsyncAPI document, as tables."""
    document = asyncapi()
    parameters, sections = document["components"]["parameters"], {"Reports": "send", "Requests": "receive"}

    def lines() -> Iterator[str]:
        yield from table(
            ("in topics", "is"), ((f"`{{{name}}}`", one["description"]) for name, one in parameters.items())
        )
        for title, action in sections.items():
            yield f"## {title}"
            yield ""
            for operation in document["operations"].values():
                if operation["action"] == action:
                    yield from _operation(document, operation)
        yield from schemas(document["components"]["schemas"])

    introduction = (
        "Made of [asyncapi.json](../asyncapi.json). [MQTT](../mqtt.md) tells more. Payloads are JSON."
    )
    return page("Every message of MQTT", introduction, lines())


def _operation(document: dict[str, Any], operation: dict[str, Any]) -> Iterator[str]:
    """Yield the topic of an operation, what its message holds, and what answers it."""
    channel, binding = _at(document, operation["channel"]), operation["bindings"]["mqtt"]
    retained = "retained" if binding["retain"] else "not retained"
    yield f"### `{channel['address']}`"
    yield ""
    yield f"{operation['summary']} QoS {binding['qos']}, {retained}."
    if "description" in operation:
        yield ""
        yield operation["description"]
    for message in channel["messages"].values():
        yield from keys_of(_at(document, _at(document, message)["payload"]))
    if "reply" in operation:
        response = _at(document, operation["reply"]["channel"])
        yield f"The response comes on `{response['address']}`:"
        messages = [_at(document, message) for message in response["messages"].values()]
        yield from table(
            ("", "what it holds"), ((f"`{one['name']}`", _payload(one["payload"])) for one in messages)
        )


def _payload(schema: dict[str, Any]) -> str:
    """Return what a response holds: the schema of its data, or its own."""
    data = schema.get("properties", {}).get("data")
    return f"`data`: {kind(data)}" if data else kind(schema)


def _at(document: dict[str, Any], reference: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference leads to, through further ones; other objects are returned as they are."""
    target = reference
    while "$ref" in target:
        path, target = target["$ref"].split("/")[1:], document
        for key in path:
            target = target[key]
    return target


def command_line() -> str:
    """Return the page of the command line: what `--help` tells of each command."""
    told = "Made of what `--help` tells. [The command line](../cli.md) tells how the commands are used."
    return page("Every command", told, _commands(typer.main.get_command(app), "motiond", None))


def _commands(command: Any, name: str, parent: Any) -> Iterator[str]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    yield f"## {name}"
    yield ""
    yield (command.help or "").replace("\b", "")
    rows = [
        (
            ", ".join(f"`{option}`" for option in (*one.opts, *one.secondary_opts))
            if one.param_type_name == "option"
            else f"`{one.metavar or one.name.upper()}`",
            ""
            if one.required or one.default in (None, False) or callable(one.default)
            else f"`{one.default}`",
            getattr(one, "help", None) or "",
        )
        for one in command.params
        if not getattr(one, "hidden", False)
    ]
    yield from table(("", "default", "does"), rows) if rows else ("",)
    for inner, one in getattr(command, "commands", {}).items():
        yield from _commands(one, f"{name} {inner}", context)


def python() -> str:
    """Return the page of the public names of `motiond.formats`, which mkdocstrings fills."""

    def lines() -> Iterator[str]:
        for name in formats.__all__:
            yield f"::: motiond.formats.{name}"
            yield ""

    return page("Python: motiond.formats", "Made of the docstrings.", lines())


PAGES: dict[str, Callable[[], str]] = {
    "reference/configuration.md": configuration,
    "reference/cli.md": command_line,
    "reference/mqtt.md": mqtt,
    "reference/http.md": http,
    "reference/drivers.md": drivers,
    "reference/python.md": python,
}
"""The pages of the reference, and who writes each."""
