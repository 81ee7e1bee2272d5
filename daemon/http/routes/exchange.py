"""Reads the body of a request within bounds, and answers in JSON."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson
from aiohttp import hdrs, web

from ... import api
from ...api import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...api import ErrorCode

BODY_WITHIN_S = 5.0
STATUS: Mapping[str, int] = {
    "INVALID_REQUEST": 400,
    "UNKNOWN_VERB": 404,
    "UNKNOWN_ROBOT": 404,
    "UNKNOWN_MOTION": 404,
    "UNKNOWN_POSE": 404,
    "UNKNOWN_GOAL": 404,
    "UNKNOWN_PLACE": 404,
    "UNKNOWN_GROUP": 404,
    "NOT_ALLOWED": 403,
    "OFFLINE": 503,
    "TIMEOUT": 504,
    "INTERNAL": 500,
}
"""By the code of a refusal; whatever is not listed is at odds with what the robot does: 409."""
AT_ODDS = 409
NOT_KEPT = {hdrs.CACHE_CONTROL: "no-store"}


class BodyError(Exception):
    """A body that is not taken.

    Attributes
    ----------
    response : web.Response
        What to answer.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.response = refused(status, "INVALID_REQUEST", message)


async def read_body(
    request: web.Request, most: int, kind: str = "application/json", within_s: float = BODY_WITHIN_S
) -> bytes:
    """Read a body of at most so many bytes.

    Raises
    ------
    BodyError
        If it is longer, comes too slowly or in part, or is of another kind by its own account.
    """
    where = request.path[:200]
    if request.content_type not in {kind, "application/octet-stream"}:
        raise BodyError(415, f"{where}: its body is {request.content_type[:60]}; send Content-Type: {kind}")
    too_long = f"{where}: its body is longer than {most} bytes; send less"
    if (request.content_length or 0) > most:
        raise BodyError(413, too_long)
    body = bytearray()
    try:
        async with asyncio.timeout(within_s):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > most:
                    raise BodyError(413, too_long)
    except TimeoutError as error:
        raise BodyError(408, f"{where}: its body took longer than {within_s:g} s; send it faster") from error
    except web.RequestPayloadError as error:
        raise BodyError(400, f"{where}: its body is not as its head says; correct it") from error
    except ConnectionError as error:
        raise BodyError(400, f"{where}: its client left before its body had come; send it again") from error
    return bytes(body)


def answered(data: Any) -> web.Response:
    """Answer with something known."""
    body = orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY)
    return web.Response(body=body, content_type="application/json", headers=NOT_KEPT)


def passed_on(answer: bytes) -> web.Response:
    """Answer with what the dispatcher says, with the status that fits its code."""
    told = orjson.loads(answer)
    status = 200 if told["status"] == "ok" else STATUS.get(told["code"], AT_ODDS)
    return web.Response(body=answer, status=status, content_type="application/json", headers=NOT_KEPT)


def refusal(code: ErrorCode, message: str) -> bytes:
    """Return a refusal in the same form as the dispatcher's; what a request quotes may be no text."""
    return api.refused(RequestError.of(code, message.encode(errors="backslashreplace").decode()))


def refused_by(error: RequestError) -> web.Response:
    """Answer with why a request was refused."""
    return passed_on(api.refused(error))


def refused(status: int, code: ErrorCode, message: str) -> web.Response:
    """Refuse in the same form as the dispatcher does."""
    body = refusal(code, message)
    return web.Response(body=body, status=status, content_type="application/json", headers=NOT_KEPT)
