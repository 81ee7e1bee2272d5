"""Where links are, held against yourdfpy on robots that chance has made."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import yourdfpy

from motiond.formats import RobotModel, urdf
from motiond.formats.io.source import Source

LINKS = 25
MOVED = ("revolute", "continuous", "prismatic")
# yourdfpy keeps what the latter two carry where it is at zero. They come last, as it would count their
# coordinates where it looks for the joint that another one follows.
TYPES = (*MOVED, "fixed") * 5 + ("floating", "planar") * 2
UNMOVED = ("free", "planar")


def random_robot(rng: np.random.Generator) -> str:
    """Return a tree of links on joints of every type, of which some follow one that leads."""
    links = "".join(f'<link name="l{number}"/>' for number in range(LINKS))
    leaders: list[str] = []
    joints = ""
    for number in range(1, LINKS):
        type_, name = TYPES[number - 1], f"j{number}"
        x, y, z, *angles = rng.uniform(-3, 3, 6)
        axis = rng.normal(size=3)
        # yourdfpy moves along an axis of another length as much farther.
        axis /= np.linalg.norm(axis) / (1.0 if type_ == "prismatic" else rng.uniform(0.5, 2))
        follows = ""
        if type_ in MOVED and leaders and number % 2:
            follows = f'<mimic joint="{leaders[-1]}" multiplier="{rng.uniform(-2, 2)}" offset="0.25"/>'
        elif type_ in MOVED:
            leaders.append(name)
        joints += f"""<joint name="{name}" type="{type_}">
            <parent link="l{rng.integers(number)}"/><child link="l{number}"/>
            <origin xyz="{x} {y} {z}" rpy="{" ".join(map(str, angles))}"/>
            <axis xyz="{" ".join(map(str, axis))}"/>
            <limit lower="-3" upper="3" velocity="1" effort="1"/>{follows}</joint>"""
    return f'<robot name="r">{links}{joints}</robot>'


def posture(model: RobotModel, leading: dict[str, float]) -> list[float]:
    """Return a coordinate each: as given, as it follows, or at zero where yourdfpy has none."""
    found: list[float] = []
    for joint in model.joints:
        if joint.type in UNMOVED:
            found += [0.0] * len(joint.coordinates)
        elif joint.mimic:
            found.append(joint.mimic.multiplier * leading[joint.mimic.of] + joint.mimic.offset)
        elif joint.coordinates:
            found.append(leading[joint.name])
    return found


@pytest.mark.parametrize("seed", range(8))
def test_links_are_where_yourdfpy_has_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text = random_robot(rng)
    (model,) = urdf.load(text.encode(), Source(Path("r.urdf")))
    other = yourdfpy.URDF.load(io.BytesIO(text.encode()), build_scene_graph=True, load_meshes=False)
    assert {joint.type for joint in model.joints} >= {"revolute", "prismatic", "fixed", *UNMOVED}
    assert any(joint.mimic for joint in model.joints)
    for _ in range(3):
        leading = {
            name: float(value) for name in other.actuated_joint_names for value in rng.uniform(-3, 3, 1)
        }
        other.update_cfg(leading)
        places = model.forward_kinematics(posture(model, leading))
        for link in model.links:
            expected = other.get_transform(link.name, "l0", collision_geometry=False)
            np.testing.assert_allclose(places[link.name], expected, atol=1e-9)
