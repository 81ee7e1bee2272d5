"""What stands around a robot in MuJoCo: where its files and settings say."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import pytest

from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.physics import PhysicalRobot, PhysicsError, make_world
from motiond.formats import Mesh, Shape, load_robot
from tests.daemon.random_robots import random_pose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.daemon.physics import World
    from motiond.formats.arrays import Floats

ARM = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"


def world_with(**surroundings: Any) -> World:
    model = load_robot(ARM)
    return make_world(model, build_joint_map("arm", model, {}), **surroundings)


def tetrahedron(path: Path) -> Path:
    """Write a tetrahedron with its corner at the origin and edges of 0.1, 0.2 and 0.3 m."""
    corners = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.2, 0], [0, 0, 0.3]])
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *corners[list(face)].ravel(), 0) for face in faces)
    path.write_bytes(bytes(80) + struct.pack("<I", len(faces)) + rows)
    return path


def refusal(**surroundings: Any) -> str:
    with pytest.raises(PhysicsError) as caught:
        world_with(**surroundings)
    return str(caught.value)


def places(world: World, names: Sequence[str]) -> dict[str, Floats]:
    robot = PhysicalRobot(world)
    robot.place(np.zeros(6))
    found = {}
    for name in names:
        pose = found[name] = np.eye(4)
        geom = robot.data.geom(name)
        pose[:3, :3], pose[:3, 3] = geom.xmat.reshape(3, 3), geom.xpos
    return found


def test_the_floor_is_an_endless_plane_at_the_height_of_the_description() -> None:
    world = world_with(floor=True)
    robot = PhysicalRobot(world)
    (floor,) = world.surroundings
    assert (floor.kind, floor.name, floor.shape.kind) == ("floor", "floor", "plane")
    geom = robot.model.geom("floor")
    assert geom.type[0] == mujoco.mjtGeom.mjGEOM_PLANE
    assert robot.model.body(geom.bodyid[0]).name == "floor"
    np.testing.assert_array_equal(robot.model.body("floor").pos, [0, 0, 0])


def test_a_workspace_has_its_shapes_by_their_names(tmp_path: Path) -> None:
    mesh = Mesh(tetrahedron(tmp_path / "corner.stl"), "stl")
    rng = np.random.default_rng(1)
    shapes = [
        ("table", Shape("box", (1.0, 2.0, 0.1), random_pose(rng))),
        ("wall", Shape("plane", pose=random_pose(rng))),
        ("corner", Shape("mesh", pose=random_pose(rng), mesh=mesh)),
    ]
    world = world_with(workspace=shapes)
    assert [(one.kind, one.name) for one in world.surroundings] == [
        ("workspace", "table"), ("workspace", "wall"), ("workspace", "corner"),
    ]  # fmt: skip
    found = places(world, ["table", "wall"])
    np.testing.assert_allclose(found["table"], shapes[0][1].pose, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["wall"], shapes[1][1].pose, rtol=0, atol=1e-12)
    model = PhysicalRobot(world).model
    assert all(model.geom(name).bodyid[0] == 0 and model.geom(name).contype[0] for name, _ in shapes)


SCENE = """<mujoco model="cell">
  <compiler angle="degree" meshdir="meshes"/>
  <option timestep="0.01" gravity="0 0 -1.62" integrator="RK4"/>
  <asset><mesh name="corner" file="corner.stl" scale="2 2 2"/></asset>
  <worldbody>
    <geom name="table" type="box" size="0.4 0.3 0.02" pos="0.7 0 -0.02" euler="0 0 30" rgba="1 0.5 0 1"/>
    <geom name="sign" type="box" size="1 1 1" contype="0" conaffinity="0"/>
    <body name="shelf" pos="1 0 0" euler="0 90 0">
      <geom name="corner" type="mesh" mesh="corner" pos="0.1 0.2 0.3" euler="20 0 0"/>
    </body>
    <body name="cup" pos="0.5 0 0.3"><freejoint/><geom type="cylinder" size="0.04 0.06"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    (tmp_path / "meshes").mkdir()
    tetrahedron(tmp_path / "meshes" / "corner.stl")
    path = tmp_path / "cell.xml"
    path.write_text(SCENE)
    return path


def test_a_scene_stands_beside_the_robot(cell: Path) -> None:
    world = world_with(scene=cell)
    robot = PhysicalRobot(world)
    assert robot.model.geom("scene/table").pos == pytest.approx([0.7, 0, -0.02])
    assert robot.model.body("scene/cup").pos == pytest.approx([0.5, 0, 0.3])
    assert robot.model.opt.gravity == pytest.approx([0, 0, -9.80665])
    robot.place(np.full(6, 0.3))
    alone = PhysicalRobot(world_with())
    alone.place(np.full(6, 0.3))
    np.testing.assert_array_equal(robot.data.body("tool").xpos, alone.data.body("tool").xpos)


