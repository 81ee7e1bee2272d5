"""The highest rate at which one core plays 30 joints for 30 s without a missed deadline.

The stream process is the daemon's own, on a core of its own under SCHED_FIFO, once with simulated actuators
and once with a driver that does next to nothing. Short trials go up until one fails three times, as the
machine itself may have stood still; then the highest that passed must last, or else the one below. Beside
the last runs cyclictest at the same rate on another core.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench import cyclictest, null_driver
from bench.many_robots import Fleet, Layout, running
from motiond.drivers.sim.driver import SimDriver
from tests.daemon.rig import sweep

SECONDS = 30
TRIAL_S = 2
TRIES = 3
JOINTS = 30
RATES_HZ = (500, 1000, 1500, 2000, 2500, 3000, 4000, 5000, 6000, 8000, 10_000)
SWING_S = 0.5
CORE, OTHER_CORE = 1, 0


@dataclass(frozen=True, slots=True)
class Trial:
    """How a rate went."""

    rate_hz: int
    seconds: float
    ticks: int
    missed: int
    p99_us: float
    max_us: float
    processor: float

    @property
    def held(self) -> bool:
        """Whether every tick came, and none a period late."""
        return self.missed == 0 and self.ticks >= self.rate_hz * self.seconds - 1

    def __str__(self) -> str:
        late = f"late by {self.p99_us:.0f} us at p99, {self.max_us:.0f} us at most"
        share = f"{100 * self.processor:.0f} % of a core"
        return f"{self.rate_hz:6} Hz, {self.seconds:g} s: {self.missed} missed, {late}, {share}"


def main(seconds: float = SECONDS) -> None:
    """Print the highest rate with each driver."""
    if not cyclictest.is_there():
        return
    fastest_hz = {"sim": SimDriver.max_rate_hz, null_driver.NAME: null_driver.NullDriver.max_rate_hz}
    for driver, limit_hz in fastest_hz.items():
        rates = tuple(rate for rate in RATES_HZ if rate <= limit_hz)
        print(f"{JOINTS} joints on one core, driver {driver} (it takes {limit_hz:g} Hz at most)")
        highest = asyncio.run(_search(driver, rates, seconds))
        found = f"{highest.rate_hz} Hz" if highest else f"none of {rates}"
        print(f"  highest rate without a miss in {seconds:g} s: {found}", flush=True)


async def _search(driver: str, rates: tuple[int, ...], seconds: float) -> Trial | None:
    motions = {_motion(rate): (sweep(SWING_S, rate, JOINTS), float(rate)) for rate in rates}
    layout = Layout(("arm",), JOINTS, motions, {"type": driver}, {"core": CORE})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with null_driver.registered(folder):
            async with running(folder, layout) as fleet:
                for rate in reversed(await _climb(fleet, rates)):
                    trial = await _last(fleet, rate, seconds)
                    if trial.held:
                        return trial
    return None


async def _climb(fleet: Fleet, rates: tuple[int, ...]) -> list[int]:
    """Return the rates that passed a short trial, up to the first that did not."""
    passed = []
    for rate in rates:
        for _ in range(TRIES):
            trial = await _try(fleet, rate, TRIAL_S)
            print(f"  {trial}", flush=True)
            if trial.held:
                break
        else:
            break
        passed.append(rate)
    return passed


async def _last(fleet: Fleet, rate: int, seconds: float) -> Trial:
    yardstick = asyncio.create_task(cyclictest.measure(seconds, rate, OTHER_CORE))
    trial = await _try(fleet, rate, seconds)
    theirs = await yardstick
    p99, late = theirs.quantile_us(0.99), theirs.late_by(1 / rate)
    print(f"  {trial}")
    print(f"  cyclictest: late by {p99:.0f} us at p99, {theirs.max_us} us at most, {late} times by a period")
    return trial


async def _try(fleet: Fleet, rate: int, seconds: float) -> Trial:
    observer = await fleet.cycle("arm", _motion(rate))
    before_s = fleet.processor_s()
    await asyncio.sleep(seconds)
    observer.take()
    timing, used_s = observer.goal, fleet.processor_s() - before_s
    ticks, missed = timing.ticks, timing.missed
    late_us = 1e6 * timing.lateness.quantile_s(0.99), 1e6 * timing.lateness.max_s
    await fleet.stop("arm")
    return Trial(rate, seconds, ticks, missed, *late_us, used_s / seconds)


def _motion(rate: int) -> str:
    return f"swing{rate}"
