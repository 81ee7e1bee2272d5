"""The process that is measured: it sleeps from deadline to deadline as a stream process does.

Started as `python -m motiond.daemon.doctor.wakeups` with what is asked of it as JSON; it writes what it
measured as JSON. It is a process of its own, as what it asks of the kernel cannot be taken back, and as a
thread beside it would hold it up.
"""

from __future__ import annotations

import json
import math
import resource
import sys
from array import array
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ..stream.timing import RealClock, Schedule, prepare

if TYPE_CHECKING:
    from ..stream.timing import Clock

SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


@dataclass(frozen=True, slots=True)
class Task:
    """What to measure; for 0 seconds the kernel is asked for real time alone."""

    seconds: float
    rate_hz: float
    priority: int | None
    core: int | None
    lock_memory: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured."""

    refused: list[str]  # by the kernel, as `problem; reason; hint`
    limits: dict[str, int | None]  # RLIMIT_RTPRIO, and RLIMIT_MEMLOCK in bytes; None where unlimited
    ticks: int
    missed: int  # deadlines that had passed before it woke for the one before
    late_s: dict[str, float]  # by the names of `SHARES`; empty where nothing was measured


def measure(task: Task, clock: Clock) -> tuple[int, int, dict[str, float]]:
    """Wake as often as asked, and return the ticks, those missed, and how late each share of wake-ups was."""
    wanted = int(task.seconds * task.rate_hz)
    late_s = array("d", bytes(8 * wanted))  # all of it is touched before the first deadline
    schedule = Schedule(clock, 1 / task.rate_hz, math.inf, 0.0)
    schedule.start_grid(1 / task.rate_hz)
    count = 0
    while schedule.index < wanted:
        _, late_s[count] = schedule.wait(paused=False)
        count += 1
    return schedule.index, schedule.missed, _shares(sorted(late_s[:count]))


def _shares(late_s: list[float]) -> dict[str, float]:
    """Return the lateness that each share of wake-ups did not exceed."""
    last = len(late_s) - 1
    return {name: late_s[math.ceil(share * last)] for name, share in SHARES.items()} if late_s else {}


def _limit(kind: int) -> int | None:
    soft, _ = resource.getrlimit(kind)
    return None if soft == resource.RLIM_INFINITY else soft


def main() -> int:
    """Do what is asked on the command line."""
    task = Task(**json.loads(sys.argv[1]))
    refused = prepare(task.priority, task.core, lock_memory=task.lock_memory)
    limits = {"rtprio": _limit(resource.RLIMIT_RTPRIO), "memlock": _limit(resource.RLIMIT_MEMLOCK)}
    ticks, missed, late_s = measure(task, RealClock())
    json.dump(asdict(Measured(refused, limits, ticks, missed, late_s)), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
