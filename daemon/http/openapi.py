"""The HTTP interface as an OpenAPI 3.1 document, made of the verbs and the models of what is exchanged."""

from __future__ import annotations

import re
from typing import Any

from typing_extensions import TypedDict

from ..api import (
    GROUP_VERBS,
    REPORTS,
    VERBS,
    Answer,
    AvailabilityReport,
    ClockReport,
    HistoryAnswer,
    MotionsReport,
    RecordingsAnswer,
    Refusal,
    StateReport,
    first_line,
    schemas_of,
)
from .routes.motions import LEASE_HEADER
from .routes.robots import KNOWN
from .security.login import LoginRequest


class ListedRobot(TypedDict):
    """A robot; null where nothing was reported yet."""

    name: str
    availability: AvailabilityReport | None
    state: StateReport | None


class RobotList(TypedDict):
    """All robots of a daemon."""

    id: str
    """The daemon's own name."""
    robots: list[ListedRobot]
    stale: bool
    """Whether this is what was known last, as the server has lost the broker that reports come by."""


class FleetRobot(TypedDict):
    """A robot that the broker knows; null where it has reported nothing."""

    robot: str
    groups: list[str]
    online: bool
    absence: str
    """Why it takes no requests; empty where it takes them."""
    state: str | None
    motion: str | None
    """What it plays."""
    daemon: str | None
    """The id of the daemon that reports on it."""
    host: str | None
    """The machine of that daemon."""
    state_utc: str | None
    """When it reported its state last: ISO 8601, in UTC."""
    clock: ClockReport | None
    """How good its clock is."""


class FleetList(TypedDict):
    """All robots that the broker knows."""

    robots: list[FleetRobot]
    more: int
    """How many are not listed."""


ROBOT, MOTION, RECORDING, GROUP = (
    {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    for name in ("robot", "motion", "recording", "group")
)
NAME = {
    "name": "name",
    "in": "query",
    "required": True,
    "schema": {"type": "string"},
    "description": "The file's name, whose suffix is that of a motion.",
}
PAGE = [
    {"name": name, "in": "query", "schema": {"type": "integer"}, "description": description}
    for name, description in (
        ("limit", "How many at most, 1 to 1000; by default 50."),
        ("before", "The id of a result; those before it."),
    )
]
LEASE = {
    "name": LEASE_HEADER,
    "in": "header",
    "schema": {"type": "string"},
    "description": "What proves control of the robot, where that is required.",
}
BYTES = {
    "application/octet-stream": {"schema": {"type": "string", "contentMediaType": "application/octet-stream"}}
}


MESH = {"name": "mesh", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 0}}
METRICS = {"text/plain": {"schema": {"type": "string", "description": "See docs/metrics.md."}}}
MODEL = {"application/json": {"schema": {"type": "object", "description": "See docs/looks.md."}}}


