"""Robots as URDF, SDFormat and MJCF: what is read back stands and moves as the robot did."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import pytest
import yourdfpy
from lxml import etree

from motiond.formats import (
    Coordinate,
    FormatError,
    Frame,
    Joint,
    JointType,
    Link,
    Mesh,
    Mimic,
    RobotModel,
    Shape,
    dump_robot,
    load_robot,
    load_robots,
)
from motiond.formats.model.shapes import ellipsoid
from tests.formats.robots_out import (
    places_of,
    positions,
    seen_by_motiond,
    seen_by_mujoco,
    seen_by_yourdfpy,
    seen_by_yourdfpy_and_motiond,
)
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from motiond.formats.arrays import Floats
    from tests.formats.robots_out import Places, Values

ROOT = Path(__file__).parents[2]
GOOD = ROOT / "tests" / "files" / "good"
READERS: dict[str, Callable[[Path, Values], Places]] = {
    "urdf": seen_by_yourdfpy_and_motiond,
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
        Link(
            "hand",
            0.5,
            inertia=inertia / 10,
            attached_to="arm",
            pose=placed(0, 0, 0.4, (0, math.pi / 2, 0.3)),
        ),
    )
    frames = (Frame("tip", "end_effector", "hand", placed(0, 0.1, 0)),)
    model = RobotModel("crane", "test", "1", joints, links, frames, "base", placed(1, 2, 3, (0.3, 0.2, 0.1)))
    return replace(model, **changes)


def somewhere(random: np.random.Generator) -> Floats:
    x, y, z, *angles = random.uniform(-3, 3, 6)
    return placed(x, y, z, (angles[0], angles[1], angles[2]))


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
    model: RobotModel, format_: str, folder: Path, links: Mapping[str, str] | None = None, **options: Any
) -> Path:
    """Write a robot, read it back, and compare where its links are, by the names that the file has."""
    path = folder / f"robot.{format_}"
    dump_robot(model, path, **options)
    values = drawn(model)
    before = places_of(model, values)
    if format_ == "sdf":
        values |= {name.replace("::", "__"): value for name, value in values.items()}
        values |= {"wrist_2": values["wrist_turn"]} if "wrist_turn" in values else {}
    after = READERS[format_](path, values)
    for link in model.links:
        name = (links or {}).get(link.name, link.name)
        if name == "world" and format_ != "urdf":
            assert name not in after
            continue
        np.testing.assert_allclose(after[name], before[link.name], rtol=0, atol=1e-9, err_msg=name)
    return path


@FORMATS
@pytest.mark.parametrize("type_", [one for one in AXES if one != "ball"])
def test_every_joint_moves_in_every_format_as_in_the_robot(
    type_: JointType, format_: str, tmp_path: Path
) -> None:
    check(robot_of(joint_of(type_)), format_, tmp_path)


@FORMATS
def test_a_screw_without_pitch_turns(format_: str, tmp_path: Path) -> None:
    path = check(robot_of(joint_of("screw", pitch_m=0.0)), format_, tmp_path)
    assert "screw" not in path.read_text()


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


@FORMATS
def test_a_joint_that_follows_another_follows_it_in_the_file(format_: str, tmp_path: Path) -> None:
    leader = joint_of("prismatic", "slide", parent="world", child="base")
    follower = joint_of("screw", mimic=Mimic("slide", -1.5, 0.2))
    path = check(robot_of(follower, leader), format_, tmp_path)
    if format_ == "sdf":
        assert path.read_text().splitlines()[1] == '<sdf version="1.11">'


@FORMATS
def test_a_free_robot_stands_where_it_did(format_: str, tmp_path: Path) -> None:
    axes = np.tile(np.eye(3), (2, 1))
    six = tuple(Coordinate(f"root_{number}") for number in range(6))
    root = joint_of("revolute", "root", type="free", axes=axes, coordinates=six, parent="world", child="base")
    path = check(robot_of(root, joint_of("revolute")), format_, tmp_path)
    words = {"urdf": '<joint name="root" type="floating">', "mjcf": '<freejoint name="root"/>'}
    assert words.get(format_, "<model") in path.read_text()


@FORMATS
@pytest.mark.parametrize("file", [
    "config/robots/six_axis.hrdf", "tests/files/good/crane.sdf", "tests/files/good/scale.hrdf",
    "tests/files/good/sdf/gripper/gripper.sdf", "tests/files/good/sdf/rover.sdf",
    "tests/files/good/walker.hrdf", "tests/files/good/workshop.skel", "tests/files/good/urdf/picker.urdf",
])  # fmt: skip
def test_robots_of_every_format_are_written_in_each(file: str, format_: str, tmp_path: Path) -> None:
    for model in load_robots(ROOT / file):
        drop = [name for name in ("reductions", "soft_limits", "calibration") if model.metadata.get(name)]
        if any(one.spring_stiffness for one in coordinates(model)) and format_ == "urdf":
            drop.append("springs")
        if any(one.initial or one.initial_velocity for one in coordinates(model)):
            drop.append("initial")
        check(model, format_, tmp_path, names_in_sdf(model) if format_ == "sdf" else None, drop=drop)


def names_in_sdf(model: RobotModel) -> dict[str, str]:
    """Return what links are called in SDFormat."""
    joints = {joint.name for joint in model.joints}
    names = [link.name for link in model.links]
    return {name: f"{name}_link" if name in joints else name.replace("::", "__") for name in names}


@FORMATS
@pytest.mark.parametrize("seed", range(6))
def test_any_robot_moves_in_every_format_as_it_did(seed: int, format_: str, tmp_path: Path) -> None:
    """Joints of all types in any order, on links, on the world, and on what is part of a link."""
    random = np.random.default_rng(seed)
    links, joints = [Link("l0")], list[Joint]()
    for number in range(1, 12):
        parent = f"l{random.integers(number)}"
        pose, child_pose = somewhere(random), somewhere(random)
        if random.random() < 0.3:
            links.append(Link(f"l{number}", random.random(), attached_to=parent, pose=pose))
            continue
        links.append(Link(f"l{number}", random.random(), inertia=np.eye(3)))
        single = [joint.name for joint in joints if len(joint.coordinates) == 1]
        type_ = random.choice([one for one in AXES if one != "ball"])
        mimic = None
        if single and len(AXES[type_]) == 1 and random.random() < 0.4:
            mimic = Mimic(random.choice(single), random.normal(), random.normal())
        ratio = random.choice([1.0, 1.0, -1.0, random.normal()])
        end = "world" if random.random() < 0.1 else parent
        more: dict[str, Any] = {"parent": end, "child": f"l{number}", "parent_pose": pose, "mimic": mimic}
        joints.append(joint_of(type_, f"j{number}", gear_ratio=ratio, child_pose=child_pose, **more))
    model = RobotModel("any", "test", "1", tuple(joints), tuple(links), (), "l0", placed(1, 2, 3, (1, 1, 1)))
    check(model, format_, tmp_path)


def coordinates(model: RobotModel) -> list[Coordinate]:
    return [one for joint in model.joints for one in joint.coordinates]


def test_what_a_reader_of_urdf_has_noted_is_dropped_by_name(tmp_path: Path) -> None:
    path = tmp_path / "crane.mjcf"
    model = robot_of(joint_of("revolute"), metadata={"reductions": {"hip": 50.0}, "soft_limits": {}})
    with pytest.raises(FormatError) as caught:
        dump_robot(model, path)
    assert str(caught.value) == (
        f"{path}: reductions of transmissions would be lost; hip has one, and none is written; "
        "to lose it, name it in drop: 'reductions'"
    )
    dump_robot(model, path, drop=["reductions"])


LIMITED = Coordinate("hip", -0.5, 1.5, 2.5, 30.0, damping=0.7, friction=0.2)


def test_urdf_holds_limits_masses_and_the_world(tmp_path: Path) -> None:
    dump_robot(robot_of(joint_of("revolute", coordinates=(LIMITED,))), tmp_path / "arm.urdf")
    text = (tmp_path / "arm.urdf").read_text()
    assert '<limit effort="30" velocity="2.5" lower="-0.5" upper="1.5"/>' in text
    assert '<dynamics damping="0.7" friction="0.2"/>' in text
    robot = yourdfpy.URDF.load(str(tmp_path / "arm.urdf"))
    inertial = robot.link_map["arm"].inertial
    arm = robot_of().links[1]
    assert inertial.mass == 2.5
    np.testing.assert_array_equal(inertial.inertia, arm.inertia)
    np.testing.assert_allclose(inertial.origin, arm.com, atol=1e-15)
    assert robot.base_link == "world"
    assert robot.link_map["hip_link"].inertial is None


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (-math.inf, math.inf, 'type="continuous"'),
        (-1.0, math.inf, 'lower="-1" upper="1e+16"'),
        (0.0, 0.0, 'lower="0" upper="0"'),
    ],
)
def test_a_joint_of_urdf_is_continuous_where_nothing_bounds_it(
    lower: float, upper: float, expected: str, tmp_path: Path
) -> None:
    joint = joint_of("continuous", coordinates=(Coordinate("hip", lower, upper),))
    dump_robot(robot_of(joint), tmp_path / "arm.urdf")
    text = (tmp_path / "arm.urdf").read_text()
    assert expected in text
    assert ("<limit" in text) is ("continuous" not in expected)


def test_sdf_gives_back_what_a_joint_and_a_link_are(tmp_path: Path) -> None:
    sprung = replace(LIMITED, spring_stiffness=3.0, spring_reference=0.25)
    before = robot_of(joint_of("revolute", coordinates=(sprung,)))
    dump_robot(before, tmp_path / "crane.sdf")
    after = load_robot(tmp_path / "crane.sdf")
    assert after.warnings == ()
    assert (after.name, after.version, after.canonical_link) == ("crane", "1.9", "base")
    assert after.joints[0].coordinates == (sprung,)
    for one, other in zip(before.links, after.links, strict=True):
        assert (one.name, one.mass) == (other.name, other.mass)
        np.testing.assert_array_equal(other.inertia, one.inertia)
        np.testing.assert_allclose(other.com, one.com, atol=1e-15)
    tip = [frame for frame in after.frames if frame.name == "tip"]
    assert [frame.attached_to for frame in tip] == ["hand"]


def test_mjcf_gives_back_what_a_joint_and_a_link_are(tmp_path: Path) -> None:
    sprung = replace(LIMITED, spring_stiffness=3.0, spring_reference=0.25)
    dump_robot(robot_of(joint_of("revolute", coordinates=(sprung,))), tmp_path / "crane.mjcf")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "crane.mjcf"))
    joint = model.joint("hip")
    assert (joint.limited[0], joint.range.tolist()) == (1, [-0.5, 1.5])
    assert model.jnt_actfrcrange[0].tolist() == [-30, 30]
    assert (joint.damping[0], joint.frictionloss[0]) == (0.7, 0.2)
    assert (joint.stiffness[0], model.qpos_spring[0]) == (3.0, 0.25)
    assert model.numeric("velocity_limit hip").data[0] == 2.5
    body = model.body("arm")
    arm = robot_of().links[1]
    assert body.mass[0] == 2.5
    np.testing.assert_allclose(body.ipos, arm.com[:3, 3])
    np.testing.assert_allclose(sorted(body.inertia), np.linalg.eigvalsh(arm.inertia), rtol=1e-9)
    assert model.site("tip").bodyid[0] == model.body("hand").id


def test_mjcf_holds_a_joint_without_range_and_one_without_effort(tmp_path: Path) -> None:
    joint = joint_of("revolute", coordinates=(Coordinate("hip", 0.3, 0.3, effort_limit=0.0),))
    dump_robot(robot_of(joint), tmp_path / "crane.mjcf")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "crane.mjcf"))
    assert (model.neq, model.eq_data[0][0]) == (1, 0.3)
    assert model.numeric("effort_limit hip").data[0] == 0


@pytest.mark.parametrize(("format_", "mass"), [("urdf", None), ("sdf", 1e-6), ("mjcf", 1e-6)])
def test_what_moves_and_has_no_mass_gets_a_little_where_physics_asks_for_it(
    format_: str, mass: float | None, tmp_path: Path
) -> None:
    hook = Link("hook")
    lift = joint_of("prismatic", "lift", parent="arm", child="hook")
    model = robot_of(joint_of("revolute"), lift, links=(*robot_of().links, hook))
    path = check(model, format_, tmp_path)
    found = document(path).xpath("//*[@name='hook']//mass | //*[@name='hook']/inertial/@mass")
    texts = [one if isinstance(one, str) else one.text for one in found]
    assert [float(text) for text in texts if text] == ([] if mass is None else [mass])


def test_mjcf_bounds_inertias_where_a_part_with_mass_has_none(tmp_path: Path) -> None:
    path = check(load_robots(ROOT / "config" / "robots" / "six_axis.hrdf")[0], "mjcf", tmp_path)
    assert 'boundinertia="1e-09"' in path.read_text()
    path = check(robot_of(joint_of("revolute")), "mjcf", tmp_path)
    assert "boundinertia" not in path.read_text()


def heavy(inertia: Floats) -> RobotModel:
    """Return a robot whose arm has an inertia."""
    base, arm, hand = robot_of().links
    return robot_of(joint_of("revolute"), links=(base, replace(arm, inertia=inertia), hand))


@pytest.mark.parametrize(
    "moments", [(1.0, 1.3, 2.3), (1.0, 1.0, 2.0000005), (0.0, 1.0, 1.0), (0.2, 0.2, 0.2)]
)
def test_mjcf_is_loaded_with_the_inertia_of_a_plate_or_a_rod_however_it_is_rounded(
    moments: tuple[float, ...], tmp_path: Path
) -> None:
    random = np.random.default_rng(1)
    for number in range(20):
        turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
        inertia = turn @ np.diag(moments) @ turn.T
        path = tmp_path / f"{number}.mjcf"
        dump_robot(heavy(inertia), path)
        arm = mujoco.MjModel.from_xml_path(str(path)).body("arm")
        axes = np.empty(9)
        mujoco.mju_quat2Mat(axes, arm.iquat)
        com = heavy(inertia).links[1].com[:3, :3]
        read = axes.reshape(3, 3) @ np.diag(arm.inertia) @ axes.reshape(3, 3).T
        np.testing.assert_allclose(read, com @ inertia @ com.T, atol=1e-6)


def document(path: Path) -> Any:
    return etree.parse(path).getroot()


def shapes(folder: Path) -> tuple[Shape, ...]:
    """Return a shape of each kind; of meshes one beside the file that is written and one elsewhere."""
    place = placed(0.1, 0.2, 0.3, (0.3, -0.2, 0.1))
    near, far = folder / "out" / "meshes" / "near.stl", folder / "far.obj"
    near.parent.mkdir(parents=True)
    near.write_bytes(TETRAHEDRON)
    far.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    red = (1.0, 0.25, 0.0, 0.5)
    return (
        Shape("box", (0.1, 0.2, 0.3), place, red),
        Shape("sphere", (0.1,), place, role="collision"),
        Shape("cylinder", (0.1, 0.4), place),
        Shape("capsule", (0.05, 0.4), place, red),
        Shape("mesh", (), place, red, Mesh(near, "stl"), (0.5, 0.5, -0.5)),
        Shape("mesh", (), place, None, Mesh(far, "obj"), role="collision"),
    )


CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
TETRAHEDRON = bytes(80) + struct.pack("<I", 4) + b"".join(
    np.zeros(3, "<f4").tobytes() + CORNERS[list(face)].tobytes() + b"\0\0"
    for face in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
)  # fmt: skip


def drawn_robot(*of_arm: Shape) -> RobotModel:
    base, arm, hand = robot_of().links
    return robot_of(joint_of("revolute"), links=(base, replace(arm, shapes=of_arm), hand))


def test_sdf_gives_back_every_shape(tmp_path: Path) -> None:
    more = (ellipsoid((0.1, 0.2, 0.3)), Shape("plane", (2.0, 3.0)))
    before = sorted((*shapes(tmp_path), *more), key=lambda one: one.role, reverse=True)
    dump_robot(drawn_robot(*before), tmp_path / "out" / "crane.sdf")
    after = load_robot(tmp_path / "out" / "crane.sdf").links[1].shapes
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(other.pose, one.pose, atol=1e-15)
        np.testing.assert_allclose(other.scale, one.scale)
        assert replace(other, pose=one.pose, mesh=one.mesh, scale=one.scale) == one
        assert other.mesh is None or (one.mesh and other.mesh.path.samefile(one.mesh.path))
    text = (tmp_path / "out" / "crane.sdf").read_text()
    assert "<uri>meshes/near.stl</uri>" in text
    assert f"<uri>file://{tmp_path}/far.obj</uri>" in text


def test_urdf_has_every_shape_and_a_capsule_as_three(tmp_path: Path) -> None:
    dump_robot(drawn_robot(*shapes(tmp_path)), tmp_path / "out" / "crane.urdf")
    root = document(tmp_path / "out" / "crane.urdf")
    (arm,) = root.xpath("link[@name='arm']")
    assert [(one.tag, one.xpath("geometry/*")[0].tag) for one in arm.xpath("visual | collision")] == [
        ("visual", "box"),
        ("collision", "sphere"),
        ("visual", "cylinder"),
        ("visual", "cylinder"),
        ("visual", "sphere"),
        ("visual", "sphere"),
        ("visual", "mesh"),
        ("collision", "mesh"),
    ]
    assert root.xpath("//mesh/@filename") == ["meshes/near.stl", f"file://{tmp_path}/far.obj"]
    assert root.xpath("//color/@rgba")[0] == "1 0.25 0 0.5"
    ends = [np.array(one.split(), float) for one in root.xpath("//sphere/../../origin/@xyz")[1:]]
    np.testing.assert_allclose(np.linalg.norm(ends[0] - ends[1]), 0.4)
    np.testing.assert_allclose((ends[0] + ends[1]) / 2, [0.1, 0.2, 0.3])


def test_mjcf_has_every_shape_and_what_is_only_seen_touches_nothing(tmp_path: Path) -> None:
    dump_robot(drawn_robot(*shapes(tmp_path), ellipsoid((0.1, 0.2, 0.3))), tmp_path / "out" / "crane.mjcf")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "crane.mjcf"))
    geom = mujoco.mjtGeom
    kinds = ["BOX", "SPHERE", "CYLINDER", "CAPSULE", "MESH", "MESH", "ELLIPSOID"]
    assert [geom(one).name.removeprefix("mjGEOM_") for one in model.geom_type] == kinds
    assert model.geom_contype.tolist() == [0, 1, 0, 0, 0, 1, 0]
    np.testing.assert_allclose(model.geom_size[[0, 2, 3, 6]], [
        [0.05, 0.1, 0.15], [0.1, 0.2, 0], [0.05, 0.2, 0], [0.1, 0.2, 0.3],
    ])  # fmt: skip
    assert model.geom_rgba[0].tolist() == [1, 0.25, 0, 0.5]
    np.testing.assert_allclose(model.geom_pos[0], [0.1, 0.2, 0.3])


def test_names_that_sdf_does_not_take_are_changed_and_told(tmp_path: Path) -> None:
    path = tmp_path / "crane.sdf"
    base, arm, hand = robot_of().links
    links = (base, replace(arm, name="arm::hip"), replace(hand, name="hip", attached_to="arm::hip"))
    frames = (
        Frame("hip_link", "frame", "hip", placed(0, 0, 0)),
        Frame("__up__", "frame", "", placed(0, 0, 1)),
    )
    model = robot_of(joint_of("revolute", child="arm::hip"), links=links, frames=frames, name="a::b")
    reason = "links, joints and frames need names of their own, without '::', and some are reserved"
    assert dump_robot(model, path) == (
        f"{path}: written are links 'arm::hip' as 'arm__hip', 'hip' as 'hip_link'; {reason}",
        f"{path}: written are frames 'hip_link' as 'hip_link_frame', '__up__' as '__up___frame'; {reason}",
    )
    after = load_robot(path)
    assert after.warnings == ()
    assert [link.name for link in after.links] == ["base", "arm__hip", "hip_link"]


def test_names_of_other_joints_are_not_taken_by_those_of_a_row(tmp_path: Path) -> None:
    elbow = joint_of("revolute", "hip_1", parent="arm", child="hand")
    hand = replace(robot_of().links[2], attached_to="")
    model = robot_of(joint_of("universal"), elbow, links=(*robot_of().links[:2], hand))
    path = tmp_path / "crane.urdf"
    assert dump_robot(model, path) == (
        f"{path}: written is coordinate 'hip_1' as 'hip_1_2'; another joint has its name",
    )
    robot = yourdfpy.URDF.load(str(path))
    assert robot.actuated_joint_names == ["hip_1_2", "hip_2", "hip_1"]


def test_coordinates_that_sdf_cannot_name_are_told(tmp_path: Path) -> None:
    joint = joint_of("universal", coordinates=(Coordinate("hip_1"), Coordinate("swing")))
    path = tmp_path / "crane.sdf"
    assert dump_robot(robot_of(joint), path) == (
        f"{path}: written is coordinate 'swing' as 'hip_2'; SDFormat names joints alone",
    )


def test_a_link_called_world_is_not_mistaken_for_the_world(tmp_path: Path) -> None:
    base, *others = robot_of().links
    joint = joint_of("revolute", parent="world")
    model = robot_of(joint, links=(replace(base, name="world"), *others))
    for format_ in READERS:
        name = {"urdf": "world", "sdf": "world_link", "mjcf": "world_2"}[format_]
        check(model, format_, tmp_path, {"world": name})


@FORMATS
def test_a_link_that_stands_for_the_world_alone_is_the_world(format_: str, tmp_path: Path) -> None:
    axes = np.tile(np.eye(3), (2, 1))
    six = tuple(Coordinate(f"root_{number}") for number in range(6))
    root = joint_of("revolute", "root", type="free", axes=axes, coordinates=six, parent="world", child="base")
    links = (Link("world"), *robot_of().links)
    path = check(robot_of(root, joint_of("revolute"), links=links), format_, tmp_path)
    words = {"urdf": '<link name="world"/>', "mjcf": '<freejoint name="root"/>', "sdf": '<model name="crane"'}
    assert words[format_] in path.read_text()


def test_mjcf_is_loaded_with_a_mesh_that_is_flat(tmp_path: Path) -> None:
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n")
    dump_robot(drawn_robot(Shape("mesh", mesh=Mesh(tmp_path / "flat.obj", "obj"))), tmp_path / "crane.mjcf")
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "crane.mjcf")).nmesh == 1


LOSSES = {
    "gearbox": robot_of(joint_of("universal", type="gearbox")),
    "ball": robot_of(joint_of("ball")),
    "inner_free": robot_of(
        joint_of("revolute", type="free", coordinates=tuple(map(Coordinate, "abcdef")), axes=np.ones((6, 3)))
    ),
    "loop": robot_of(joint_of("revolute"), joint_of("prismatic", "rod", parent="world", closes_loop=True)),
    "itself": robot_of(joint_of("revolute"), joint_of("prismatic", "rod", parent="arm", closes_loop=True)),
    "values": robot_of(joint_of("revolute", coordinates=(Coordinate("hip", initial=1, spring_stiffness=2),))),
    "ball_limits": robot_of(
        joint_of("ball", coordinates=(Coordinate("hip_x", -1, 1), Coordinate("hip_y"), Coordinate("hip_z")))
    ),
    "plane": drawn_robot(Shape("plane", (1.0, 1.0))),
    "ellipsoid": drawn_robot(ellipsoid((0.1, 0.2, 0.3))),
    "inertia": heavy(np.diag([1.0, 1.0, 3.0])),
    "dae": drawn_robot(Shape("mesh", mesh=Mesh(Path("arm.dae"), "dae"))),
}


@table("robot, format_, drop, message")
def test_what_a_format_does_not_have_is_refused_by_name_and_may_be_dropped(
    robot: str, format_: str, drop: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / f"robot.{format_}"
    with pytest.raises(FormatError) as caught:
        dump_robot(LOSSES[robot], path)
    assert str(caught.value).replace(f"{path}: ", "") == message
    assert not path.exists()
    dump_robot(LOSSES[robot], path, drop=drop.split())
    assert path.exists()


def test_what_is_dropped_stays_where_it_is_at_zero(tmp_path: Path) -> None:
    elbow = joint_of("revolute", "elbow", parent="arm", child="hand", mimic=Mimic("hip", 2.0))
    hand = replace(robot_of().links[2], attached_to="")
    model = robot_of(joint_of("ball"), elbow, links=(*robot_of().links[:2], hand))
    dump_robot(model, tmp_path / "crane.urdf", drop=["hip"])
    before = model.forward_kinematics([0, 0, 0, 0.4])
    after = seen_by_yourdfpy(tmp_path / "crane.urdf", {"elbow": 0.4})
    for link in model.links:
        np.testing.assert_allclose(after[link.name], before[link.name], atol=1e-12)


@pytest.mark.parametrize("format_", ["urdf", "mjcf"])
def test_a_joint_that_closes_a_loop_may_be_left_out(format_: str, tmp_path: Path) -> None:
    path = tmp_path / f"robot.{format_}"
    dump_robot(LOSSES["loop"], path, drop=["rod"])
    before = LOSSES["loop"].forward_kinematics([0.4, 1.0])
    after = READERS[format_](path, {"hip": 0.4})
    for link in LOSSES["loop"].links:
        np.testing.assert_allclose(after[link.name], before[link.name], atol=1e-12)
    assert "rod" not in path.read_text()


def test_sdf_has_loops(tmp_path: Path) -> None:
    dump_robot(LOSSES["loop"], tmp_path / "crane.sdf")
    after = load_robot(tmp_path / "crane.sdf")
    assert [(joint.name, joint.closes_loop) for joint in after.joints][:2] == [("hip", False), ("rod", True)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"links": (), "frames": ()}, "there is nothing to write; the robot has no links"),
        (
            {"links": (Link("base", attached_to="base"),), "frames": ()},
            "cannot be written; crane: links hang on each other in a loop: base -> base",
        ),
        (
            {"joints": (joint_of("revolute", coordinates=(Coordinate("hip", 2, 1),)),)},
            (
                "'hip' has lower limit 2 and upper limit 1; nothing lies between them; "
                "swap them in the file that is read"
            ),
        ),
        ({"name": "a\0b"}, "a name cannot stand in XML; it holds a control character; rename it"),
    ],
)
def test_a_robot_that_cannot_be_written_leaves_the_file_as_it_was(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    for format_ in READERS:
        path = tmp_path / f"crane.{format_}"
        path.write_text("as it was")
        with pytest.raises(FormatError) as caught:
            dump_robot(robot_of(**changes), path)
        assert str(caught.value) == f"{path}: {message}"
        assert path.read_text() == "as it was"


@table("name, format_, message")
def test_a_format_that_does_not_write_robots_is_refused(
    name: str, format_: str | None, message: str, tmp_path: Path
) -> None:
    with pytest.raises(FormatError) as caught:
        dump_robot(robot_of(), tmp_path / name, format_)
    assert str(caught.value) == f"{tmp_path / name}: {message}"
