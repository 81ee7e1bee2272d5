"""Holds what is exchanged with the server to its OpenAPI document."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from motiond.daemon.http.openapi import openapi


@cache
def document() -> dict[str, Any]:
    return openapi()


@cache
def templates() -> list[tuple[re.Pattern[str], str]]:
    """Return what each path of the document matches, the plainest first."""
    paths = sorted(document()["paths"], key=lambda path: path.count("{"))
    return [(re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), path) for path in paths]


def operation_of(method: str, path: str) -> dict[str, Any] | None:
    """Return what the document says of a request; None where it knows none such."""
    path = path.partition("?")[0]
    known = next((template for pattern, template in templates() if pattern.fullmatch(path)), None)
    if known is None:
        return None
    operation: dict[str, Any] | None = document()["paths"][known].get(method.lower())
    return operation


def check(method: str, path: str, status: int, told: Any, *, sent: Any = None) -> None:
    """Hold an exchange in JSON to the document; what it does not know has to be refused."""
    operation = operation_of(method, path)
    if operation is None:
        assert status >= 400, (method, path, status)
        valid({"$ref": "#/components/schemas/Refusal"}, told)
        return
    if status != 200:
        assert f"{status // 100}XX" in operation["responses"]
        valid({"$ref": "#/components/schemas/Refusal"}, told)
        return
    if sent is not None:
        valid(operation["requestBody"]["content"]["application/json"]["schema"], sent)
    valid(operation["responses"]["200"]["content"]["application/json"]["schema"], told)


def valid(schema: dict[str, Any], told: Any) -> None:
    Draft202012Validator({**schema, "components": document()["components"]}).validate(told)
