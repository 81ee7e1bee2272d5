"""A real stream process: as punctual as the system lets it be, and replaced when it hangs."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.daemon.rig import Rig, ask

if TYPE_CHECKING:
    from motiond.daemon.robots.registry import RobotRegistry

PRIORITY = 10


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def pid_of(registry: RobotRegistry) -> int:
    pid = registry.members["arm"].robot.stream.pid
    assert pid is not None
    return pid


def locked_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmLck:")[2].split()[0])


async def test_it_asks_the_system_for_what_makes_it_punctual_and_reports_what_is_refused(rig: Rig) -> None:
    core = max(os.sched_getaffinity(0))
    rig.daemon["realtime"] = {"priority": PRIORITY, "core": core, "lock_memory": True}
    async with rig.running() as registry:
        await rig.until_state("idle")
        goal_id = (await ask(registry, "play", motion="short"))["goal_id"]
        assert (await rig.result_of(goal_id))["code"] == "SUCCESSFUL"
        pid = pid_of(registry)
        stream = psutil.Process(pid)
        assert (stream.cmdline()[0], stream.num_threads()) == ("motiond stream arm", 1)
        assert os.sched_getaffinity(pid) == {core}
        warnings = [report.data["message"] for report in rig.reports if report.subject == "event"]
        for what, is_so in (
            (f"SCHED_FIFO priority {PRIORITY}", os.sched_getscheduler(pid) == os.SCHED_FIFO),
            ("locked memory", locked_kb(pid) > 0),
        ):
            is_refused = any(f"{what} refused" in message for message in warnings)
            assert is_so != is_refused, (what, warnings)


async def test_one_that_hangs_ends_the_motion_and_is_replaced(rig: Rig) -> None:
    rig.robot["stream_timeout_s"] = 2.0
    async with rig.running() as registry:
        await rig.until_state("idle")
        goal_id = (await ask(registry, "play", motion="long"))["goal_id"]
        await rig.until_state("playing")
        before, since = pid_of(registry), len(rig.reports)
        os.kill(before, signal.SIGSTOP)
        result = await rig.result_of(goal_id)
        lost = await rig.until("event", lambda data: data["kind"] == "stream_lost", since)
        await rig.until_state("idle", rig.place_of(lost))
        assert pid_of(registry) != before
        assert not psutil.pid_exists(before)
        goal_id = (await ask(registry, "play", motion="short"))["goal_id"]
        assert (await rig.result_of(goal_id))["code"] == "SUCCESSFUL"
    assert result["code"] == "COMM_LOST"
    assert re.fullmatch(r"the stream process did not tick for \d+\.\d s and was killed", lost["message"])
