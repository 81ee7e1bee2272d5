from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiond.daemon.config.robot import ApproachSettings
from motiond.daemon.joints.bounds import joint_bounds
from motiond.daemon.planning.approach import ApproachError, _way, plan_approach
from motiond.daemon.trajectory.beyond import FROM_BEYOND
from tests.robots import map_of, settings_of
from tests.tables import table

RATE_HZ = 500.0
JOINTS: dict[str, dict[str, Any]] = {
    "base": {"limits": {"lower": -2, "upper": 2, "velocity": 0.3, "acceleration": 0.8}},
    "elbow": {"limits": {"lower": -1, "upper": 2, "velocity": 9}},
    "slide": {"unit": "m", "limits": {"lower": 0, "upper": 0.5, "velocity": 1}},
}
ARM = map_of(JOINTS)
ROBOT = settings_of(JOINTS)
VELOCITY, ACCELERATION = np.array([0.3, 0.5, 0.25]), np.array([0.8, 1.0, 0.5])


def same_for_both(**bounds: float) -> ApproachSettings:
    values = {option: {"rad": value, "m": value} for option, value in bounds.items()}
    return ApproachSettings.model_validate(values)


def approach(
    start: list[float],
    target: list[float],
    driven: tuple[bool, ...] = (True, True, True),
    tolerance: float = 0.002,
) -> tuple[Any, Any]:
    robot = ROBOT.model_copy(update={"start_tolerance": {"rad": tolerance, "m": tolerance}})
    ends = np.array(start), np.array(target)
    track = plan_approach(*ends, np.array(driven), ARM, robot, rate_hz=RATE_HZ)
    return track.positions, track.velocities


@given(
    st.tuples(st.floats(-2, 2), st.floats(-1, 2), st.floats(0, 0.5)),
    st.tuples(st.floats(-2, 2), st.floats(-1, 2), st.floats(0, 0.5)),
)
def test_it_stays_between_start_and_target_within_every_bound(start: Any, target: Any) -> None:
    positions, velocities = approach(list(start), list(target), tolerance=0.0)
    path = np.vstack([start, positions])
    steps = np.diff(path, axis=0)
    assert (steps * np.sign(np.subtract(target, start)) >= 0).all()
    assert (np.abs(steps) * RATE_HZ <= VELOCITY * (1 + 1e-9)).all()
    assert (np.abs(np.diff(steps, axis=0)) * RATE_HZ**2 <= ACCELERATION * (1 + 1e-6) + 1e-8).all()
    assert path[-1].tobytes() == np.array(target, float).tobytes() or start == target
    assert not velocities[-1:].any()


def test_all_joints_arrive_together_and_as_fast_as_allowed() -> None:
    positions, _ = approach([0, 0, 0.1], [1.5, 0.5, 0.2])
    # From rest to rest over 1.5 rad at 0.3 rad/s: the distance at full speed, and half of it lost at each end
    # to speeding up (0.3 / 0.8 s and the jerk's 0.8 / 5 s).
    takes_s = (len(positions) - 1) / RATE_HZ
    assert takes_s == pytest.approx(1.5 / 0.3 + 0.3 / 0.8 + 0.8 / 5, abs=1 / RATE_HZ)
    assert (np.abs(positions[-20] - positions[-1]) > 0).all()


def test_there_is_a_way_where_a_joint_just_comes_to_its_greatest_acceleration() -> None:
    """After 2 a³ / j², where the library finds none within rounding."""
    joints: dict[str, dict[str, Any]] = {
        name: {"limits": {"lower": -2, "upper": 2, "velocity": 3}} for name in ("shoulder", "elbow")
    }
    arm = map_of(joints)
    bounds = joint_bounds(
        arm, settings_of(joints, approach={"velocity": 2.0, "acceleration": 10.0, "jerk": 100.0})
    )
    both, target = np.ones(2, dtype=bool), np.array([0.1, 0.1])
    for beyond in range(-20, 21):
        start = 0.1 + (0.5 + beyond * 1e-16) * np.array([0.2, 0.4])
        takes_s = _way(start, target, both, arm, bounds).duration_s
        assert takes_s == pytest.approx(4 * 10.0 / 100.0, rel=1e-5)


def test_nothing_is_to_do_where_every_driven_joint_is_there() -> None:
    positions, velocities = approach([1.0, 0.0, 0.1], [0.0, 0.0, 0.1], driven=(False, True, True))
    assert positions.shape == velocities.shape == (0, 3)


