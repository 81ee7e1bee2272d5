"""The same path at another speed, and from rest to rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiond.formats import Motion, MotionError, ease, retime, trim

if TYPE_CHECKING:
    from collections.abc import Callable

RATE = 100.0


def swing(frames: int = 301, fastest: float = 2.0, rate: float = RATE) -> Motion:
    """Return a motion that begins, and mostly ends, at speed."""
    times = np.arange(frames) / rate
    return Motion("swing", ("a", "b"), rate, times, np.sin(times[:, None] * [fastest, fastest / 3]))


swings = st.builds(swing, st.integers(2, 400), st.floats(0.1, 10), st.sampled_from([50.0, 100.0, 1000.0]))
accelerations = st.floats(0.2, 50)


def furthest_from_path(motion: Motion, path: Motion) -> float:
    """Return how far rows lie from the curve through the rows of another motion."""
    fine = path.sample(np.linspace(path.times[0], path.times[-1], 40 * path.times.size))
    return max(float(np.abs(fine - row).max(axis=1).min()) for row in motion.positions)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.builds(swing, st.integers(2, 60), st.floats(0.1, 5)), st.floats(0.3, 4), accelerations)
def test_the_path_and_its_ends_stay(motion: Motion, speed: float, acceleration: float) -> None:
    speed = min(speed, motion.duration_s * motion.frame_rate)
    retimed = retime(motion, speed)
    for changed, path in ((retimed, motion), (ease(motion, acceleration), motion), (ease(retimed), retimed)):
        assert changed.positions[[0, -1]].tobytes() == motion.positions[[0, -1]].tobytes()
        step = np.abs(np.diff(path.positions, axis=0)).max()
        assert furthest_from_path(changed, path) <= step / 40 + 1e-9
        assert changed.is_uniform
        assert changed.frame_rate == motion.frame_rate


@settings(derandomize=True, deadline=None)
@given(swings, st.floats(0.05, 20))
def test_a_retimed_motion_is_no_faster_than_asked_and_slower_by_less_than_a_row(
    motion: Motion, speed: float
) -> None:
    speed = min(speed, motion.duration_s * motion.frame_rate)
    wanted_s = motion.duration_s / speed
    lasts_s = retime(motion, speed).duration_s
    rows = (lasts_s - wanted_s) * motion.frame_rate
    assert -1e-3 - 1e-9 <= rows < 1


def test_retimed_velocities_and_accelerations_follow() -> None:
    motion = swing()
    velocity, acceleration = motion.derivatives()
    whole = replace(motion, components={"JointVelocity": velocity, "JointAcceleration": acceleration})
    slow = retime(whole, 0.5)
    assert slow.duration_s == 6
    np.testing.assert_allclose(slow.positions[::2], motion.positions, atol=1e-12)
    np.testing.assert_allclose(slow.components["JointVelocity"][::2], velocity / 2, atol=1e-9)
    np.testing.assert_allclose(slow.components["JointAcceleration"][::2], acceleration / 4, atol=1e-9)


def test_way_points_get_other_times_and_keep_their_positions() -> None:
    points = Motion("pick", (), 100.0, np.array([1.0, 1.5, 4.0]), np.arange(3.0)[:, None])
    slow = retime(points, 0.5)
    assert slow.times.tolist() == [1, 2, 7]
    assert slow.positions.tolist() == points.positions.tolist()


@settings(derandomize=True, deadline=None)
@given(swings, accelerations)
def test_an_eased_motion_begins_and_ends_at_rest(motion: Motion, acceleration: float) -> None:
    eased = ease(motion, acceleration)
    velocity = np.diff(eased.positions, axis=0) * eased.frame_rate
    # From rest, one row of the acceleration, of which the motion's own is a part.
    own = np.abs(motion.derivatives()[1]).max()
    for end in (velocity[0], velocity[-1]):
        assert np.abs(end).max() * eased.frame_rate <= 1.5 * (acceleration + own) + 1e-6


@settings(derandomize=True, deadline=None)
@given(st.builds(swing, st.integers(60, 400), st.floats(0.1, 5), st.just(1000.0)), accelerations)
def test_easing_adds_no_more_than_the_acceleration_and_no_speed(motion: Motion, acceleration: float) -> None:
    eased = ease(motion, acceleration)
    speeds = [np.abs(one.derivatives()[0]).max() for one in (eased, motion)]
    assert speeds[0] <= speeds[1] * 1.01 + 1e-9
    accelerations = [np.abs(one.derivatives()[1]).max() for one in (eased, motion)]
    assert accelerations[0] <= (accelerations[1] + acceleration) * 1.05 + 1e-3


def test_rows_between_the_ends_stay_bit_for_bit() -> None:
    motion = swing()
    eased = ease(motion, 8.0)
    # The fastest joint begins with 2 rad/s: 1.5 * 2 / 8 s until it has its speed, on half as many rows.
    rows = 19
    assert (
        eased.positions[2 * rows : 2 * rows + 200].tobytes() == motion.positions[rows : rows + 200].tobytes()
    )


def test_a_motion_that_is_too_short_for_its_speed_stays_below_it() -> None:
    motion = swing(11)
    eased = ease(motion, 1.0)
    assert eased.duration_s > 4 * motion.duration_s
    assert np.abs(eased.derivatives()[0]).max() < 0.5 * np.abs(motion.derivatives()[0]).max()


def test_only_the_end_that_moves_is_eased() -> None:
    times = np.arange(201) / RATE
    rising = Motion("rise", (), RATE, times, (0.1 * times**3)[:, None])
    eased = ease(rising)
    assert eased.positions[:50].tobytes() == rising.positions[:50].tobytes()
    assert eased.duration_s > rising.duration_s
    assert ease(eased).positions.tobytes() == eased.positions.tobytes()


@pytest.mark.parametrize("acceleration", [0.1, 2.0, 100.0])
def test_a_start_from_rest_with_any_acceleration_of_its_own_is_at_rest(acceleration: float) -> None:
    at = np.minimum(np.arange(41), np.arange(41)[::-1]) / RATE
    there = np.where(
        np.arange(41) <= 20, acceleration * at**2, 2 * acceleration * 0.04 - acceleration * at**2
    )
    motion = Motion("nod", ("a",), RATE, np.arange(41) / RATE, there[:, None])
    assert ease(motion, 1.0) is motion


def test_a_motion_at_rest_at_both_ends_stays_as_it_is() -> None:
    still = Motion("still", (), RATE, np.arange(5) / RATE, np.ones((5, 1)))
    points = Motion("pick", (), 100.0, np.array([0.0, 0.5, 3.0]), np.arange(3.0)[:, None])
    one_row = Motion("pose", (), RATE, np.zeros(1), np.ones((1, 1)))
    for motion in (still, points, one_row):
        assert ease(motion) is motion


def test_eased_velocities_and_accelerations_are_those_of_the_positions() -> None:
    motion = swing(2001, rate=1000.0)
    velocity, acceleration = motion.derivatives()
    whole = replace(motion, components={"JointVelocity": velocity, "JointAcceleration": acceleration})
    for eased in (ease(whole, 5.0), ease(trim(whole, 0, 0.2), 5.0)):
        velocity, acceleration = eased.derivatives()
        np.testing.assert_allclose(eased.components["JointVelocity"][1:-1], velocity[1:-1], atol=2e-3)
        np.testing.assert_allclose(eased.components["JointAcceleration"][2:-2], acceleration[2:-2], atol=0.1)


EFFORT = replace(swing(), components={"JointEffort": swing().positions})


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        (
            lambda: retime(swing(), 0.0),
            "swing: the speed is 0; a speed is a finite number above 0; correct it",
        ),
        (
            lambda: retime(swing(), 1e-6),
            ("swing: 301 frames over 3e+06 s would become 3e+08 rows; at most 150500 are made of them, "
            "1505 s at 100 Hz; check its times, which are in s"),
        ),
        (
            lambda: ease(swing(), [1.0, -1.0]),
            "swing: the acceleration is -1; it is a finite number above 0; correct it",
        ),
        (
            lambda: retime(swing(), 1e9),
            ("swing: at 1e+09 times its speed it lasts 3e-09 s; there is a row each 0.01 s; "
            "choose at most 300, or resample it at a higher rate first"),
        ),
        (
            lambda: retime(EFFORT, 0.5),
            ("swing: component 'JointEffort' cannot be retimed; "
            "it is not known how it changes with speed; drop it first"),
        ),
        (
            lambda: ease(EFFORT),
            ("swing: component 'JointEffort' cannot be eased; "
            "it is not known how it changes with speed; drop it first"),
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(tool: Callable[[], Motion], message: str) -> None:
    with pytest.raises(MotionError) as caught:
        tool()
    assert str(caught.value) == message
