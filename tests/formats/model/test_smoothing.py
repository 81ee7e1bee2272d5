"""Smoothing of recordings within a bound."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiond.formats import Motion, MotionError, ease, smooth

RATE = 200.0


def recorded(seed: int, frames: int = 400, noise: float = 1e-3) -> Motion:
    """Return a slow movement of two joints, as an encoder with noise has it."""
    random = np.random.default_rng(seed)
    times = np.arange(frames) / RATE
    positions = np.sin(times[:, None] * random.uniform(0.5, 3, 2)) + random.normal(0, noise, (frames, 2))
    return Motion("wave", ("elbow", "slide"), RATE, times, positions)


recordings = st.builds(
    recorded, st.integers(0, 1000), st.integers(1, 300), st.sampled_from([0.0, 1e-4, 1e-2, 1.0])
)


@settings(derandomize=True, deadline=None)
@given(recordings, st.floats(0, 0.1), st.floats(0, 0.1))
def test_no_row_leaves_what_was_recorded_by_more_than_its_bound(
    motion: Motion, elbow: float, slide: float
) -> None:
    smoothed, deviation = smooth(motion, [elbow, slide])
    away = np.abs(smoothed.positions - motion.positions)
    assert (away <= [elbow, slide]).all()
    assert deviation.tolist() == away.max(axis=0).tolist()


@settings(derandomize=True, deadline=None)
@given(recordings, st.floats(0, 0.1))
def test_both_ends_and_all_times_stay_bit_for_bit(motion: Motion, bound: float) -> None:
    smoothed, _ = smooth(motion, bound)
    assert smoothed.times.tobytes() == motion.times.tobytes()
    assert smoothed.positions[[0, -1]].tobytes() == motion.positions[[0, -1]].tobytes()


def test_smoothing_uses_nearly_all_of_the_bound_and_takes_jerk_away() -> None:
    motion = recorded(1)
    smoothed, deviation = smooth(motion, 0.005)
    assert deviation.min() > 0.98 * 0.005
    jerk, rough = (np.abs(np.diff(one.positions, 3, axis=0)).max() for one in (smoothed, motion))
    assert jerk < rough / 500


def test_it_is_the_curve_of_whittaker_of_the_odd_continuation() -> None:
    motion = recorded(5, 60, 1e-2)
    smoothed, _ = smooth(motion, 0.02)
    recorded_, found = motion.positions[:, 0], smoothed.positions[:, 0]
    line = np.linspace(recorded_[0], recorded_[-1], 60)

    def continued(values: Any) -> Any:
        rest = values - line
        return np.concatenate([rest[:-1], -rest[:0:-1]])

    def sixth(values: Any) -> Any:
        for _ in range(3):
            values = 2 * values - np.roll(values, 1) - np.roll(values, -1)
        return values

    # Of the least sum, (z - y) + λ Δ⁶z is 0 in every row, for one λ.
    away, stiff = continued(recorded_) - continued(found), sixth(continued(found))
    strength = away @ stiff / (stiff @ stiff)
    np.testing.assert_allclose(away, strength * stiff, atol=1e-9)


def test_what_moves_at_both_ends_becomes_a_line_where_the_bound_permits_it() -> None:
    times = np.arange(400) / RATE
    motion = Motion("wave", (), RATE, times, np.stack([5 * times + 0.01 * np.sin(9 * times)] * 2, axis=1))
    smoothed, _ = smooth(motion, [0.1, 0.0])
    np.testing.assert_allclose(np.diff(smoothed.positions[:, 0], 2), 0, atol=1e-8)
    assert smoothed.positions[:, 1].tobytes() == motion.positions[:, 1].tobytes()


def taught(seed: int, still_rows: int) -> Motion:
    """Return a reach of one joint from rest to rest, with noise, and a joint that begins in motion."""
    random = np.random.default_rng(seed)
    u = np.linspace(0.0, 1.0, 300)
    reach = np.concatenate([np.zeros(still_rows), u**2 * (3 - 2 * u), np.ones(still_rows)])
    times = np.arange(reach.size) / RATE
    rows = np.stack([reach, 2.0 * times - 0.3 * times**2], axis=1)
    return Motion("reach", (), RATE, times, rows + random.normal(0, 5e-4, rows.shape))


@settings(derandomize=True, deadline=None)
@given(st.builds(taught, st.integers(0, 1000), st.integers(20, 100)), st.floats(4e-3, 0.05))
def test_what_begins_and_ends_at_rest_still_does(motion: Motion, bound: float) -> None:
    smoothed, _ = smooth(motion, bound)
    steps = np.diff(smoothed.positions, axis=0)
    assert np.abs(steps[[0, -1], 0]).max() < 1e-9
    # No acceleration out of noise is left, neither at the ends nor between.
    assert np.abs(np.diff(steps[:, 0])).max() * RATE**2 < 6.0
    assert abs(steps[0, 1] * RATE - 2.0) < 0.5


def test_an_eased_motion_is_still_at_rest_when_it_is_smoothed() -> None:
    times = np.arange(800) / RATE
    eased = ease(Motion("wave", (), RATE, times, np.sin(3 * times)[:, None]), 20.0)
    smoothed, _ = smooth(eased, 1e-3)
    assert np.abs(np.diff(smoothed.positions, axis=0)[[0, -1]]).max() < 1e-9


def test_derivatives_follow_and_the_pose_of_the_root_stays() -> None:
    motion = recorded(4)
    root = np.tile([1.0, 2, 3, 1, 0, 0, 0], (400, 1, 1))
    rates = {"JointVelocity": motion.positions, "JointAcceleration": motion.positions}
    smoothed, _ = smooth(replace(motion, components={**rates, "LinkPosition": root}), 0.01)
    velocity, acceleration = smoothed.derivatives()
    assert smoothed.components["JointVelocity"].tolist() == velocity.tolist()
    assert smoothed.components["JointAcceleration"].tolist() == acceleration.tolist()
    assert smoothed.components["LinkPosition"].tolist() == root.tolist()


@pytest.mark.parametrize(
    ("motion", "bound", "message"),
    [
        (recorded(1), -0.1, "wave: the bound is -0.1; a bound is a finite number, 0 or more; correct it"),
        (
            recorded(1),
            [0.1, np.nan],
            "wave: the bound is nan; a bound is a finite number, 0 or more; correct it",
        ),
        (
            Motion("pick", (), 100.0, np.array([0.0, 0.1, 2.0]), np.zeros((3, 1))),
            0.1,
            (
                "pick: its rows do not lie evenly; only rows at a fixed rate are smoothed; "
                "resample it first, as by `motiond edit --rate`"
            ),
        ),
        (
            replace(recorded(1), components={"JointEffort": recorded(1).positions}),
            0.1,
            (
                "wave: component 'JointEffort' cannot be smoothed; "
                "it is not known how it follows the joints; drop it first"
            ),
        ),
    ],
)
def test_what_cannot_be_smoothed_is_refused(motion: Motion, bound: Any, message: str) -> None:
    with pytest.raises(MotionError) as caught:
        smooth(motion, bound)
    assert str(caught.value) == message
