"""What is said of real-time rights and of measured wake-ups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from motiond.daemon.config.settings import RealtimeSettings
from motiond.daemon.doctor import wakeups
from motiond.daemon.doctor.machine import user_name
from motiond.daemon.doctor.punctuality import NotMeasured, check_punctuality, task_of
from motiond.daemon.doctor.report import Check, Verdict
from motiond.daemon.doctor.wakeups import Measured, Task
from motiond.daemon.stream.timing.clocks import VirtualClock

TASK = Task(5.0, 1000.0, 49, None, lock_memory=True)
LATE = {"p50": 20e-6, "p99": 60e-6, "p99.9": 90e-6, "max": 400e-6}
MEASURED = Measured([], {"rtprio": 99, "memlock": None}, 5000, 0, LATE)
BUSY = (
    "end what is busy on this machine, give the loop a core of its own (realtime.core, isolcpus), "
    "or install a kernel with PREEMPT_RT"
)


class LateClock(VirtualClock):
    """Virtual time on a machine that wakes late: now and then, or always."""

    def __init__(self, late_s: dict[int, float], always_s: float = 0.0) -> None:
        super().__init__(100.0)
        self._late_s, self._always_s, self._sleeps = late_s, always_s, 0

    def sleep_until(self, deadline_s: float) -> None:
        super().sleep_until(deadline_s)
        self.time_s += self._late_s.get(self._sleeps, self._always_s)
        self._sleeps += 1


def test_each_wake_up_is_held_against_its_deadline() -> None:
    ticks, missed, late_s = wakeups.measure(replace(TASK, seconds=1.0), LateClock({}, always_s=30e-6))
    assert (ticks, missed) == (1000, 0)
    assert late_s == pytest.approx(dict.fromkeys(late_s, 30e-6), abs=1e-9)


def test_deadlines_that_passed_meanwhile_are_missed_and_not_slept_for() -> None:
    ticks, missed, late_s = wakeups.measure(replace(TASK, seconds=1.0), LateClock({10: 3.5e-3}))
    assert (ticks, missed) == (1000, 3)
    assert late_s["max"] == pytest.approx(3.5e-3)
    assert late_s["p99"] == pytest.approx(0.0, abs=1e-9)


def test_nothing_is_measured_in_no_time() -> None:
    assert wakeups.measure(replace(TASK, seconds=0.0), VirtualClock()) == (0, 0, {})


def test_it_asks_for_less_than_stream_processes_have_so_that_these_go_first() -> None:
    assert task_of(RealtimeSettings(), 5.0) == TASK
    assert task_of(RealtimeSettings(priority=1), 5.0).priority == 1
    unasked = RealtimeSettings(priority=None, core=1, lock_memory=False)
    assert task_of(unasked, 2.0) == Task(2.0, 1000.0, None, 1, lock_memory=False)


def test_what_is_granted_and_on_time_is_ok() -> None:
    assert check_punctuality(TASK, MEASURED) == [
        Check(
            check="real-time",
            verdict=Verdict.OK,
            found=f"granted to {user_name()}: SCHED_FIFO priority 49, locked memory",
            means="a daemon of this user goes before all ordinary programs",
            figures={"rtprio_limit": 99, "memlock_limit_bytes": None},
        ),
        Check(
            check="wake-ups",
            verdict=Verdict.OK,
            found="late by µs p50 20, p99 60, p99.9 90, max 400; 0 of 5000 deadlines at 1000 Hz missed",
            means="setpoints go out on time",
            figures={
                "late_p50_s": 20e-6,
                "late_p99_s": 60e-6,
                "late_p99.9_s": 90e-6,
                "late_max_s": 400e-6,
                "ticks": 5000,
                "missed": 0,
                "rate_hz": 1000,
            },
        ),
    ]


def test_what_the_kernel_refuses_is_told_in_its_words() -> None:
    refused = [
        "SCHED_FIFO priority 49 refused; Operation not permitted; grant CAP_SYS_NICE",
        "locked memory refused; Cannot allocate memory; raise LimitMEMLOCK or grant CAP_IPC_LOCK",
    ]
    rights, _ = check_punctuality(TASK, replace(MEASURED, refused=refused))
    assert (rights.verdict, rights.found) == ("warning", f"as {user_name()}: {refused[0]} · {refused[1]}")
    assert rights.means == (
        "a daemon of this user is less punctual under load; the service has rights of its own, by its unit"
    )
    assert rights.hint == (
        "give this user the right to real time (docs/doctor.md#real-time), or run it as a service"
    )


def test_a_configuration_that_asks_for_nothing_is_told_so() -> None:
    rights, _ = check_punctuality(Task(5.0, 1000.0, None, None, lock_memory=False), MEASURED)
    assert (rights.verdict, rights.found) == (
        "not applicable",
        "the configuration asks for ordinary scheduling",
    )


@pytest.mark.parametrize(
    ("missed", "p99_s", "verdict", "means"),
    [
        (0, 199e-6, "ok", "setpoints go out on time"),
        (0, 201e-6, "warning", "setpoints come unevenly; motions at lower rates bear it"),
        (1, 60e-6, "warning", "now and then a row of a motion is left out (`on_late`)"),
        (49, 60e-6, "warning", "now and then a row of a motion is left out (`on_late`)"),
        (50, 60e-6, "failure", "rows of motions are left out again and again"),
    ],
)
def test_wake_ups_are_judged_by_what_they_do_to_motions(
    missed: int, p99_s: float, verdict: str, means: str
) -> None:
    measured = replace(MEASURED, missed=missed, late_s=LATE | {"p99": p99_s})
    _, found = check_punctuality(TASK, measured)
    assert (found.verdict, found.means) == (verdict, means)
    assert found.hint == (None if verdict == "ok" else BUSY)


def test_without_a_measurement_nothing_is_said() -> None:
    _, found = check_punctuality(replace(TASK, seconds=0.0), replace(MEASURED, ticks=0, late_s={}))
    assert (found.verdict, found.found) == ("not applicable", "not measured, as --seconds asks")


def test_a_process_that_fails_is_a_failure_with_what_it_said() -> None:
    rights, found = check_punctuality(TASK, NotMeasured("MemoryError"))
    assert rights.verdict == "failure"
    assert rights.found == "the process that measures has failed: MemoryError"
    assert (found.verdict, found.found) == ("not applicable", "the process that measures has failed")
