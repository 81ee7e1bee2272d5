"""How the coordinates of each joint type move its child, compared with poses worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.formats import Coordinate, Frame, Joint, JointType, Link, RobotModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from motiond.formats.arrays import Floats

QUARTER = np.pi / 2
X, Y, Z = np.eye(3)


def robot(kind: JointType, axes: ArrayLike, count: int, **more: Any) -> RobotModel:
    coordinates = tuple(Coordinate(f"q{number}") for number in range(count))
    joint = Joint("joint", kind, "world", "body", np.array(axes, float), coordinates)
    joint = replace(joint, **more)
    return RobotModel("robot", "test", "1", (joint,), (Link("body"),), (), "body")


def pose(columns: ArrayLike, position: ArrayLike) -> Floats:
    """Return the pose whose axes are the columns."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = np.transpose(columns), position
    return matrix


HERE = (0, 0, 0)
CASES: list[tuple[RobotModel, ArrayLike, Floats]] = [
    # Each turn takes the axes after it along: X first, then the new Y, which points along Z.
    (robot("euler", (X, Y, Z), 3), (QUARTER, QUARTER, 0), pose((Y, Z, X), HERE)),
    (robot("euler", (Z, Y, X), 3), (QUARTER, QUARTER, 0), pose((-Z, -X, Y), HERE)),
    (robot("universal", (X, Y), 2), (QUARTER, QUARTER), pose((Y, Z, X), HERE)),
    # A third of a turn about the diagonal takes each axis to the next.
    (robot("ball", (X, Y, Z), 3), np.full(3, 2 * np.pi / 3 / np.sqrt(3)), pose((Y, Z, X), HERE)),
    (robot("ball", (X, Y, Z), 3), (0, 0, QUARTER), pose((Y, -X, Z), HERE)),
    (robot("ball", (X, Y, Z), 3), (0, 0, 0), np.eye(4)),
    # A free joint turns first and is then placed, so that its position is not turned.
    (robot("free", (X, Y, Z, X, Y, Z), 6), (0, 0, QUARTER, 1, 2, 3), pose((Y, -X, Z), (1, 2, 3))),
    (robot("translational", (X, Y, Z), 3), (1, 2, 3), pose((X, Y, Z), (1, 2, 3))),
    (robot("planar", (Z, X, Y), 3), (1, 2, QUARTER), pose((-Z, Y, X), (2, 0, 1))),
    (robot("screw", (Z,), 1, pitch_m=0.4), (QUARTER,), pose((Y, -X, Z), (0, 0, 0.1))),
    (robot("screw", (Z,), 1, pitch_m=0.4, gear_ratio=0.5), (QUARTER / 2,), pose((Y, -X, Z), (0, 0, 0.1))),
    # A gearbox turns its parent and its child in a common body.
    (robot("gearbox", (Z, X), 2), (QUARTER, 0), pose((-Y, X, Z), HERE)),
    (robot("gearbox", (Z, X), 2), (0, QUARTER), pose((X, Z, -Y), HERE)),
]


@pytest.mark.parametrize(("model", "q", "expected"), CASES)
def test_coordinates_move_the_child_as_worked_out_by_hand(
    model: RobotModel, q: ArrayLike, expected: Floats
) -> None:
    np.testing.assert_allclose(model.forward_kinematics(q)["body"], expected, atol=1e-12)


@pytest.mark.parametrize("model", [model for model, _, _ in CASES])
def test_many_postures_give_what_each_gives_alone(model: RobotModel) -> None:
    postures = np.random.default_rng(5).normal(size=(4, model.dof))
    together = model.forward_kinematics(postures)["body"]
    alone = [model.forward_kinematics(posture)["body"] for posture in postures]
    np.testing.assert_allclose(together, alone, atol=1e-14)


def test_a_ball_joint_turns_by_tiny_and_by_whole_turns_alike() -> None:
    ball = robot("ball", (X, Y, Z), 3)
    tiny, turned = ball.forward_kinematics([[0, 0, 1e-12], [0, 0, 2 * np.pi]])["body"]
    np.testing.assert_allclose(tiny[1, 0], 1e-12, rtol=1e-12)
    np.testing.assert_allclose(turned, np.eye(4), atol=1e-12)


