"""What programs of motiond in this process have of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.daemon.cli.program import Daemon, daemon_of
from tests.daemon.rig import Rig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
def rig(tmp_path: Path, programs: None) -> Rig:
    """A robot whose daemon has a broker of its own."""
    del programs
    rig = Rig(tmp_path)
    del rig.driver["trace"], rig.driver["plant"]
    rig.daemon = {"mqtt": {"listen": "127.0.0.1:1883"}}
    return rig


@pytest.fixture
async def daemon(rig: Rig) -> AsyncIterator[Daemon]:
    """Run the daemon of the rig, whose robots are idle."""
    async with daemon_of(rig) as daemon:
        yield daemon
