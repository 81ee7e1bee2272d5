"""Behaviour of the time sources: the machine's and the virtual."""

from __future__ import annotations

import os
import time

import pytest

from motiond.daemon.stream.timing import Schedule
from motiond.daemon.stream.timing.clocks import RealClock, VirtualClock


def test_the_real_clock_is_the_one_that_is_slewed_with_unix_time_and_never_stepped() -> None:
    before_s = time.clock_gettime(time.CLOCK_MONOTONIC)
    now_s = RealClock().now()
    assert before_s <= now_s <= time.clock_gettime(time.CLOCK_MONOTONIC)
    assert time.get_clock_info("monotonic").implementation == "clock_gettime(CLOCK_MONOTONIC)"
    assert not time.get_clock_info("monotonic").adjustable


def test_the_real_clock_does_not_wait_for_a_deadline_that_has_passed() -> None:
    clock = RealClock()
    clock.sleep_until(clock.now() - 3600.0)


def test_virtual_time_passes_only_by_sleeping_and_never_backwards() -> None:
    clock = VirtualClock(start_s=10.0)
    clock.sleep_until(12.5)
    clock.sleep_until(11.0)
    assert clock.now() == 12.5


@pytest.mark.parametrize("clock", [RealClock(), VirtualClock()])
def test_a_message_ends_the_wait_before_its_deadline(clock: RealClock | VirtualClock) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x")
    deadline_s = clock.now() + 3600.0
    clock.wait_readable(reading, deadline_s)
    assert clock.now() < deadline_s
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize(("missed", "passed"), [(0, 0), (2, 0), (5, 2), (7, 2)])
@pytest.mark.parametrize("planned_s", [0.0, 0.0015, 0.006])
def test_a_grid_that_goes_on_keeps_its_deadlines_however_long_the_change_takes(
    missed: int, passed: int, planned_s: float
) -> None:
    clock = VirtualClock(start_s=10.0)
    schedule = Schedule(clock, idle_period_s=0.1, max_lateness_s=1.0, max_skip_s=1.0)
    schedule.start_grid(0.002)
    schedule.wait(paused=False)
    clock.time_s += 0.002 * (1 + missed) + 1e-6
    assert schedule.wait(paused=False)[0] == 1 + missed
    assert schedule.deadline_s == pytest.approx(10.004)
    clock.time_s += planned_s
    schedule.go_on(0.005)
    assert schedule.index == passed  # so many of the new periods are over, which the late tick moves on by
    clock.time_s = 10.004 + 0.005 * (1 + passed)
    assert schedule.wait(paused=False)[0] == 1
    assert schedule.deadline_s == pytest.approx(10.004 + 0.005 * (1 + passed))


def test_a_grid_goes_on_from_a_look_between_two_deadlines() -> None:
    clock = VirtualClock(start_s=10.0)
    schedule = Schedule(clock, idle_period_s=0.1, max_lateness_s=1.0, max_skip_s=1.0)
    schedule.start_grid(0.1)
    schedule.wait(paused=False)
    schedule.wait_for_look(7, None, paused=False)
    clock.time_s += 0.003
    schedule.go_on(0.01)
    schedule.wait(paused=False)
    assert schedule.deadline_s == pytest.approx(10.0 + 0.1 + 0.07 + 0.01)
