"""What is too much, too slow or no HTTP at all: refused or hung up on, and nobody else notices."""

from __future__ import annotations

import asyncio
import gzip
import re
import socket
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.api import Pace, Report
from motiond.daemon.http import Bounds
from tests.daemon.http.conftest import Site, all_of, serving, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from motiond.daemon.api import ReportHub
    from motiond.daemon.config.http import HttpSettings
    from tests.daemon.conftest import Robots

JSON = {"Content-Type": "application/json"}
HEAD = b"POST /api/robots/arm/play HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MOST = 65_536


def refusal(code: str, error: str) -> dict[str, Any]:
    return {"status": "error", "code": code, "error": error, "data": {}, "transaction": None}


def invalid(problem: str) -> dict[str, Any]:
    return refusal("INVALID_REQUEST", f"/api/robots/arm/play: {problem}")


def told_in(answer: bytes) -> Any:
    return orjson.loads(answer.partition(b"\r\n\r\n")[2])


def now_s() -> float:
    return asyncio.get_running_loop().time()


# -- paths --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/../../etc/passwd",
            "/%2e%2e/%2e%2e/etc/passwd",
            "//etc/passwd",
            "/..\\..\\etc\\passwd",
            "/page.py",
        ),
        *(
            "/index.html/../../page.py",
            "/index.html%00.js",
            "http://evil.example/etc/passwd",
            "/" + "a" * 8000,
        ),
        *("/api/robots/../../etc/passwd", "/api/robots/arm/..%2f..%2fstate"),
    ],
)
async def test_no_path_leads_out_of_the_page(site: Site, path: str) -> None:
    told = await site.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert told.split(b" ", 2)[1] in {b"400", b"404", b"405"}, told
    assert b"root:" not in told
    assert b"import" not in told


@pytest.mark.parametrize("verb", ["explode", "..%2fstop", "stop%2f", "Stop"])
async def test_unknown_verbs_are_refused(site: Site, verb: str) -> None:
    status, told = await site.post(f"/api/robots/arm/{verb}", {})
    assert (status, told["code"]) == (404, "UNKNOWN_VERB")
    assert site.robots.handled == []


async def test_an_unknown_robot_is_told_who_there_is(site: Site) -> None:
    error = "no robot 'amr'; there are arm, hand; did you mean 'arm'?"
    assert await site.get("/api/robots/amr/state") == (404, refusal("UNKNOWN_ROBOT", error))


@pytest.mark.parametrize(("query", "asked"), [("", {}), ("?limit=7&before=12", {"limit": 7, "before": 12})])
async def test_the_history_is_read_by_get(site: Site, query: str, asked: dict[str, int]) -> None:
    site.robots.answers["history"] = {"results": [], "more": False, "problem": None}
    answer = await site.get(f"/api/robots/arm/history{query}")
    assert answer == (200, site.robots.answers["history"])
    assert site.robots.handled == [("arm", "history", asked)]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("?limit=0", "'limit' is 0; it must be greater than or equal to 1; correct it"),
        ("?limit=all", "'limit' is 'all'; it must be a valid integer; correct it"),
        ("?first=1", "unknown key 'first'"),
        (f"?limit={'9' * 5000}", "'limit' is '999"),
    ],
)
async def test_a_history_that_cannot_be_is_refused(site: Site, query: str, problem: str) -> None:
    status, told = await site.get(f"/api/robots/arm/history{query}")
    assert (status, told["code"]) == (400, "INVALID_REQUEST")
    assert told["error"].startswith(f"arm/history: {problem}")
    assert site.robots.handled == []


# -- bodies -------------------------------------------------------------------------------------------------


async def test_a_packed_body_is_not_unpacked(site: Site) -> None:
    headers = JSON | {"Content-Encoding": "gzip"}
    status, told = await site.post("/api/robots/arm/play", data=gzip.compress(b"{}"), headers=headers)
    form = "a request is a JSON object in UTF-8, without NaN; correct it"
    assert (status, told["error"]) == (400, f"arm/play: not JSON at line 1 column 1; {form}")
    assert site.robots.handled == []


async def test_a_form_is_no_request(site: Site) -> None:
    problem = "its body is application/x-www-form-urlencoded; send Content-Type: application/json"
    answer = await site.post("/api/robots/arm/play", data={"motion": "wave"})
    assert answer == (415, invalid(problem))


