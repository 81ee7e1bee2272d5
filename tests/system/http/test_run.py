"""A daemon with a page over TLS, as a user and systemd run it."""

from __future__ import annotations

import asyncio
import signal
import ssl
from typing import TYPE_CHECKING

import aiohttp

from motiond.daemon.config.certificates import of_chain, of_der
from tests.certificates import self_signed
from tests.daemon.http.conftest import Page
from tests.daemon.programs import in_a_session, motiond
from tests.daemon.rig import Rig
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually

if TYPE_CHECKING:
    from pathlib import Path


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


def test_a_robot_is_played_and_stopped_over_tls_with_certificates_that_are_renewed(tmp_path: Path) -> None:
    rig, port = Rig(tmp_path), free_port()
    cert_file, key_file = self_signed(tmp_path, days=1)
    rig.daemon = {
        "mqtt": {"broker": "embedded", "listen": f"127.0.0.1:{free_port()}"},
        "http": {
            "listen": f"127.0.0.1:{port}",
            "cert_file": str(cert_file),
            "key_file": str(key_file),
        },
    }
    with in_a_session("run", "-c", rig.config) as daemon:
        is_served(port, cert_file)
        self_signed(tmp_path, days=60)
        assert motiond("reload", "-c", rig.config).returncode == 0
        is_served(port, cert_file)
        self_signed(tmp_path, days=90)
        daemon.send_signal(signal.SIGHUP)
        is_served(port, cert_file)
        asyncio.run(play_and_stop(port, cert_file))
        daemon.terminate()
        assert daemon.wait(PATIENCE_S) == 0


async def play_and_stop(port: int, cert_file: Path) -> None:
    trusts = ssl.create_default_context(cafile=str(cert_file))
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"https://127.0.0.1:{port}/api/ws", ssl=trusts) as socket,
    ):
        page = Page(socket)
        await page.until(lambda told: told.get("data", {}).get("state") == "idle")
        accepted = await page.ask(1, "arm", "play", motion="long")
        await page.until(lambda told: told.get("data", {}).get("state") == "playing")
        await page.frame()
        assert (await page.ask(2, "arm", "stop"))["status"] == "ok"
        result = await page.result()
    assert (result["data"]["goal_id"], result["data"]["code"]) == (accepted["data"]["goal_id"], "CANCELED")
