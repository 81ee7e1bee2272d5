"""Robot models: poses of links, joints and frames, and the refusals of wrong positions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from motiond.formats import Coordinate, Frame, Joint, JointType, Link, RobotModel
from motiond.formats.arrays import Floats
from tests.tables import table


def pose(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Floats:
    matrix = np.eye(4)
    matrix[:3, 3] = x, y, z
    return matrix


def joint(name: str, kind: JointType, parent: str, child: str, axis: tuple[float, ...], **more: Any) -> Joint:
    coordinates = () if kind == "fixed" else (Coordinate(name),)
    return replace(Joint(name, kind, parent, child, np.array([axis]), coordinates), **more)


def arm(**changes: Any) -> RobotModel:
    """Return a crane: a turning mast, a boom that slides out of it and a fixed camera; leaves come first."""
    model = RobotModel(
        name="crane",
        format="test",
        version="1",
        joints=(
            joint("slide", "prismatic", "mast", "boom", (1, 0, 0), parent_pose=pose(z=2)),
            joint("turn", "continuous", "world", "mast", (0, 0, 1), child_pose=pose(z=1)),
            joint("screws", "fixed", "boom", "camera", (1, 0, 0), parent_pose=pose(y=0.5)),
        ),
        links=(
            Link("lens", attached_to="camera", pose=pose(x=0.1)),
            Link("camera"),
            Link("boom"),
            Link("mast"),
        ),
        frames=(
            Frame("focus", "frame", "eye", pose(x=1)),
            Frame("eye", "frame", "lens", pose(z=0.2)),
            Frame("rail", "frame", "slide", pose()),
        ),
        canonical_link="mast",
        base_pose=pose(x=10),
    )
    return replace(model, **changes)


def test_places_follow_from_the_joints_whatever_their_order_in_the_model() -> None:
    poses = arm().forward_kinematics([3.0, np.pi / 2])
    assert set(poses) == {
        "slide", "turn", "screws", "lens", "camera", "boom", "mast", "focus", "eye", "rail",
    }  # fmt: skip
    np.testing.assert_allclose(poses["mast"][:3, 3], [10, 0, 1], atol=1e-12)
    np.testing.assert_allclose(poses["boom"][:3, 3], [10, 3, 3], atol=1e-12)
    np.testing.assert_allclose(poses["camera"][:3, 3], [9.5, 3, 3], atol=1e-12)
    np.testing.assert_allclose(poses["focus"][:3, 3], [9.5, 4.1, 3.2], atol=1e-12)
    np.testing.assert_allclose(poses["focus"][:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)
    np.testing.assert_array_equal(poses["rail"], poses["slide"])


def test_frames_that_no_joint_moves_come_for_every_posture_too() -> None:
    still = RobotModel("box", "test", "1", (), (Link("box", pose=pose(z=1)),), (), "box")
    assert still.forward_kinematics(np.empty((3, 0)))["box"].shape == (3, 4, 4)
    np.testing.assert_array_equal(still.forward_kinematics([])["box"], pose(z=1))


def test_revolute_joint_turns_right_handed_about_any_axis() -> None:
    axis = np.array([1, 2, -2]) / 3
    model = arm(
        joints=(joint("turn", "revolute", "world", "mast", tuple(axis)),), links=(Link("mast"),), frames=()
    )
    turned = model.forward_kinematics([1.3])["mast"][:3, :3]
    np.testing.assert_allclose(turned @ turned.T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(turned @ axis, axis)
    assert np.trace(turned) == pytest.approx(1 + 2 * np.cos(1.3))
    across = np.cross(axis, [0, 0, 1])
    assert np.cross(across, turned @ across) @ axis > 0


def test_link_wins_where_a_joint_shares_its_name() -> None:
    model = arm(
        joints=(joint("motor", "prismatic", "motor", "rod", (1, 0, 0)),),
        links=(Link("motor"), Link("rod")),
        frames=(),
    )
    np.testing.assert_array_equal(model.forward_kinematics([1.0])["motor"], pose(x=10))
    np.testing.assert_array_equal(model.forward_kinematics([1.0])["rod"], pose(x=11))


def test_a_changed_copy_does_not_move_as_the_original_did() -> None:
    model = arm()
    np.testing.assert_allclose(model.forward_kinematics([0, 0])["mast"][:3, 3], [10, 0, 1], atol=1e-12)
    moved = replace(model, base_pose=pose(x=20))
    np.testing.assert_allclose(moved.forward_kinematics([0, 0])["mast"][:3, 3], [20, 0, 1], atol=1e-12)


GIVE = "it has 2 degrees of freedom; give an array of shape (2,) or (n, 2)"


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ([1.0], f"positions of shape (1,); {GIVE}"),
        ([[1.0, 2.0, 3.0]], f"positions of shape (1, 3); {GIVE}"),
        (1.0, f"positions of shape (); {GIVE}"),
        ([[[1.0, 2.0]]], f"positions of shape (1, 1, 2); {GIVE}"),
        ([1.0, np.nan], "position [1] is nan; positions are finite; check the motion"),
        ([[1.0, 0.0], [-np.inf, 0.0]], "position [1, 0] is -inf; positions are finite; check the motion"),
    ],
)
def test_wrong_positions_are_refused(q: Any, message: str) -> None:
    with pytest.raises(ValueError, match="crane") as refused:
        arm().forward_kinematics(q)
    assert str(refused.value) == f"crane: {message}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"frames": (Frame("focus", "frame", "nowhere", pose()),)},
            "crane: 'frame focus' hangs on 'nowhere'; there is no such place",
        ),
        (
            {"links": (Link("a", attached_to="b"), Link("b", attached_to="a")), "joints": (), "frames": ()},
            "crane: links hang on each other in a loop: a -> b -> a",
        ),
    ],
)
def test_robot_without_kinematics_is_refused(changes: dict[str, Any], message: str) -> None:
    model = arm(**changes)
    with pytest.raises(ValueError, match="crane") as refused:
        model.forward_kinematics(np.zeros(model.dof))
    assert str(refused.value) == message


def test_joint_that_closes_a_loop_moves_but_carries_nothing() -> None:
    rod = joint("rod", "prismatic", "world", "boom", (0, 0, 1), closes_loop=True)
    model = arm(joints=(rod, *arm().joints))
    poses = model.forward_kinematics([5.0, 3.0, 0.0])
    np.testing.assert_allclose(poses["rod"][:3, 3], [10, 0, 5], atol=1e-12)
    np.testing.assert_allclose(poses["boom"][:3, 3], [13, 0, 3], atol=1e-12)


@table("kind, units")
def test_each_coordinate_is_in_rad_or_in_m(kind: JointType, units: str) -> None:
    moving = joint("j", kind, "world", "mast", (0, 0, 1))
    assert [moving.unit(number) for number in range(len(units.split()))] == units.split()
