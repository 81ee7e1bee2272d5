"""A robot with a joint of each type, and what the daemon tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.daemon.http.routes.models import looks_of
from motiond.formats import Coordinate, Frame, Joint, Link, Mimic, RobotModel

if TYPE_CHECKING:
    from motiond.formats import JointType
    from motiond.formats.arrays import Floats

COORDINATES: dict[JointType, tuple[int, int]] = {
    "fixed": (0, 0),
    "revolute": (1, 1),
    "continuous": (1, 1),
    "prismatic": (1, 1),
    "screw": (1, 1),
    "universal": (2, 2),
    "revolute2": (2, 2),
    "gearbox": (2, 2),
    "euler": (3, 3),
    "ball": (3, 3),
    "translational": (3, 3),
    "planar": (3, 3),
    "free": (6, 3),
}
"""By type: how many coordinates and how many axes."""


def turned_anyhow(random: np.random.Generator) -> Floats:
    pose = np.eye(4)
    turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
    pose[:3, :3] = turn * np.sign(np.linalg.det(turn))
    pose[:3, 3] = random.uniform(-0.3, 0.3, 3)
    return pose


def chain_of_all_types() -> RobotModel:
    """Return a robot with a joint of each type, a loop, a mimic and one that is not told."""
    random = np.random.default_rng(7)
    joints, links = [], [Link("root", pose=turned_anyhow(random))]
    for kind, (count, axes) in COORDINATES.items():
        unit = np.linalg.qr(random.normal(size=(3, 3)))[0][:axes]
        coordinates = tuple(Coordinate(f"{kind}{number}") for number in range(count))
        poses: dict[str, Any] = {"parent_pose": turned_anyhow(random), "child_pose": turned_anyhow(random)}
        gear: dict[str, Any] = (
            {"gear_ratio": -2.5} if kind == "revolute" else {"pitch_m": 0.01} if kind == "screw" else {}
        )
        parent, child = links[-1].name, f"after {kind}"
        joints.append(Joint(f"J {kind}", kind, parent, child, unit, coordinates, **poses, **gear))
        links.append(Link(child))
    links.append(Link("welded", attached_to="after euler", pose=turned_anyhow(random)))
    axis = np.array([[0.0, 0.0, 1.0]])
    closing = Joint("loop", "revolute", "root", "after ball", axis, (Coordinate("loop"),), closes_loop=True)
    following = Joint(
        "follower",
        "revolute",
        "welded",
        "led",
        axis,
        (Coordinate("follower"),),
        Mimic("J revolute", -0.5, 0.1),
    )
    untold = Joint("untold", "revolute", "welded", "door", axis, (Coordinate("untold", initial=0.3),))
    frames = (
        Frame("tool", "end_effector", "after free", turned_anyhow(random)),
        Frame("on tool", "frame", "tool", turned_anyhow(random)),
        Frame("on joint", "frame", "J screw", turned_anyhow(random)),
        Frame("room", "frame", "", turned_anyhow(random)),
    )
    return RobotModel(
        "chain", "sdf", "1", (*joints, closing, following, untold), (*links, Link("led"), Link("door")),
        frames, "root", base_pose=turned_anyhow(random),
    )  # fmt: skip


def payload_of(model: RobotModel, names: list[str]) -> dict[str, Any]:
    """Return what the daemon tells of a robot, as if telemetry held these coordinates."""
    payload = looks_of(model, ()).payload
    for joint in payload["joints"]:
        for one in joint["coordinates"]:
            one["column"] = names.index(one["name"]) if one["name"] in names else None
    return payload
