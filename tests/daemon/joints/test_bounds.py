"""Tolerances and bounds of approaches by the unit and the range of each joint."""

from __future__ import annotations

from typing import Any

import pytest

from motiond.daemon.joints.bounds import JointBounds, joint_bounds, never_fails
from motiond.daemon.joints.joint_map import JointMapError
from tests.robots import map_of, settings_of
from tests.tables import table


def joint(lower: float, upper: float, unit: str = "rad", **values: Any) -> dict[str, Any]:
    return {"unit": unit, "limits": {"lower": lower, "upper": upper, "velocity": 1.0}, **values}


def bounds_of(joints: dict[str, dict[str, Any]], **options: Any) -> JointBounds:
    return joint_bounds(map_of(joints), settings_of(joints, **options))


def warning_of(joints: dict[str, dict[str, Any]], **options: Any) -> str:
    joint_map = map_of(joints)
    return never_fails(joint_map, joint_bounds(joint_map, settings_of(joints, **options)))


ELBOW, FINGER = joint(-2.0, 2.0), joint(0.0, 0.04, "m")
MIXED = {"elbow": ELBOW, "finger": FINGER}


@table("joints, goal, stall_error, start_tolerance")
def test_defaults_are_shares_of_the_range_and_no_more_than_is_usual_for_the_unit(
    joints: dict[str, dict[str, Any]], goal: float, stall_error: float, start_tolerance: float
) -> None:
    bounds = bounds_of(joints)
    assert bounds.path == (None,)
    found = [*bounds.goal, *bounds.stall_error, *bounds.start_tolerance]
    assert found == pytest.approx([goal, stall_error, start_tolerance], rel=1e-9)
    assert warning_of(joints) == ""


def test_a_joint_that_follows_another_has_the_range_that_this_one_leaves_it() -> None:
    follower = {"unit": "m", "actuator": "none", "mimic": {"joint": "motor", "multiplier": -0.005}}
    joints = {"motor": joint(0.0, 4.0), "finger": follower, "other": joint(-1.0, 1.0)}
    bounds = joint_bounds(map_of(joints), settings_of({"motor": joints["motor"], "other": joints["other"]}))
    assert bounds.ranges == pytest.approx([4.0, 0.02, 2.0])
    assert bounds.goal == pytest.approx((0.1, 0.002, 0.1))


def test_a_joint_without_limits_has_what_is_usual_for_its_unit() -> None:
    joint_map = map_of({"wheel": {}, "belt": {"unit": "m", "limits": {"lower": 0.0}}})
    bounds = joint_bounds(joint_map, settings_of({"wheel": ELBOW}))
    assert bounds.goal == (0.1, 0.005)
    assert never_fails(joint_map, bounds) == ""


@table("options, goal, path")
def test_a_robot_of_one_unit_may_have_one_number(
    options: dict[str, Any], goal: tuple[float | None], path: tuple[float | None]
) -> None:
    bounds = bounds_of({"elbow": ELBOW}, tolerances=options)
    assert (bounds.goal, bounds.path) == (goal, path)


def test_what_is_chosen_for_one_unit_leaves_the_default_of_the_other() -> None:
    bounds = bounds_of(
        MIXED,
        tolerances={"goal": {"rad": 0.3}},
        checks={"stall_error": {"m": 0.01}},
        start_tolerance={"rad": 0.0, "m": 0.001},
        approach={"velocity": {"m": 0.1}},
    )
    assert bounds.goal == pytest.approx((0.3, 0.004))
    assert bounds.stall_error == pytest.approx([0.05, 0.01])
    assert bounds.start_tolerance.tolist() == [0.0, 0.001]
    assert bounds.velocity.tolist() == [0.5, 0.1]
    assert bounds.acceleration.tolist() == [1.0, 0.5]
    assert bounds.jerk.tolist() == [5.0, 2.5]


def test_a_joint_may_have_tolerances_of_its_own() -> None:
    own = {"path": 0.003, "goal": 0.001, "stall_error": 0.0005, "start_tolerance": 0.0}
    bounds = bounds_of(
        {"elbow": ELBOW, "finger": FINGER | {"tolerances": own}}, tolerances={"path": {"rad": 0.2, "m": None}}
    )
    assert (bounds.path, bounds.goal) == ((0.2, 0.003), (0.1, 0.001))
    assert (bounds.stall_error[1], bounds.start_tolerance[1]) == (0.0005, 0.0)


@table("option, section, value, both")
def test_one_number_is_refused_where_joints_turn_and_slide(
    option: str, section: dict[str, Any], value: str, both: str
) -> None:
    with pytest.raises(JointMapError) as caught:
        bounds_of(MIXED, **section)
    assert str(caught.value) == (
        f"arm: {option} is {value}; the robot has joints in rad ('elbow') and m ('finger'); "
        f"write one for each: `{both}`"
    )


def test_all_numbers_that_are_refused_come_at_once() -> None:
    with pytest.raises(JointMapError) as caught:
        bounds_of(MIXED, tolerances={"goal": 0.1}, approach={"velocity": 1.0})
    assert len(caught.value.problems) == 2


@table("joints, options, told")
def test_a_tolerance_as_wide_as_the_range_is_named(
    joints: dict[str, dict[str, Any]], options: dict[str, Any], told: str
) -> None:
    assert warning_of(joints, **options) == told


def test_the_description_has_the_tolerances_of_each_joint() -> None:
    joint_map = map_of(MIXED)
    assert joint_bounds(joint_map, settings_of(MIXED)).payload(joint_map) == {
        "path": {"elbow": None, "finger": None},
        "goal": {"elbow": 0.1, "finger": 0.004},
    }
