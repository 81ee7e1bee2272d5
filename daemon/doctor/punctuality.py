"""The kernel, the speed of its processors, real-time rights, and how late a process wakes that has them.

Exception
└── NotMeasured       the process that is measured did not come to its end
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

import orjson

from .machine import line_in, user_name
from .report import Check, Verdict, nothing
from .wakeups import Measured, Task

if TYPE_CHECKING:
    from ..config.settings import RealtimeSettings
    from .machine import Machine

STEADY = "performance"
RATE_HZ = 1000.0
PATIENCE_S = 30.0
LATE_SHARE = 0.2
"""Of a period: a process of which one wake-up in a hundred is later than this is not punctual."""
MISSED_SHARE = 0.01
SERVICE = "the service has rights of its own, by its unit"
LESS_LATE = (
    "end what is busy on this machine, give the loop a core of its own (realtime.core, isolcpus), "
    "or install a kernel with PREEMPT_RT"
)


class NotMeasured(Exception):
    """The process that is measured did not come to its end."""


def task_of(realtime: RealtimeSettings, seconds: float) -> Task:
    """Return what to measure: as a stream process would, but one priority below, so that these go first."""
    priority = realtime.priority and max(1, realtime.priority - 1)
    return Task(seconds, RATE_HZ, priority, realtime.core, realtime.lock_memory)


def measure(task: Task) -> Measured:
    """Have a process measure its wake-ups.

    Raises
    ------
    NotMeasured
        If it ends otherwise than it should.
    """
    command = [sys.executable, "-m", f"{__package__}.wakeups", orjson.dumps(asdict(task)).decode()]
    patience_s = task.seconds + PATIENCE_S
    try:
        run = subprocess.run(command, capture_output=True, timeout=patience_s, check=True)  # noqa: S603 - ourselves
        return Measured(**orjson.loads(run.stdout))
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {error.returncode}"]
        raise NotMeasured(said[-1]) from error
    except subprocess.TimeoutExpired as error:
        raise NotMeasured(f"it took longer than {patience_s:g} s") from error


def check_punctuality(task: Task, measured: Measured | NotMeasured) -> list[Check]:
    """Report what was granted, and how late the process woke."""
    if isinstance(measured, NotMeasured):
        found = f"the process that measures has failed: {measured}"
        means = "stream processes may fail in the same way"
        hint = "look at the memory and the processes that this user may have (`ulimit -a`)"
        return [
            Check(check="real-time", verdict=Verdict.FAILURE, found=found, means=means, hint=hint),
            _not_measured("the process that measures has failed"),
        ]
    return [_rights(task, measured), _wakeups(task, measured)]


def _rights(task: Task, measured: Measured) -> Check:
    figures: dict[str, float | str | None] = {
        "rtprio_limit": measured.limits["rtprio"],
        "memlock_limit_bytes": measured.limits["memlock"],
    }
    asked = [f"SCHED_FIFO priority {task.priority}"] if task.priority is not None else []
    asked += ["locked memory"] if task.lock_memory else []
    asked += [f"processor {task.core}"] if task.core is not None else []
    verdict, hint = Verdict.OK, None
    found = f"granted to {user_name()}: {', '.join(asked)}"
    means = "a daemon of this user goes before all ordinary programs"
    if measured.refused:
        verdict, found = Verdict.WARNING, f"as {user_name()}: {' · '.join(measured.refused)}"
        means = f"a daemon of this user is less punctual under load; {SERVICE}"
        hint = "give this user the right to real time (docs/doctor.md#real-time), or run it as a service"
    elif not asked:
        verdict, found = Verdict.NOT_APPLICABLE, "the configuration asks for ordinary scheduling"
        means = "robots are as punctual as other programs leave room for"
        hint = "set realtime.priority and realtime.lock_memory"
    return Check(check="real-time", verdict=verdict, found=found, means=means, hint=hint, figures=figures)


def _not_measured(found: str) -> Check:
    return nothing("wake-ups", found, "nothing is known of how punctual this machine is")


def _wakeups(task: Task, measured: Measured) -> Check:
    if not measured.late_s:
        return _not_measured("not measured, as --seconds asks")
    period_s, late_s = 1 / task.rate_hz, measured.late_s
    figures: dict[str, float | str | None] = {f"late_{name}_s": value for name, value in late_s.items()}
    figures |= {"ticks": measured.ticks, "missed": measured.missed, "rate_hz": task.rate_hz}
    late = ", ".join(f"{name} {1e6 * value:.0f}" for name, value in late_s.items())
    found = (
        f"late by µs {late}; {measured.missed} of {measured.ticks} deadlines at {task.rate_hz:g} Hz missed"
    )
    if measured.missed >= MISSED_SHARE * measured.ticks:
        verdict, means = Verdict.FAILURE, "rows of motions are left out again and again"
    elif measured.missed:
        verdict, means = Verdict.WARNING, "now and then a row of a motion is left out (`on_late`)"
    elif late_s["p99"] > LATE_SHARE * period_s:
        verdict, means = Verdict.WARNING, "setpoints come unevenly; motions at lower rates bear it"
    else:
        verdict, means = Verdict.OK, "setpoints go out on time"
    hint = None if verdict is Verdict.OK else LESS_LATE
    return Check(check="wake-ups", verdict=verdict, found=found, means=means, hint=hint, figures=figures)


def check_kernel(machine: Machine) -> Check:
    """Report which kernel runs, and whether it is one for real time."""
    release = line_in(machine.proc / "sys/kernel/osrelease")
    build = line_in(machine.proc / "sys/kernel/version") or ""
    if release is None:
        found = f"{machine.proc}/sys/kernel/osrelease cannot be read"
        means = "nothing is known of the kernel; the measured wake-ups say what it is worth"
        return nothing("kernel", found, means)
    verdict, hint = Verdict.OK, None
    found = f"Linux {release} with PREEMPT_RT"
    means = "drivers and interrupts of the kernel give way to the real-time loop"
    if line_in(machine.sys / "kernel/realtime") != "1" and "PREEMPT_RT" not in build:
        verdict, found = Verdict.WARNING, f"Linux {release} without PREEMPT_RT"
        means = "drivers and interrupts of the kernel may hold the real-time loop up, mostly under load"
        hint = "where the wake-ups below are late, install a kernel with PREEMPT_RT (linux-image-rt-amd64)"
    figures: dict[str, float | str | None] = {"release": release}
    return Check(check="kernel", verdict=verdict, found=found, means=means, hint=hint, figures=figures)


def check_governor(machine: Machine) -> Check:
    """Report whether processors keep their speed."""
    files = machine.sys.glob("devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    governors = Counter(governor for file in files if (governor := line_in(file)))
    if not governors:
        means = "the firmware does, or the host of this virtual machine; look there if wake-ups are late"
        return nothing("governor", "the kernel sets no processor's speed", means)
    counts = sorted(governors.items())
    found = ", ".join(f"{name} on {count} of {governors.total()}" for name, count in counts)
    verdict, hint = Verdict.OK, None
    means = "processors keep their speed, so that each tick takes as long as the one before"
    if set(governors) != {STEADY}:
        verdict, hint = Verdict.WARNING, f"cpupower frequency-set -g {STEADY}"
        means = "processors slow down between ticks, and the work of a tick begins slowly"
    return Check(check="governor", verdict=verdict, found=found, means=means, hint=hint)
