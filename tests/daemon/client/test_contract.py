"""The client's contract, on each way to a daemon in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from motiond.client import connect
from tests.daemon.cli.program import daemon_of
from tests.daemon.client.contract import STEPS
from tests.daemon.rig import Rig

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.client import Daemon
    from tests.daemon.client.contract import Step

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("programs")]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@pytest.mark.parametrize("way", ["broker", "socket", "page"])
async def test_the_client_keeps_its_contract(way: str, step: Step, tmp_path: Path, free_port: int) -> None:
    rig = Rig(tmp_path)
    rig.daemon["http"] = {"listen": f"127.0.0.1:{free_port}"}
    async with daemon_of(rig) as running:

        def client() -> Daemon:
            match way:
                case "broker":
                    return connect(running.broker)
                case "socket":
                    return connect(config=running.config)
            return connect(f"http://127.0.0.1:{free_port}")

        async with client() as daemon, client() as other:
            await step(daemon, other)
