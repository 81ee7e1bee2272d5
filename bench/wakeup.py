"""How late the stream process wakes at 1 kHz with 30 joints, beside cyclictest at the same time.

Two busy processes load both cores, telemetry goes to a real mosquitto, and a motion of a minute plays.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from bench import cyclictest
from bench.busy import busy
from bench.rig import playing_robot
from tests.daemon.rig import sweep

if TYPE_CHECKING:
    from motiond.daemon.telemetry import Timing

SECONDS = 60
RATE_HZ = 1000
JOINTS = 30
SHARES = (0.5, 0.99, 0.999, 1.0)


def main(seconds: float = SECONDS) -> None:
    """Print lateness and processor time beside cyclictest's."""
    if not cyclictest.is_there():
        return
    timing, theirs, processor = asyncio.run(_measure(seconds))
    ours_us = [
        1e6 * (timing.lateness.quantile_s(share) if share < 1 else timing.lateness.max_s) for share in SHARES
    ]
    theirs_us = [*(theirs.quantile_us(share) for share in SHARES[:-1]), float(theirs.max_us)]
    print(f"{RATE_HZ} Hz, {JOINTS} joints, {seconds:g} s, two busy processes, telemetry on; lateness in µs")
    print(f"{'':12}{'p50':>8}{'p99':>8}{'p99.9':>8}{'max':>8}")
    for name, row in (("motiond", ours_us), ("cyclictest", theirs_us)):
        print(f"{name:12}" + "".join(f"{value:8.0f}" for value in row))
    ratios = [mine / max(yardstick, 1) for mine, yardstick in zip(ours_us, theirs_us, strict=True)]
    print(f"{'ratio':12}" + "".join(f"{ratio:8.2f}" for ratio in ratios) + "   (goal for p99: at most 2)")
    print(f"missed deadlines: {timing.missed} of {timing.ticks} ticks (goal 0)")
    print(f"cyclictest woke {theirs.late_by(1 / RATE_HZ)} times a period or more too late")
    print(f"processor: {100 * processor:.1f} % of a core (goal: at most 8 %)")


async def _measure(seconds: float) -> tuple[Timing, cyclictest.Latencies, float]:
    with tempfile.TemporaryDirectory() as folder:
        rows = sweep(seconds + 2, RATE_HZ, JOINTS, swings=max(1, round(seconds) // 2))
        async with playing_robot(Path(folder), rows, RATE_HZ) as robot:
            with busy(2):
                stream = psutil.Process(robot.pid)
                begun_s, before = time.monotonic(), stream.cpu_times()
                theirs = await cyclictest.measure(seconds, RATE_HZ)
                lasted_s, after = time.monotonic() - begun_s, stream.cpu_times()
                robot.observer.take()
                timing = robot.observer.goal
    used_s = after.user + after.system - before.user - before.system
    return timing, theirs, used_s / lasted_s
