"""A daemon that is killed while its robot is taught, and a terminal on which somebody teaches."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

import motiond.client
from motiond.client import ClientError
from tests.daemon.programs import MOTIOND, running
from tests.daemon.rig import Rig
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

PORT = 10_241
LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 40.0}


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    (rig.folder / "taught").mkdir()
    rig.daemon = {"mqtt": {"broker": "embedded", "listen": f"127.0.0.1:{PORT}"}}
    rig.robot["joints"] = {name: {"limits": LIMITS} for name in rig.robot["joints"]}
    rig.robot |= {
        "motions": ["motions", {"folder": "taught", "upload": True}],
        "fault_requests": True,
        "on_violation": "slow",
        "recording": {"folder": "recordings"},
    }
    return rig


async def asked(rig: Rig, verb: str, payload: dict[str, Any] | None = None) -> dict[str, Any]:
    """Ask the daemon, once it is there."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(ClientError):
                async with motiond.client.connect(config=rig.config) as daemon:
                    return await daemon.robot("arm").request(verb, payload or {})
            await asyncio.sleep(0.05)


async def until(rig: Rig, subject: str, holds: Any) -> dict[str, Any]:
    async with (
        asyncio.timeout(PATIENCE_S),
        motiond.client.connect(config=rig.config) as daemon,
        daemon.reports(subject, robot="arm") as reports,
    ):
        async for report in reports:
            if holds(report.data):
                return dict(report.data)
    raise AssertionError(subject)


async def test_what_was_taught_until_a_daemon_was_killed_is_played_as_it_was_measured(rig: Rig) -> None:
    async with running(rig) as daemon:
        await asked(rig, "status")
        await until(rig, "state", lambda state: state["state"] == "idle")
        await asked(rig, "teach/start")
        await asked(rig, "fault", {"fault": "hand", "joint": "elbow", "to": 0.4, "for_s": 1.0})
        await until(rig, "teaching", lambda teaching: teaching["duration_s"] >= 4.0)
        await daemon.kill()
    async with running(rig) as daemon:
        await asked(rig, "status")
        await until(rig, "state", lambda state: state["state"] == "idle")
        (recording,) = (await asked(rig, "recordings"))["recordings"]
        assert (recording["why"], recording["is_written"]) == ("teaching", False)
        assert recording["duration_s"] > 2.0
        async with motiond.client.connect(config=rig.config) as client:
            result = await client.robot("arm").play(recording["name"], source="feedback")
            place = (await client.robot("arm").status())["state"]
        assert (result.code, place) == ("SUCCESSFUL", "idle")
        assert await daemon.end() == 0


async def test_a_terminal_that_is_killed_leaves_the_robot_as_it_is_until_it_is_stopped(rig: Rig) -> None:
    async with running(rig) as daemon:
        await asked(rig, "status")
        await until(rig, "state", lambda state: state["state"] == "idle")
        words = (MOTIOND, "teach", "arm", "wave", "--yes", "--for", "600", "-c", rig.config)
        lesson = await asyncio.create_subprocess_exec(*words)
        begun = await until(rig, "teaching", lambda teaching: teaching["mode"] is not None)
        lesson.kill()
        assert await lesson.wait() == -signal.SIGKILL
        later_s = begun["duration_s"] + 3.0
        await until(rig, "teaching", lambda teaching: teaching["duration_s"] > later_s)
        state = await asked(rig, "status")
        assert (state["state"], state["torque"]) == ("teaching", False)
        stop = await asyncio.create_subprocess_exec(
            *(MOTIOND, "stop", "arm", "-c", rig.config), stdout=asyncio.subprocess.PIPE
        )
        said, _ = await stop.communicate()
        assert said == b"arm: teaching has ended; it holds\n"
        state = await asked(rig, "status")
        assert (state["state"], state["torque"]) == ("idle", True)
        assert await daemon.end() == 0


async def test_somebody_answers_on_a_terminal_and_ctrl_d_saves(rig: Rig) -> None:
    async with running(rig) as daemon:
        await asked(rig, "status")
        await until(rig, "state", lambda state: state["state"] == "idle")
        ours, theirs = pty.openpty()
        lesson = await asyncio.create_subprocess_exec(
            *(MOTIOND, "teach", "arm", "wave", "-c", rig.config),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
        )
        os.close(theirs)
        screen, written = bytearray(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def read() -> None:
            screen.extend(os.read(ours, 4096))
            written.set()

        async def shows(text: bytes) -> None:
            async with asyncio.timeout(PATIENCE_S):
                while text not in screen:
                    written.clear()
                    await written.wait()

        loop.add_reader(ours, read)

        await shows(b"arm: torque goes off, so that it may drop: hold it. Begin? [y/N]: ")
        assert (await asked(rig, "status"))["state"] == "idle"
        os.write(ours, b"y\n")
        await shows(b"arm: it can be moved now")
        await asked(rig, "fault", {"fault": "hand", "joint": "elbow", "to": 0.4, "for_s": 1.0})
        await shows(b"elbow +0.400")
        os.write(ours, b"\n")
        await shows(b"arm: kept pose_1")
        os.write(ours, b"\x04")
        await shows(b"arm: `motiond play arm wave` plays it")
        loop.remove_reader(ours)
        assert await lesson.wait() == 0
        os.close(ours)
        assert (await asked(rig, "play", {"motion": "wave"}))["goal_id"]
        await until(rig, "state", lambda state: state["state"] == "idle")
        assert await daemon.end() == 0