TOO_LONG = invalid("its body is longer than 65536 bytes; send less")


async def test_a_body_is_as_long_as_a_request_over_mqtt_at_most_also_where_its_length_is_not_known(
    site: Site,
) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" " * 10_000

    body = orjson.dumps({"motion": "wave"})
    assert (await site.post("/api/robots/arm/play", data=body.ljust(MOST), headers=JSON))[0] == 200
    for long in (body.ljust(MOST + 1), endless()):
        assert await site.post("/api/robots/arm/play", data=long, headers=JSON) == (413, TOO_LONG)
    told = await site.raw(HEAD + b"Connection: close\r\nContent-Length: 1000000000000\r\n\r\n")
    assert told.startswith(b"HTTP/1.1 413 "), "before it is read"
    assert told_in(told) == TOO_LONG


async def test_half_a_body_acts_on_nothing(site: Site) -> None:
    told = await site.raw(HEAD + b'Content-Length: 18\r\nConnection: close\r\n\r\n{"motion": ')
    assert told.startswith(b"HTTP/1.1 408 ")
    assert told_in(told) == invalid("its body took longer than 5 s; send it faster")
    await site.raw(HEAD + b'Content-Length: 18\r\n\r\n{"motion": ', end=True)
    assert site.robots.handled == []


async def test_a_broken_chunk_is_refused(site: Site) -> None:
    told = await site.raw(
        HEAD + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n", b"2\r\n{}\r\nzz\r\n"
    )
    assert told.split(b" ", 2)[1] == b"400"
    assert site.robots.handled == []


