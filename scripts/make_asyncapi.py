"""Writes `docs/asyncapi.json`, the MQTT interface as an AsyncAPI document, and a page to read it."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motiond.daemon.mqtt.asyncapi import asyncapi

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parent.parent / "docs"
STYLE = """
:root { color-scheme: light dark; --line: #8885; --dim: #777; --mark: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; } h3 { margin: 2.5rem 0 .3rem; font-size: 1.05rem; overflow-wrap: anywhere; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .8rem .3rem 0; }
th, td { text-align: left; vertical-align: top; }
th { color: var(--dim); font-weight: normal; } td:first-child { white-space: nowrap; }
p { margin: .3rem 0; } .facts { color: var(--dim); } nav { columns: 3 14rem; } nav a { display: block; }
section:target { background: var(--mark); outline: .5rem solid var(--mark); }
"""
BOUNDS = {
    "minimum": "from {:,}",
    "exclusiveMinimum": "above {:,}",
    "maximum": "to {:,}",
    "exclusiveMaximum": "below {:,}",
    "maxLength": "at most {:,} characters",
    "minProperties": "at least {:,}",
}


def html(document: dict[str, Any]) -> str:
    """Return a page that shows a document, whole and without scripts."""
    title = f"{document['info']['title']}: the MQTT interface"
    source = '<a href="asyncapi.json">asyncapi.json</a>'
    more = '<a href="mqtt.md">mqtt.md</a>'
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            f'<head><meta charset="utf-8"><title>{escape(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{STYLE}</style></head>",
            f"<body><h1>{escape(title)}</h1>",
            f"<p>What {source} says, to be read; {more} tells more. Payloads are JSON.</p>",
            *body(document),
            "</body></html>",
            "",
        ]
    )


def body(document: dict[str, Any]) -> Iterator[str]:
    """Yield what a page shows of a document: topics, operations, and what messages hold."""
    yield from _table(
        ("in topics", "is"),
        ((f"{{{name}}}", _parameter(one)) for name, one in document["components"]["parameters"].items()),
    )
    sections = {"What the daemon says": "send", "What it can be asked": "receive"}
    operations = {
        title: {name: one for name, one in document["operations"].items() if one["action"] == action}
        for title, action in sections.items()
    }
    for title, ones in operations.items():
        links = (f'<a href="#{name}"><code>{escape(_words(name))}</code></a>' for name in ones)
        yield f"<h2>{title}</h2><nav>{''.join(links)}</nav>"
        for name, one in ones.items():
            yield from _operation(document, name, one)
    yield "<h2>What messages hold</h2>"
    for name, schema in document["components"]["schemas"].items():
        yield f'<section id="{name}"><h3>{name}</h3>'
        yield from _schema(schema)
        yield "</section>"


def _words(name: str) -> str:
    return name.partition("_")[2]


def _parameter(parameter: dict[str, str]) -> str:
    default = f" Default: <code>{escape(parameter['default'])}</code>." if "default" in parameter else ""
    return _text(parameter["description"]) + default


def _operation(document: dict[str, Any], name: str, operation: dict[str, Any]) -> Iterator[str]:
    channel = _at(document, operation["channel"])
    mqtt = operation["bindings"]["mqtt"]
    facts = f"QoS {mqtt['qos']}, {'retained' if mqtt['retain'] else 'not retained'}"
    yield f'<section id="{name}"><h3><code>{escape(channel["address"])}</code></h3>'
    yield f'<p>{_text(operation["summary"])} <span class="facts">{facts}.</span></p>'
    if "description" in operation:
        yield f'<p class="facts">{_text(operation["description"])}</p>'
    for message in channel["messages"].values():
        yield from _schema(_at(document, _at(document, message)["payload"]), told=False)
    if "reply" in operation:
        reply = _at(document, operation["reply"]["channel"])
        yield f"<p>The answer comes on <code>{escape(reply['address'])}</code>:</p>"
        messages = [_at(document, message) for message in reply["messages"].values()]
        yield from _table(
            ("", "what it holds"), ((one["name"], _payload(one["payload"])) for one in messages)
        )
    yield "</section>"


def _payload(schema: dict[str, Any]) -> str:
    """Return what an answer holds: the schema of its data, or its own."""
    return (
        f"<code>data</code>: {_kind(schema['properties']['data'])}"
        if "properties" in schema
        else _kind(schema)
    )


def _schema(schema: dict[str, Any], *, told: bool = True) -> Iterator[str]:
    """Return the description of an object, and a table of its keys."""
    if told and "description" in schema:
        yield from (f"<p>{_text(paragraph)}</p>" for paragraph in schema["description"].split("\n\n"))
    needed, is_request = schema.get("required", []), schema.get("additionalProperties") is False
    keys = schema.get("properties", {})
    rows = [
        (
            key,
            _kind(one),
            _text(one.get("description", "")) + ("" if key in needed else _left_out(one, is_request)),
        )
        for key, one in keys.items()
    ]
    yield from _table(("key", "type", "what"), rows) if rows else ("<p>No keys.</p>",)


def _left_out(schema: dict[str, Any], is_request: bool) -> str:  # noqa: FBT001 - of the key's object
    """Return what it means that a key is not there."""
    is_told = is_request and schema.get("default") is not None
    told = f"default <code>{escape(json.dumps(schema['default']))}</code>" if is_told else "may be left out"
    return f' <span class="facts">{told}</span>'


def _kind(schema: dict[str, Any]) -> str:
    """Return in words of what type something is."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return ", ".join(
            f"<code>{escape(str(one))}</code>" for one in schema.get("enum", [schema.get("const")])
        )
    kind = escape(schema.get("type", "anything"))
    if kind == "array":
        kind = f"list of {_kind(schema['items'])}"
    if isinstance(values := schema.get("additionalProperties"), dict):
        kind = f"object of {_kind(values)}"
    bounds = [words.format(schema[bound]) for bound, words in BOUNDS.items() if bound in schema]
    return f"{kind}, {' '.join(bounds)}" if bounds else kind


def _table(head: tuple[str, ...], rows: Any) -> Iterator[str]:
    yield f"<table><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>"
    for name, *cells in rows:
        yield f"<tr><td><code>{escape(name)}</code></td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    yield "</table>"


def _text(words: str) -> str:
    """Return text of the document, with what stands between backquotes as code."""
    parts = escape(words, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))


def _at(document: dict[str, Any], reference: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference leads to, through further ones; what is none is returned."""
    found: Any = reference
    while "$ref" in found:
        path, found = found["$ref"].split("/")[1:], document
        for key in path:
            found = found[key]
    told: dict[str, Any] = found
    return told


if __name__ == "__main__":
    text = json.dumps(asyncapi(), indent=2, ensure_ascii=False)
    (DOCS / "asyncapi.json").write_text(text + "\n", encoding="utf-8")
    (DOCS / "asyncapi.html").write_text(html(asyncapi()), encoding="utf-8")
