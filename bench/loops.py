"""How late a tick comes in motiond and in three loops that people write, under the same load.

Each does the same at 1 kHz beside two busy processes: the cubic between two rows of 30 joints. Lateness is
counted from the moment that a loop aims at: motiond and the busy wait aim at a grid, the loops that sleep
for a period at one period after the tick before. What they fall behind the grid by that is their drift.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import cyclictest, null_driver
from bench.busy import busy
from bench.many_robots import Layout, running
from motiond.daemon.trajectory import Track
from tests.daemon.rig import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from motiond.daemon.telemetry import Timing
    from motiond.drivers.base import Floats

    Work = Callable[[int], None]

SECONDS = 20
RATE_HZ = 1000
PERIOD_S = 1 / RATE_HZ
JOINTS = 30
SPEED = 0.9  # so that setpoints lie between rows
ROWS = sweep(2.0, RATE_HZ, JOINTS)


@dataclass(frozen=True, slots=True)
class Figures:
    """What is told of a loop.

    Attributes
    ----------
    late_us : tuple of float
        Lateness at p50, at p99, and the greatest.
    missed : int
        Ticks, or deadlines passed over, that were late by a period or more.
    drift_ms : float
        How late the last tick is on the grid that begins with the first.
    processor : float
        Cores.
    """

    late_us: tuple[float, float, float]
    missed: int
    drift_ms: float
    processor: float

    def __str__(self) -> str:
        late = "".join(f"{late:9.0f}" for late in self.late_us)
        return f"{late}{self.missed:9}{self.drift_ms:12.2f}{100 * self.processor:10.0f} %"


def main(seconds: float = SECONDS) -> None:
    """Print lateness, drift and processor time of each loop."""
    if not cyclictest.is_there():
        return
    print(f"{JOINTS} joints at {RATE_HZ} Hz, {seconds:g} s each, two busy processes; lateness in us")
    print(f"{'':26}{'p50':>9}{'p99':>9}{'max':>9}{'missed':>9}{'drift, ms':>12}{'of a core':>12}")
    for name, realtime in (("motiond", {}), ("motiond, no SCHED_FIFO", {"priority": None})):
        ours, theirs = asyncio.run(_ours(seconds, realtime))
        print(f"{name:26}{ours}", flush=True)
        late = theirs.quantile_us(0.5), theirs.quantile_us(0.99), theirs.max_us
        print(
            f"{'  cyclictest beside it':26}"
            + "".join(f"{one:9.0f}" for one in late)
            + f"{theirs.late_by(PERIOD_S):9}"
        )
    for name, (loop, aims_at_grid) in LOOPS.items():
        with busy(2), multiprocessing.get_context("spawn").Pool(1) as pool:
            ticked_s, processor = pool.apply(_theirs, (loop, round(seconds * RATE_HZ)))
        print(f"{name:26}{_figures(ticked_s, processor, aims_at_grid=aims_at_grid)}", flush=True)


async def _ours(seconds: float, realtime: Mapping[str, Any]) -> tuple[Figures, cyclictest.Latencies]:
    motions = {"swing": (ROWS, float(RATE_HZ))}
    layout = Layout(("arm",), JOINTS, motions, {"type": null_driver.NAME}, dict(realtime))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with null_driver.registered(folder):
            async with running(folder, layout) as fleet:
                with busy(2):
                    observer = await fleet.cycle("arm", "swing", speed=SPEED)
                    begun_s, before_s = time.monotonic(), fleet.processor_s()
                    theirs = await cyclictest.measure(seconds, RATE_HZ)
                    observer.take()
                    processor = (fleet.processor_s() - before_s) / (time.monotonic() - begun_s)
                    assert observer.sample is not None
                    last_late_s = observer.sample.scalar("lateness_s")
    timing = observer.goal
    late_us = timing.lateness.quantile_s(0.5), timing.lateness.quantile_s(0.99), timing.lateness.max_s
    p50, p99, most = (1e6 * late for late in late_us)
    drift_ms = 1e3 * (_behind_s(timing) + last_late_s)
    return Figures((p50, p99, most), timing.missed, drift_ms, processor), theirs


def _behind_s(timing: Timing) -> float:
    """Return how much further apart the first and the last deadline are than the ticks in between take."""
    return (timing.ticks - 1) / timing.rate_hz - (timing.ticks - 1 + timing.missed) * PERIOD_S


def _figures(ticked_s: Floats, processor: float, *, aims_at_grid: bool) -> Figures:
    """Return the figures of a loop by when its ticks came."""
    behind_s = ticked_s - PERIOD_S * np.arange(len(ticked_s))
    # The grid of a busy wait is where its most punctual tick came.
    late_s = behind_s - behind_s.min() if aims_at_grid else np.diff(ticked_s) - PERIOD_S
    p50, p99, most = 1e6 * np.quantile(late_s, [0.5, 0.99, 1.0])
    missed = int(np.count_nonzero(late_s >= PERIOD_S))
    return Figures((p50, p99, most), missed, 1e3 * float(behind_s[-1] - behind_s[0]), processor)


def _theirs(loop: Callable[[Work, Floats], None], ticks: int) -> tuple[Floats, float]:
    """Run a loop; return when its ticks came, and its processor time in cores."""
    velocities = np.gradient(ROWS, PERIOD_S, axis=0)
    track = Track(ROWS, velocities, np.ones(JOINTS, dtype=bool), RATE_HZ, 1.0)
    position, velocity, ticked_s = np.empty(JOINTS), np.empty(JOINTS), np.empty(ticks)

    def work(index: int) -> None:
        track.sample(index * SPEED % track.last, position, velocity, SPEED)

    begun_s, before_s = time.perf_counter(), time.process_time()
    loop(work, ticked_s)
    return ticked_s, (time.process_time() - before_s) / (time.perf_counter() - begun_s)


def by_asyncio(work: Work, ticked_s: Floats) -> None:
    """Sleep for a period in asyncio."""

    async def run() -> None:
        for index in range(len(ticked_s)):
            await asyncio.sleep(PERIOD_S)
            ticked_s[index] = time.perf_counter()
            work(index)

    asyncio.run(run())


def by_sleep(work: Work, ticked_s: Floats) -> None:
    """Sleep for a period."""
    for index in range(len(ticked_s)):
        time.sleep(PERIOD_S)
        ticked_s[index] = time.perf_counter()
        work(index)


def by_busy_wait(work: Work, ticked_s: Floats) -> None:
    """Look at the clock until it is time."""
    due_s = time.perf_counter()
    for index in range(len(ticked_s)):
        due_s += PERIOD_S
        while time.perf_counter() < due_s:
            pass
        ticked_s[index] = time.perf_counter()
        work(index)


LOOPS: Mapping[str, tuple[Callable[[Work, Floats], None], bool]] = {
    "asyncio.sleep": (by_asyncio, False),
    "time.sleep": (by_sleep, False),
    "busy wait, perf_counter": (by_busy_wait, True),
}
