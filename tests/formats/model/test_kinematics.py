"""How the coordinates of each joint type move its child, compared with poses worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.formats import Coordinate, Joint, JointType, Link, RobotModel

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
