"""The curve through the rows of a chunk, and how rough rows become smooth enough."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pytest

from motiond.daemon.trajectory.online.spline import MOST_AT_ONCE, Spline, smoothed

Array: TypeAlias = np.ndarray[Any, Any]

TIMES = np.cumsum(np.random.default_rng(0).uniform(0.01, 0.05, 40))
INSIDE = np.linspace(TIMES[0], TIMES[-1], 997)
ENOUGH, TINY = np.full(2, 1e9), np.full(2, 1.0)


def rows_of(times: Array) -> Array:
    return np.stack([np.sin(3.0 * times), times**3 - 2.0 * times**2 + times], axis=-1)


def curve(times: Array = TIMES) -> Spline:
    rows = rows_of(times)
    return Spline.through(times, rows, rows[-1])


def test_of_many_rows_it_is_that_of_few_where_these_are() -> None:
    times = 0.02 * np.arange(300)
    few, many = curve(times[:MOST_AT_ONCE]), curve(times)
    inside = np.linspace(times[0], times[MOST_AT_ONCE - 40], 997)
    assert many.at(inside)[:2] == pytest.approx(few.at(inside)[:2], abs=1e-9)
    rough = np.random.default_rng(3).normal(size=(300, 2))
    few_rows, many_rows = (smoothed(times[:n], rough[:n], TINY, TINY) for n in (MOST_AT_ONCE, 300))
    assert many_rows[:40] == pytest.approx(few_rows[:40], abs=1e-9)


def test_as_bytes_it_is_the_same_curve_from_another_time_on() -> None:
    same = Spline.from_bytes(curve().as_bytes(), 2, 100.0)
    assert (same.begins_s, same.ends_s) == (100.0 + TIMES[0], 100.0 + TIMES[-1])
    times = np.append(INSIDE, TIMES[-1] + 1.0)
    assert same.at(100.0 + times) == pytest.approx(curve().at(times), abs=1e-9)
    assert same.state_at(100.3) == pytest.approx(curve().state_at(0.3), abs=1e-9)


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 33, 40])
def test_it_goes_through_each_row(rows: int) -> None:
    assert curve(TIMES[:rows]).at(TIMES[:rows])[0] == pytest.approx(rows_of(TIMES[:rows]), abs=1e-12)


def test_of_a_cubic_polynomial_it_is_just_that() -> None:
    states = curve().at(INSIDE)[:, :, 1]
    slopes = 3.0 * INSIDE**2 - 4.0 * INSIDE + 1.0
    assert states[0] == pytest.approx(rows_of(INSIDE)[:, 1], abs=1e-12)
    assert states[1] == pytest.approx(slopes, abs=1e-10)
    assert states[2] == pytest.approx(6.0 * INSIDE - 4.0, abs=1e-8)
    assert states[3] == pytest.approx(np.full(len(INSIDE), 6.0), abs=1e-6)


def test_neither_velocity_nor_acceleration_jumps_at_a_row() -> None:
    before, after = (curve().at(TIMES[1:-1] + side)[:3] for side in (-1e-9, 1e-9))
    assert before == pytest.approx(after, abs=1e-6)


def test_after_the_last_row_it_rests() -> None:
    times = TIMES[-1] + np.array([0.001, 1.0])
    states = curve().at(times)
    assert (states[0] == rows_of(TIMES)[-1]).all()
    assert (states[1:] == 0.0).all()
    assert (curve().at_each(times) == states[:, 0]).all()


def test_one_time_for_all_joints_and_one_for_each_agree_with_many() -> None:
    states = curve().at(INSIDE)
    assert curve().state_at(float(INSIDE[500])) == pytest.approx(states[:3, 500], abs=1e-12)
    each = curve().at_each(INSIDE[[100, 900]])
    assert each == pytest.approx(np.stack([states[:, 100, 0], states[:, 900, 1]], axis=-1), abs=1e-12)


def test_rows_within_limits_stay_as_they_are_and_of_others_each_joint_alone_is_smoothed() -> None:
    rows = rows_of(TIMES)
    assert smoothed(TIMES, rows, ENOUGH, ENOUGH) is rows
    rough = rows + np.array([0.01, 0.0]) * np.random.default_rng(1).normal(size=rows.shape)
    limits = np.array([30.0, 1e9]), np.array([1e3, 1e9])
    smooth = smoothed(TIMES, rough, *limits)
    assert (smooth[:, 1] == rough[:, 1]).all()
    inner = INSIDE[100:-100]
    before, after = (
        np.abs(Spline.through(TIMES, each, each[-1]).at(inner)[2, :, 0]).max() for each in (rough, smooth)
    )
    assert after < 30.0 < before
    assert np.abs(smooth[:, 0] - rows[:, 0]).max() < 0.02


def test_straight_lines_stay_straight_however_often_they_are_smoothed() -> None:
    times = np.cumsum(np.random.default_rng(2).uniform(0.5, 1.5, 20))
    line = np.stack([times, 3.0 - 2.0 * times], axis=-1)
    line[:, 0] += 1e-3 * (-1.0) ** np.arange(20)  # too rough for any limit
    smooth = smoothed(times, line, TINY * 1e-12, TINY * 1e-12)
    assert smooth[:, 0] == pytest.approx(times, abs=2e-3)
    assert smooth[:, 1] == pytest.approx(line[:, 1], abs=1e-9)
