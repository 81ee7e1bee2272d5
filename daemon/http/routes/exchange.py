"""Reads the body of a request within bounds, and answers in JSON, in bytes or with a file."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

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
PIECE_BYTES = 1 << 18
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


async def send_file(
    request: web.Request, file: BinaryIO, kind: str, name: str | None = None
) -> web.StreamResponse:
    """Send an open file piece by piece, or the range that is asked for, no more of it than it had at first.

    `name`: under which it is to be saved.
    """
    status = os.fstat(file.fileno())
    tag = f'"{status.st_mtime_ns:x}-{status.st_size:x}"'
    headers: dict[str, str] = {hdrs.ETAG: tag, hdrs.CACHE_CONTROL: "no-cache", hdrs.ACCEPT_RANGES: "bytes"}
    if name is not None:
        quoted = quote(name)  # https://www.rfc-editor.org/rfc/rfc6266#section-4.3
        called = f'filename="{name}"' if quoted == name else f"filename*=UTF-8''{quoted}"
        headers[hdrs.CONTENT_DISPOSITION] = f"attachment; {called}"
    if tag in request.headers.get(hdrs.IF_NONE_MATCH, ""):
        return web.Response(status=304, headers=headers)
    begin, end = _range(request, status.st_size, tag)
    response = web.StreamResponse(headers=headers)
    if end - begin < status.st_size:
        response.set_status(206)
        response.headers[hdrs.CONTENT_RANGE] = f"bytes {begin}-{end - 1}/{status.st_size}"
    response.content_type, response.content_length = kind, end - begin
    await response.prepare(request)
    left = 0 if request.method == hdrs.METH_HEAD else end - begin
    file.seek(begin)
    while left and (piece := await asyncio.to_thread(file.read, min(left, PIECE_BYTES))):
        await response.write(piece)
        left -= len(piece)
    if left and request.transport is not None:
        request.transport.abort()  # the file was cut short meanwhile: the rest will never come
    return response


def _range(request: web.Request, size: int, tag: str) -> tuple[int, int]:
    """Return from where to where a file is to be sent (RFC 9110, 14); all of it where no range is asked for.

    Raises Refused where there is no such range.
    """
    if request.headers.get(hdrs.IF_RANGE, tag) != tag:
        return 0, size
    try:
        asked = request.http_range
    except ValueError:  # several ranges, or another unit: all of it is as good
        return 0, size
    if asked.start is None:
        return 0, size
    begin, end, _ = asked.indices(size)
    if begin >= end:
        where, told = request.path[:200], request.headers.get(hdrs.RANGE, "")[:60]
        raise Refused(
            416, "INVALID_REQUEST", f"{where}: no range {told}; it has {size} bytes; ask for others"
        )
    return begin, end


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
