"""Twenty robots of six joints at 200 Hz under one daemon: misses, lateness and CPU, beside cyclictest.

The streams are processes of their own, and measured. What serves them runs inside the benchmark, without MQTT
and page, and so is not: `fleet_processor` measures what a daemon takes.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from bench import cyclictest
from bench.many_robots import Layout, running
from tests.daemon.rig import sweep

if TYPE_CHECKING:
    from motiond.daemon.telemetry import Timing

SECONDS = 60
RATE_HZ = 200
ROBOTS, JOINTS = 20, 6
SWING_S = 2.0


def main(seconds: float = SECONDS) -> None:
    """Print what all robots missed, how late they were, and what they cost."""
    if not cyclictest.is_there():
        return
    timings, theirs, streams = asyncio.run(_measure(seconds))
    missed, ticks = sum(one.missed for one in timings), sum(one.ticks for one in timings)
    print(f"{ROBOTS} robots, {JOINTS} joints each, {RATE_HZ} Hz, {seconds:g} s, one daemon; lateness in µs")
    print(f"{'':22}{'p50':>8}{'p99':>8}{'max':>8}")
    for name, choose in (("the robot in the middle", median), ("the latest robot", max)):
        p50, p99 = (
            1e6 * choose([one.lateness.quantile_s(share) for one in timings]) for share in (0.5, 0.99)
        )
        longest = 1e6 * choose([one.lateness.max_s for one in timings])
        print(f"{name:24}{p50:6.0f}{p99:8.0f}{longest:8.0f}")
    row = theirs.quantile_us(0.5), theirs.quantile_us(0.99), theirs.max_us
    print(f"{'cyclictest':24}{row[0]:6.0f}{row[1]:8.0f}{row[2]:8.0f}")
    expected = round(ROBOTS * RATE_HZ * seconds)
    print(f"missed deadlines: {missed} of {ticks} ticks (goal 0, of {expected} or more)")
    print(f"cyclictest woke {theirs.late_by(1 / RATE_HZ)} times a period or more too late")
    print(f"processor: {100 * streams:.0f} % of a core for all streams")


async def _measure(seconds: float) -> tuple[list[Timing], cyclictest.Latencies, float]:
    names = tuple(f"robot{number}" for number in range(ROBOTS))
    layout = Layout(names, JOINTS, {"swing": (sweep(SWING_S, RATE_HZ, JOINTS), RATE_HZ)})
    with tempfile.TemporaryDirectory() as folder:
        async with running(Path(folder), layout) as fleet:
            await asyncio.gather(*(fleet.cycle(name, "swing") for name in names))
            observers = [robot.stream.observer for robot in fleet.robots.values() if robot.stream.observer]
            for observer in observers:
                observer.start_goal()
            begun_s, before_s = time.monotonic(), fleet.processor_s()
            theirs = await cyclictest.measure(seconds, RATE_HZ)
            lasted_s, used_s = time.monotonic() - begun_s, fleet.processor_s() - before_s
            for observer in observers:
                observer.take()
            timings = [observer.goal for observer in observers]
    return timings, theirs, used_s / lasted_s
