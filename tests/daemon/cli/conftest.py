"""What programs of motiond in this process have of their own."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from tests.daemon.cli.program import COLUMNS, LINES, Daemon, daemon_of
from tests.daemon.conftest import Embedded
from tests.daemon.rig import Rig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
def terminals(programs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs be on terminals, which keep lines back and echo nothing."""
    del programs
    for module in ("monitor.command", "teach.lesson"):
        monkeypatch.setattr(f"motiond.daemon.cli.{module}.raw_keys", nullcontext)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("LINES", str(LINES))


@pytest.fixture
async def broker() -> AsyncIterator[Embedded]:
    """Run a broker that no daemon has."""
    broker = Embedded(1885)
    await broker.start()
    yield broker
    await broker.kill()


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