def test_the_shapes_of_a_scene_are_known_where_they_stand(cell: Path) -> None:
    table, corner, cup = world_with(scene=cell).surroundings
    assert (table.name, corner.name, cup.name) == ("scene/table", "scene/corner", "scene/cup")
    assert table.shape.size == pytest.approx((0.8, 0.6, 0.04))
    assert table.shape.colour == pytest.approx((1, 0.5, 0, 1))
    assert [one.shape.kind for one in (table, corner, cup)] == ["box", "mesh", "cylinder"]
    assert cup.shape.size == pytest.approx((0.04, 0.12))
    assert corner.shape.mesh == Mesh(cell.parent / "meshes" / "corner.stl", "stl")
    assert corner.shape.scale == pytest.approx((2, 2, 2))
    alone = mujoco.MjModel.from_xml_path(str(cell))
    data = mujoco.MjData(alone)
    mujoco.mj_kinematics(alone, data)
    shelf = np.eye(4)
    shelf[:3, :3], shelf[:3, 3] = data.body("shelf").xmat.reshape(3, 3), data.body("shelf").xpos
    np.testing.assert_allclose(corner.shape.pose[:3, 3], (shelf @ [0.1, 0.2, 0.3, 1])[:3], rtol=0, atol=1e-6)


def test_a_description_is_a_scene_as_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "cell.urdf"
    path.write_text(
        """<robot name="desk"><link name="world"/><link name="top"><collision><origin xyz="0 0 0.5"/>
        <geometry><box size="1 2 0.1"/></geometry></collision><collision><geometry><sphere radius="0.1"/>
        </geometry></collision></link><joint name="fix" type="fixed"><parent link="world"/><child link="top"/>
        <origin xyz="1 0 0"/></joint></robot>"""
    )
    world = world_with(scene=path)
    assert [one.name for one in world.surroundings] == ["scene/desk/top", "scene/desk/top/2"]
    found = places(world, ["scene/desk/top", "scene/desk/top/2"])
    np.testing.assert_allclose(found["scene/desk/top"][:3, 3], [1, 0, 0.5])
    np.testing.assert_allclose(found["scene/desk/top/2"][:3, 3], [1, 0, 0])


def test_a_scene_that_is_not_there_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "cell.xml"
    assert refusal(scene=missing) == f"arm: scene {missing}: cannot be read; no such file; check the path"


def test_a_scene_that_mujoco_cannot_load_is_refused_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "cell.xml"
    path.write_text("<mujoco>\n<worldbody>\n<geom type='cone' size='1'/></worldbody></mujoco>")
    reason = "XML Error: invalid keyword: 'cone' Element 'geom', line 3"
    assert refusal(scene=path) == f"arm: scene {path}: MuJoCo cannot load it; {reason}; correct the file"


def test_a_scene_of_too_many_shapes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cell.xml"
    geoms = "<replicate count='2001' offset='0 0 1'><geom size='0.1'/></replicate>"
    path.write_text(f"<mujoco><worldbody>{geoms}</worldbody></mujoco>")
    reason = "a scene has at most 2000; leave out what the robot does not reach"
    assert refusal(scene=path) == f"arm: scene {path}: it has 2001 shapes; {reason}"


def test_the_shapes_that_a_scene_repeats_and_includes_are_counted_before_mujoco_makes_them(
    tmp_path: Path,
) -> None:
    path, shelf = tmp_path / "cell.xml", tmp_path / "shelf.xml"
    path.write_text(
        "<mujoco><include file='shelf.xml'/><worldbody><replicate count='1000'><geom size='0.1'/>"
        "<replicate count='100000'><geom size='0.1'/></replicate></replicate></worldbody></mujoco>"
    )
    shelf.write_text("<mujoco><worldbody><geom size='0.1'/><geom size='0.2'/></worldbody></mujoco>")
    reason = "a scene has at most 2000; leave out what the robot does not reach"
    assert refusal(scene=path) == f"arm: scene {path}: it has 100001002 shapes; {reason}"


def test_a_scene_that_includes_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cell.xml"
    path.write_text("<mujoco>\n<include file='cell.xml'/></mujoco>")
    reason = "XML Error: File 'cell.xml' already included Element 'include', line 2"
    assert refusal(scene=path) == f"arm: scene {path}: MuJoCo cannot load it; {reason}; correct the file"
