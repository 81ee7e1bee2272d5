"""Who is let in, and what strangers cannot do: nothing is served or moved that should not be."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from contextlib import AsyncExitStack
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.config.http import HttpSettings
from tests.certificates import self_signed
from tests.daemon.http.conftest import Site, serving, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.daemon.api import ReportHub
    from tests.daemon.conftest import Robots

TOKEN = "0123456789abcdef"  # noqa: S105 - of these tests
BEARER = {"Authorization": f"Bearer {TOKEN}"}
MISSING = "the token is missing; log in, or send Authorization: Bearer TOKEN"
WRONG = "the token is wrong; it is the first line of http.token_file"


def refusal(code: str, error: str) -> dict[str, Any]:
    return {"status": "error", "code": code, "error": error, "data": {}, "transaction": None}


@pytest.fixture
def guarded(free_port: int, tmp_path: Path) -> HttpSettings:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    return HttpSettings(listen=f"127.0.0.1:{free_port}", token_file=tmp_path / "token")


@pytest.fixture
async def closed(guarded: HttpSettings, robots: Robots, hub: ReportHub) -> AsyncIterator[Site]:
    async with serving(guarded, robots, hub) as site:
        yield site


# -- Host and Origin ----------------------------------------------------------------------------------------

NOT_OURS = refusal(
    "NOT_ALLOWED", "Host: the daemon is not called so; add the name to http.hosts, or use its address"
)
ELSEWHERE = refusal(
    "NOT_ALLOWED",
    "Origin: the request comes from another page; use the daemon's own, or add its origin to http.origins",
)


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "", "[::1", "127.0.0.1:x", "127.0.0.1.evil.com"]
)
async def test_a_name_that_is_not_the_daemons_is_refused(site: Site, host: str) -> None:
    assert await site.post("/api/robots/arm/stop", {}, headers={"Host": host}) == (421, NOT_OURS)
    assert site.robots.handled == []


async def test_a_request_without_a_name_is_refused(site: Site) -> None:
    told = await site.raw(b"GET /api/robots HTTP/1.0\r\n\r\n")
    assert told.startswith(b"HTTP/1.0 421 ")


async def test_names_of_the_machine_and_of_the_configuration_are_taken(
    free_port: int, robots: Robots, hub: ReportHub
) -> None:
    settings = HttpSettings(listen=f"127.0.0.1:{free_port}", hosts=["arm.example"])
    async with serving(settings, robots, hub) as site:
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1", "192.0.2.7:8080", "[::1]:8080", "Arm.example"):
            status, _ = await site.get("/api/robots", headers={"Host": host})
            assert (host, status) == (host, 200)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://HOST"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    ],
)
async def test_other_pages_in_the_browser_command_nothing(site: Site, headers: dict[str, str]) -> None:
    here = {key: value.replace("HOST", f"127.0.0.1:{site.port}") for key, value in headers.items()}
    assert await site.post("/api/robots/arm/stop", {}, headers=here) == (403, ELSEWHERE)
    assert await site.get("/api/ws", headers=here) == (403, ELSEWHERE)
    assert site.robots.handled == []


async def test_the_daemons_own_page_is_let_in(site: Site) -> None:
    own = {"Origin": site.url, "Sec-Fetch-Site": "same-origin"}
    assert (await site.post("/api/robots/arm/stop", {}, headers=own))[0] == 200
    async with site.live(headers=own) as page:
        assert (await page.ask(1, "arm", "stop"))["status"] == "ok"


# -- pages of one's own, from elsewhere ---------------------------------------------------------------------

MINE, IPV6 = "http://localhost:3000", "https://[::1]"
ASKS_FIRST = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}


@pytest.fixture
async def opened(guarded: HttpSettings, robots: Robots, hub: ReportHub) -> AsyncIterator[Site]:
    """Serve with a token, and with pages of two other origins."""
    origins = ["http://LocalHost:3000", "https://[::1]:443"]
    settings = HttpSettings(listen=guarded.listen, token_file=guarded.token_file, origins=origins)
    async with serving(settings, robots, hub) as site:
        yield site


async def told_by(site: Site, method: str, path: str, **options: Any) -> tuple[int, dict[str, str]]:
    """Ask, and give the status and what browsers are told of other origins."""
    async with site.session.request(method, site.url + path, **options) as response:
        await response.read()
        assert "Origin" in response.headers.getall("Vary")
        told = {key: value for key, value in response.headers.items() if key.startswith("Access-Control-")}
        return response.status, told


@pytest.mark.parametrize("origin", [MINE, IPV6])
@pytest.mark.parametrize("path", ["/api/robots/arm/play", "/api/robots/arm/stop", "/api/fleet/choir/stop"])
async def test_a_browser_hears_beforehand_what_a_page_of_a_listed_origin_may_send(
    opened: Site, origin: str, path: str
) -> None:
    """Without the token, which browsers leave out where they ask first."""
    assert await told_by(opened, "OPTIONS", path, headers={"Origin": origin, **ASKS_FIRST}) == (
        204,
        {
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Methods": "GET, POST",
            "Access-Control-Allow-Headers": "Authorization, Content-Type, Motiond-Lease",
            "Access-Control-Max-Age": "7200",
        },
    )
    assert opened.robots.handled == []


async def test_a_browser_asks_before_a_stop_however_many_other_requests_wait(
    opened: Site, robots: Robots
) -> None:
    opened.choir.gate.clear()
    plays = [opened.post("/api/fleet/choir/play", {"motion": "wave"}, headers=BEARER) for _ in range(96)]
    waiting = [asyncio.create_task(one) for one in plays]
    await until(lambda: len(opened.choir.asked) == 96)
    head = {"Origin": MINE, **ASKS_FIRST}
    assert (await told_by(opened, "OPTIONS", "/api/robots/arm/play", headers=head))[0] == 503
    assert (await told_by(opened, "OPTIONS", "/api/robots/arm/stop", headers=head))[0] == 204
    assert (await opened.post("/api/robots/arm/stop", {}, headers=BEARER | {"Origin": MINE}))[0] == 200
    opened.choir.gate.set()
    await asyncio.gather(*waiting)
    assert robots.verbs() == ["stop"]


@pytest.mark.parametrize(
    ("method", "path", "head", "status"),
    [
        ("POST", "/api/robots/arm/stop", BEARER, 200),
        ("GET", "/api/robots", BEARER, 200),
        ("GET", "/", {}, 200),
        ("GET", "/api/robots", {}, 401),
        ("GET", "/api/nowhere", BEARER, 404),
        ("PUT", "/api/robots", BEARER, 405),
        ("GET", "/api/robots", BEARER | {"Host": "evil.example"}, 421),
    ],
)
async def test_a_page_of_a_listed_origin_may_read_every_answer(
    opened: Site, method: str, path: str, head: dict[str, str], status: int
) -> None:
    there = {"Origin": MINE, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
    told = await told_by(opened, method, path, headers=head | there)
    assert told == (status, {"Access-Control-Allow-Origin": MINE})


@pytest.mark.parametrize(
    "origin",
    [
        *("http://localhost:3001", "https://localhost:3000", "http://localhost", "http://localhost:3000/"),
        *("http://localhost:3000.evil.example", "http://evil.example", "null", "", "*", "https://[::1]:443"),
    ],
)
async def test_a_page_of_an_origin_that_is_not_listed_commands_and_reads_nothing(
    opened: Site, origin: str
) -> None:
    head = BEARER | {"Origin": origin}
    for method, asks in (("OPTIONS", ASKS_FIRST), ("POST", {})):
        assert await told_by(opened, method, "/api/robots/arm/stop", headers=head | asks) == (403, {})
    assert await opened.get("/api/ws", headers=head) == (403, ELSEWHERE)
    assert opened.robots.handled == []


async def test_the_cookie_counts_for_the_daemons_own_page_only(opened: Site) -> None:
    async with opened.session.post(f"{opened.url}/api/login", json={"token": TOKEN}) as response:
        cookie = {"Cookie": response.headers["Set-Cookie"].partition(";")[0]}
    assert (await opened.get("/api/robots", headers=cookie | {"Origin": opened.url}))[0] == 200
    for path in ("/api/robots", "/api/ws"):
        there = cookie | {"Origin": MINE}
        assert await opened.get(path, headers=there) == (401, refusal("NOT_ALLOWED", MISSING))


async def test_a_page_of_a_listed_origin_shows_the_token_as_a_protocol_of_its_websocket(
    opened: Site, guarded: HttpSettings
) -> None:
    assert guarded.token_file is not None
    guarded.token_file.write_text("a token, with 100 % é")
    opened.server.renew()
    shown = ("motiond", "token.a%20token%2C%20with%20100%20%25%20%C3%A9")
    async with opened.live(headers={"Origin": MINE}, protocols=shown) as page:
        assert page.socket.protocol == "motiond"
        assert (await page.ask(1, "arm", "stop"))["status"] == "ok"
    for offered, error in (("motiond, token.wrong", WRONG), (shown[1], MISSING), ("motiond", MISSING)):
        head = {"Origin": MINE, "Sec-WebSocket-Protocol": offered}
        assert await opened.get("/api/ws", headers=head) == (401, refusal("NOT_ALLOWED", error))
    head = {"Origin": "http://evil.example", "Sec-WebSocket-Protocol": ", ".join(shown)}
    assert await opened.get("/api/ws", headers=head) == (403, ELSEWHERE)


async def test_the_log_has_who_was_not_let_in(closed: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "motiond")
    await closed.get("/api/robots")
    await closed.post("/api/robots/arm/stop", {}, headers={"Authorization": "Bearer wrong"})
    await closed.post("/api/login", {"token": "secret"})
    await closed.get("/api/robots", headers=BEARER)
    assert caplog.messages == [
        f"http: /api/robots: refused to 127.0.0.1; {MISSING}",
        f"http: /api/robots/arm/stop: refused to 127.0.0.1; {WRONG}",
        f"http: /api/login: refused to 127.0.0.1; {WRONG}",
    ]


# -- what browsers are told ---------------------------------------------------------------------------------


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self' data: blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


@pytest.mark.parametrize("path", ["/", "/api/robots", "/nowhere", "/api/robots/arm/stop"])
async def test_every_answer_forbids_scripts_but_the_pages_own(site: Site, path: str) -> None:
    async with site.session.get(site.url + path) as response:
        assert response.headers["Content-Security-Policy"] == POLICY
        assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("verb", ["stop", "play"])
async def test_nothing_is_commanded_by_get(site: Site, verb: str) -> None:
    path = f"/api/robots/arm/{verb}"
    async with site.session.get(f"{site.url}{path}?motion=wave") as response:
        assert (response.status, response.headers["Allow"]) == (405, "POST")
        told = await response.json()
    assert told == refusal("INVALID_REQUEST", f"{path}: method not allowed; see /api/openapi.json")
    assert site.robots.handled == []


# -- the token ----------------------------------------------------------------------------------------------

PATHS = (
    *("/metrics", "/api/robots", "/api/robots/arm/state", "/api/robots/arm/stop", "/api/ws", "/api/fleet"),
    *("/api/fleet/choir/stop", "/api/nowhere", "/%61pi/robots", "//api/robots", "/api/../api/robots"),
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "PUT"])
async def test_nothing_is_served_without_the_token(closed: Site, method: str, path: str) -> None:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    told = await closed.raw(head.encode())
    assert told.startswith(b"HTTP/1.1 401 ")
    assert told.endswith(b"\r\n\r\n" if method == "HEAD" else orjson.dumps(refusal("NOT_ALLOWED", MISSING)))
    assert closed.robots.handled == []


async def test_a_renewed_token_counts_and_one_that_cannot_be_used_changes_nothing(
    closed: Site, guarded: HttpSettings, caplog: pytest.LogCaptureFixture
) -> None:
    async def status(token: str) -> int:
        return (await closed.get("/api/robots", headers={"Authorization": f"Bearer {token}"}))[0]

    file, renewed = guarded.token_file, "fedcba9876543210"
    assert file is not None
    file.write_text("short")
    closed.server.renew()
    problem = "its first line has 5 characters; a token has 16 at least"
    hint = "write one, as by: openssl rand -hex 16; the token stays as it was"
    assert caplog.messages == [f"{file}: {problem}; {hint}"]
    assert await status(TOKEN) == 200
    file.write_text(renewed)
    closed.server.renew()
    assert [await status(TOKEN), await status(renewed)] == [401, 200]


async def test_the_pages_own_files_need_no_token_which_opens_everything_else(closed: Site) -> None:
    async with closed.session.get(f"{closed.url}/") as response:
        assert (response.status, response.content_type) == (200, "text/html")
    async with closed.live(headers=BEARER) as page:
        assert (await page.ask(1, "arm", "stop"))["status"] == "ok"


async def test_a_login_gives_a_cookie_that_scripts_and_other_pages_do_not_get(closed: Site) -> None:
    async with closed.session.post(f"{closed.url}/api/login", json={"token": TOKEN}) as response:
        assert await response.json() == {"status": "ok", "data": {}, "transaction": None}
        ((name, cookie),) = SimpleCookie(response.headers["Set-Cookie"]).items()
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Strict", "/")
    assert TOKEN not in cookie.value
    for shown, status in ((cookie.value, 200), (cookie.value[:-1], 401), ("é", 401)):
        assert (await closed.get("/api/robots", headers={"Cookie": f"{name}={shown}"}))[0] == status


@pytest.mark.parametrize("wrong", ["", "0123456789abcdeg", "é" * 300])
async def test_a_wrong_token_costs_time(closed: Site, wrong: str) -> None:
    began_s = time.monotonic()
    assert await closed.post("/api/login", {"token": wrong}) == (401, refusal("NOT_ALLOWED", WRONG))
    assert time.monotonic() - began_s >= 1.0
    wrong_header = {"Authorization": f"Bearer {wrong}"}
    assert await closed.get("/api/robots", headers=wrong_header) == (401, refusal("NOT_ALLOWED", WRONG))
    assert time.monotonic() - began_s >= 2.0


async def test_of_many_wrong_tokens_at_once_most_are_not_even_looked_at(closed: Site) -> None:
    began_s = time.monotonic()
    told = await asyncio.gather(*(closed.post("/api/login", {"token": f"guess {one}"}) for one in range(40)))
    took_s = time.monotonic() - began_s
    too_often = (429, refusal("NOT_ALLOWED", "too many wrong tokens at once; wait a second"))
    waited = [answer for answer in told if answer != too_often]
    assert {status for status, _ in waited} == {401}
    assert len(waited) <= min(8 * int(took_s), 39)  # each is waited for by one of eight
    assert (await closed.post("/api/login", {"token": TOKEN}))[0] == 200


async def test_whoever_guesses_keeps_nobody_else_at_that_address_from_stopping_a_robot(
    closed: Site, robots: Robots
) -> None:
    tries = [closed.post("/api/login", {"token": f"guess {number}"}) for number in range(20)]
    guesses = [asyncio.create_task(one) for one in tries]
    await until(lambda: any(guess.done() and guess.result()[0] == 429 for guess in guesses))
    assert (await closed.post("/api/robots/arm/stop", {}, headers=BEARER))[0] == 200
    await asyncio.gather(*guesses)
    assert robots.verbs() == ["stop"]


@pytest.mark.parametrize("body", [b"", b"[]", b'{"token": 1}', b"\xff"])
async def test_what_is_no_login_is_refused_at_once(closed: Site, body: bytes) -> None:
    head = {"Content-Type": "application/json"}
    expected = refusal("INVALID_REQUEST", 'login: no token; send {"token": "…"}')
    assert await closed.post("/api/login", data=body, headers=head) == (400, expected)


# -- TLS ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
async def encrypted(
    guarded: HttpSettings, pair: tuple[Path, Path], robots: Robots, hub: ReportHub
) -> AsyncIterator[Site]:
    settings = guarded.model_copy(update={"cert_file": pair[0], "key_file": pair[1]})
    async with serving(settings, robots, hub) as site:
        yield site


@pytest.fixture
def trusts(pair: tuple[Path, Path]) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(pair[0]))


async def test_with_a_certificate_all_of_it_is_encrypted(encrypted: Site, trusts: ssl.SSLContext) -> None:
    assert encrypted.url.startswith("https://127.0.0.1:")
    async with encrypted.live(headers=BEARER | {"Origin": encrypted.url}, ssl=trusts) as page:
        assert (await page.ask(1, "arm", "stop"))["status"] == "ok"
    login = encrypted.session.post(f"{encrypted.url}/api/login", json={"token": TOKEN}, ssl=trusts)
    async with login as response:
        assert "Secure" in response.headers["Set-Cookie"]
    assert b"200 OK" not in await encrypted.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")


async def test_more_connections_that_begin_no_encryption_keep_nobody_from_stopping_a_robot(
    encrypted: Site, trusts: ssl.SSLContext
) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(300):
            stack.enter_context(socket.create_connection(("127.0.0.1", encrypted.port)))
            await asyncio.sleep(0)
        assert (await encrypted.post("/api/robots/arm/stop", {}, headers=BEARER, ssl=trusts))[0] == 200
    assert encrypted.robots.verbs() == ["stop"]


# -- the configuration --------------------------------------------------------------------------------------


OPEN = (
    "'{}' is open to others without a token; whoever reaches it could move the robots; "
    "add token_file, or listen on 127.0.0.1"
)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"listen": "0.0.0.0:8080"}, OPEN.format("0.0.0.0:8080")),
        ({"listen": "arm.example:8080"}, OPEN.format("arm.example:8080")),
        ({"listen": "127.0.0.1:0"}, "'127.0.0.1:0' cannot be listened to; ports are 1 to 65535; correct it"),
        ({"cert_file": "c.pem"}, "'cert_file' stands alone; a certificate needs its key; add key_file"),
        (
            {"cert_file": "c.pem", "key_file": "k.pem"},
            "cert_file c.pem cannot be read; no such file; correct the path",
        ),
    ],
)
def test_what_would_be_open_or_cannot_work_is_refused(section: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match="HttpSettings") as caught:
        HttpSettings.model_validate(section)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "origin",
    [
        *(
            "*",
            "null",
            "",
            "localhost:3000",
            "http://localhost:3000/",
            "https://example.org/page",
            "ftp://host",
        ),
        *(
            "http://user@host",
            "http://*.example.org",
            "http://host:",
            "http://host?x",
            "http://bücher.example",
        ),
    ],
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(ValueError, match="HttpSettings") as caught:
        HttpSettings.model_validate({"origins": [origin]})
    problem = f"'{origin}' is no origin; it is SCHEME://HOST or SCHEME://HOST:PORT and no more"
    assert f"{problem}; write it as in http://localhost:3000" in str(caught.value)


@pytest.mark.parametrize("listen", ["127.0.0.1:1", "127.1.2.3:8080", "[::1]:8080", "localhost:8080"])
def test_the_loopback_needs_no_token(listen: str) -> None:
    assert HttpSettings(listen=listen).is_loopback
