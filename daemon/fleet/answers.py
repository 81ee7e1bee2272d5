"""Reads what robots and daemons at a broker publish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from ..api import RequestError

if TYPE_CHECKING:
    from motiond.client import Refused


def json_object(payload: object) -> dict[str, Any] | None:
    """Return the JSON object in a message, {} of an empty message; None if it has none."""
    try:
        data = orjson.loads(payload or b"{}") if isinstance(payload, bytes) else None
    except orjson.JSONDecodeError:
        return None
    return data if isinstance(data, dict) else None


def refusal_of(error: Refused) -> RequestError:
    """Return a refusal that a client has received, as one of ours."""
    return RequestError.from_answer(
        {"code": error.code, "error": str(error), "data": error.data, "problems": error.problems}
    )
