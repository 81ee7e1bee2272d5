"""Shortens reports and answers that are longer than the broker takes, as far as their form allows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from motiond.text import shortened

from ...api import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...api import Subject

LEFT_OUT = "it is left out"
SHORTEST_TEXT = 20


@dataclass(frozen=True, slots=True)
class Fitted:
    """What is published instead of something too long."""

    payload: bytes | None
    remedy: str


def encode(data: Any) -> bytes:
    """Return JSON."""
    return orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY)


def fit_report(subject: Subject, data: dict[str, Any], room_bytes: float, room_cut_bytes: float) -> Fitted:
    """Return the longest form of a report that fits."""
    if subject == "motions":
        fitted = _fit_motions(data, room_cut_bytes, encode)
        return fitted if len(fitted.payload or b"") <= room_bytes else Fitted(None, LEFT_OUT)
    for smaller in _smaller(subject, data):
        if len(payload := encode(smaller)) <= room_bytes:
            return Fitted(payload, "it is shortened")
    return Fitted(None, LEFT_OUT)


def _smaller(subject: Subject, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield shorter and shorter forms of a report that its readers know what to do with."""
    if subject == "result":
        yield {**data, "timing": None}
        yield {**data, "timing": None, "details": {}}
        yield from _with_shorter(data | {"timing": None, "details": {}, "warnings": []}, "message")
    elif subject == "event":
        without = {key: value for key, value in data.items() if key != "payload"}
        yield without
        yield from _with_shorter(without, "message")
    elif subject == "state":
        yield from _with_shorter(data, "message")


def _with_shorter(data: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """Yield the same with a text that is half as long each time."""
    longest = len(data[key]) // 2
    while longest >= SHORTEST_TEXT:
        yield {**data, key: shortened(data[key], longest)}
        longest //= 2


def _fit_motions(
    data: dict[str, Any], room_bytes: float, encoded: Callable[[dict[str, Any]], bytes]
) -> Fitted:
    """Cut a list of motions; `more` is the number of the others, which can be played all the same."""
    motions, more = data["motions"], data.get("more", 0)
    room_bytes -= len(encoded({**data, "motions": [], "more": len(motions) + more}))
    listed = 0
    for motion in motions:
        room_bytes -= len(encode(motion)) + 1
        if room_bytes < 0:
            break
        listed += 1
    payload = encoded({**data, "motions": motions[:listed], "more": len(motions) - listed + more})
    return Fitted(payload, f"{listed} of {len(motions) + more} motions are listed")


def fit_answer(where: str, answer: bytes, room_bytes: float, room_cut_bytes: float, hint: str) -> Fitted:
    """Return what is answered instead of an answer that is too long."""
    reply = orjson.loads(answer)
    if reply["status"] == "ok" and "motions" in reply["data"]:
        fitted = _fit_motions(reply["data"], room_cut_bytes, lambda data: encode({**reply, "data": data}))
    elif reply["status"] == "ok":
        problem, reason = (
            f"the answer has {len(answer)} bytes",
            "the request was served, and the broker takes less",
        )
        error = RequestError("TOO_LARGE", where, problem, reason, hint, bytes=len(answer))
        short = {"status": "error", "code": error.code, "error": str(error), "data": error.data}
        fitted = Fitted(encode({**short, "transaction": reply["transaction"]}), "TOO_LARGE is answered")
    else:
        fitted = Fitted(encode({**reply, "data": {}}), "it is shortened")
        for smaller in _with_shorter({**reply, "data": {}}, "error"):
            if len(fitted.payload or b"") <= room_bytes:
                break
            fitted = Fitted(encode(smaller), "it is shortened")
    return fitted if len(fitted.payload or b"") <= room_bytes else Fitted(None, LEFT_OUT)
