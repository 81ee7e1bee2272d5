"""The rate that the times of rows show."""

from __future__ import annotations

import numpy as np
import pytest

from motiond.formats.model.timing import frames_at, unrounded


@pytest.mark.parametrize("rate_hz", [10.0, 24.0, 30.0, 31.25, 50.0, 120.0, 250.0, 1000.0, 1e6 / 33_367])
@pytest.mark.parametrize("first_s", [0.0, 0.25, 1.7e9])
def test_rows_that_lie_evenly_have_the_exact_rate(rate_hz: float, first_s: float) -> None:
    frames = first_s + np.arange(500) / rate_hz
    found, rate = frames_at(np.round(frames, 6))
    assert rate == rate_hz
    assert found.tobytes() == frames.tobytes()


def test_other_rows_keep_their_times() -> None:
    for times in (np.array([0.0, 0.033, 0.067, 0.1]), np.array([0.0, 0.05, 0.15])):
        found, rate = frames_at(times)
        assert found is times
        assert rate == (times.size - 1) / times[-1]


def test_rows_that_lie_far_apart_are_way_points_between_which_joints_move_on() -> None:
    for times, slowest_hz in ((np.arange(5) / 9.0, 10.0), (np.arange(5) / 50.0, 100.0)):
        found, rate = frames_at(times, slowest_hz)
        assert (found is times, rate) == (True, 100)


def test_a_rate_that_is_nearly_whole_is_not_taken_for_it_where_rows_drift_away() -> None:
    times = np.arange(2000) / 29.97
    assert frames_at(times)[1] == pytest.approx(29.97, rel=1e-9)


def test_a_single_row_has_a_rate_too() -> None:
    assert frames_at(np.array([3.0]))[1] == 100


def test_rows_too_close_for_any_rate_keep_their_times() -> None:
    times = np.array([0.0, 5e-324])
    assert frames_at(times)[0] is times


@pytest.mark.parametrize("rate_hz", [24.0, 25.0, 29.97, 30.0, 50.0, 60.0, 90.0, 120.0])
def test_times_that_were_rounded_to_milliseconds_lose_the_rounding(rate_hz: float) -> None:
    frames = np.arange(500) / rate_hz
    found, rate = unrounded(np.round(frames, 3))
    assert rate == rate_hz
    assert found.tobytes() == frames.tobytes()


def test_times_that_are_no_rounded_frames_stay() -> None:
    for times in (np.array([0.0, 0.033, 0.07, 0.1]), np.array([0.0, 1.0, 1.5]), np.array([0.0, 0.1, 0.5])):
        assert unrounded(times)[0] is times


def test_a_period_of_whole_milliseconds_is_no_rounding() -> None:
    assert unrounded(np.array([0.0, 0.033, 0.066]))[1] == 1000 / 33
