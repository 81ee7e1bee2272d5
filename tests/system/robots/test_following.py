"""Following over the control socket: who sends targets is killed, or the daemon is."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import numpy as np
import pytest

import motiond.client
from motiond.client import ClientError, ConnectionLost
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.programs import gone, running
from tests.daemon.rig import Rig
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.client import Daemon

LIMITS = {"lower": -20.0, "upper": 20.0, "velocity": 3.0, "acceleration": 40.0}
RATE_HZ = 200.0
SENDING = """
import sys, time, motiond.client
with motiond.client.sync.connect(config=sys.argv[1]) as daemon:
    with daemon.robot("arm").follow(["elbow"], mode="velocity", timeout_s=3.0) as follow:
        while True:
            follow.send([1.0])
            time.sleep(0.02)
"""


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.robot["joints"] = {name: {"limits": LIMITS} for name in rig.robot["joints"]}
    return rig


@asynccontextmanager
async def connected(rig: Rig) -> AsyncIterator[Daemon]:
    """Be connected once the robot is idle."""
    async with asyncio.timeout(PATIENCE_S):
        state = ""
        while state != "idle":
            await asyncio.sleep(0.05)
            with suppress(ClientError):
                async with motiond.client.connect(config=rig.config) as daemon:
                    state = (await daemon.robot("arm").status())["state"]
    async with motiond.client.connect(config=rig.config) as daemon:
        yield daemon


async def has_moved(daemon: Daemon) -> None:
    async with asyncio.timeout(PATIENCE_S), daemon.robot("arm").telemetry() as samples:
        async for sample in samples:
            if sample["feedback"]["position"][1] > 0.3:
                return


def comes_to_rest_within_limits(rig: Rig) -> bool:
    """Whether the elbow was fast, slowed down within its limit of acceleration, and rests."""
    steps = np.diff(read_trace(rig.folder / "trace.npy")["position"][:, 1])
    speeds, changes = RATE_HZ * np.abs(steps), RATE_HZ**2 * np.abs(np.diff(steps, append=0.0))
    return bool(speeds.max() > 0.9 and changes.max() <= LIMITS["acceleration"] * 1.02)


async def test_a_robot_comes_to_rest_once_who_sends_targets_was_killed(rig: Rig) -> None:
    async with running(rig) as process, connected(rig) as daemon:
        sender = await asyncio.create_subprocess_exec(sys.executable, "-c", SENDING, str(rig.config))
        async with daemon.robot("arm").results() as results:
            await has_moved(daemon)
            sender.kill()
            await sender.wait()
            async with asyncio.timeout(PATIENCE_S):
                result = await anext(results)
            assert (await daemon.robot("arm").status())["state"] == "idle"
        why = "no target came for 3 s; the robot stops softly and holds"
        assert (result["motion"], result["code"], result["message"]) == ("follow", "CANCELED", why)
        assert await process.end() == 0
    assert comes_to_rest_within_limits(rig)


async def test_who_sends_targets_is_told_that_the_daemon_was_killed_and_the_robot_comes_to_rest(
    rig: Rig,
) -> None:
    async def follows(daemon: Daemon, moved: asyncio.Event) -> None:
        async with daemon.robot("arm").follow(["elbow"], mode="velocity", timeout_s=10.0) as follow:
            while True:
                follow.send([1.0])
                if not moved.is_set() and (await daemon.robot("arm").status())["follow"]["targets"] > 30:
                    moved.set()
                await asyncio.sleep(0.02)

    async with running(rig) as process:
        async with connected(rig) as daemon, asyncio.timeout(PATIENCE_S):
            moved = asyncio.Event()
            following = asyncio.create_task(follows(daemon, moved))
            await moved.wait()
            streams = process.streams()
            await process.kill()
            with pytest.raises(ConnectionLost):
                await following
        await gone(streams)
    assert comes_to_rest_within_limits(rig)