def chain(*joints: Joint) -> RobotModel:
    """Return a robot of joints that carry each other, with a frame `tip` at the last one's link."""
    links = tuple(Link(joint.child) for joint in joints)
    tip = Frame("tip", "end_effector", joints[-1].child, pose((X, Y, Z), (0.5, 0, 0)))
    return RobotModel("chain", "test", "1", joints, links, (tip,), "")


def joint(number: int, kind: JointType, axis: ArrayLike, place: Floats, **more: Any) -> Joint:
    parent = f"link{number - 1}" if number else "world"
    coordinates = (Coordinate(f"joint{number}"),)
    axes = np.array([axis], float)
    return Joint(
        f"joint{number}", kind, parent, f"link{number}", axes, coordinates, parent_pose=place, **more
    )


def test_the_jacobian_of_two_links_in_a_plane_is_as_derived_by_hand() -> None:
    two = chain(
        joint(0, "revolute", Z, pose((X, Y, Z), HERE)), joint(1, "revolute", Z, pose((X, Y, Z), (0.8, 0, 0)))
    )
    first, second = 0.3, 1.1
    there, jacobian = two.jacobian([first, second], "tip", ("joint0", "joint1"))
    both = first + second
    x, y = 0.8 * np.cos(first) + 0.5 * np.cos(both), 0.8 * np.sin(first) + 0.5 * np.sin(both)
    by_hand = [[-y, -0.5 * np.sin(both)], [x, 0.5 * np.cos(both)], [0, 0], [0, 0], [0, 0], [1, 1]]
    np.testing.assert_allclose(jacobian, by_hand, atol=1e-14)
    np.testing.assert_allclose(there[:3, 3], (x, y, 0), atol=1e-14)


@pytest.mark.parametrize("seed", range(8))
def test_the_jacobian_is_how_the_pose_changes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds: list[JointType] = ["revolute", "prismatic", "screw", "continuous", "prismatic", "revolute"]
    ball = robot("ball", (X, Y, Z), 3)

    def anywhere() -> Floats:
        return ball.forward_kinematics(rng.normal(size=3))["body"] + np.eye(4, k=3) * rng.normal()

    joints = []
    for number, kind in enumerate(kinds):
        axis = rng.normal(size=3)
        options = {"child_pose": anywhere(), "gear_ratio": rng.uniform(0.5, 2), "pitch_m": rng.normal()}
        joints.append(joint(number, kind, axis / np.linalg.norm(axis), anywhere(), **options))
    model = replace(chain(*joints), base_pose=anywhere())
    names = [one.name for one in reversed(joints)]
    q, step = rng.normal(size=len(joints)), 1e-6
    there, jacobian = model.jacobian(q, "tip", names)
    np.testing.assert_allclose(there, model.forward_kinematics(q)["tip"], atol=1e-12)
    for column, change in enumerate(np.eye(len(joints))[::-1] * step):
        after, before = (model.forward_kinematics(q + way * change)["tip"] for way in (1, -1))
        turning = (after - before)[:3, :3] / (2 * step) @ there[:3, :3].T
        expected = [*(after - before)[:3, 3] / (2 * step), turning[2, 1], turning[0, 2], turning[1, 0]]
        np.testing.assert_allclose(jacobian[:, column], expected, atol=1e-7)


def test_joints_that_do_not_carry_a_place_do_not_move_it() -> None:
    two = chain(joint(0, "revolute", Z, np.eye(4)), joint(1, "prismatic", X, np.eye(4)))
    _, jacobian = two.jacobian([0, 0.2], "link0", ("joint0", "joint1"))
    np.testing.assert_array_equal(jacobian, np.outer((0, 0, 0, 0, 0, 1), (1, 0)))


def test_a_jacobian_that_cannot_be_is_refused() -> None:
    ball = robot("ball", (X, Y, Z), 3)
    with pytest.raises(ValueError, match="3 coordinates") as several:
        ball.jacobian([0, 0, 0], "body", ("joint",))
    with pytest.raises(ValueError, match="no frame") as unknown:
        ball.jacobian([0, 0, 0], "bodi", ("joint",))
    with pytest.raises(ValueError, match="posture") as many:
        ball.jacobian(np.zeros((1, 3)), "body", ())
    assert [str(refused.value) for refused in (several, unknown, many)] == [
        "robot: joint 'joint' (ball) has 3 coordinates; a column of a Jacobian is of one",
        "robot: there is no frame 'bodi'; it has joint, body; did you mean 'body'?",
        "robot: a Jacobian is of one posture; 2 dimensions of positions; give an array of shape (3,)",
    ]
