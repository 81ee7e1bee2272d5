"""A daemon that is killed while its robot is taught, and a terminal on which somebody teaches."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.daemon.programs import MOTIOND, running
from tests.daemon.rig import Rig
from tests.ports import free_port
from tests.system.robots.test_following import connected
from tests.waiting import PATIENCE_S, output_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from motiond.client import Daemon

LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 40.0}


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    (rig.folder / "taught").mkdir()
    rig.daemon = {"mqtt": {"broker": "embedded", "listen": f"127.0.0.1:{free_port()}"}}
    rig.robot["joints"] = {name: {"limits": LIMITS} for name in rig.robot["joints"]}
    rig.robot |= {
        "motions": ["motions", {"folder": "taught", "upload": True}],
        "fault_requests": True,
        "on_violation": "slow",
        "recording": {"folder": "recordings"},
    }
    return rig


async def asked(client: Daemon, verb: str, **keys: Any) -> dict[str, Any]:
    return await client.robot("arm").request(verb, keys, timeout_s=PATIENCE_S)


async def until(client: Daemon, subject: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S), client.reports(subject, robot="arm") as reports:
        async for report in reports:
            if holds(report.data):
                return dict(report.data)
    raise AssertionError(subject)


async def until_written(client: Daemon, duration_s: float) -> None:
    """Wait until so much of what is taught is in its recording, but for the last second."""
    async with asyncio.timeout(PATIENCE_S):
        written_s = 0.0
        while written_s < duration_s:
            await asyncio.sleep(0.05)
            recordings = (await asked(client, "recordings"))["recordings"]
            written_s = max((one["duration_s"] for one in recordings), default=0.0)


async def test_what_was_taught_until_a_daemon_was_killed_is_played_as_it_was_measured(rig: Rig) -> None:
    async with running(rig) as daemon, connected(rig) as client:
        await asked(client, "teach/start")
        await asked(client, "fault", fault="hand", joint="elbow", to=0.4, for_s=1.0)
        await until_written(client, 4.0)
        await daemon.kill()
    async with running(rig) as daemon, connected(rig) as client:
        (recording,) = (await asked(client, "recordings"))["recordings"]
        assert (recording["why"], recording["is_written"]) == ("teaching", False)
        assert recording["duration_s"] > 2.0
        result = await client.robot("arm").play(recording["name"], source="feedback")
        assert (result.code, (await asked(client, "status"))["state"]) == ("SUCCESSFUL", "idle")
        assert await daemon.end() == 0


async def test_a_terminal_that_is_killed_leaves_the_robot_as_it_is_until_it_is_stopped(rig: Rig) -> None:
    async with running(rig) as daemon, connected(rig) as client:
        words = (MOTIOND, "teach", "arm", "wave", "--yes", "--for", "600", "-c", rig.config)
        lesson = await asyncio.create_subprocess_exec(*words)
        begun = await until(client, "teaching", lambda teaching: teaching["mode"] is not None)
        lesson.kill()
        assert await lesson.wait() == -signal.SIGKILL
        later_s = begun["duration_s"] + 3.0
        await until(client, "teaching", lambda teaching: teaching["duration_s"] > later_s)
        state = await asked(client, "status")
        assert (state["state"], state["torque"]) == ("teaching", False)
        stop = await asyncio.create_subprocess_exec(
            *(MOTIOND, "stop", "arm", "-c", rig.config), stdout=asyncio.subprocess.PIPE
        )
        said, _ = await stop.communicate()
        # Where the daemon is slow, the stop is sent twice, and the answer to the other one may be shown.
        assert said.endswith(b"; it holds\n")
        state = await asked(client, "status")
        assert (state["state"], state["torque"]) == ("idle", True)
        assert await daemon.end() == 0


async def test_somebody_answers_on_a_terminal_and_ctrl_d_saves(rig: Rig) -> None:
    async with running(rig) as daemon, connected(rig) as client:
        ours, theirs = pty.openpty()
        lesson = await asyncio.create_subprocess_exec(
            *(MOTIOND, "teach", "arm", "wave", "-c", rig.config),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
        )
        os.close(theirs)

        async def shows(text: str) -> None:
            await asyncio.to_thread(output_until, ours, lambda shown: text in shown, f"'{text}'")

        await shows("arm: torque goes off, so that it may drop: hold it. Begin? [y/N]: ")
        assert (await asked(client, "status"))["state"] == "idle"
        os.write(ours, b"y\n")
        await shows("arm: it can be moved now")
        await asked(client, "fault", fault="hand", joint="elbow", to=0.4, for_s=1.0)
        await shows("elbow +0.400")
        os.write(ours, b"\n")
        await shows("arm: kept pose_1")
        os.write(ours, b"\x04")
        await shows("arm: `motiond play arm wave` plays it")
        assert await lesson.wait() == 0
        os.close(ours)
        assert (await client.robot("arm").play("wave")).code == "SUCCESSFUL"
        assert await daemon.end() == 0