# -- heads --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
        b"STOP /api/robots/arm/stop\r\n\r\n",
        HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        HEAD + b"A: " + b"a" * 9000 + b"\r\n\r\n",
        HEAD + b"".join(b"A%d: b\r\n" % number for number in range(100)) + b"\r\n",
    ],
    ids=["tls", "no version", "smuggled", "long field", "many fields"],
)
async def test_what_is_no_http_is_hung_up_on(
    site: Site, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    told = await site.raw(sent)
    assert told.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4")), told
    assert b"Content-Type: application/json" in told
    assert b"X-Content-Type-Options: nosniff" in told
    error = told_in(told)["error"]
    assert re.fullmatch(r"the request's head is malformed; .{5,100}[^.:]; correct it", error)
    assert site.robots.handled == []
    assert caplog.records == []


UPGRADE = b"Connection: close, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
NO_TEXT = "is no text; what stands there is written in ASCII; correct it"


@pytest.mark.parametrize(
    ("begin", "status", "error"),
    [
        (b"GET / HTTP/1.1\r\nExpect: \xff", 400, f"/: header Expect {NO_TEXT}"),
        (b"GET / HTTP/1.1\r\nExpect: more", 417, "/: expectation failed; see /api/openapi.json"),
        (
            b"GET /api/ws HTTP/1.1\r\n" + UPGRADE + b"Sec-WebSocket-Key: \xff",
            400,
            f"/api/ws: header Sec-WebSocket-Key {NO_TEXT}",
        ),
        (
            b"POST /api/robots/arm/pause HTTP/1.1\r\nContent-Type: text/\xff",
            415,
            "/api/robots/arm/pause: its body is text/\ufffd; send Content-Type: application/json",
        ),
    ],
)
async def test_what_is_wrong_with_a_header_is_said(
    site: Site, begin: bytes, status: int, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    told = await site.raw(begin + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert told.startswith(b"HTTP/1.1 %d " % status), told
    assert told_in(told) == refusal("INVALID_REQUEST", error)
    assert caplog.records == []


async def test_cookies_and_names_of_others_that_are_no_text_keep_no_stop_back(site: Site) -> None:
    others = b"Cookie: theirs=\xff\xfe; x=\xc3\xa9\r\nUser-Agent: \xff\r\nAccept-Language: \xff\r\n"
    head = HEAD.replace(b"play", b"stop") + b"Connection: close\r\nContent-Length: 2\r\n"
    assert (await site.raw(head + others + b"\r\n{}")).startswith(b"HTTP/1.1 200 ")
    assert site.robots.verbs() == ["stop"]


async def test_a_head_that_comes_byte_by_byte_is_cut_off(site: Site) -> None:
    began_s = now_s()
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    ended = asyncio.create_task(all_of(reader))
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nA: ")
    while not ended.done():
        writer.write(b"a")
        await asyncio.sleep(0.1)
    assert ended.result() == b""
    assert now_s() - began_s == pytest.approx(10.0, abs=0.2)
    writer.close()


@pytest.mark.parametrize(
    ("first", "begun", "within_s"),
    [
        (b"", b"", 10.0),
        (b"", b"GET /api/robots HTTP/1.1\r\nHost: loc", 10.0),
        (b"GET /api/robots HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /api/rob", 10.0),
        (b"GET /api/robots HTTP/1.1\r\nHost: localhost\r\n\r\n", b"", 30.0),
    ],
    ids=["silence", "half a head", "half a second head", "silence after an answer"],
)
async def test_who_does_not_ask_in_time_is_hung_up_on(
    site: Site, first: bytes, begun: bytes, within_s: float
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    if first:
        writer.write(first)
        assert (await reader.read(65536)).startswith(b"HTTP/1.1 200 ")
    writer.write(begun)
    began_s = now_s()
    assert await all_of(reader) == b""
    assert now_s() - began_s == pytest.approx(within_s, abs=1.0)  # aiohttp looks once a second
    writer.close()


async def test_who_reads_no_answer_is_hung_up_on(site: Site) -> None:
    site.hub.publish(Report("arm", "motions", {"motions": ["x" * 2_000_000]}))
    with socket.create_connection(("127.0.0.1", site.port)) as client:
        client.sendall(b"GET /api/robots/arm/motions HTTP/1.1\r\nHost: localhost\r\n\r\n")
        began_s = now_s()
        await until(lambda: is_reset(client))
        assert now_s() - began_s == pytest.approx(15.0, abs=0.1)


def is_reset(client: socket.socket) -> bool:
    return client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


@pytest.mark.parametrize(
    "path", ["/api/robots/arm/play", "/api/login", "/api/robots/arm/motions/upload?name=a.seq"]
)
async def test_a_client_that_leaves_within_its_body_leaves_nothing_in_the_log(
    site: Site, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    await site.get("/api/robots")
    tasks = len(asyncio.all_tasks())
    head = HEAD.replace(b"/api/robots/arm/play", path.encode()).replace(b"json", b"octet-stream")
    await leave_within_body(site, head)
    await until(lambda: len(asyncio.all_tasks()) <= tasks)
    assert caplog.records == []
    assert site.robots.handled == []


@pytest.mark.parametrize("verb", ["stop", "estop"])
async def test_a_stop_acts_though_its_client_leaves_within_its_body(
    site: Site, caplog: pytest.LogCaptureFixture, verb: str
) -> None:
    await leave_within_body(site, HEAD.replace(b"play", verb.encode()))
    await until(lambda: site.robots.verbs() == [verb])
    assert [record for record in caplog.records if record.exc_info] == []


async def leave_within_body(site: Site, head: bytes) -> None:
    """Send a head and half a body, and hang up once the server waits for the rest."""
    _, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(head + b'Content-Length: 100\r\n\r\n{"mo')
    await writer.drain()
    await site.get("/api/robots")
    writer.transport.abort()


# -- how many -----------------------------------------------------------------------------------------------


async def test_more_connections_keep_nobody_from_stopping_a_robot(site: Site) -> None:
    async with site.live() as page, AsyncExitStack() as stack:
        await page.next()
        for _ in range(300):
            other = stack.enter_context(socket.create_connection(("127.0.0.1", site.port)))
            other.sendall(b"GET / HT")
            await asyncio.sleep(0)
        assert (await page.ask(1, "arm", "stop"))["status"] == "ok"
        assert (await site.post("/api/robots/arm/stop", {}))[0] == 200
    assert [verb for _, verb, _ in site.robots.handled] == ["stop", "stop"]


BUSY = "too many requests are being served; there is room for stops only; ask again"


@pytest.fixture
async def crowded(settings: HttpSettings, robots: Robots, hub: ReportHub) -> AsyncIterator[Site]:
    """A server for twelve connections that serves eight requests at once, six of an address."""
    assert Bounds(256, 128, 96, ask_within_s=10.0, read_within_s=15.0) == Bounds()
    bounds = Bounds(connections=12, served=8, served_an_address=6)
    async with serving(settings, robots, hub, bounds=bounds) as site:
        yield site


SLOW = {
    "slow bodies": HEAD + b"Content-Length: 100\r\n\r\n{",
    "slow logins": HEAD.replace(b"/api/robots/arm/play", b"/api/login") + b"Content-Length: 100\r\n\r\n{",
    "slow uploads": HEAD.replace(b"/arm/play", b"/arm/motions/upload?name=a.seq").replace(
        b"json", b"octet-stream"
    )
    + b"Content-Length: 100\r\n\r\n{",
    "half heads": HEAD,
    "plays that wait": HEAD + b'Content-Length: 17\r\n\r\n{"motion":"wave"}',
    "unread answers": b"GET /api/robots/arm/motions HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.mark.parametrize("sent", SLOW.values(), ids=SLOW)
async def test_however_many_connections_are_busy_a_further_one_stops_a_robot(
    crowded: Site, sent: bytes
) -> None:
    crowded.hub.publish(Report("arm", "motions", {"motions": ["x" * 2_000_000]}))
    crowded.robots.gate.clear()
    tasks = len(asyncio.all_tasks())
    async with AsyncExitStack() as stack:
        for _ in range(60):
            reader, writer = await asyncio.open_connection("127.0.0.1", crowded.port, limit=1)
            stack.callback(writer.close)
            writer.write(sent)
            del reader
        for verb in ("stop", "estop"):
            assert (await crowded.post(f"/api/robots/arm/{verb}", {}))[0] == 200
        async with crowded.live() as page:
            await page.next()
            assert (await page.ask(1, "arm", "stop"))["status"] == "ok"
        crowded.robots.gate.set()
    await crowded.session.close()
    # aiohttp waits a second for the rest of a body
    await until(lambda: len(asyncio.all_tasks()) <= tasks)
    assert [verb for verb in crowded.robots.verbs() if verb != "play"] == ["stop", "estop", "stop"]


async def test_where_as_many_requests_are_served_as_may_be_a_further_one_is_refused(crowded: Site) -> None:
    crowded.robots.gate.clear()
    async with asyncio.TaskGroup() as tasks:
        served = [
            tasks.create_task(crowded.post("/api/robots/arm/play", {"motion": "wave"})) for _ in range(6)
        ]
        await until(lambda: len(crowded.robots.handled) >= 6)
        told = await crowded.raw(b"GET /api/robots HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert told.startswith(b"HTTP/1.1 503 ")
        assert told_in(told) == refusal("BUSY", f"/api/robots: {BUSY}")
        crowded.robots.gate.set()
    assert [task.result()[0] for task in served] == [200] * 6
    assert (await crowded.get("/api/robots"))[0] == 200


async def test_requests_of_all_clients_have_one_pace_and_stops_have_none(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[float] = []

    def take(_pace: Pace, cost: float = 1.0) -> float:
        taken.append(cost)
        return 0.0

    monkeypatch.setattr(Pace, "take", take)
    await site.get("/api/robots")
    await site.post("/api/robots/arm/play", data=b"{}".ljust(40_960), headers=JSON)
    read, answer, asked, refusal = taken
    assert (read, asked) == (1.0, 11.0)
    assert 0.0 < answer < 0.01
    assert 0.0 < refusal < 0.01
    taken.clear()
    await site.post("/api/robots/arm/stop", {})
    assert taken == []


@pytest.mark.parametrize("verb", ["stop", "estop"])
@pytest.mark.parametrize(
    ("body", "kind"), [(b"STOP", "text/plain"), (b"{}".ljust(MOST + 1), "application/json")]
)
async def test_a_stop_acts_whatever_its_body_is(site: Site, verb: str, body: bytes, kind: str) -> None:
    headers = {"Content-Type": kind}
    assert (await site.post(f"/api/robots/arm/{verb}", data=body, headers=headers))[0] == 200
    assert site.robots.verbs() == [verb]


async def test_a_stop_whose_body_never_comes_acts_all_the_same(site: Site) -> None:
    head = HEAD.replace(b"play", b"stop")
    told = await site.raw(head + b"Connection: close\r\nContent-Length: 100\r\n\r\n{")
    assert told.startswith(b"HTTP/1.1 200 ")
    assert site.robots.verbs() == ["stop"]
