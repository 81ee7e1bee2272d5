"""The page's server on sockets of the system: their buffers, and IPv6."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motiond.daemon.config.http import HttpSettings
from tests.daemon.conftest import Robots, known_hub
from tests.daemon.http.conftest import serving
from tests.daemon.http.slow import gets_all_results_and_little_telemetry
from tests.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "0123456789abcdef"  # noqa: S105 - of these tests
BEARER = {"Authorization": f"Bearer {TOKEN}"}


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
    async with serving(settings, Robots(), known_hub()) as site:
        await gets_all_results_and_little_telemetry(site)
