"""Robots whose links come near each other."""

from __future__ import annotations

import struct
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.physics import make_world
from motiond.daemon.physics.clearance import Clearance
from motiond.formats import load_robot
from tests.daemon.physics.humanoid import SKEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.daemon.joints.joint_map import JointMap
    from motiond.formats import RobotModel
    from motiond.formats.arrays import Floats

ARM = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"
URDF = """<robot name="crane">
  <link name="base"><collision><origin xyz="0 0 0.1"/>
    <geometry><box size="0.3 0.2 0.2"/></geometry></collision></link>
  <link name="mast"><collision><origin xyz="0 0 0.3"/>
    <geometry><cylinder radius="0.05" length="0.6"/></geometry></collision></link>
  <link name="jib"><collision><origin xyz="0.2 0 0"/>
    <geometry><mesh filename="wedge.stl"/></geometry></collision></link>
  <link name="trolley"><collision><geometry><sphere radius="0.06"/></geometry></collision></link>
  <link name="hook"><collision><origin xyz="0 0 -0.15" rpy="0.4 0 0"/>
    <geometry><box size="0.05 0.1 0.3"/></geometry></collision></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="mast"/><origin xyz="0 0 0.2"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="nod" type="revolute"><parent link="mast"/><child link="jib"/><origin xyz="0 0 0.6"/>
    <axis xyz="0 1 0"/><limit lower="-1.2" upper="2.4" velocity="1" effort="1"/></joint>
  <joint name="drive" type="prismatic"><parent link="jib"/><child link="trolley"/><origin xyz="0.15 0 -0.15"/>
    <axis xyz="1 0 0"/><limit lower="-0.3" upper="0.3" velocity="1" effort="1"/></joint>
  <joint name="swing" type="revolute"><parent link="trolley"/><child link="hook"/>
    <axis xyz="1 0 0"/><limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
</robot>
"""
WEDGE = np.array([[-0.2, -0.04, 0.0], [-0.2, 0.04, 0.0], [0.3, 0.0, 0.0], [-0.2, 0.0, 0.12]])


def crane(folder: Path) -> RobotModel:
    """Return a robot with a mesh, a slide and a joint without end, from a folder for its files."""
    write_stl(folder / "wedge.stl", WEDGE)
    (folder / "crane.urdf").write_text(URDF)
    return load_robot(folder / "crane.urdf")


def humanoid(folder: Path) -> RobotModel:
    """Return a robot of thirty joints."""
    (folder / "humanoid.skel").write_text(SKEL)
    return load_robot(folder / "humanoid.skel")


def write_stl(path: Path, corners: Floats) -> None:
    """Write the four faces of a tetrahedron."""
    faces = b"".join(
        struct.pack("<12fH", 0, 0, 0, *np.array(corner).ravel(), 0) for corner in combinations(corners, 3)
    )
    path.write_bytes(bytes(80) + struct.pack("<I", 4) + faces)


def clearance_of(model: RobotModel, ignore: Sequence[tuple[str, str]] = ()) -> tuple[Clearance, JointMap]:
    """Return the distances of a robot, and its joints."""
    joint_map = build_joint_map("robot", model, {})
    return Clearance(make_world(model, joint_map), joint_map, ignore), joint_map


def postures(joint_map: JointMap, count: int, seed: int = 0) -> Floats:
    """Return random postures within the limits, shape (count, joints)."""
    limits = joint_map.limits
    lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    return np.random.default_rng(seed).uniform(lower, upper, (count, len(joint_map.joints)))
