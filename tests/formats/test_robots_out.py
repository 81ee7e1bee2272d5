"""Robots as URDF, SDFormat and MJCF: what is read back stands and moves as the robot did."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.formats import (
    Coordinate,
    Frame,
    Joint,
    JointType,
    Link,
    RobotModel,
    dump_robot,
)
from tests.formats.robots_out import places_of, positions, seen_by_motiond, seen_by_mujoco, seen_by_yourdfpy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from motiond.formats.arrays import Floats
    from tests.formats.robots_out import Places, Values

ROOT = Path(__file__).parents[2]
GOOD = ROOT / "tests" / "files" / "good"
READERS: dict[str, Callable[[Path, Values], Places]] = {
    "urdf": seen_by_yourdfpy,
    "sdf": seen_by_motiond,
    "mjcf": seen_by_mujoco,
}
FORMATS = pytest.mark.parametrize("format_", READERS)

AXES: dict[JointType, list[list[float]]] = {
    "fixed": [],
    "revolute": [[2, -1, 2]],
    "continuous": [[1, 0, 0]],
    "prismatic": [[2, -1, 2]],
    "screw": [[2, -1, 2]],
    "universal": [[1, 0, 0], [1, 2, 2]],
    "revolute2": [[0, 0, 1], [2, 2, -1]],
    "euler": [[0, 0, 1], [0, 1, 0], [1, 0, 0]],
    "translational": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "planar": [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    "ball": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
}


def placed(x: float, y: float, z: float, angles: tuple[float, float, float] = (0, 0, 0)) -> Floats:
    """Return a pose; its roll, pitch and yaw are about fixed axes."""
    pose = np.eye(4)
    for axis, angle in zip((0, 1, 2), angles, strict=True):
        turn = np.eye(3)
        first, second = (axis + 1) % 3, (axis + 2) % 3
        turn[[first, second], [first, second]] = math.cos(angle)
        turn[first, second], turn[second, first] = -math.sin(angle), math.sin(angle)
        pose[:3, :3] = turn @ pose[:3, :3]
    pose[:3, 3] = x, y, z
    return pose


def joint_of(type_: JointType, name: str = "hip", **changes: Any) -> Joint:
    """Return a joint, at odd places, of a base and an arm."""
    axes = np.array([np.array(axis) / np.linalg.norm(axis) for axis in AXES[type_]]).reshape(-1, 3)
    names = [name] if len(axes) == 1 else [f"{name}_{letter}" for letter in "xyz"[: len(axes)]]
    if type_ in {"universal", "revolute2"}:
        names = [f"{name}_1", f"{name}_2"]
    joint = Joint(
        name,
        type_,
        "base",
        "arm",
        axes,
        tuple(map(Coordinate, names)),
        parent_pose=placed(0.1, -0.2, 0.3, (0.4, -0.5, 0.6)),
        child_pose=placed(-0.3, 0.1, 0.2, (1.4, 0.2, -2.0)),
        pitch_m=0.07 if type_ == "screw" else 0.0,
    )
    return replace(joint, **changes)


def robot_of(*joints: Joint, **changes: Any) -> RobotModel:
    """Return a base, an arm with a hand that is part of it, and a frame on the hand."""
    inertia = np.array([[0.02, 0.001, 0.002], [0.001, 0.03, 0.003], [0.002, 0.003, 0.04]])
    heavy = Link("base", 2.5, placed(0.01, 0.02, 0.03, (0.1, 0.2, 0.3)), inertia)
    links = (
        replace(heavy, pose=placed(0.5, 0, 0, (0, 0, 0.5))),
        replace(heavy, name="arm"),
        Link("hand", 0.5, attached_to="arm", pose=placed(0, 0, 0.4, (0, math.pi / 2, 0.3))),
    )
    frames = (Frame("tip", "end_effector", "hand", placed(0, 0.1, 0)),)
    model = RobotModel("crane", "test", "1", joints, links, frames, "base", placed(1, 2, 3, (0.3, 0.2, 0.1)))
    return replace(model, **changes)


def drawn(model: RobotModel, seed: int = 1) -> Values:
    """Return values of a robot's coordinates, by the names that its joints have when they are written."""
    random = np.random.default_rng(seed)
    values: Values = {}
    for joint in model.joints:
        for one in joint.coordinates:
            name = joint.name if len(joint.coordinates) == 1 else one.name
            values[name] = 0.0 if joint.type == "free" else random.uniform(-1.5, 1.5)
    followed = positions(model, values)
    names = [one.name for joint in model.joints for one in joint.coordinates]
    by_coordinate = dict(zip(names, followed, strict=True))
    singles = {joint.name: joint.coordinates[0].name for joint in model.joints if len(joint.coordinates) == 1}
    return {name: by_coordinate[singles.get(name, name)] for name in values}


def check(
    model: RobotModel, format_: str, folder: Path, names: Mapping[str, str] | None = None, **options: Any
) -> Path:
    """Write a robot, read it back, and compare where its links are, by the names that the file has."""
    path = folder / f"robot.{format_}"
    dump_robot(model, path, **options)
    values = drawn(model)
    before, after = places_of(model, values), READERS[format_](path, values)
    for link in model.links:
        name = (names or {}).get(link.name, link.name)
        np.testing.assert_allclose(after[name], before[link.name], rtol=0, atol=1e-9, err_msg=link.name)
    return path


@FORMATS
@pytest.mark.parametrize("type_", [one for one in AXES if one != "ball"])
def test_every_joint_moves_in_every_format_as_in_the_robot(
    type_: JointType, format_: str, tmp_path: Path
) -> None:
    check(robot_of(joint_of(type_)), format_, tmp_path)


@pytest.mark.parametrize("format_", ["sdf", "mjcf"])
def test_a_ball_turns_where_a_format_has_balls(format_: str, tmp_path: Path) -> None:
    """Where it is turned to the joint, MuJoCo's quaternion is in the link's frame, and so are others."""
    check(robot_of(joint_of("ball", child_pose=placed(-0.3, 0.1, 0.2))), format_, tmp_path)


@FORMATS
@pytest.mark.parametrize("ratio", [-1.0, 2.5, -0.3])
@pytest.mark.parametrize("type_", ["revolute", "prismatic", "screw", "universal"])
def test_a_gear_moves_its_joint_by_the_same_coordinate(
    type_: JointType, ratio: float, format_: str, tmp_path: Path
) -> None:
    check(robot_of(joint_of(type_, gear_ratio=ratio)), format_, tmp_path)
