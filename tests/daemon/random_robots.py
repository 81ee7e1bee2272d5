"""Robots that nobody has built: trees of joints that turn and slide, some of which follow others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from motiond.formats import Coordinate, Frame, Joint, JointType, Link, Mimic, RobotModel

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

KINDS: tuple[JointType, ...] = ("revolute", "continuous", "revolute", "prismatic")


def random_pose(rng: np.random.Generator) -> Floats:
    pose = np.eye(4)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    pose[:3, :3] = turn * np.linalg.det(turn)
    pose[:3, 3] = rng.uniform(-0.3, 0.3, 3)
    return pose


def random_inertia(rng: np.random.Generator, mass: float) -> Floats:
    """Return the inertia (3, 3) of some points of a body."""
    points = rng.uniform(-0.2, 0.2, (6, 3))
    squares = mass / 6 * points.T @ points
    inertia: Floats = np.trace(squares) * np.eye(3) - squares
    return inertia


def random_robot(seed: int, count: int = 8, *, rubs: bool = False) -> RobotModel:
    """Return a robot of so many joints; about every fourth follows another, and all rub where it `rubs`."""
    rng = np.random.default_rng(seed)
    links, joints = [Link("link0", 1.0)], list[Joint]()
    for number in range(count):
        kind = KINDS[rng.integers(len(KINDS))]
        axis = rng.normal(size=3)
        coordinate = Coordinate(
            f"joint{number}",
            effort_limit=1e4,
            damping=rng.uniform(0, 2) if rubs else 0.0,
            friction=rng.uniform(0, 2) if rubs else 0.0,
        )
        free = [joint.name for joint in joints if joint.mimic is None]
        follows = free and rng.random() < 0.25
        joints.append(
            Joint(
                f"joint{number}",
                kind,
                f"link{rng.integers(max(0, number - 2), number + 1)}",
                f"link{number + 1}",
                np.array([axis / np.linalg.norm(axis)]),
                (coordinate,),
                mimic=Mimic(rng.choice(free), rng.uniform(-2, 2), rng.normal()) if follows else None,
                parent_pose=random_pose(rng),
                child_pose=random_pose(rng),
            )
        )
        mass = rng.uniform(0.1, 2.0)
        inertia = random_inertia(rng, mass)
        links.append(Link(f"link{number + 1}", mass, com=random_pose(rng), inertia=inertia))
    tool = Frame("tool", "frame", f"link{count}", random_pose(rng))
    base = random_pose(rng)
    return RobotModel(f"random{seed}", "test", "1", tuple(joints), tuple(links), (tool,), "link0", base)