def test_a_joint_that_is_near_goes_there_in_one_tick_between_two_of_rest() -> None:
    positions, velocities = approach([1.0, 1e-6, 0.1], [0.0, 0.0, 0.1], driven=(False, True, True))
    assert positions.tolist() == [[1.0, 1e-6, 0.1], [1.0, 0.0, 0.1]]
    assert not velocities.any()


def test_nothing_moves_in_the_first_tick_as_the_motion_before_may_have_ended_in_the_last() -> None:
    positions, _ = approach([0, 0, 0.1], [1.5, 0.5, 0.2])
    assert positions[0].tolist() == [0, 0, 0.1]


def test_from_a_little_outside_its_limits_a_joint_moves_inward_only() -> None:
    positions, _ = approach([0.0, -1.1, 0.1], [0.0, -1.0, 0.1])
    assert (np.diff(positions[:, 1], prepend=-1.1) >= 0).all()
    assert positions[-1, 1] == -1.0


@given(
    st.tuples(st.floats(-2, 2), st.floats(-1, 2), st.floats(0, 0.5)),
    st.tuples(st.floats(-2, 2), st.floats(-1, 2), st.floats(0, 0.5)),
    st.sampled_from([20.0, 125.0, 500.0]),
)
def test_between_its_rows_too_an_approach_passes_neither_end(
    start: tuple[float, ...], target: tuple[float, ...], rate_hz: float
) -> None:
    approach = same_for_both(velocity=1.5, acceleration=2.8, jerk=500.0)
    robot = ROBOT.model_copy(update={"approach": approach})
    all_driven = np.ones(3, dtype=bool)
    ends = np.array(start), np.array(target)
    track = plan_approach(*ends, all_driven, ARM, robot, rate_hz=rate_hz)
    position, velocity = np.empty(3), np.empty(3)
    for place in np.linspace(0.0, max(track.last, 0), 200):
        if track.last < 0:
            return
        track.sample(float(place), position, velocity, 0.5)
        assert (position >= np.minimum(*ends) - 1e-12).all()
        assert (position <= np.maximum(*ends) + 1e-12).all()


LOST = "arm: joint 'base' has no measured position; there is no way from there; check the actuator"
FAR = (
    "arm: joint 'elbow' is at 2.5 rad, far outside its limits of -1 to 2 rad; "
    "check the actuator, its offset and its turns; if it is there, go to a posture with from_beyond"
)


@pytest.mark.parametrize(("from_beyond", "problems"), [(False, [LOST, FAR]), (True, [LOST])])
def test_unknown_and_impossible_positions_are_refused_together(
    from_beyond: bool,  # noqa: FBT001 - parametrised
    problems: list[str],
) -> None:
    start, driven = np.array([np.nan, 2.5, 0.1]), np.ones(3, dtype=bool)
    with pytest.raises(ApproachError) as caught:
        plan_approach(start, np.zeros(3), driven, ARM, ROBOT, rate_hz=RATE_HZ, from_beyond=from_beyond)
    assert str(caught.value).splitlines() == problems
    assert caught.value.joints == ("base", "elbow")[: len(problems)]


@given(
    st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.floats(-3, 3)),
    st.tuples(st.floats(-2, 2), st.floats(-1, 2), st.floats(0, 0.5)),
)
def test_from_beyond_every_joint_goes_straight_and_slowly_to_its_target(start: Any, target: Any) -> None:
    ends, driven = (np.array(start), np.array(target)), np.ones(3, dtype=bool)
    track = plan_approach(*ends, driven, ARM, ROBOT, rate_hz=RATE_HZ, from_beyond=True)
    limits = ARM.limits
    excess = np.maximum(np.maximum(track.positions - limits.upper, limits.lower - track.positions), 0.0)
    steps, further_out = np.diff(track.positions, axis=0), np.diff(excess, axis=0)
    assert (further_out <= 0.0).all()
    assert (steps * np.sign(np.subtract(target, start)) >= 0).all()
    slow = FROM_BEYOND * np.array([0.5, 0.5, 0.25])
    if len(track.positions) > 2:  # one tick is what it takes where all are within `start_tolerance`
        assert (np.abs(steps) * RATE_HZ <= slow * (1 + 1e-9)).all()
        assert not track.velocities[[0, -1]].any()
    assert not len(track.positions) or track.positions[-1].tobytes() == np.array(target, float).tobytes()


@table("velocity, message")
def test_a_way_without_end_is_refused_before_memory_is_spent_on_it(velocity: float, message: str) -> None:
    slow = ApproachSettings().model_copy(update={"velocity": {"rad": velocity, "m": velocity}})
    robot = ROBOT.model_copy(update={"approach": slow})
    start, target = np.zeros(3), np.array([1.0, 0.0, 0.0])
    with pytest.raises(ApproachError) as caught:
        plan_approach(start, target, np.ones(3, bool), ARM, robot, rate_hz=RATE_HZ)
    assert str(caught.value) == message


