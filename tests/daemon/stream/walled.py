"""An arm of two joints beside a wall, whose distances are known in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from motiond.daemon.config.collision import CollisionSettings
from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.physics import make_world
from motiond.daemon.physics.clearance import Clearance
from motiond.daemon.planning.checks import CollisionCheck
from motiond.formats import Shape, load_robot

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.ipc.messages import CollisionSetup
    from motiond.daemon.joints.joint_map import JointMap
    from motiond.daemon.physics import World
    from motiond.formats.arrays import Floats

MARGIN_M = 0.02
LENGTHS, BASE_M, TIP_M, WALL_M = (0.4, 0.3), 0.1, 0.05, 0.5
"""The upper arm and the forearm; radii of the base and the tip; how far away the wall is, along x."""
URDF = f"""<robot name="reacher">
  <link name="base"><collision><geometry><sphere radius="{BASE_M}"/></geometry></collision></link>
  <link name="upper_arm"/>
  <link name="forearm"><collision><origin xyz="{LENGTHS[1]} 0 0"/>
    <geometry><sphere radius="{TIP_M}"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper_arm"/>
    <axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper_arm"/><child link="forearm"/>
    <origin xyz="{LENGTHS[0]} 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
</robot>
"""


def reacher(folder: Path) -> tuple[World, JointMap]:
    """Return the arm with its wall."""
    (folder / "reacher.urdf").write_text(URDF)
    model = load_robot(folder / "reacher.urdf")
    joint_map, pose = build_joint_map("reacher", model, {}), np.eye(4)
    pose[0, 3] = WALL_M + 0.5
    return make_world(model, joint_map, workspace=[("wall", Shape("box", (1.0, 4.0, 1.0), pose))]), joint_map


def distances(positions: Floats) -> Floats:
    """Return how far the tip is from the wall and from the base, shape (…, 2); `positions`: (…, 2)."""
    q = np.cumsum(positions, axis=-1)
    tip = np.stack([np.cos(q) @ LENGTHS, np.sin(q) @ LENGTHS], axis=-1)
    found: Floats = np.stack([WALL_M - tip[..., 0], np.hypot(tip[..., 0], tip[..., 1]) - BASE_M], axis=-1)
    return found - TIP_M


def collision_of(world: World, joint_map: JointMap, margin_m: float = MARGIN_M) -> CollisionSetup:
    """Return what a stream process needs to know of a world."""
    check = CollisionCheck(Clearance(world, joint_map), CollisionSettings(margin_m=margin_m))
    found = check.for_following()
    assert found is not None
    return found
