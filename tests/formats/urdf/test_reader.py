"""Robots of good URDF files; poses are worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.formats import FormatError, load_robot, urdf
from motiond.formats.io.source import Source
from motiond.formats.urdf.joint import TYPES
from tests.tables import table

if TYPE_CHECKING:
    from motiond.formats import Joint, RobotModel, Shape

GOOD = Path(__file__).parents[2] / "files" / "good" / "urdf"
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
XACRO = (
    "is xacro, of which URDF is made; robots are read from HRDF, SKEL, SDFormat and URDF; "
    "expand it: `xacro IN.urdf.xacro > OUT.urdf`"
)


def robot(inside: str, folder: Path = Path()) -> RobotModel:
    """Read a robot with links a and b."""
    text = f'<robot name="r"><link name="a"/><link name="b"/>\n{inside}</robot>'
    (model,) = urdf.load(text.encode(), Source(folder / "r.urdf"))
    return model


def joint(type_: str, inside: str = "", name: str = "j") -> str:
    ends = '<parent link="a"/><child link="b"/>'
    return f'<joint name="{name}" type="{type_}">{ends}{inside}</joint>'


def one_joint(type_: str, inside: str = "") -> Joint:
    return robot(joint(type_, inside)).joints[0]


def shape(inside: str, tag: str = "visual", more: str = "") -> Shape:
    link = f'<link name="c"><{tag}>{inside}</{tag}></link>{more}'
    ends = '<parent link="b"/><child link="c"/>'
    model = robot(f'{link}{joint("fixed")}<joint name="k" type="fixed">{ends}</joint>')
    assert model.warnings == ()
    (found,) = model.links[2].shapes
    return found


def test_links_hang_on_each_other_by_joints() -> None:
    picker = load_robot(GOOD / "picker.urdf")
    assert (picker.name, picker.format, picker.version) == ("picker", "urdf", "1.0")
    assert (picker.canonical_link, picker.dof, picker.frames) == ("world", 5, ())
    assert [(one.name, one.type, one.parent, one.child) for one in picker.joints] == [
        ("bolts", "fixed", "world", "base"),
        ("shoulder", "revolute", "base", "upper"),
        ("lift", "prismatic", "upper", "lower"),
        ("spin", "continuous", "lower", "wheel"),
        ("left_finger", "prismatic", "wheel", "left"),
        ("right_finger", "prismatic", "wheel", "right"),
    ]
    at_rest = picker.forward_kinematics(np.zeros(picker.dof))
    np.testing.assert_allclose(at_rest["base"], np.eye(4))
    np.testing.assert_allclose(at_rest["lower"][:3, 3], [0, 0.3, 0.1], atol=1e-12)
    # The shoulder turns about its own y, which is the base's -x.
    lowered = picker.forward_kinematics([np.pi / 2, 0.1, 0, 0, 0])
    np.testing.assert_allclose(lowered["lower"][:3, 3], [0, 0, 0.1 - 0.4], atol=1e-12)


def test_inertia_is_about_the_centre_of_mass_in_a_frame_of_its_own() -> None:
    base = load_robot(GOOD / "picker.urdf").links[1]
    assert (base.mass, base.com[:3, 3].tolist()) == (4.5, [0, 0, 0.05])
    np.testing.assert_allclose(base.com[0, :2], [np.cos(0.1), -np.sin(0.1)])
    assert base.inertia.tolist() == [[0.02, 0.001, 0], [0.001, 0.03, 0], [0, 0, 0.04]]


def test_a_link_without_inertial_weighs_nothing() -> None:
    link = robot(joint("fixed")).links[0]
    assert (link.mass, link.inertia.tolist()) == (0, np.zeros((3, 3)).tolist())


def test_limits_and_dynamics_are_those_of_the_file() -> None:
    only = load_robot(GOOD / "picker.urdf").joints[1].coordinates[0]
    assert (only.lower, only.upper, only.velocity_limit, only.effort_limit) == (-1.5, 1.5, 2, 40)
    assert (only.damping, only.friction) == (0.2, 0.1)


def test_a_continuous_joint_has_no_end_and_may_have_other_limits() -> None:
    only = load_robot(GOOD / "picker.urdf").joints[3].coordinates[0]
    assert (only.lower, only.upper, only.velocity_limit, only.effort_limit) == (-np.inf, np.inf, 10, 5)
    assert one_joint("continuous").coordinates[0].velocity_limit == np.inf


def test_a_bound_beyond_anything_is_none() -> None:
    limit = LIMIT.replace('"-1"', '"-1e16"').replace('"2"', '"inf"')
    only = one_joint("revolute", limit).coordinates[0]
    assert (only.lower, only.upper) == (-np.inf, np.inf)


def test_a_joint_may_follow_another() -> None:
    right = load_robot(GOOD / "picker.urdf").joints[5]
    assert right.mimic is not None
    assert (right.mimic.of, right.mimic.multiplier, right.mimic.offset) == ("left_finger", -1, 0)


def test_what_is_kept_and_moves_nothing() -> None:
    picker = load_robot(GOOD / "picker.urdf")
    assert picker.metadata == {
        "reductions": {"shoulder": -100.5},
        "soft_limits": {"shoulder": (-1.4, 1.4)},
        "calibration": {"shoulder": {"rising": 0.1}},
    }
    assert robot(joint("fixed")).metadata == {}


def test_soft_limits_that_are_no_narrower_pass_without_a_word() -> None:
    safety = '<safety_controller soft_lower_limit="-9" soft_upper_limit="9" k_velocity="1"/>'
    model = robot(joint("revolute", LIMIT + safety))
    assert (model.warnings, model.metadata["soft_limits"]) == ((), {"j": (-9, 9)})
    assert (model.joints[0].coordinates[0].lower, model.joints[0].coordinates[0].upper) == (-1, 2)
    assert robot(joint("revolute", f'{LIMIT}<safety_controller k_velocity="1"/>')).metadata == {}


@table("transmission, reduction")
def test_a_reduction_stands_in_the_joint_the_actuator_or_the_transmission(
    transmission: str, reduction: float | None
) -> None:
    model = robot(f"{joint('revolute', LIMIT)}<transmission name='t'>{transmission}</transmission>")
    assert model.metadata.get("reductions", {}).get("j") == reduction
    assert model.warnings == ()


@pytest.mark.parametrize(("type_", "neutral"), TYPES.items())
def test_an_axis_is_that_of_x_unless_the_file_names_one(type_: str, neutral: str) -> None:
    read = one_joint(type_, LIMIT if type_ in {"revolute", "prismatic"} else "")
    assert read.type == neutral
    assert len(read.axes) == len(read.coordinates)
    if neutral not in {"fixed", "free"}:
        assert read.axes[-1].tolist() == [1, 0, 0]


def test_a_floating_joint_turns_by_a_vector_and_then_moves() -> None:
    model = load_robot(GOOD / "float.urdf")
    swim = model.joints[0]
    assert [one.name for one in swim.coordinates] == [
        f"swim_{kind}_{axis}" for kind in ("rot", "pos") for axis in "xyz"
    ]
    hull = model.forward_kinematics([0, 0, np.pi / 2, 1, 2, 3, 0, 0, 0])["hull"]
    np.testing.assert_allclose(hull[:3, 3], [2, 2, 3])
    np.testing.assert_allclose(hull[:3, :3] @ [1, 0, 0], [0, 1, 0], atol=1e-12)


@table("axis, names, x, y, z")
def test_a_planar_joint_moves_square_to_its_axis_and_turns_about_it(
    axis: str, names: str, x: list[float], y: list[float], z: list[float]
) -> None:
    """x, y, z: where the plane's two directions and its axis lie."""
    model = robot(joint("planar", f'<axis xyz="{axis}"/>'))
    assert [one.name for one in model.joints[0].coordinates] == [f"j{name}" for name in names.split()]
    assert [model.joints[0].unit(number) for number in range(3)] == ["m", "m", "rad"]
    np.testing.assert_allclose(model.forward_kinematics([2, 0, 0])["b"][:3, 3], np.multiply(2, x), atol=1e-12)
    np.testing.assert_allclose(model.forward_kinematics([0, 3, 0])["b"][:3, 3], np.multiply(3, y), atol=1e-12)
    turned = model.forward_kinematics([1, 0, np.pi / 2])["b"]
    np.testing.assert_allclose(turned[:3, 3], x, atol=1e-12)
    np.testing.assert_allclose(turned[:3, :3] @ x, y, atol=1e-12)
    np.testing.assert_allclose(turned[:3, :3] @ z, z, atol=1e-12)


