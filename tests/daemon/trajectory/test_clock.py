"""Behaviour of the trajectory clock and its ramps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from motiond.daemon.trajectory.clock import TrajectoryClock
from motiond.daemon.trajectory.ramp import FULL_RAMP, longest_stop, slowing

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats


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


MOST_AIMS = 1000
MAX_SLOPE = FULL_RAMP / 50  # a full ramp takes 50 ticks


def ticks_of(clock: TrajectoryClock, count: int) -> tuple[Floats, Floats]:
    """Advance tick by tick; return the places and the rates, what they were before included."""
    seen = [(clock.position, clock.rate)]
    for _ in range(count):
        clock.advance(1)
        seen.append((clock.position, clock.rate))
    places, rates = np.array(seen).T
    return places, rates


def test_a_full_ramp_to_rest_takes_the_time_it_is_allowed_and_half_as_many_rows() -> None:
    clock = started(1.0, MAX_SLOPE)
    clock.advance(11)
    clock.aim(0.0)
    places, rates = ticks_of(clock, 60)
    assert places[-1] == pytest.approx(10 + 25.0)
    assert (rates[49] > 0, rates[50], clock.at_rest) == (True, 0.0, True)


def test_after_a_pause_and_a_resume_the_place_is_on_whole_rows_again() -> None:
    clock = started(1.0, MAX_SLOPE)
    clock.advance(11)
    clock.aim(0.0)
    clock.advance(23)
    clock.aim(1.0)
    places, rates = ticks_of(clock, 200)
    assert rates[-1] == 1.0
    assert (places[rates == 1.0] % 1.0 == 0.0).all()


def test_a_late_tick_in_the_middle_of_a_ramp_is_where_the_ticks_before_would_have_been() -> None:
    one, other = started(1.0, MAX_SLOPE), started(1.0, MAX_SLOPE)
    for clock in (one, other):
        clock.advance(5)
        clock.aim(0.3)
    for _ in range(17):
        one.advance(1)
    other.advance(17)
    assert (one.position, one.rate) == (other.position, other.rate)


rates = st.sampled_from([0.0, 0.1, 0.5, 0.75, 1.0, 1.5, 2.0])


@example(first=0.5, changes=[(1.0, 20), (0.0, 1), (1.0, 5)], full_ticks=37)
@given(
    first=rates.filter(bool),
    changes=st.lists(st.tuples(rates, st.integers(1, 90)), min_size=1, max_size=8),
    full_ticks=st.integers(8, 300),
)
def test_whatever_is_asked_when_the_rate_is_smooth_bounded_and_never_negative(
    first: float, changes: list[tuple[float, int]], full_ticks: int
) -> None:
    max_slope = FULL_RAMP / full_ticks
    clock = started(first, max_slope)
    clock.advance(1)
    places, rates = [clock.position], [clock.rate]
    for rate, ticks in changes:
        clock.aim(rate)
        for _ in range(ticks):
            clock.advance(1)
            places.append(clock.position)
            rates.append(clock.rate)
    assert min(rates) > -1e-9
    assert max(rates) <= max(first, *(rate for rate, _ in changes)) + 1e-9
    assert np.abs(np.diff(rates)).max() <= max_slope * (1 + 1e-6)
    slowest = np.minimum(rates[1:], rates[:-1]) - max_slope
    fastest = np.maximum(rates[1:], rates[:-1]) + max_slope
    steps = np.diff(places)
    assert (steps >= slowest).all()
    assert (steps <= fastest).all()
    assert (steps >= -1e-9).all()


@given(
    row=st.integers(1, 120),
    changes=st.lists(st.tuples(rates, st.integers(1, 90)), max_size=6),
    last=st.sampled_from([0.5, 1.0, 2.0]),
    full_ticks=st.integers(8, 120),
    ticks=st.integers(1, 3),
)
def test_a_brake_for_a_row_comes_to_rest_on_it_softly_and_never_passes_it(
    row: int, changes: list[tuple[float, int]], last: float, full_ticks: int, ticks: int
) -> None:
    max_slope = FULL_RAMP / full_ticks
    clock = started(0.0, max_slope)
    rates = [clock.rate]

    def tick() -> None:
        clock.brake_for(row, ticks)
        clock.advance(ticks)
        rates.append(clock.rate)
        assert clock.position <= row + 1e-5  # what ruckig rounds

    for rate, times in changes:
        clock.aim(rate)
        for _ in range(times):
            tick()
    for _ in range(MOST_AIMS):
        if clock.position >= row:
            break
        clock.aim(last)
        for _ in range(5 * row + 10 * full_ticks):
            tick()
            if clock.at_rest or clock.position >= row:
                break
    clock.advance(20 * full_ticks)
    assert (clock.position, clock.rate) == (row, 0.0)
    assert np.abs(np.diff(rates)).max() <= ticks * max_slope * (1 + 1e-6)
    assert max(rates) <= max([last, *(rate for rate, _ in changes)]) + 1e-9


@given(
    first=rates,
    changes=st.lists(st.tuples(rates, st.integers(1, 90)), max_size=6),
    full_ticks=st.integers(8, 300),
)
def test_a_stop_takes_no_longer_than_computed(
    first: float, changes: list[tuple[float, int]], full_ticks: int
) -> None:
    clock = started(first, FULL_RAMP / full_ticks)
    for rate, ticks in changes:
        clock.aim(rate)
        clock.advance(ticks)
    fastest = max([first, *(rate for rate, _ in changes)])
    clock.aim(0.0)
    clock.advance(math.ceil(longest_stop(fastest, FULL_RAMP / full_ticks)))
    assert clock.at_rest


@given(
    first=st.floats(0.0, 3.0),
    high=st.floats(0.2, 3.0),
    share=st.floats(0.1, 1.0),
    to_one=st.booleans(),
    ticks=st.integers(0, 60),
    full_ticks=st.integers(3, 100),
)
def test_a_clock_that_slows_down_is_nowhere_faster_than_is_said(
    *, first: float, high: float, share: float, to_one: bool, ticks: int, full_ticks: int
) -> None:
    """It may be on its way up to the higher rate, or down to it, when it begins to."""
    max_slope = FULL_RAMP / full_ticks
    high = max(first, high)
    to = 1.0 if to_one and high >= 1.0 else share * high
    clock = started(first, max_slope)
    clock.aim(high)
    clock.advance(ticks)
    begin, (places, rates) = clock.position, slowing(high, to, max_slope)
    clock.aim(to)
    for _ in range(round(4 * full_ticks * max(1.0, high))):
        clock.advance(1)
        most = float(np.interp(clock.position - begin, places, rates))
        assert clock.rate - 1e-9 <= max(most, to)


@example(rate=0.1, full_ticks=3, row=0.75)
@given(rate=st.floats(0.1, 2.0), full_ticks=st.integers(3, 300), row=st.floats(0.0, 1.0))
def test_a_brake_for_a_row_takes_no_longer_than_a_stop_is_said_to_take(
    rate: float, full_ticks: int, row: float
) -> None:
    max_slope = FULL_RAMP / full_ticks
    clock = started(rate, max_slope)
    row += math.ceil(2.0 * rate * longest_stop(rate, max_slope))
    for _ in range(math.ceil(2.0 * row / rate) + full_ticks):
        clock.brake_for(row, 1)
        if clock._braking:
            break
        clock.advance(1)
    assert clock._braking
    clock.advance(math.ceil(longest_stop(rate, max_slope)))
    assert clock.at_rest


def test_a_ramp_goes_on_as_it_was_when_rows_are_counted_anew() -> None:
    one, other = started(1.0, MAX_SLOPE), started(1.0, MAX_SLOPE)
    for clock in (one, other):
        clock.advance(8)
        clock.aim(0.5)
        clock.advance(10)
    other.carry_back(12)
    one.advance(60)
    other.advance(60)
    assert other.position == pytest.approx(one.position - 12)
    assert other.rate == one.rate
