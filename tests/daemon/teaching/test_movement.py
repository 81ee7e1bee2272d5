"""What was moved becomes a motion that is never further from it than the bound, from rest to rest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiond.daemon.planning import PlanError
from motiond.daemon.planning.planner import plan
from motiond.daemon.teaching import Movement, Taught, TeachingError, movement
from tests.robots import map_of, settings_of

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

ARM: dict[str, Any] = {
    "shoulder": {"limits": {"lower": -1.0, "upper": 1.0, "velocity": 2.0, "acceleration": 12.0}},
    "slide": {"unit": "m", "limits": {"lower": 0.0, "upper": 0.4, "velocity": 0.4, "acceleration": 2.0}},
    "finger": {"unit": "m", "mimic": {"joint": "slide", "multiplier": -0.5, "offset": 0.1}},
}
ARM["finger"]["limits"] = {"lower": -0.2, "upper": 0.2, "velocity": 0.4}
NOISE = np.array([3e-4, 3e-5])


def still(duration_s: float) -> Floats:
    return np.zeros(round(duration_s * 100.0))


def a_hand(seed: int = 0, moves_s: float = 4.0, noise: Floats = NOISE) -> tuple[Floats, Floats]:
    """Return two seconds at rest, a movement, and one second at rest: times and positions of all joints."""
    random = np.random.default_rng(seed)
    u = np.linspace(0.0, 1.0, round(moves_s * 100.0))
    waves = random.uniform(-1.0, 1.0, (2, 4)) @ np.sin(np.pi * np.outer(np.arange(1, 5), u))
    shape = np.concatenate([np.zeros((2, 200)), waves * (4.0 * u * (1.0 - u)) ** 2, np.zeros((2, 100))], 1)
    positions = np.array([0.1, 0.2]) + shape.T * np.array([0.15, 0.02]) * moves_s / 4.0
    positions += random.normal(size=positions.shape) * noise
    follows = 0.1 - 0.5 * positions[:, 1:]
    return np.arange(len(shape.T)) / 100.0, np.hstack([positions, follows])


def taught(times: Floats, positions: Floats, max_rate_hz: float = 1000.0, **how: Any) -> Taught:
    robot: dict[str, Any] = {
        "joint_map": map_of(ARM),
        "settings": settings_of(ARM),
        "max_rate_hz": max_rate_hz,
    }
    return movement("wave", times, positions, Movement(**how), **robot)


def planned(result: Taught, **options: Any) -> Any:
    return plan(result.motion, map_of(ARM), settings_of(ARM, **options), 1000.0)


def refusal(*args: Any, **how: Any) -> str:
    with pytest.raises(TeachingError) as caught:
        taught(*args, **how)
    return str(caught.value)


@given(
    seed=st.integers(0, 2**32 - 1),
    moves_s=st.floats(1.5, 8.0),
    bound=st.sampled_from([0.001, 0.005]),
    first=st.sampled_from([0, 217, 263]),
)
def test_it_is_never_further_from_what_was_recorded_than_the_bound(
    seed: int, moves_s: float, bound: float, first: int
) -> None:
    times, positions = a_hand(seed, moves_s)
    part = {"first_s": times[first], "trim": False}
    result = taught(times, positions, smooth_rad=bound, smooth_m=bound / 10.0, **part)
    assert (result.deviation <= [bound + 1e-9, bound / 10.0 + 1e-9]).all()
    curve = result.motion.sample(np.arange(0.0, result.motion.duration_s, 0.001))
    away = np.abs(curve[:, None] - positions[first::7, :2]) / [bound, bound / 10.0]
    assert away.max(axis=2).min(axis=0).max() <= 1.001  # whatever was recorded, it comes by


def test_noise_is_taken_out_of_it() -> None:
    result = taught(*a_hand())
    raw = a_hand()[1][:, :2]

    def shaking(rows: Floats) -> Any:
        return np.abs(np.diff(rows, 2, axis=0)).max(axis=0)

    assert (shaking(result.motion.positions) < 0.25 * shaking(raw)).all()


def test_the_time_at_its_ends_in_which_nothing_moves_is_cut_but_for_a_tenth_of_a_second() -> None:
    times, positions = a_hand()
    trimmed, whole = taught(times, positions), taught(times, positions, trim=False)
    assert whole.motion.duration_s == pytest.approx(6.99)
    assert 3.5 < trimmed.motion.duration_s < 4.3
    assert planned(trimmed).warnings == ()


def test_joints_that_follow_others_have_no_column() -> None:
    motion = taught(*a_hand()).motion
    assert (motion.joint_names, motion.metadata) == (
        ("shoulder", "slide"),
        {"units": {"shoulder": "rad", "slide": "m"}},
    )


@pytest.mark.parametrize(
    ("max_rate_hz", "rate_hz"), [(1000.0, 100.0), (120.0, 100.0), (90.0, 50.0), (33.0, 25.0), (7.0, 7.0)]
)
def test_its_rows_come_at_a_round_rate_that_the_driver_takes(max_rate_hz: float, rate_hz: float) -> None:
    slow = np.arange(0.0, 20.0, 0.01)
    positions = np.outer(0.3 * (1.0 - np.cos(np.pi * slow / 10.0)), [1.0, 0.2, 0.0])
    assert taught(slow, positions, max_rate_hz).motion.frame_rate == rate_hz


def test_it_takes_more_rows_where_the_bound_asks_for_them() -> None:
    fast = np.arange(0.0, 2.0, 0.001)
    positions = np.outer(0.05 * (1.0 - np.cos(2.0 * np.pi * 8.0 * fast)), [1.0, 0.0, 0.0])
    rates = [taught(fast, positions, smooth_rad=bound).motion.frame_rate for bound in (5e-3, 5e-4)]
    assert rates == [100.0, 200.0]
    assert refusal(fast, positions, smooth_rad=5e-4, rate_hz=20.0) == (
        "joint 'shoulder' would leave what was recorded by 0.0303 rad at 20 rows/s; 0.0005 rad are allowed; "
        "raise `smooth_rad`, or `rate_hz` where the driver allows it"
    )


def test_a_part_of_it_that_begins_and_ends_in_motion_is_eased() -> None:
    times, positions = a_hand(noise=0.0 * NOISE)
    middle = taught(times, positions, first_s=3.0, last_s=5.0, trim=False)
    (note,) = middle.notes
    assert note.startswith("the motion begins slower, for ")
    assert note.endswith(" s, as a robot begins and ends at rest")
    assert middle.motion.duration_s > 2.0
    assert planned(middle).warnings == ()
    assert (middle.deviation <= [0.005, 0.0005]).all()


def test_a_joint_that_was_at_a_limit_stays_within_it_and_one_that_was_far_beyond_is_refused() -> None:
    times, positions = a_hand()
    positions[:, 0] *= (1.0 + 0.004) / positions[:, 0].max()
    result = taught(times, positions)
    assert result.motion.positions[:, 0].max() == 1.0
    assert result.deviation[0] == pytest.approx(0.004, abs=1e-9)
    planned(result, on_violation="slow")
    positions[:, 0] *= 1.02
    with pytest.raises(PlanError, match=r"wave: joint 'shoulder' reaches 1\.02\d* rad at "):
        planned(taught(times, positions))


def test_ticks_that_were_lost_are_filled_in_and_said() -> None:
    times, positions = a_hand(noise=0.0 * NOISE)
    whole = taught(times, positions)
    positions[300:306, 1] = np.nan
    some = np.r_[0:250, 256 : len(times)]
    result = taught(times[some], positions[some])
    assert result.notes == ()
    positions[300:330, 1] = np.nan
    result = taught(times, positions)
    assert result.notes == ("no positions from 2.990 s to 3.300 s; a curve is in their place",)
    assert np.abs(result.motion.positions - whole.motion.positions).max() < 0.01


def test_what_makes_no_motion_is_refused() -> None:
    times, positions = a_hand()
    nothing = "nothing was moved; no joint left its place by more than the bound of smoothing; "
    assert refusal(times[:150], positions[:150]) == nothing + "teach it again, or switch `trim` off"
    assert len(taught(times[:150], positions[:150], trim=False).motion.times) == 150
    assert refusal(times, positions, first_s=5.0, last_s=4.0) == (
        "hardly anything lies from 5 s to 4 s; it was recorded from 0.000 s to 6.990 s; "
        "correct `first_s` and `last_s`"
    )
    positions[::2, 0] = np.nan
    positions[1::2, 1] = np.nan
    assert refusal(times, positions) == (
        "nothing was recorded; no tick has a position of every joint; teach it again"
    )


def test_twenty_hands_become_motions_that_no_limit_refuses() -> None:
    for seed in range(20):
        result = taught(*a_hand(seed))
        assert planned(result, on_violation="slow").slowed_to > 0.3
        assert math.isclose(result.motion.times[-1] * 100.0, len(result.motion.times) - 1)
