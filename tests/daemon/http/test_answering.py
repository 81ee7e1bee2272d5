"""Behaviour of answers to what aiohttp would refuse, or fail over, on its own: all have one form."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import TYPE_CHECKING, NoReturn

import orjson
import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.config.http import HttpSettings
from tests.daemon.answers import whole
from tests.daemon.conftest import Robots
from tests.daemon.http.conftest import Site, serving
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.daemon.api import ReportHub

pytestmark = pytest.mark.slow

TOKEN = "0123456789abcdef"  # noqa: S105 - of these tests
NAMES = (
    *("Accept", "Accept-Encoding", "Authorization", "Connection", "Content-Encoding", "Content-Length"),
    *("Content-Type", "Cookie", "Expect", "Host", "If-Modified-Since", "If-None-Match", "Keep-Alive"),
    *("Motiond-Lease", "Origin", "Range", "Sec-Fetch-Site", "Sec-WebSocket-Key", "Sec-WebSocket-Protocol"),
    *("Sec-WebSocket-Version", "Transfer-Encoding", "Upgrade", "X-Forwarded-For"),
)
VALUES = (
    *(b"", b"=", b";;;", b"x" * 500, b"null", b"chunked", b"100-continue", b"\xff\xfe", b"\xc3\xa9"),
    *(b"a=\xff", b"Bearer \xff", b'W/"\xff"', b"text/plain; charset=\xff", b"application/json; charset=none"),
    *(b"multipart/form-data; boundary=", b"a=b; motiond-00000000=\xff", b"websocket", b"Upgrade"),
)
HERE = {b"Host": b"127.0.0.1", b"Authorization": b"Bearer " + TOKEN.encode(), b"Connection": b"close"}
KEYS = {"status", "code", "error", "data", "transaction"}
UPGRADE = {
    b"Upgrade": b"websocket",
    b"Connection": b"Upgrade",
    b"Sec-WebSocket-Version": b"13",
    b"Sec-WebSocket-Key": b64encode(bytes(16)),
}
BODY = {b"Content-Type": b"application/json", b"Content-Length": b"2"}
FILE = BODY | {b"Content-Type": b"application/octet-stream"}
REQUESTS = (
    (b"GET /api/robots", HERE),
    (b"GET /", HERE),
    (b"GET /nowhere", HERE),
    (b"GET /api/ws", HERE | UPGRADE),
    (b"POST /api/robots/arm/status", HERE | BODY),
    (b"POST /api/robots/arm/motions/upload?name=a.seq", HERE | FILE),
    (b"POST /api/login", HERE | BODY),
)


class NoUploads(Robots):
    async def upload(self, *_: object) -> NoReturn:
        raise RequestError("NOT_ALLOWED", "arm", "motions cannot be uploaded")


@pytest.fixture
async def closed(free_port: int, tmp_path: Path, hub: ReportHub) -> AsyncIterator[Site]:
    (tmp_path / "token").write_text(TOKEN)
    settings = HttpSettings(listen=f"127.0.0.1:{free_port}", token_file=tmp_path / "token")
    async with serving(settings, NoUploads(), hub) as site:
        yield site


async def answer_to(site: Site, request: bytes, headers: dict[bytes, bytes]) -> tuple[int, bytes]:
    """Give status and body of the first answer but 100."""
    body = b"{}" if request.startswith(b"POST") else b""
    if headers.get(b"Transfer-Encoding"):
        headers.pop(b"Content-Length", None)
        body = b"2\r\n{}\r\n0\r\n\r\n"  # else the server waits for its end
    head = b"".join(b"%b: %b\r\n" % field for field in headers.items())
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    try:
        writer.write(b"%b HTTP/1.1\r\n%b\r\n%b" % (request, head, body))
        status = 100
        async with asyncio.timeout(PATIENCE_S):
            while status == 100:
                line, *fields = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
                status = int(line.split()[1])
            length = next((one for one in fields if one.startswith(b"Content-Length: ")), b": 0").split()[1]
            return status, await reader.readexactly(int(length))
    finally:
        writer.close()


@pytest.mark.parametrize("name", NAMES)
async def test_no_header_gets_an_answer_of_another_form(
    closed: Site, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    for request, usual in REQUESTS:
        for value in VALUES:
            status, body = await answer_to(closed, request, usual | {name.encode(): value})
            sent = (request, name, value, status, body)
            assert status < 500 or orjson.loads(body)["code"] in {"BUSY", "OFFLINE"}, sent
            if status >= 400:
                assert whole(orjson.loads(body)).keys() == KEYS, sent
    assert [record for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize(
    ("request_line", "headers", "status", "error"),
    [
        (
            b"GET /",
            {b"Expect": b"\xff"},
            400,
            "/: header Expect is no text; what stands there is written in ASCII; correct it",
        ),
        (b"GET /", {b"Expect": b"more"}, 417, "/: expectation failed; see /api/openapi.json"),
        (
            b"GET /api/ws",
            UPGRADE | {b"Sec-WebSocket-Key": b"\xff"},
            400,
            "/api/ws: header Sec-WebSocket-Key is no text; what stands there is written in ASCII; correct it",
        ),
        (
            b"POST /api/robots/arm/pause",
            BODY | {b"Content-Type": b"text/\xff"},
            415,
            "/api/robots/arm/pause: its body is text/\ufffd; send Content-Type: application/json",
        ),
    ],
)
async def test_what_is_wrong_with_a_header_is_said(
    closed: Site, request_line: bytes, headers: dict[bytes, bytes], status: int, error: str
) -> None:
    answer = await answer_to(closed, request_line, HERE | headers)
    assert (answer[0], orjson.loads(answer[1])["error"]) == (status, error)


async def test_cookies_and_names_of_others_that_are_no_text_keep_no_stop_back(closed: Site) -> None:
    others = {b"Cookie": b"theirs=\xff\xfe; x=\xc3\xa9", b"User-Agent": b"\xff", b"Accept-Language": b"\xff"}
    status, _ = await answer_to(closed, b"POST /api/robots/arm/stop", HERE | BODY | others)
    assert (status, closed.robots.verbs()) == (200, ["stop"])
