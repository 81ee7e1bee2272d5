"""How far apart in time two robots that are told the same `start_at` put out their first rows.

The driver's traces tell when each first row was written. Beside them runs cyclictest at the same rate.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import cyclictest
from bench.many_robots import Layout, running
from motiond.drivers.sim.command_log import read_trace

if TYPE_CHECKING:
    from bench.many_robots import Fleet
    from motiond.drivers.base import Floats

SECONDS = 40
START_S = 0.2
"""What a start takes, at most: the lead, the motion, and the result."""
LEAD_S = 0.06
RATE_HZ = 1000
ROBOTS, JOINTS, ROWS = ("left", "right"), 6, 21
FIRST, LAST = 0.1, 0.1001
"""So near each other that the way back to the first row takes less than the lead."""


def main(seconds: float = SECONDS) -> None:
    """Print how far apart the first rows came."""
    if not cyclictest.is_there():
        return
    first_s, theirs, starts_at = asyncio.run(_measure(round(seconds / START_S)))
    apart_us = 1e6 * np.abs(first_s[0] - first_s[1])
    late_us = 1e6 * (first_s.ravel() - np.tile(starts_at, len(ROBOTS)))
    print(f"{len(starts_at)} times the same start_at for two robots, {RATE_HZ} Hz; µs")
    print(f"{'':24}{'p50':>8}{'p99':>8}{'max':>8}")
    rows = (
        ("first rows apart", np.quantile(apart_us, [0.5, 0.99, 1.0])),
        ("first rows after start_at", np.quantile(late_us, [0.5, 0.99, 1.0])),
        ("cyclictest late", (theirs.quantile_us(0.5), theirs.quantile_us(0.99), theirs.max_us)),
    )
    for name, row in rows:
        print(f"{name:26}{row[0]:6.0f}{row[1]:8.0f}{row[2]:8.0f}")
    ratio = rows[0][1][1] / max(1.0, theirs.quantile_us(0.99))
    print(f"p99 apart beside cyclictest's p99: {ratio:.2f} (goal: at most 2): {_verdict(met=ratio <= 2)}")
    on_time = abs(rows[1][1][0]) < 0.5e6 / RATE_HZ
    print(f"the median first row is within half a tick of start_at: {_verdict(met=on_time)}")


def _verdict(*, met: bool) -> str:
    return "met" if met else "MISSED"


async def _measure(starts: int) -> tuple[Floats, cyclictest.Latencies, Floats]:
    """Return when the first rows were written (robots, starts), in monotonic s, and when they were due."""
    rows = np.repeat(np.linspace(FIRST, LAST, ROWS)[:, None], JOINTS, axis=1)
    driver = {"type": "sim", "trace": "{robot}.npy"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with running(folder, Layout(ROBOTS, JOINTS, {"nudge": (rows, RATE_HZ)}, driver)) as fleet:
            await _both(fleet)
            begun_s = time.monotonic()
            yardstick = asyncio.create_task(cyclictest.measure(starts * START_S, RATE_HZ))
            starts_at = [await _start(fleet) for _ in range(starts)]
            theirs = await yardstick
        first_s = [_first_rows(folder / f"{robot}.npy", begun_s) for robot in ROBOTS]
    if [len(times) for times in first_s] != [starts] * len(ROBOTS):
        raise RuntimeError(f"start_at: {starts} starts, and first rows {list(map(len, first_s))}")
    return np.array(first_s), theirs, np.array(starts_at)


async def _start(fleet: Fleet) -> float:
    """Let both start at the same instant, and wait until they have; return it in monotonic s."""
    now_s = time.monotonic()
    await _both(fleet, start_at=time.time() + LEAD_S)
    return now_s + LEAD_S


async def _both(fleet: Fleet, **values: Any) -> None:
    await asyncio.gather(*(fleet.play(robot, "nudge", **values) for robot in ROBOTS))
    await asyncio.gather(*(fleet.rest(robot) for robot in ROBOTS))


def _first_rows(trace: Path, since_s: float) -> Floats:
    """Return when the first row was written, every time: the last setpoint there before it moves on.

    Setpoints before it may be the same, as the robot waits there for the time to come.
    """
    rows = read_trace(trace)
    is_first = rows["position"][:, 0] == FIRST
    times: Floats = rows["time"][:-1][is_first[:-1] & ~is_first[1:]]
    return times[times >= since_s]
