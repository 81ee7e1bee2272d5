"""Reads what robots and daemons at a broker publish."""

from __future__ import annotations

from typing import Any

import orjson

from ..api import RequestError


def json_object(payload: object) -> dict[str, Any] | None:
    """Return the JSON object in a message, {} of an empty message; None if it has none."""
    try:
        data = orjson.loads(payload or b"{}") if isinstance(payload, bytes) else None
    except orjson.JSONDecodeError:
        return None
    return data if isinstance(data, dict) else None


def data_of(where: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the data of an answer; raise the RequestError of a refusal."""
    data = answer.get("data")
    data = data if isinstance(data, dict) else {}
    if answer.get("status") == "ok":
        return data
    code, error = answer.get("code"), answer.get("error")
    if not isinstance(code, str) or not isinstance(error, str):
        problem, hint = "its answer cannot be understood", "look at the daemon's log"
        raise RequestError("INTERNAL", where, problem, "it has neither ok nor a refusal", hint)
    raise RequestError.of(code, error, data)  # type: ignore[arg-type] # a newer daemon may have further codes
