"""What the page exchanges with the daemon, as types in TypeScript, made of the verbs and the reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..api import REPORTS, STOPS, VERBS, Refusal, schemas_of

if TYPE_CHECKING:
    from collections.abc import Iterator


HEAD = "/** Reports, requests and answers (docs/mqtt.md); made by scripts/make_protocol.py. */\n"
SHOWN = [subject for subject in REPORTS if subject not in {"telemetry", "reservation"}]
PLAIN = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"}


def typescript() -> str:
    """Return the module."""
    of_verbs = [kind for verb in VERBS.values() for kind in (verb.request, verb.answer)]
    schemas = schemas_of([*(REPORTS[subject] for subject in SHOWN), *of_verbs, Refusal])
    reports = [
        f'  | {{ robot: string; subject: "{name}"; data: {REPORTS[name].__name__} }}' for name in SHOWN
    ]
    pairs = [
        f'  "{name}": {{ request: {verb.request.__name__}; answer: {verb.answer.__name__} }};'
        for name, verb in VERBS.items()
    ]
    stops = ", ".join(f'"{name}"' for name in sorted(STOPS))
    return "\n".join(
        [
            HEAD,
            *(line for name, schema in schemas.items() for line in _declared(name, schema)),
            "/** What robots report, but for telemetry. */",
            "export type Report =",
            *reports,
            "  ;",
            "",
            "/** What robots can be asked for. */",
            "export interface Verbs {",
            *pairs,
            "}",
            "",
            f"export const STOPS: ReadonlySet<string> = new Set([{stops}]);",
            "",
        ]
    )


def _declared(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield from _comment(schema, "")
    if "properties" not in schema and schema.get("type") != "object":
        yield f"export type {name} = {_type(schema)};"
    else:
        yield f"export interface {name} {{"
        needed = schema.get("required", [])
        for key, value in schema.get("properties", {}).items():
            yield from _comment(value, "  ")
            yield f"  {key}{'' if key in needed else '?'}: {_type(value)};"
        yield "}"
    yield ""


def _comment(schema: dict[str, Any], indent: str) -> Iterator[str]:
    if "description" in schema:
        yield f"{indent}/** {' '.join(schema['description'].partition(chr(10) * 2)[0].split())} */"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(map(_type, choices))
    if values := schema.get("enum") or ([schema["const"]] if "const" in schema else None):
        return " | ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in values)
    kind = schema.get("type")
    if kind == "array":
        inner = _type(schema["items"])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"Record<string, {_type(values) if isinstance(values, dict) else 'unknown'}>"
    return PLAIN[kind] if kind else "unknown"
