"""The page's server in a daemon that runs: a robot is played, watched and stopped without any MQTT client."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np
import pytest

from motiond.daemon.config.http import HttpSettings
from motiond.daemon.http import HttpError
from motiond.daemon.http.live.frames import HEAD
from tests.certificates import self_signed
from tests.daemon.cli.program import Daemon, Program, daemon_of
from tests.daemon.http import contract
from tests.daemon.http.conftest import Page, is_served_at
from tests.daemon.rig import JOINTS, RATE_HZ, Rig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def rig(tmp_path: Path, programs: None) -> Rig:
    del programs
    rig = Rig(tmp_path)
    rig.daemon = {
        "mqtt": {"broker": "embedded", "listen": "127.0.0.1:1883", "telemetry_hz": 0},
        "http": {"listen": "127.0.0.1:8080"},
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


@pytest.fixture
async def daemon(rig: Rig) -> AsyncIterator[Daemon]:
    async with daemon_of(rig) as daemon:
        await asyncio.sleep(1.0)  # the page comes after the robots
        yield daemon


@pytest.fixture
async def browser(rig: Rig, daemon: Daemon) -> AsyncIterator[Browser]:
    del daemon
    async with aiohttp.ClientSession() as session:
        yield Browser(rig, session)


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
    (arm,) = (await browser.get("/api/robots"))["robots"]
    assert (arm["name"], arm["availability"], arm["state"]["state"]) == ("arm", {"state": "online"}, "idle")


async def test_without_a_broker_a_motion_plays_as_long_as_somebody_watches(rig: Rig) -> None:
    rig.daemon["mqtt"] = {"broker": "mqtt://127.0.0.1:1884", "stop_when_lost_s": 3.0}
    daemon = Daemon(rig.config)
    await asyncio.sleep(1.0)
    async with aiohttp.ClientSession() as session:
        browser = Browser(rig, session)
        assert (await browser.get("/api/robots/arm/state"))["state"] == "idle"
        async with session.ws_connect(f"{browser.url}/api/ws") as socket:
            page, watching = Page(socket), asyncio.create_task(watch(socket))
            await browser.post(
                "/api/robots/arm/play", {"motion": "long", "loop": "forever", "ping_pong": True}
            )
            while HEAD.unpack_from(await page.frame())[4] < 5.0 * RATE_HZ:
                pass
            assert not any(told.get("subject") == "result" for told in page.heard)
            watching.cancel()
            left_s = asyncio.get_running_loop().time()
            ended = await page.until(lambda told: told.get("subject") == "result")
            assert asyncio.get_running_loop().time() - left_s == pytest.approx(3.0, abs=0.6)
            unwatched = await session.post(f"{browser.url}/api/robots/arm/follow/start", json={})
            refusal = await unwatched.json()
    daemon.send_signal(signal.SIGTERM)
    assert (await daemon.end()).code == 0
    reason = "the broker has been away for more than 3 s, and nobody watches on a page; nobody could stop it"
    assert (ended["data"]["code"], ended["data"]["message"]) == ("CANCELED", reason)
    assert refusal["code"] == "NOT_ALLOWED"
    assert refusal["error"] == f"arm: it cannot follow; {reason}; bring the broker back, or open the page"


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


async def test_a_transaction_acts_once_whichever_way_it_comes(browser: Browser, daemon: Daemon) -> None:
    accepted = await browser.post("/api/robots/arm/play", {"motion": "long", "transaction": "t1"})
    asked = await daemon.ask("play", motion="long", transaction="t1")
    assert accepted["data"]["goal_id"] == asked["goal_id"]


async def test_a_port_that_is_taken_is_told_and_the_robots_run(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    listen = HttpSettings.model_validate(rig.daemon["http"])
    caplog.set_level(logging.INFO, "motiond.daemon.http")
    with socket.create_server(listen.address) as other:
        async with daemon_of(rig) as daemon:
            assert (await daemon.cli("play", "arm", "short")).code == 0
            await asyncio.sleep(20.0)
            reason = "it is tried again; end what listens there, or set http.listen"
            url = f"http://{listen.listen}/"
            assert told_of_the_page(caplog) == [f"http: no page at {url}; address already in use; {reason}"]
            other.close()
            await asyncio.sleep(5.0)
    assert told_of_the_page(caplog)[1:] == [f"http: the page is at {url}"]


def told_of_the_page(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [message for message in caplog.messages if message.startswith("http: ")]


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (None, "cannot be read; no such file or directory; correct http.token_file"),
        (b"\xff" * 20, "cannot be read; it is not utf-8; correct http.token_file"),
    ],
)
async def test_a_token_that_cannot_be_used_is_refused_at_the_start(
    rig: Rig, tmp_path: Path, free_port: int, token: bytes | None, reason: str
) -> None:
    file = tmp_path / "token"
    if token is not None:
        file.write_bytes(token)
    rig.daemon["http"] |= {"listen": f"0.0.0.0:{free_port}", "token_file": str(file)}
    with pytest.raises(HttpError) as refusal:
        await Daemon(rig.config).end()
    assert (str(refusal.value), refusal.value.exit_code) == (f"{file}: {reason}", 2)


# -- a certificate that is renewed --------------------------------------------------------------------------


async def test_a_renewed_certificate_is_served_after_a_reload_and_after_sighup(
    rig: Rig, tmp_path: Path, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiond.daemon.service.daemon.has_terminal", lambda: False)
    cert_file, key_file = map(str, self_signed(tmp_path, days=1))
    listen = f"127.0.0.1:{free_port}"
    rig.daemon["http"] = {"listen": listen, "cert_file": cert_file, "key_file": key_file}
    async with daemon_of(rig) as daemon:
        await asyncio.sleep(1.0)
        file, _ = self_signed(tmp_path, days=60)
        assert not await is_served_at(free_port, file)
        assert (await daemon.cli("reload")).code == 0
        assert await is_served_at(free_port, file)
        self_signed(tmp_path, days=90)
        daemon.send_signal(signal.SIGHUP)
        await asyncio.sleep(1.0)
        assert await is_served_at(free_port, file)


@pytest.mark.usefixtures("programs")
async def test_the_page_of_all_robots_serves_a_renewed_certificate_after_sighup(
    tmp_path: Path, free_port: int
) -> None:
    file, key_file = self_signed(tmp_path, days=1)
    options = ("--cert-file", file, "--key-file", key_file, "--listen", f"127.0.0.1:{free_port}")
    server = Program("fleet", "serve", "--broker", f"mqtt://127.0.0.1:{free_port + 1}", *options)
    await asyncio.sleep(1.0)
    self_signed(tmp_path, days=90)
    assert not await is_served_at(free_port, file)
    server.send_signal(signal.SIGHUP)
    await asyncio.sleep(1.0)
    assert await is_served_at(free_port, file)
    server.send_signal(signal.SIGTERM)
    assert (await server.end()).code == 0