def openapi() -> dict[str, Any]:
    """Return the document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "motiond",
            "version": "1",
            "summary": "Plays motion files on real actuators.",
            "description": "See docs/http.md, and docs/mqtt.md for what each verb does.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{}, {"token": []}, {"cookie": []}],
        "paths": _reading() | _looks() | _verbs() | _motions() | _recordings() | _fleet() | _login(),
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "motiond",
                    "description": "What a login has set; its name has eight digits more.",
                },
            },
            "responses": {
                "Refused": {"description": "Refused, with the reason.", "content": _json(Refusal)},
            },
            "schemas": _schemas(),
        },
    }


def _reading() -> dict[str, Any]:
    paths: dict[str, Any] = {
        "/api/robots": {"get": _operation("All robots.", "listRobots", _json(RobotList))}
    }
    for subject in KNOWN:
        content = _json(REPORTS[subject])
        operation = _operation(f"What was reported last: {subject}.", f"get_{subject}", content)
        paths[f"/api/robots/{{robot}}/{subject}"] = {"parameters": [ROBOT], "get": operation}
    upgraded = _operation(
        "A WebSocket: reports, requests, targets and telemetry (docs/http.md).", "connect", {}
    )
    upgraded["responses"]["101"] = {"description": "Connected."}
    del upgraded["responses"]["200"]
    return {**paths, "/api/ws": {"get": upgraded}}


def _looks() -> dict[str, Any]:
    model = _operation("What a robot looks like, and how its links move.", "model", MODEL)
    mesh = _operation("A mesh that its model names.", "mesh", BYTES)
    return {
        "/api/robots/{robot}/model": {"parameters": [ROBOT], "get": model},
        "/api/robots/{robot}/meshes/{mesh}": {"parameters": [ROBOT, MESH], "get": mesh},
    }


def _verbs() -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for name, verb in VERBS.items():
        content = _answer(verb.answer)
        operation = _operation(verb.summary, re.sub(r"\W", "_", name), content)
        body = {"requestBody": {"content": _json(verb.request)}}
        paths[f"/api/robots/{{robot}}/{name}"] = {"parameters": [ROBOT], "post": operation | body}
    history = _operation(VERBS["history"].summary, "get_history", _json(HistoryAnswer))
    paths["/api/robots/{robot}/history"]["get"] = history | {"parameters": PAGE}
    recordings = _operation(VERBS["recordings"].summary, "get_recordings", _json(RecordingsAnswer))
    paths["/api/robots/{robot}/recordings"]["get"] = recordings
    return paths


def _answer(kind: type) -> dict[str, Any]:
    """Return an answer with some data."""
    data = {"properties": {"data": _reference(kind)}}
    return {"application/json": {"schema": {"allOf": [_reference(Answer), data]}}}


def _motions() -> dict[str, Any]:
    plan = _operation("The setpoints that a play would write (docs/http.md).", "plan", BYTES)
    drawing = {"image/svg+xml": {"schema": {"type": "string"}}}
    thumbnail = _operation("A small drawing of its joints' curves.", "thumbnail", drawing)
    upload = _operation(
        "Check a file, and keep it if all of it can be played.", "upload", _answer(MotionsReport)
    )
    body = {"requestBody": {"required": True, "content": BYTES}}
    return {
        "/api/robots/{robot}/motions/{motion}/plan": {"parameters": [ROBOT, MOTION], "get": plan},
        "/api/robots/{robot}/motions/{motion}/thumbnail": {"parameters": [ROBOT, MOTION], "get": thumbnail},
        "/api/robots/{robot}/motions/upload": {"parameters": [ROBOT, NAME, LEASE], "post": upload | body},
    }


def _recordings() -> dict[str, Any]:
    file = _operation("The file of a recording, or a range of it.", "recording", BYTES)
    part = {"description": "The range that was asked for.", "content": BYTES}
    run = _operation("What a recording holds, thinned (docs/http.md).", "run", BYTES)
    path, parameters = "/api/robots/{robot}/recordings/{recording}", [ROBOT, RECORDING]
    return {
        path: {"parameters": parameters, "get": file | {"responses": file["responses"] | {"206": part}}},
        f"{path}/run": {"parameters": parameters, "get": run},
    }


def _fleet() -> dict[str, Any]:
    listed = _operation("All robots that the broker knows.", "listFleet", _json(FleetList))
    paths: dict[str, Any] = {"/api/fleet": {"get": listed}}
    for name, verb in GROUP_VERBS.items():
        summary = f"All robots of a group: {verb.summary}"
        operation = _operation(summary, f"group_{name}", _answer(verb.answer))
        operation["requestBody"] = {"content": _json(verb.request)}
        paths[f"/api/fleet/{{group}}/{name}"] = {"parameters": [GROUP], "post": operation}
    return paths


def _login() -> dict[str, Any]:
    login = _operation(first_line(LoginRequest), "login", _json(Answer))
    body = {"required": True, "content": _json(LoginRequest)}
    document = _operation("This document.", "openapi", {"application/json": {"schema": {"type": "object"}}})
    return {
        "/api/login": {"post": {**login, "requestBody": body, "security": []}},
        "/api/openapi.json": {"get": document},
        "/metrics": {"get": _operation("What Prometheus scrapes.", "metrics", METRICS)},
    }


def _operation(summary: str, name: str, content: dict[str, Any]) -> dict[str, Any]:
    refused = {"$ref": "#/components/responses/Refused"}
    served = {"description": "Served.", "content": content}
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": served, "4XX": refused, "5XX": refused},
    }


def _json(kind: type) -> dict[str, Any]:
    return {"application/json": {"schema": _reference(kind)}}


def _reference(kind: type) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _schemas() -> dict[str, Any]:
    of_verbs = [
        kind for verb in (*VERBS.values(), *GROUP_VERBS.values()) for kind in (verb.request, verb.answer)
    ]
    reports = (REPORTS[subject] for subject in KNOWN)
    return schemas_of([*of_verbs, *reports, Answer, Refusal, RobotList, FleetList, LoginRequest])
