"""Robots as MuJoCo has them: they stand, weigh and touch as their descriptions say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import pytest
import trimesh

from motiond.daemon.config.robot import JointSettings, PayloadSettings
from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.physics import PhysicalRobot, PhysicsError, make_world
from motiond.formats import Coordinate, Joint, JointType, Link, Mesh, Mimic, RobotModel, Shape, load_robot
from tests.daemon.physics.described import FORMATS
from tests.daemon.random_robots import random_pose, random_robot

if TYPE_CHECKING:
    from motiond.daemon.joints.joint_map import JointMap
    from motiond.formats.arrays import Floats
    from motiond.formats.model.shapes import MeshFormat

ROOT = Path(__file__).parents[3]
ARM = ROOT / "config" / "robots" / "six_axis.hrdf"
GOOD = ROOT / "tests" / "files" / "good"
DESCRIPTIONS = [ARM, GOOD / "walker.hrdf", GOOD / "urdf" / "picker.urdf"]


def whole(model: RobotModel, joint_map: JointMap, positions: Floats) -> Floats:
    """Return the posture of a model whose joints of a joint map are at these positions, the others at 0."""
    at = dict(zip(joint_map.joints, positions.tolist(), strict=True))
    return np.array([at.get(joint.name, 0.0) for joint in model.joints for _ in joint.coordinates])


def postures(joint_map: JointMap, seed: int = 0) -> Floats:
    found = np.random.default_rng(seed).uniform(-3, 3, (5, len(joint_map.joints)))
    joint_map.follow(found)
    return found


def assert_stands_as_described(model: RobotModel, joint_map: JointMap) -> None:
    robot = PhysicalRobot(make_world(model, joint_map))
    for positions in postures(joint_map):
        robot.place(positions)
        places = model.forward_kinematics(whole(model, joint_map, positions))
        for link in model.links:
            body = robot.data.body(link.name)
            here = np.vstack([np.column_stack([body.xmat.reshape(3, 3), body.xpos]), [0, 0, 0, 1]])
            np.testing.assert_allclose(here, places[link.name], rtol=0, atol=1e-12, err_msg=link.name)


@pytest.mark.parametrize("seed", range(20))
def test_links_are_where_our_kinematics_have_them(seed: int) -> None:
    model = random_robot(seed)
    assert_stands_as_described(model, build_joint_map("arm", model, {}))


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("seed", range(15))
def test_robots_of_every_format_stand_as_described(tmp_path: Path, format_: str, seed: int) -> None:
    path = tmp_path / f"robot.{format_}"
    path.write_text(FORMATS[format_](np.random.default_rng(seed)))
    model = load_robot(path)
    assert_stands_as_described(model, build_joint_map("arm", model, {}))


@pytest.mark.parametrize("path", DESCRIPTIONS, ids=lambda path: path.name)
def test_robots_of_files_stand_as_described(path: Path) -> None:
    model = load_robot(path)
    assert_stands_as_described(model, build_joint_map("arm", model, {}))


def chain(*joints: Joint, **changes: Any) -> RobotModel:
    """Return a robot each of whose joints hangs on the link of the one before."""
    links = tuple(Link(f"link{number}", 1.0, com=random_pose(RNG)) for number in range(len(joints) + 1))
    placed = tuple(
        replace(joint, parent=f"link{number}", child=f"link{number + 1}")
        for number, joint in enumerate(joints)
    )
    return replace(RobotModel("chain", "test", "1", placed, links, (), "link0", random_pose(RNG)), **changes)


RNG = np.random.default_rng(5)


def joint_of(name: str, type_: JointType, **changes: Any) -> Joint:
    axes = np.array([[2.0, -1.0, 2.0]]) / 3
    places = {"parent_pose": random_pose(RNG), "child_pose": random_pose(RNG)}
    return replace(Joint(name, type_, "", "", axes, (Coordinate(name),)), **places | changes)


def test_screws_and_joints_behind_gears_stand_as_described() -> None:
    model = chain(
        joint_of("lift", "screw", pitch_m=0.07, gear_ratio=-2.5),
        joint_of("turn", "revolute", gear_ratio=50.0),
        joint_of("back", "revolute", gear_ratio=-1.0, mimic=Mimic("turn", 0.5, 0.2)),
        joint_of("slide", "prismatic", gear_ratio=3.0, mimic=Mimic("lift", -0.1, 0.1)),
        joint_of("rise", "screw", pitch_m=0.02, mimic=Mimic("turn", 2.0, -0.3)),
    )
    assert_stands_as_described(model, build_joint_map("arm", model, {}))


def test_joints_that_follow_without_an_actuator_are_held_to_those_that_they_follow() -> None:
    model = chain(
        joint_of("turn", "revolute", gear_ratio=50.0),
        joint_of("back", "revolute", gear_ratio=-4.0, mimic=Mimic("turn", 0.5, 0.2)),
        joint_of("own", "revolute", mimic=Mimic("turn")),
    )
    joint_map = build_joint_map("arm", model, {"back": JointSettings(actuator="none")})
    robot = PhysicalRobot(make_world(model, joint_map))
    robot.place(np.array([3.0, 1.7, 3.0]))
    mujoco.mj_forward(robot.model, robot.data)
    assert [robot.model.joint(number).name for number in robot.model.eq_obj1id] == ["back"]
    assert robot.data.efc_pos[: robot.data.ne] == pytest.approx([0.0], abs=1e-12)


def test_a_gear_divides_positions_and_multiplies_efforts() -> None:
    turn = Coordinate("turn", -1.0, 5.0, effort_limit=0.5, damping=0.01, friction=0.02, spring_stiffness=0.1)
    model = chain(joint_of("turn", "revolute", gear_ratio=-10.0, coordinates=(turn,)))
    robot = PhysicalRobot(make_world(model, build_joint_map("arm", model, {}))).model
    joint = robot.joint("turn")
    assert joint.range == pytest.approx([-0.5, 0.1])
    assert robot.jnt_actfrcrange[joint.id] == pytest.approx([-5.0, 5.0])
    assert joint.damping[0] == pytest.approx(1.0)
    assert joint.frictionloss == pytest.approx(0.2)
    assert joint.stiffness[0] == pytest.approx(10.0)


def test_links_have_the_masses_of_their_description() -> None:
    model = random_robot(3)
    robot = PhysicalRobot(make_world(model, build_joint_map("arm", model, {})))
    for link in model.links[1:]:
        body = robot.model.body(link.name)
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, body.iquat)
        axes = turn.reshape(3, 3)
        com = link.com[:3, :3]
        assert body.mass[0] == link.mass
        np.testing.assert_allclose(body.ipos, link.com[:3, 3], rtol=0, atol=1e-12)
        inertia = axes @ np.diag(body.inertia) @ axes.T
        np.testing.assert_allclose(inertia, com @ link.inertia @ com.T, rtol=0, atol=1e-12)


def dynamics(model: mujoco.MjModel, at: dict[str, float]) -> tuple[Floats, Floats]:
    """Return the inertia matrix and the efforts that hold a posture, of the named joints in their order."""
    data = mujoco.MjData(model)
    for name, position in at.items():
        data.joint(name).qpos[0] = position
    mujoco.mj_forward(model, data)
    inertia = np.empty((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    rows = [int(model.joint(name).dofadr[0]) for name in at]
    return inertia[np.ix_(rows, rows)], data.qfrc_bias[rows]


@pytest.mark.parametrize("seed", range(10))
def test_a_urdf_robot_is_as_heavy_as_where_mujoco_reads_the_file_itself(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(FORMATS["urdf"](np.random.default_rng(seed)))
    model = load_robot(path)
    joint_map = build_joint_map("arm", model, {})
    ours = PhysicalRobot(make_world(model, joint_map)).model
    theirs = mujoco.MjModel.from_xml_path(str(path))
    theirs.opt.gravity[:] = ours.opt.gravity
    at = dict(zip(joint_map.joints, postures(joint_map, seed)[0].tolist(), strict=True))
    for mine, other in zip(dynamics(ours, at), dynamics(theirs, at), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)


def test_what_the_robot_carries_is_a_mass_at_its_frame() -> None:
    model = random_robot(3)
    payload = PayloadSettings(frame="tool", mass=0.7, com=(0.1, 0.2, 0.3))
    joint_map = build_joint_map("arm", model, {})
    robot = PhysicalRobot(make_world(model, joint_map, payload=payload))
    positions = postures(joint_map)[0]
    robot.place(positions)
    tool = model.forward_kinematics(whole(model, joint_map, positions))["tool"]
    assert robot.model.body("payload").mass[0] == 0.7
    np.testing.assert_allclose(robot.data.body("payload").xipos, (tool @ [0.1, 0.2, 0.3, 1])[:3], atol=1e-12)


def test_a_link_with_a_mass_alone_has_the_inertia_of_its_shapes() -> None:
    shapes = (Shape("box", (0.1, 0.2, 0.3), role="collision"), Shape("sphere", (0.5,)))
    model = chain(joint_of("turn", "revolute"))
    box = replace(model.links[1], mass=2.4, com=np.eye(4), shapes=shapes)
    model = replace(model, links=(model.links[0], box))
    body = PhysicalRobot(make_world(model, build_joint_map("arm", model, {}))).model.body("link1")
    assert sorted(body.inertia) == pytest.approx([0.2 * 0.05, 0.2 * 0.10, 0.2 * 0.13])


FREE = "it hangs on 'link1', and only the world carries such; fix it to its link"
FLAT = "at least 4 vertices required"
FLAT_STL = """solid arm
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid arm
"""
CLOSED = "arm: joint 'b' closes a loop; MuJoCo has trees of links here; open it in the description"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"closes_loop": True}, CLOSED),
        ({"type": "gearbox"}, "arm: joint 'b' is a gearbox; MuJoCo has none; describe it by mimic joints"),
        ({"type": "free"}, f"arm: joint 'b' is free; {FREE}"),
    ],
)
def test_joints_that_mujoco_lacks_are_refused_by_name(changes: dict[str, Any], message: str) -> None:
    model = chain(joint_of("a", "revolute"), joint_of("b", "revolute"))
    joint_map = build_joint_map("arm", model, {})
    model = replace(model, joints=(model.joints[0], replace(model.joints[1], **changes)))
    with pytest.raises(PhysicsError) as caught:
        make_world(model, joint_map)
    assert str(caught.value) == message


def refusal_of(link: Link) -> str:
    model = chain(joint_of("turn", "revolute"))
    model = replace(model, links=(model.links[0], replace(link, name="link1")))
    with pytest.raises(PhysicsError) as caught:
        make_world(model, build_joint_map("arm", model, {}))
    return str(caught.value)


EXPORT = "its file is damaged or is not what its suffix says; export it again"


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("arm.dae", "odd", EXPORT),
        ("arm.stl", "odd", "its file is damaged, holds no triangles or is not STL; export it again"),
        ("arm.obj", None, "cannot be read: No such file or directory; check the file"),
        ("arm.stl", FLAT_STL, f"it has no convex hull: {FLAT}; give the link a simple collision shape"),
    ],
)
def test_meshes_that_mujoco_cannot_have_are_refused(
    tmp_path: Path, name: str, text: str | None, reason: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    formats: dict[str, MeshFormat] = {".dae": "dae", ".stl": "stl", ".obj": "obj"}
    mesh = Mesh(tmp_path / name, formats[name[-4:]])
    link = Link("", 1.0, shapes=(Shape("mesh", mesh=mesh),))
    assert refusal_of(link) == f"arm: MuJoCo cannot read mesh '{name}' of link 'link1'; {reason}"


def distances(mesh: Mesh) -> list[float]:
    """Return how far a ball is from a mesh on the link before the last, in some postures."""
    still = {"parent_pose": np.eye(4), "child_pose": np.eye(4)}
    model = chain(*(joint_of(name, "revolute", **still) for name in "abc"), base_pose=np.eye(4))
    pose = random_pose(np.random.default_rng(4))
    ball = Shape("sphere", (0.05,), random_pose(np.random.default_rng(5)))
    shapes = [(), (Shape("mesh", pose=pose, mesh=mesh, scale=(1, 2, 0.5)),), (), (ball,)]
    links = tuple(replace(link, shapes=one) for link, one in zip(model.links, shapes, strict=True))
    model = replace(model, links=links)
    robot = PhysicalRobot(make_world(model, build_joint_map("arm", model, {})))
    found = []
    for positions in np.random.default_rng(1).uniform(-3, 3, (20, 3)):
        robot.place(positions)
        found.append(mujoco.mj_geomDistance(robot.model, robot.data, 0, 1, 10.0, np.empty(6)))
    return found


@pytest.mark.parametrize("format_", ["glb", "stl"])
def test_other_meshes_touch_with_the_same_hull_as_one_that_mujoco_reads(
    tmp_path: Path, format_: MeshFormat
) -> None:
    body = trimesh.creation.torus(0.3, 0.1, major_sections=20, minor_sections=12)
    read, other = tmp_path / "binary.stl", tmp_path / "other"
    read.write_bytes(body.export(file_type="stl"))
    written = body.export(file_type="glb" if format_ == "glb" else "stl_ascii")
    other.write_bytes(written if format_ == "glb" else written.encode())
    expected = distances(Mesh(read, "stl"))
    np.testing.assert_allclose(distances(Mesh(other, format_)), expected, rtol=0, atol=5e-5)
    assert max(expected) - min(expected) > 0.01


def test_a_mesh_of_which_mujoco_makes_no_hull_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "arm.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 3 4\n")
    flat = (Shape("mesh", mesh=Mesh(tmp_path / "arm.obj", "obj")),)
    model = chain(joint_of("turn", "revolute"))
    model = replace(model, links=(model.links[0], replace(model.links[1], shapes=flat)))
    with pytest.raises(PhysicsError) as caught:
        PhysicalRobot(make_world(model, build_joint_map("arm", model, {})))
    start, *_, end = str(caught.value).split("; ")
    assert start == "arm: MuJoCo cannot load the robot"
    assert end == "correct the robot's description, or what stands around it"
    assert "mesh 'arm' has coplanar vertices" in str(caught.value)


def test_a_plane_that_moves_is_refused() -> None:
    message = "arm: link 'link1' has a plane; MuJoCo has planes on what does not move; give it a flat box"
    assert refusal_of(Link("", 1.0, shapes=(Shape("plane", (1, 1)),))) == message


def with_masses(*masses: float) -> RobotModel:
    model = chain(*(joint_of(name, "revolute") for name in "abc"[: len(masses) - 1]))
    links = (replace(link, mass=mass) for link, mass in zip(model.links, masses, strict=True))
    return replace(model, links=tuple(links))


def test_joints_beyond_which_nothing_has_a_mass_have_the_inertia_of_a_motor() -> None:
    model = with_masses(1.0, 1.0, 0.0, 0.0)
    world = make_world(model, build_joint_map("arm", model, {}), needs_masses=True)
    assert world.unladen == ("b", "c")
    assert PhysicalRobot(world).model.dof_armature.tolist() == [0.0, 0.01, 0.01]


def test_a_robot_none_of_whose_joints_moves_a_mass_is_refused_where_masses_matter() -> None:
    model = with_masses(1.0, 0.0, 0.0)
    joint_map = build_joint_map("arm", model, {})
    make_world(model, joint_map)
    with pytest.raises(PhysicsError) as caught:
        make_world(model, joint_map, needs_masses=True)
    assert str(caught.value) == (
        "arm: no joint moves a mass; no link beyond one has a mass; give links masses, or name a `payload`"
    )
    assert make_world(model, joint_map, payload=PayloadSettings(frame="link1", mass=1.0), needs_masses=True)


def geoms_of(model: RobotModel) -> list[tuple[str, str]]:
    """Return the bodies of what touches, with the kinds of shapes."""
    robot = PhysicalRobot(make_world(model, build_joint_map("arm", model, {}))).model
    kinds = [mujoco.mjtGeom(kind).name.removeprefix("mjGEOM_").lower() for kind in robot.geom_type]
    return [(robot.body(body).name, kind) for body, kind in zip(robot.geom_bodyid, kinds, strict=True)]


def test_collision_shapes_touch_and_visual_ones_where_there_are_no_others() -> None:
    model = chain(joint_of("a", "revolute"), joint_of("b", "revolute"))
    seen, solid = Shape("sphere", (0.1,)), Shape("box", (0.1, 0.1, 0.1), role="collision")
    base, first, second = model.links
    both = (base, replace(first, shapes=(seen, solid)), replace(second, shapes=(seen,)))
    assert geoms_of(replace(model, links=both)) == [("link1", "box")]
    bare = (base, replace(first, shapes=(seen,)), second)
    assert geoms_of(replace(model, links=bare)) == [("link1", "sphere")]


def test_where_a_format_has_no_shapes_derived_ones_touch() -> None:
    assert ("link2", "cylinder") in geoms_of(load_robot(ARM))


def test_a_link_without_shapes_has_the_inertia_of_a_ball() -> None:
    model = replace(chain(joint_of("turn", "revolute"), describes_looks=True))
    model = replace(model, links=(replace(model.links[0], shapes=(Shape("box", (1, 1, 1)),)), model.links[1]))
    body = PhysicalRobot(make_world(model, build_joint_map("arm", model, {}))).model.body("link1")
    radius = (3 * 1.0 / (4 * np.pi * 2000)) ** (1 / 3)
    assert body.inertia == pytest.approx(np.full(3, 0.4 * radius**2))


def touching(model: RobotModel) -> set[tuple[str, str]]:
    robot = PhysicalRobot(make_world(model, build_joint_map("arm", model, {})))
    robot.place(np.zeros(len(model.joints)))
    mujoco.mj_collision(robot.model, robot.data)
    bodies = robot.model.geom_bodyid[robot.data.contact.geom]
    return {(robot.model.body(one).name, robot.model.body(other).name) for one, other in bodies.tolist()}


@pytest.mark.parametrize("first", ["revolute", "screw"])
def test_links_touch_but_those_with_no_joint_or_one_between(first: JointType) -> None:
    still = {"parent_pose": np.eye(4), "child_pose": np.eye(4)}
    ball = (Shape("sphere", (0.1,), role="collision"),)
    screwed = joint_of("a", first, pitch_m=0.02 if first == "screw" else 0.0, **still)
    model = chain(screwed, joint_of("b", "revolute", **still), base_pose=np.eye(4))
    hand = Link("hand", 1.0, shapes=ball, attached_to="link2")
    model = replace(model, links=(*(replace(link, shapes=ball) for link in model.links), hand))
    assert touching(model) == {("link0", "link2"), ("link0", "hand")}