def test_a_rotation_may_be_a_quaternion() -> None:
    angles, quaternion = (
        one_joint("fixed", f"<origin xyz='1 2 3' {turn}/>").parent_pose
        for turn in ('rpy="0 0 0.6"', f'quat_xyzw="0 0 {np.sin(0.3)} {np.cos(0.3)}"')
    )
    np.testing.assert_allclose(angles, quaternion, atol=1e-12)


@table("body, kind, size")
def test_a_shape_has_its_size(body: str, kind: str, size: tuple[float, ...]) -> None:
    found = shape(f'<origin xyz="1 0 0"/><geometry>{body}</geometry>')
    assert (found.kind, found.size, found.role, found.colour) == (kind, size, "visual", None)
    assert found.pose[:3, 3].tolist() == [1, 0, 0]
    assert shape(f"<geometry>{body}</geometry>", "collision").role == "collision"


@table("material, more, colour")
def test_a_material_may_be_defined_anywhere(material: str, more: str, colour: tuple[float, ...]) -> None:
    assert shape(f'<geometry><sphere radius="1"/></geometry>{material}', more=more).colour == colour


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("meshes/a.stl", "ws/arm/urdf/meshes/a.stl"),
        ("../meshes/a.stl", "ws/arm/meshes/a.stl"),
        ("package://arm/meshes/a.stl", "ws/arm/meshes/a.stl"),
        ("model://arm/meshes/a.stl", "ws/arm/meshes/a.stl"),
        ("file://{folder}/elsewhere/a.stl", "elsewhere/a.stl"),
    ],
)
def test_a_mesh_is_found_where_its_uri_says(uri: str, place: str, tmp_path: Path) -> None:
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).touch()
    (tmp_path / "ws/arm/urdf").mkdir(parents=True, exist_ok=True)
    mesh = f'<mesh filename="{uri.format(folder=tmp_path)}" scale="1 2 -3"/>'
    link = f'<link name="c"><visual><geometry>{mesh}</geometry></visual></link>'
    ends = '<parent link="b"/><child link="c"/>'
    text = f'{link}{joint("fixed")}<joint name="k" type="fixed">{ends}</joint>'
    (found,) = robot(text, tmp_path / "ws/arm/urdf").links[2].shapes
    assert found.mesh is not None
    assert found.mesh.path.resolve() == tmp_path / place
    assert found.scale == (1, 2, -3)


