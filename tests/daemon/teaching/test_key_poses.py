"""Poses that were kept become a motion within the limits: to rest at each, or through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiond.daemon.planning import PlanError
from motiond.daemon.planning.planner import plan
from motiond.daemon.teaching import TeachingError, pose_bounds, taught_columns, through, to_rest_at_each
from motiond.daemon.teaching.rows import as_motion
from tests.robots import map_of, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.formats.arrays import Floats

    Way = Callable[..., Floats]

ARM: dict[str, Any] = {
    "shoulder": {"limits": {"lower": -2.0, "upper": 2.0, "velocity": 1.5, "acceleration": 6.0}},
    "slide": {"unit": "m", "limits": {"lower": 0.0, "upper": 0.4, "velocity": 0.3, "acceleration": 1.0}},
}
COLUMNS = np.array([0, 1])
EITHER = pytest.mark.parametrize("way", [to_rest_at_each, through])
STAIRS = np.array([[0.0, 0.0], [0.5, 0.1], [1.2, 0.2], [2.0, 0.4]])


def rows_of(way: Way, poses: Any, speed: float = 0.5, joints: dict[str, Any] = ARM) -> Floats:
    bounds = pose_bounds(map_of(joints), settings_of(joints), np.arange(len(joints)), speed)
    return way(np.array(poses, dtype=float), bounds, 100.0)


def planned(rows: Floats, joints: dict[str, Any] = ARM) -> Any:
    joint_map = map_of(joints)
    motion = as_motion("taught", joint_map, np.arange(rows.shape[1]), rows, 100.0)
    return plan(motion, joint_map, settings_of(joints), 1000.0)


def at_rest(rows: Floats, pose: Any) -> bool:
    (row,) = np.flatnonzero((rows == pose).all(axis=1))
    return bool(np.abs(rows[row + 1] - rows[row]).max() < 2e-3)


@EITHER
def test_every_pose_is_a_row_bit_for_bit_and_the_ends_are_at_rest(way: Way) -> None:
    rows = rows_of(way, STAIRS)
    assert all((rows == pose).all(axis=1).sum() == 1 for pose in STAIRS)
    assert (rows[[0, -1]] == STAIRS[[0, -1]]).all()
    assert planned(rows).warnings == ()


def test_it_comes_to_rest_at_each_pose_or_goes_through_them_without() -> None:
    resting, passing = (rows_of(way, STAIRS) for way in (to_rest_at_each, through))
    assert [at_rest(resting, pose) for pose in STAIRS[1:-1]] == [True, True]
    assert [at_rest(passing, pose) for pose in STAIRS[1:-1]] == [False, False]
    assert len(passing) < len(resting)


@EITHER
@given(
    poses=st.lists(st.tuples(st.floats(-2.0, 2.0), st.floats(0.0, 0.4)), min_size=2, max_size=6),
    speed=st.sampled_from([0.1, 0.5, 1.0]),
)
def test_no_poses_within_the_limits_make_a_motion_beyond_one(way: Way, poses: Any, speed: float) -> None:
    try:
        rows = rows_of(way, poses, speed)
    except TeachingError as error:
        assert str(error).startswith("no motion can be made of the poses; ")  # noqa: PT017 - all the same
    else:
        assert planned(rows).slowed_to == 1.0


@EITHER
def test_a_share_of_the_speed_takes_as_much_longer(way: Way) -> None:
    lasts = [len(rows_of(way, STAIRS, speed)) / 100.0 for speed in (1.0, 0.5)]
    assert 1.3 < lasts[1] / lasts[0] < 2.1
    assert planned(rows_of(way, STAIRS, 0.5)).max_speed > 1.3


@EITHER
def test_joints_that_follow_a_taught_one_keep_their_limits_too(way: Way) -> None:
    follows = {"mimic": {"joint": "shoulder", "multiplier": -2.0}}
    narrow = {"lower": -4.0, "upper": 4.0, "velocity": 0.8, "acceleration": 3.0}
    joints = {"shoulder": ARM["shoulder"], "finger": {**follows, "limits": narrow}}
    bounds = pose_bounds(map_of(joints), settings_of(joints), np.array([0]), 1.0)
    rows = way(np.array([[0.0], [1.0], [1.5]]), bounds, 100.0)
    assert planned(rows, joints).slowed_to == 1.0
    with pytest.raises(PlanError, match="joint 'finger' moves at "):
        planned(rows[::3], joints)


@EITHER
@pytest.mark.parametrize(
    ("poses", "kept"),
    [
        ([[0.5, 0.1]], "one pose was kept"),
        ([[0.5, 0.1], [0.5, 0.1 + 5e-7]], "2 poses were kept, all of them the same"),
    ],
)
def test_one_pose_makes_no_motion(way: Way, poses: Any, kept: str) -> None:
    message = f"no motion can be made of the poses; {kept}; keep two that differ, or more"
    with pytest.raises(TeachingError) as caught:
        rows_of(way, poses)
    assert str(caught.value) == message


@EITHER
def test_a_pose_that_was_kept_twice_counts_once(way: Way) -> None:
    assert (rows_of(way, STAIRS[[0, 0, 1, 1, 2]]) == rows_of(way, STAIRS[:3])).all()


def test_joints_that_report_nothing_are_refused_by_name_except_those_that_follow_others() -> None:
    joints = {
        "lift": ARM["slide"],
        "left": {**ARM["slide"], "unit": "m"},
        "right": {"unit": "m", "mimic": {"joint": "left"}, "limits": ARM["slide"]["limits"]},
        "elbow": ARM["shoulder"],
    }
    joint_map = map_of(joints)
    known = np.array([True, True, False, True])
    assert taught_columns(joint_map, known).tolist() == [0, 1, 3]
    known[3] = False
    with pytest.raises(TeachingError) as one:
        taught_columns(joint_map, known)
    assert str(one.value) == (
        "joint 'elbow' cannot be taught; its actuator reports no position; check the actuator"
    )
    known[:] = False
    with pytest.raises(TeachingError) as all_of_them:
        taught_columns(joint_map, known)
    assert str(all_of_them.value) == (
        "joints 'lift', 'left', 'elbow' cannot be taught; they report no positions; check the actuators"
    )
