"""The HTTP interface as an OpenAPI 3.1 document, made of the verbs and the models of what is exchanged."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import models_json_schema

from ..api.answers import Answer, Refusal
from ..api.report_models import REPORT_MODELS
from ..api.requests import GROUP_SCHEMAS, VERBS
from ..config.described import DescribedSchema
from .answers import FleetList, GroupAnswer, GroupStartedAnswer, RobotList, UploadAnswer
from .routes.motions import LEASE_HEADER
from .routes.robots import KNOWN
from .security.login import LoginRequest

if TYPE_CHECKING:
    from pydantic import BaseModel

ROBOT = {"name": "robot", "in": "path", "required": True, "schema": {"type": "string"}}
MOTION = {"name": "motion", "in": "path", "required": True, "schema": {"type": "string"}}
GROUP = {"name": "group", "in": "path", "required": True, "schema": {"type": "string"}}
NAME = {
    "name": "name",
    "in": "query",
    "required": True,
    "schema": {"type": "string"},
    "description": "The file's name, whose suffix is that of a motion.",
}
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
METRICS = {"text/plain": {"schema": {"type": "string", "description": "docs/metrics.md tells them."}}}
MODEL = {"application/json": {"schema": {"type": "object", "description": "docs/looks.md tells its keys."}}}


@cache
def openapi() -> dict[str, Any]:
    """Return the document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "motiond",
            "version": "1",
            "summary": "Plays motion files on real actuators.",
            "description": "docs/http.md tells more, and docs/mqtt.md what each verb does.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{}, {"token": []}, {"cookie": []}],
        "paths": _reading() | _looks() | _verbs() | _motions() | _fleet() | _login(),
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
        model = REPORT_MODELS[subject]
        operation = _operation(f"What was reported last: {subject}.", f"get_{subject}", _json(model))
        paths[f"/api/robots/{{robot}}/{subject}"] = {"parameters": [ROBOT], "get": operation}
    upgraded = _operation("A WebSocket: reports, requests and telemetry (docs/http.md).", "connect", {})
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
    return {
        f"/api/robots/{{robot}}/{name}": {
            "parameters": [ROBOT],
            "post": _operation(_first_line(verb.schema), re.sub(r"\W", "_", name), _json(Answer))
            | {"requestBody": {"content": _json(verb.schema)}},
        }
        for name, verb in VERBS.items()
    }


def _motions() -> dict[str, Any]:
    plan = _operation("The setpoints that a play would write (docs/http.md).", "plan", BYTES)
    drawing = {"image/svg+xml": {"schema": {"type": "string"}}}
    thumbnail = _operation("A small drawing of its joints' curves.", "thumbnail", drawing)
    upload = _operation(
        "Check a file, and keep it if all of it can be played.", "upload", _json(UploadAnswer)
    )
    body = {"requestBody": {"required": True, "content": BYTES}}
    return {
        "/api/robots/{robot}/motions/{motion}/plan": {"parameters": [ROBOT, MOTION], "get": plan},
        "/api/robots/{robot}/motions/{motion}/thumbnail": {"parameters": [ROBOT, MOTION], "get": thumbnail},
        "/api/robots/{robot}/motions/upload": {"parameters": [ROBOT, NAME, LEASE], "post": upload | body},
    }


def _fleet() -> dict[str, Any]:
    listed = _operation("All robots that the broker knows.", "listFleet", _json(FleetList))
    paths: dict[str, Any] = {"/api/fleet": {"get": listed}}
    for name, schema in GROUP_SCHEMAS.items():
        answer = _json(GroupStartedAnswer if name == "play" else GroupAnswer)
        summary = f"All robots of a group: {_first_line(schema)}"
        operation = _operation(summary, f"group_{name}", answer) | {"requestBody": {"content": _json(schema)}}
        paths[f"/api/fleet/{{group}}/{name}"] = {"parameters": [GROUP], "post": operation}
    return paths


def _login() -> dict[str, Any]:
    login = _operation(_first_line(LoginRequest), "login", _json(Answer))
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


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}


def _first_line(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").splitlines()[0]


def _schemas() -> dict[str, Any]:
    verbs = (verb.schema for verb in VERBS.values())
    requests: list[type[BaseModel]] = [LoginRequest, GROUP_SCHEMAS["play"], *verbs]
    known = (REPORT_MODELS[subject] for subject in KNOWN)
    listings = (RobotList, UploadAnswer, FleetList, GroupStartedAnswer, GroupAnswer)
    answers: list[type[BaseModel]] = [Answer, Refusal, *listings, *known]
    _, told = models_json_schema(
        [(model, "validation") for model in (*requests, *answers)],
        ref_template="#/components/schemas/{model}",
        schema_generator=DescribedSchema,
    )
    schemas: dict[str, Any] = told["$defs"]
    return dict(sorted(schemas.items()))
