"""The page's server on sockets of the system: as many as there can be, their buffers, IPv6 and TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import ExitStack
from typing import TYPE_CHECKING

from motiond.daemon.config.http import HttpSettings
from motiond.daemon.service import daemon as service
from tests.certificates import self_signed
from tests.daemon.conftest import Robots, known_hub
from tests.daemon.http.conftest import serving, until
from tests.daemon.http.slow import Stopped, gets_all_results_and_little_telemetry
from tests.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "0123456789abcdef"  # noqa: S105 - of these tests
BEARER = {"Authorization": f"Bearer {TOKEN}"}


async def test_with_a_thousand_connections_that_begin_no_encryption_a_robot_is_stopped(
    tmp_path: Path,
) -> None:
    cert_file, key_file = self_signed(tmp_path)
    settings = HttpSettings(listen=f"127.0.0.1:{free_port()}", cert_file=cert_file, key_file=key_file)
    trusts = ssl.create_default_context(cafile=str(cert_file))
    service.raise_limit()  # this process has both ends of each connection
    async with serving(settings, Robots(), known_hub()) as site:
        with ExitStack() as stack:
            for _ in range(1000):
                stack.enter_context(socket.create_connection(("127.0.0.1", site.port)))
                await asyncio.sleep(0)
            assert (await site.post("/api/robots/arm/stop", {}, ssl=trusts))[0] == 200
        # A handshake that its client has left ends in turns of the loop, of which the end leaves none.
        await until(lambda: not any(task.get_name() == "listener" for task in asyncio.all_tasks()))
    assert site.robots.verbs() == ["stop"]


async def test_all_addresses_are_served_over_ipv6_and_ipv4(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    settings = HttpSettings(listen=f"[::]:{free_port()}", token_file=tmp_path / "token")
    async with serving(settings, Robots(), known_hub()) as site:
        for host in ("127.0.0.1", "[::1]"):
            url = f"http://{host}:{site.port}/api/robots"
            async with site.session.get(url, headers=BEARER) as response:
                assert (host, response.status) == (host, 200)


async def test_a_slow_client_gets_every_result_and_the_newest_telemetry() -> None:
    """The system holds little for who does not read: what is older is left out."""
    settings = HttpSettings(listen=f"127.0.0.1:{free_port()}")
    async with serving(settings, Robots(), known_hub()) as site, Stopped(site) as stopped:
        await gets_all_results_and_little_telemetry(site, stopped)