def test_a_way_does_not_turn_back_by_rounding() -> None:
    positions, _ = approach([0.0, 0.0, 4.962247811813501e-15], [0.0, 1.5, 0.0], tolerance=0.0)
    assert (np.diff(positions[:, 2]) <= 0.0).all()


COUPLED: dict[str, dict[str, Any]] = {
    "base": {"limits": {"lower": -2, "upper": 2, "velocity": 0.4}},
    "elbow": {"limits": {"lower": -2, "upper": 2, "velocity": 9, "acceleration": 3}},
    "wrist": {
        "limits": {"lower": -1.5, "upper": 1.5, "velocity": 0.2, "acceleration": 0.3},
        "mimic": {"joint": "elbow", "multiplier": -0.5, "offset": 0.1},
    },
}
COUPLED_ARM, COUPLED_ROBOT = map_of(COUPLED), settings_of(COUPLED)


def off_relation(positions: Any) -> Any:
    """Return how far the wrist is from where it follows the elbow."""
    return np.abs(positions[..., 2] - (-0.5 * positions[..., 1] + 0.1))


def coupled_way(start: Any, target: Any) -> Any:
    driven = np.ones(3, dtype=bool)
    ends = np.array(start), np.array(target)
    return plan_approach(*ends, driven, COUPLED_ARM, COUPLED_ROBOT, rate_hz=RATE_HZ)


def following(base: float, elbow: float) -> list[float]:
    return [base, elbow, -0.5 * elbow + 0.1]


@given(st.floats(-2, 2), st.floats(-2, 2), st.floats(-2, 2), st.floats(-2, 2))
def test_where_both_ends_keep_a_mimic_relation_every_row_between_keeps_it(
    base: float, elbow: float, base_to: float, elbow_to: float
) -> None:
    start, target = following(base, elbow), following(base_to, elbow_to)
    track = coupled_way(start, target)
    assert off_relation(track.positions).max(initial=0.0) < 1e-12
    np.testing.assert_allclose(track.velocities[:, 2], -0.5 * track.velocities[:, 1], atol=1e-9)
    if len(track.positions):
        assert track.positions[[0, -1]].tolist() == [start, target]
    steps = np.diff(track.positions, axis=0) * RATE_HZ
    assert np.abs(steps[:, 2]).max(initial=0.0) <= 0.2 * (1 + 1e-9)
    assert np.abs(np.diff(steps[:, 2])).max(initial=0.0) * RATE_HZ <= 0.3 * (1 + 1e-6) + 1e-8


def test_between_the_rows_of_an_approach_a_mimic_joint_follows_too() -> None:
    track = coupled_way(following(0.0, 1.0), following(0.3, -0.7))
    position, velocity = np.empty(3), np.empty(3)
    for place in np.linspace(0.0, track.last, 777):
        track.sample(place, position, velocity, 0.4)
        assert off_relation(position) < 1e-12
        assert velocity[2] == pytest.approx(-0.5 * velocity[1], abs=1e-9)


@given(st.floats(-2, 2), st.floats(-0.1, 0.1), st.floats(-2, 2))
def test_from_where_a_mimic_joint_does_not_follow_the_relation_is_never_further_off(
    elbow: float, off: float, elbow_to: float
) -> None:
    start = following(0.0, elbow)
    start[2] += off
    target = following(0.0, elbow_to)
    positions = coupled_way(start, target).positions
    assert (np.diff(off_relation(positions)) <= 1e-9).all()
    assert off_relation(positions).max(initial=0.0) <= abs(off) + 1e-12
    ends = np.minimum(start, target), np.maximum(start, target)
    assert ((positions >= ends[0]) & (positions <= ends[1])).all()


def test_a_mimic_joint_of_a_leader_that_is_there_already_comes_after_alone() -> None:
    start = [0.0, 1.0, -0.3]
    positions = coupled_way(start, following(0.0, 1.0)).positions
    assert (positions[:, :2] == [0.0, 1.0]).all()
    assert positions[-1].tolist() == following(0.0, 1.0)


def test_joints_that_are_not_driven_hold_where_others_follow() -> None:
    driven = np.array([False, True, True])
    ends = np.array(following(0.5, 1.0)), np.array(following(0.0, -1.0))
    track = plan_approach(*ends, driven, COUPLED_ARM, COUPLED_ROBOT, rate_hz=RATE_HZ)
    assert (track.positions[:, 0] == 0.5).all()
    assert off_relation(track.positions).max() < 1e-12
