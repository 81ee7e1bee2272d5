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

    from aiohttp.typedefs import Handler

    from ...api import ErrorCode

BODY_WITHIN_S = 5.0
STATUS: Mapping[str, int] = {
    "INVALID_REQUEST": 400,
    "UNKNOWN_VERB": 404,
    "UNKNOWN_ROBOT": 404,
    "UNKNOWN_MOTION": 404,
    "UNKNOWN_RECORDING": 404,
    "UNKNOWN_POSE": 404,
    "UNKNOWN_GOAL": 404,
    "UNKNOWN_PLACE": 404,
    "UNKNOWN_GROUP": 404,
    "NOT_ALLOWED": 403,
    "OFFLINE": 503,
    "DISK_TROUBLE": 503,
    "TIMEOUT": 504,
    "INTERNAL": 500,
}
"""By the code of a refusal; whatever is not listed is at odds with what the robot does: 409."""
AT_ODDS = 409
NOT_KEPT = {hdrs.CACHE_CONTROL: "no-store"}


class Refused(RequestError):
    """A request that is refused with a status of its own, `subject: problem; reason; hint`."""

    def __init__(self, status: int, code: ErrorCode, message: str) -> None:
        super().__init__(code, "", message.encode(errors="backslashreplace").decode())  # it may quote no text
        self.status, self.problems = status, ()

    def response(self) -> web.Response:
        """Return the answer."""
        return passed_on(api.refused(self), self.status)


async def read_body(
    request: web.Request, most: int, kind: str = "application/json", within_s: float = BODY_WITHIN_S
) -> bytes:
    """Read a body of at most `most` bytes; raise Refused for one that is too long, too slow or incomplete."""
    where = request.path[:200]
    if request.content_type not in {kind, "application/octet-stream"}:
        problem = f"its body is {request.content_type[:60]}; send Content-Type: {kind}"
        raise Refused(415, "INVALID_REQUEST", f"{where}: {problem}")
    too_long = Refused(413, "INVALID_REQUEST", f"{where}: its body is longer than {most} bytes; send less")
    if (request.content_length or 0) > most:
        raise too_long
    body = bytearray()
    try:
        async with asyncio.timeout(within_s):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > most:
                    raise too_long
    except TimeoutError as error:
        problem = f"its body took longer than {within_s:g} s; send it faster"
        raise Refused(408, "INVALID_REQUEST", f"{where}: {problem}") from error
    except web.RequestPayloadError as error:
        problem = "its body is not as its head announces; correct it"
        raise Refused(400, "INVALID_REQUEST", f"{where}: {problem}") from error
    except ConnectionError as error:
        problem = "its client disconnected before its body had come; send it again"
        raise Refused(400, "INVALID_REQUEST", f"{where}: {problem}") from error
    return bytes(body)


def answered(data: Any) -> web.Response:
    """Answer with something known."""
    return _json(orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY), 200)


def passed_on(answer: bytes, status: int = 0) -> web.Response:
    """Answer as the dispatcher does, by default with the status that fits the code."""
    if not status:
        content = orjson.loads(answer)
        status = 200 if content["status"] == "ok" else STATUS.get(content["code"], AT_ODDS)
    return _json(answer, status)


@web.middleware
async def answer_refusals(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer why a request was refused."""
    try:
        return await handler(request)
    except Refused as error:
        return error.response()
    except RequestError as error:
        return passed_on(api.refused(error))


def _json(body: bytes, status: int) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json", headers=NOT_KEPT)
