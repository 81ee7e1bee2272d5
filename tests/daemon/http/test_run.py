"""The page's server in a daemon that runs: a robot is played, watched and stopped without any MQTT client."""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np
import pytest

from motiond.daemon.config.certificates import of_chain, of_der
from motiond.daemon.config.http import HttpSettings
from motiond.daemon.http.frames import HEAD
from tests.certificates import self_signed
from tests.daemon.http import contract
from tests.daemon.http.conftest import Page
from tests.daemon.programs import background, in_a_session, motiond, run_here, running
from tests.daemon.rig import JOINTS, RATE_HZ, Rig
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually, lines_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.daemon = {
        "mqtt": {"broker": "embedded", "listen": f"127.0.0.1:{free_port()}", "telemetry_hz": 0},
        "http": {"listen": f"127.0.0.1:{free_port()}"},
    }
    return rig


class Browser:
    """A client of a daemon that runs by itself."""

    def __init__(self, rig: Rig, session: aiohttp.ClientSession) -> None:
        self.url = f"http://{rig.daemon['http']['listen']}"
        self.session = session

    async def get(self, path: str) -> Any:
        async with self.session.get(self.url + path) as response:
            told = await response.json()
        contract.check("GET", path, response.status, told)
        return told

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        async with self.session.post(self.url + path, json=body) as response:
            told = await response.json()
        contract.check("POST", path, response.status, told, sent=body)
        return told

    async def until_idle(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    if (await self.get("/api/robots/arm/state")).get("state") == "idle":
                        return
                except aiohttp.ClientError:
                    pass  # it starts
                await asyncio.sleep(0.05)


@pytest.fixture
async def browser(rig: Rig) -> AsyncIterator[Browser]:
    patience = aiohttp.ClientTimeout(PATIENCE_S)
    async with aiohttp.ClientSession(timeout=patience) as session, running(rig) as daemon:
        browser = Browser(rig, session)
        await browser.until_idle()
        yield browser
        assert await daemon.end() == 0


async def test_a_motion_is_played_watched_and_stopped(browser: Browser) -> None:
    async with browser.session.ws_connect(f"{browser.url}/api/ws") as socket:
        page = Page(socket)
        hello = await page.next()
        assert isinstance(hello, dict)
        assert hello["hello"]["robots"] == ["arm"]
        accepted = await browser.post("/api/robots/arm/play", {"motion": "long", "transaction": "t1"})
        assert (accepted["status"], accepted["transaction"]) == ("ok", "t1")
        goal_id = accepted["data"]["goal_id"]
        playing = await page.until(
            lambda told: told.get("subject") == "state" and told["data"]["state"] == "playing"
        )
        assert (playing["robot"], playing["data"]["goal_id"]) == ("arm", goal_id)
        while not moves(await page.frame()):
            pass
        stopped = await page.ask(1, "arm", "stop")
        assert (stopped["status"], stopped["data"]["goal_id"]) == ("ok", goal_id)
        result = await page.result()
        assert (result["data"]["goal_id"], result["data"]["code"]) == (goal_id, "CANCELED")
        await page.until(lambda told: told.get("subject") == "state" and told["data"]["state"] == "idle")
    assert (await browser.get("/api/robots/arm/state"))["state"] == "idle"


async def test_without_a_broker_a_motion_plays_as_long_as_somebody_watches(rig: Rig) -> None:
    rig.daemon["mqtt"] = {"broker": f"mqtt://127.0.0.1:{free_port()}", "stop_when_lost_s": 3.0}
    async with aiohttp.ClientSession() as session, running(rig) as daemon:
        browser = Browser(rig, session)
        await browser.until_idle()
        async with session.ws_connect(f"{browser.url}/api/ws") as socket:
            page, watching = Page(socket), asyncio.create_task(watch(socket))
            await asyncio.sleep(0)  # what is asked by the same connection is answered after that is heard
            assert (await page.ask(1, "arm", "status"))["status"] == "ok"
            await browser.post(
                "/api/robots/arm/play", {"motion": "long", "loop": "forever", "ping_pong": True}
            )
            while HEAD.unpack_from(await page.frame())[4] < 5.0 * RATE_HZ:
                pass
            assert not any(told.get("subject") == "result" for told in page.heard)
            watching.cancel()
            ended = await page.until(lambda told: told.get("subject") == "result")
        assert await daemon.end() == 0
    assert (ended["data"]["code"], ended["data"]["message"]) == (
        "CANCELED",
        "the broker has been away for more than 3 s, and nobody watches on a page; nobody could stop it",
    )


async def watch(socket: aiohttp.ClientWebSocketResponse) -> None:
    while True:
        await socket.send_str('{"watching": true}')
        await asyncio.sleep(0.2)


def moves(frame: bytes) -> bool:
    """Whether a frame of telemetry is of an arm that moves; it has to be one of two joints in any case."""
    kind, robot, joints, stamp_s, row = HEAD.unpack_from(frame)
    assert (kind, robot, joints) == (1, 0, len(JOINTS))
    assert stamp_s > 0.0
    arrays = np.frombuffer(frame, "<f4", offset=HEAD.size).reshape(2, 3, joints)
    assert np.isfinite(arrays[:, :2]).all()
    assert np.abs(arrays[0, 0] - arrays[1, 0]).max() < 0.1
    return bool(row > 0.0 and np.abs(arrays[0, 1]).max() > 0.01)


async def test_what_is_known_of_a_robot_can_be_read(browser: Browser) -> None:
    known = await browser.get("/api/robots")
    (arm,) = known["robots"]
    assert (arm["name"], arm["availability"], arm["state"]["state"]) == ("arm", {"state": "online"}, "idle")
    assert await browser.get("/api/robots/arm/availability") == {"state": "online"}
    description = await browser.get("/api/robots/arm/description")
    assert [joint["name"] for joint in description["joints"]] == list(JOINTS)
    motions = await browser.get("/api/robots/arm/motions")
    assert [(one["name"], one["ok"]) for one in motions["motions"]] == [("long", True), ("short", True)]


async def test_a_transaction_acts_once_whichever_way_it_comes(browser: Browser, rig: Rig) -> None:
    if not shutil.which("mosquitto_rr"):
        pytest.skip("mosquitto_rr is not installed")
    async with browser.session.ws_connect(f"{browser.url}/api/ws") as socket:  # until MQTT is heard, too
        await Page(socket).until_daemon({"clients": ["127.0.0.1"], "broker": "connected"})
    accepted = await browser.post("/api/robots/arm/play", {"motion": "long", "transaction": "t1"})
    listen = rig.daemon["mqtt"]["listen"]
    host, port = listen.split(":")
    asked = await asyncio.to_thread(
        subprocess.run,
        ["mosquitto_rr", "-V", "311", "-h", host, "-p", port, "-t", "motiond/arm/request/play",
         "-e", "motiond/arm/response/play", "-m", '{"motion": "long", "transaction": "t1"}'],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert accepted["data"]["goal_id"] in asked.stdout, asked


def test_a_port_that_is_taken_is_told_and_the_robots_run(rig: Rig) -> None:
    listen = HttpSettings.model_validate(rig.daemon["http"])
    other = socket.create_server(listen.address)
    with other, background("run", "-c", rig.config) as daemon:
        told = [line for line in lines_until(daemon.stderr, "no page at") if "no page at" in line]
        broker = f"mqtt://{rig.daemon['mqtt']['listen']}"
        eventually(
            "the robot plays",
            lambda: motiond("play", "arm", "short", "--broker", broker).returncode,
            lambda code: code == 0,
        )
        other.close()
        lines_until(daemon.stderr, "the page is at")
    assert told[0].partition("http: ")[2].strip() == (
        f"no page at http://{listen.listen}/; address already in use; "
        "it is tried again; end what listens there, or set http.listen"
    )


LOADED = """
import asyncio, sys
from pathlib import Path
from motiond.daemon.api.reports import ReportHub
from motiond.daemon.config.settings import load_settings
from motiond.daemon.robots.assembly import make_registry
from motiond.daemon.robots.stream_forks import StreamForks
from motiond.daemon.service.daemon import serve

async def main():
    settings, hub = load_settings(Path(sys.argv[1])), ReportHub()
    with StreamForks() as forks:
        robots = make_registry(settings, hub, forks)
        asyncio.get_running_loop().call_later(0.5, robots.leave)
        await serve(settings, hub, robots)

asyncio.run(main())
ours = ("aiohttp", "motiond.daemon.http", "prometheus_client")
print(*(name for name in sys.modules if name.startswith(ours)))
"""


@pytest.mark.parametrize("state", ["off", "on"])
def test_where_it_is_off_nothing_of_it_is_loaded(rig: Rig, state: str) -> None:
    is_on = state == "on"
    if not is_on:
        rig.daemon["http"] = None
    command = [sys.executable, "-c", LOADED, str(rig.config)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert run.returncode == 0, run.stderr
    loaded = run.stdout.split()
    assert ("motiond.daemon.http.server" in loaded, bool(loaded)) == (is_on, is_on)


TOO_SHORT = "its first line has 5 characters; a token has 16 at least; write one, as by: openssl rand -hex 16"


@pytest.mark.parametrize(
    ("token", "why"),
    [
        (None, "cannot be read; no such file or directory; correct http.token_file"),
        (
            b"short\n",
            TOO_SHORT,
        ),
        (b"\xff" * 20, "cannot be read; it is not utf-8; correct http.token_file"),
    ],
)
def test_a_token_that_cannot_be_used_is_refused_at_the_start(
    capsys: pytest.CaptureFixture[str], rig: Rig, tmp_path: Path, token: bytes | None, why: str
) -> None:
    file = tmp_path / "token"
    if token is not None:
        file.write_bytes(token)
    rig.daemon["http"] |= {"listen": f"0.0.0.0:{free_port()}", "token_file": str(file)}
    code, _, err = run_here(capsys, "run", "-c", rig.config)
    assert (code, err.splitlines()[-1].removeprefix("motiond: ")) == (2, f"{file}: {why}")


# -- a certificate that is renewed --------------------------------------------------------------------------


def ends_at(port: int) -> str:
    """Return what the certificate that is served there says of its end; '' where nobody serves yet."""
    try:
        return of_der(
            ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", port)))
        ).ends.isoformat()
    except OSError:
        return ""


def is_served(port: int, cert_file: Path) -> None:
    ends = of_chain(cert_file).ends.isoformat()
    eventually("it is served", lambda: ends_at(port), lambda shown: shown == ends)


def test_a_renewed_certificate_is_served_after_a_reload_and_after_sighup(
    rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = int(rig.daemon["http"]["listen"].rpartition(":")[2])
    cert_file, key_file = self_signed(tmp_path, days=1)
    rig.daemon["http"] |= {"cert_file": str(cert_file), "key_file": str(key_file)}
    with in_a_session("run", "-c", rig.config) as daemon:
        is_served(port, cert_file)
        self_signed(tmp_path, days=60)
        eventually(
            "it reloads", lambda: run_here(capsys, "reload", "-c", rig.config)[0], lambda code: code == 0
        )
        is_served(port, cert_file)
        self_signed(tmp_path, days=90)
        daemon.send_signal(signal.SIGHUP)
        is_served(port, cert_file)


def test_a_page_of_all_robots_serves_a_renewed_certificate_after_sighup(tmp_path: Path) -> None:
    port = free_port()
    cert_file, key_file = self_signed(tmp_path, days=1)
    options = ("--cert-file", cert_file, "--key-file", key_file, "--listen", f"127.0.0.1:{port}")
    nobody = f"mqtt://127.0.0.1:{free_port()}"
    with in_a_session("fleet", "serve", "--broker", nobody, *options) as server:
        is_served(port, cert_file)
        self_signed(tmp_path, days=90)
        server.send_signal(signal.SIGHUP)
        is_served(port, cert_file)
