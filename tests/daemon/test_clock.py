"""Behaviour of time: the machine's, the virtual, the trajectory's."""

from __future__ import annotations

import os

import pytest

from daemon.clock import RealClock, TrajectoryClock, VirtualClock


def started(rate: float, ramp: float = 0.25) -> TrajectoryClock:
    clock = TrajectoryClock()
    clock.start(rate, ramp)
    return clock


def test_the_first_tick_is_at_row_0_and_rate_1_stays_on_whole_rows() -> None:
    clock = started(1.0)
    assert [clock.advance(1) for _ in range(5)] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_any_speed_begins_at_row_0() -> None:
    assert started(0.3).advance(1) == 0.0


def test_missed_ticks_move_the_place_on_by_as_many_rows() -> None:
    clock = started(1.0)
    clock.advance(1)
    assert clock.advance(3) == 3.0


def test_the_rate_ramps_down_and_the_place_moves_by_its_integral() -> None:
    clock = started(1.0, ramp=0.25)
    clock.advance(1)
    clock.aim(0.0)
    places = [clock.advance(1) for _ in range(5)]
    assert places == [0.875, 1.5, 1.875, 2.0, 2.0]
    assert clock.at_rest


def test_the_rate_never_goes_past_its_aim() -> None:
    clock = started(1.0, ramp=0.4)
    clock.aim(0.0)
    clock.advance(3)
    assert clock.rate == 0.0


def test_the_real_clock_returns_at_a_deadline_and_not_before() -> None:
    clock = RealClock()
    deadline_s = clock.now() + 0.01
    clock.sleep_until(deadline_s)
    assert clock.now() >= deadline_s


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
