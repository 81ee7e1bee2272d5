"""How late the stream process wakes at 1 kHz with 30 joints, beside cyclictest at the same time.

Two busy processes load both cores, telemetry goes to a real mosquitto, and a motion of a minute plays.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import re
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from tests.bench.rig import playing_robot
from tests.daemon.rig import sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 60
RATE_HZ = 1000
JOINTS = 30
PRIORITY = 50
SHARES = (0.5, 0.99, 0.999, 1.0)


def main() -> None:
    """Print lateness and processor time beside cyclictest's."""
    if shutil.which("cyclictest") is None:
        print("cyclictest is missing: no yardstick; mend with: apt-get install rt-tests")
        return
    ours, processor = asyncio.run(_measure())
    theirs, theirs_missed = _quantiles(ours["cyclictest"]), _late_by_a_period(ours["cyclictest"])
    print(f"{RATE_HZ} Hz, {JOINTS} joints, {SECONDS} s, two busy processes, telemetry on; lateness in µs")
    print(f"{'':12}{'p50':>8}{'p99':>8}{'p99.9':>8}{'max':>8}")
    for name, row in (("motiond", ours["lateness_us"]), ("cyclictest", theirs)):
        print(f"{name:12}" + "".join(f"{value:8.0f}" for value in row))
    ratios = [mine / max(yardstick, 1) for mine, yardstick in zip(ours["lateness_us"], theirs, strict=True)]
    print(f"{'ratio':12}" + "".join(f"{ratio:8.2f}" for ratio in ratios) + "   (goal for p99: at most 2)")
    print(f"missed deadlines: {ours['missed']} of {ours['ticks']} ticks (goal 0)")
    print(f"cyclictest woke {theirs_missed} times a period or more too late")
    print(f"processor: {100 * processor:.1f} % of a core (goal: at most 8 %)")


async def _measure() -> tuple[dict[str, Any], float]:
    with tempfile.TemporaryDirectory() as folder:
        rows = sweep(SECONDS + 2, RATE_HZ, JOINTS, swings=SECONDS // 2)
        async with playing_robot(Path(folder), rows, RATE_HZ) as robot:
            with _busy(2):
                stream = psutil.Process(robot.pid)
                before, cyclic = stream.cpu_times(), _start_cyclictest()
                output, _ = await asyncio.to_thread(cyclic.communicate)
                after = stream.cpu_times()
                robot.observer.take()
                timing = robot.observer.goal
    used_s = after.user + after.system - before.user - before.system
    lateness = [1e6 * (timing.quantile_s(share) if share < 1 else timing.max_lateness_s) for share in SHARES]
    result = {"lateness_us": lateness, "missed": timing.missed, "ticks": timing.ticks}
    return result | {"cyclictest": output}, used_s / SECONDS


def _start_cyclictest() -> subprocess.Popen[str]:
    options = f"-q -m -t1 -p{PRIORITY} -i{1_000_000 // RATE_HZ} -D{SECONDS} -h100000"
    return subprocess.Popen(["cyclictest", *options.split()], stdout=subprocess.PIPE, text=True)


def _histogram(output: str) -> list[tuple[int, int]]:
    """Read cyclictest's histogram: lateness in µs, and how often."""
    return [(int(late), int(count)) for late, count in re.findall(r"^(\d{6}) (\d+)", output, re.MULTILINE)]


def _late_by_a_period(output: str) -> int:
    return sum(count for late, count in _histogram(output) if late * RATE_HZ >= 1_000_000)


def _quantiles(output: str) -> list[float]:
    """Read p50, p99, p99.9 and the maximum, in µs, from cyclictest's histogram."""
    rows = _histogram(output)
    total = sum(count for _, count in rows)
    found = re.search(r"# Max Latencies: (\d+)", output)
    assert found is not None
    quantiles = []
    for share in SHARES[:-1]:
        passed = 0
        for late, count in rows:
            passed += count
            if passed >= share * total:
                quantiles.append(float(late))
                break
    return [*quantiles, float(found[1])]


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Keep so many processes computing."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_spin, args=(os.getpid(),)) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def _spin(parent: int) -> None:
    while os.getppid() == parent:
        sum(range(100_000))