@table("inside, message")
def test_what_is_odd_is_read_with_a_warning(inside: str, message: str) -> None:
    model = robot(inside)
    assert model.warnings == (f"r.urdf:{message}",)
    assert model.forward_kinematics(np.zeros(model.dof))


def test_a_joint_at_rest_between_equal_limits_is_told_of() -> None:
    limit = '<limit velocity="1" effort="0"/>'
    assert robot(joint("revolute", limit)).warnings == (
        (
            "r.urdf:2: joint 'j' cannot move: its limits are 0 and 0; 0 is what a missing one is; "
            "write lower and upper"
        ),
        "r.urdf:2: the effort limit of joint 'j' is 0; it could not move; write its real one",
    )


def test_a_hundred_unknown_things_are_told_of() -> None:
    many = "".join(f'\n<link name="l{number}"><a{number}/></link>' for number in range(98))
    hung = "".join(
        f'<joint name="j{number}" type="fixed"><parent link="a"/><child link="l{number}"/></joint>'
        for number in range(98)
    )
    assert len(robot(f"{joint('fixed')}{many}{hung}").warnings) == 98


@pytest.mark.parametrize("extension", ["gazebo", "ros2_control", "sensor", "mujoco"])
def test_extensions_of_other_programs_are_skipped_without_a_word(extension: str) -> None:
    content = '<joint name="j"><limit/><velocity>2</velocity></joint>'
    assert robot(f"{joint('fixed')}<{extension} name='x'>{content}</{extension}>").warnings == ()


def test_a_part_of_a_robot_under_the_suffix_of_xacro_is_refused_as_such() -> None:
    text = b'<robot><gazebo reference="a"/></robot>'
    with pytest.raises(FormatError) as caught:
        urdf.load(text, Source(Path("r.urdf.xacro")))
    assert str(caught.value) == f"r.urdf.xacro: {XACRO}"


@table("inside")
def test_xacro_is_refused_with_the_command_that_expands_it(inside: str) -> None:
    with pytest.raises(FormatError) as caught:
        robot(f"{joint('fixed')}{inside}")
    assert str(caught.value) == f"r.urdf:2: {XACRO}"
