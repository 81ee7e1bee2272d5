"""The recordings of a robot on the command line."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import orjson
import pytest

from tests.daemon.cli.program import daemon_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.cli.program import Daemon
    from tests.daemon.rig import Rig

pytestmark = pytest.mark.slow


@pytest.fixture
async def daemon(rig: Rig) -> AsyncIterator[Daemon]:
    """A daemon that records into a folder of the test."""
    rig.robot["recording"] = {"folder": "recordings", "when": "motion"}
    async with daemon_of(rig) as daemon:
        yield daemon


async def test_the_recordings_of_a_robot_are_listed(daemon: Daemon) -> None:
    assert await daemon.cli("recording", "list", "arm") == (0, "arm: no recordings\n", "")
    assert (await daemon.cli("play", "arm", "short"))[0] == 0
    await asyncio.sleep(5.0)
    code, out, err = await daemon.cli("recording", "list", "arm", "--json")
    assert (code, err) == (0, "")
    (recording,) = orjson.loads(out)["recordings"]
    assert (recording["motions"], recording["codes"]) == (["short"], ["SUCCESSFUL"])
    code, out, err = await daemon.cli("recording", "list", "arm")
    assert (code, err) == (0, "")
    (line,) = [line for line in out.splitlines() if recording["name"] in line]
    assert line.split()[-2:] == ["motion", "short"]


async def test_a_recording_is_played_by_its_name(daemon: Daemon) -> None:
    assert (await daemon.cli("play", "arm", "short"))[0] == 0
    await asyncio.sleep(5.0)
    _, out, _ = await daemon.cli("recording", "list", "arm", "--json")
    name = orjson.loads(out)["recordings"][0]["name"]
    for how in ((), ("--source", "feedback")):
        assert await daemon.cli("play", "arm", f"{name}.mcap", *how) == (
            0,
            f"arm: {name} ended with SUCCESSFUL; the last row is out and held\n",
            "",
        )
    code, _, err = await daemon.cli("play", "arm", f"./{name}.mcap")
    assert code == 1
    assert err.startswith(f"arm: no recording './{name}.mcap'; recordings of the robot are played by their")


async def test_neither_a_folder_nor_a_robot_is_refused(daemon: Daemon) -> None:
    code, out, err = await daemon.cli("recording", "list", "leg")
    assert (code, out) == (1, "")
    assert "no robot 'leg'" in err
