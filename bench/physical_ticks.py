"""What a tick costs with actuators in a physical world, and whether its deadlines are kept at 1 kHz.

The robots are the example's arm of six joints and a humanoid of thirty, both under gravity. Beside a tick in
the world stands one of the same actuators without one; beside missed deadlines stand cyclictest's, at the
same time.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import psutil

from bench import cyclictest
from bench.many_robots import Layout, running
from bench.tick import RATE_HZ, TICKS, playing
from motiond.daemon.joints import build_joint_map
from motiond.daemon.physics.simulation import with_physics
from motiond.daemon.stream.timing import realtime
from motiond.formats import load_robot
from tests.daemon.physics.humanoid import SKEL
from tests.daemon.physics.robots import ARM
from tests.daemon.rig import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from motiond.daemon.telemetry import Timing
    from motiond.formats.arrays import Floats

SECONDS = 30
WORLDS: Mapping[str, dict[str, Any]] = {"without": {}, "in a world": {"physics": True}}


class Robot(NamedTuple):
    """A description as a file, and how many joints it has."""

    file: str
    text: str
    joints: int

    def write(self, folder: Path) -> Path:
        """Write the description; return its path."""
        path = folder / self.file
        path.write_text(self.text)
        return path


ROBOTS = (Robot("arm.hrdf", ARM.read_text(), 6), Robot("humanoid.skel", SKEL, 30))


def main(seconds: float = SECONDS) -> None:
    """Print what ticks cost, and how late they are."""
    print(f"a tick in µs of processor time; {TICKS} ticks on virtual time at {RATE_HZ:g} Hz")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for robot in ROBOTS:
            for world in WORLDS:
                p50, p99 = np.quantile(pool.apply(tick_us, (robot, world)), [0.5, 0.99])
                print(f"{robot.joints:6} joints, {world:14}{p50:8.1f} p50{p99:8.1f} p99")
    if cyclictest.is_there():
        for robot in ROBOTS:
            _print_punctuality(robot, seconds)


def tick_us(robot: Robot, world: str) -> Floats:
    """Return what each tick costs in µs, shape (ticks,)."""
    realtime.prepare(None, None, lock_memory=True)
    with tempfile.TemporaryDirectory() as folder:
        model = load_robot(robot.write(Path(folder)))
    joint_map = build_joint_map("robot", model, {})
    options = with_physics("sim", WORLDS[world], model, joint_map)
    with playing(robot.joints, "sim", 1.0, options, joint_map.actuators) as loop:
        return np.array([processor_us(loop.step) for _ in range(TICKS)])


def processor_us(call: Callable[[], object]) -> float:
    begun_ns = time.thread_time_ns()
    call()
    return (time.thread_time_ns() - begun_ns) / 1000


def _print_punctuality(robot: Robot, seconds: float) -> None:
    timing, theirs, processor = asyncio.run(_measure(robot, seconds))
    late_us = [1e6 * timing.lateness.quantile_s(share) for share in (0.5, 0.99)]
    print(f"{robot.joints} joints in a world at {RATE_HZ:g} Hz for {seconds:g} s; lateness in µs")
    print(f"motiond     {late_us[0]:8.0f} p50{late_us[1]:8.0f} p99{1e6 * timing.lateness.max_s:8.0f} max")
    row = theirs.quantile_us(0.5), theirs.quantile_us(0.99), theirs.max_us
    print(f"cyclictest  {row[0]:8.0f} p50{row[1]:8.0f} p99{row[2]:8.0f} max")
    missed = f"{timing.missed} of {timing.ticks} ticks; cyclictest {theirs.missed(1 / RATE_HZ)}"
    print(f"missed deadlines: {missed}; {100 * processor:.1f} % of a core")


async def _measure(robot: Robot, seconds: float) -> tuple[Timing, cyclictest.Latencies, float]:
    with tempfile.TemporaryDirectory() as folder:
        rows = sweep(4.0, RATE_HZ, robot.joints) - 0.1
        layout = Layout(
            ("arm",),
            robot.joints,
            {"swing": (rows, RATE_HZ)},
            driver={"type": "sim", "physics": True},
            model=robot.write(Path(folder)),
        )
        async with running(Path(folder), layout) as fleet:
            observer = await fleet.cycle("arm", "swing")
            stream = psutil.Process(fleet.robots["arm"].stream.pid)
            observer.take()
            observer.start_goal()
            before = stream.cpu_times()
            theirs = await cyclictest.measure(seconds, RATE_HZ)
            after = stream.cpu_times()
            observer.take()
            timing = observer.goal
    used_s = after.user + after.system - before.user - before.system
    return timing, theirs, used_s / seconds


if __name__ == "__main__":
    main()
