"""The browser puts every link, joint and frame where the daemon does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.http.model_api import looks_of
from motiond.formats import Coordinate, Frame, Joint, Link, Mimic, RobotModel
from tests.daemon.programs import running
from tests.page.browser import ArmRig, browsing

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


def chain_of_all_types(random: np.random.Generator) -> RobotModel:
    """Return a robot with a joint of each type, one behind the other, a loop and a mimic."""
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
    frames = (
        Frame("tool", "end_effector", "after free", turned_anyhow(random)),
        Frame("on tool", "frame", "tool", turned_anyhow(random)),
        Frame("on joint", "frame", "J screw", turned_anyhow(random)),
        Frame("room", "frame", "", turned_anyhow(random)),
    )
    return RobotModel(
        "chain", "sdf", "1", (*joints, closing, following), (*links, Link("led")), frames, "root",
        base_pose=turned_anyhow(random),
    )  # fmt: skip


def payload_of(model: RobotModel, names: list[str]) -> dict[str, Any]:
    """Return what the daemon tells of a robot, as if telemetry held these coordinates."""
    payload = looks_of(model, ()).payload
    for joint in payload["joints"]:
        for one in joint["coordinates"]:
            one["column"] = names.index(one["name"]) if one["name"] in names else None
    return payload


async def test_every_type_of_joint_moves_as_in_the_daemon(rig: ArmRig) -> None:
    random = np.random.default_rng(7)
    model = chain_of_all_types(random)
    posture = random.uniform(-2.0, 2.0, model.dof)
    names = [coordinate.name for joint in model.joints for coordinate in joint.coordinates]
    posture[names.index("follower")] = -0.5 * posture[names.index("revolute0")] + 0.1
    expected = model.forward_kinematics(posture)
    seen = await placed_by_the_browser(rig, payload_of(model, names[:-1]), posture[:-1], list(expected))
    for name, pose in expected.items():
        assert seen[name] == pytest.approx(pose.ravel(), abs=1e-9), name


async def test_joints_that_telemetry_does_not_tell_stay_where_the_file_has_them(rig: ArmRig) -> None:
    axis = np.array([[0.0, 0.0, 1.0]])
    joint = Joint("hinge", "revolute", "root", "door", axis, (Coordinate("hinge", initial=0.3),))
    model = RobotModel("door", "sdf", "1", (joint,), (Link("root"), Link("door")), (), "root")
    seen = await placed_by_the_browser(rig, payload_of(model, []), np.zeros(0), ["door"])
    assert seen["door"] == pytest.approx(model.forward_kinematics([0.3])["door"].ravel())


async def placed_by_the_browser(
    rig: ArmRig, payload: dict[str, Any], posture: Floats, names: list[str]
) -> dict[str, list[float]]:
    """Let the page's own kinematics place a robot."""
    async with running(rig):
        await rig.until_listening()
        async with browsing(rig, model=payload, in_3d=True) as browsed:
            await browsed.until_drawn()
            places: dict[str, list[float]] = await browsed.page.evaluate(
                """([posture, names]) => {
                    const { kinematics } = document.querySelector("canvas").view;
                    kinematics.move(posture);
                    return Object.fromEntries(names.map(name => [name, [...kinematics.place(name)]]));
                }""",
                [posture.tolist(), names],
            )
            assert browsed.errors == []
            return places
