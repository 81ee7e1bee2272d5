"""Robots of good SDFormat files: worlds, links, joints and includes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.formats import load_robot, load_robots, sdf
from motiond.formats.io.source import Source
from tests.tables import table

if TYPE_CHECKING:
    from motiond.formats import Joint, RobotModel

GOOD = Path(__file__).parents[2] / "files" / "good" / "sdf"


INF = float("inf")


def load(body: str, version: str = "1.9") -> RobotModel:
    text = f'<sdf version="{version}">\n<model name="m">{body}</model>\n</sdf>'
    return sdf.load(text.encode(), Source(Path("arm.sdf")))[0]


def joint(type_: str, inside: str = "", version: str = "1.9") -> Joint:
    """Return a joint between two links; the child is a metre up and a quarter of a turn about x."""
    child = '<link name="C"><pose degrees="true">0 0 1 90 0 0</pose></link>'
    ends = "<parent>P</parent><child>C</child>"
    body = f'<link name="P"/>{child}<joint name="J" type="{type_}">{ends}{inside}</joint>'
    return load(body, version).joints[0]


@pytest.fixture
def rover() -> RobotModel:
    return load_robot(GOOD / "rover.sdf", "rover", within=[GOOD])


def test_each_model_of_a_world_is_a_robot(rover: RobotModel) -> None:
    fence = load_robots(GOOD / "rover.sdf")[0]
    assert (fence.name, fence.dof, [link.name for link in fence.links]) == ("fence", 0, ["panel"])
    assert (rover.format, rover.version, rover.dof, rover.canonical_link) == ("sdf", "1.9", 4, "chassis")
    assert rover.warnings == ()


def test_joints_and_links_are_in_document_order_with_includes_in_their_places(rover: RobotModel) -> None:
    assert [joint.name for joint in rover.joints] == ["lift", "left_axle", "right_axle", "grip", "bolt"]
    links = ["chassis", "carriage", "left::rim", "right::rim", "palm", "finger"]
    assert [link.name for link in rover.links] == links
    assert [frame.name for frame in rover.frames] == [
        "__model__",
        *("left", "left::__model__", "left::hub"),
        *("right", "right::__model__", "right::hub"),
        *("_merged__gripper__model__", "mount"),
    ]


def test_robot_stands_where_its_world_puts_it(rover: RobotModel) -> None:
    found = rover.forward_kinematics([0.4, 0, 0, 0.03])
    # The dock is at 1 2 0, turned by a quarter; x of the rover is y of the world.
    np.testing.assert_allclose(found["chassis"][:3, 3], [1, 2, 0.1], atol=1e-12)
    np.testing.assert_allclose(found["right::rim"][:3, 3], [1.25, 2, 0.1], atol=1e-12)
    np.testing.assert_allclose(found["left::hub"][:3, 3], [0.73, 2, 0.1], atol=1e-12)
    np.testing.assert_allclose(found["mount"][:3, 3], [1, 2.2, 1], atol=1e-12)
    np.testing.assert_allclose(found["palm"][:3, 3], [1, 2.25, 1], atol=1e-12)
    np.testing.assert_allclose(found["finger"][:3, 3], [1, 2.38, 1], atol=1e-12)


def test_joint_of_an_included_model_is_bound_to_its_link(rover: RobotModel) -> None:
    axles = {joint.name: joint.child for joint in rover.joints}
    assert (axles["left_axle"], axles["right_axle"]) == ("left::rim", "right::rim")


def test_masses_and_limits_are_read(rover: RobotModel) -> None:
    chassis = rover.links[0]
    assert chassis.mass == 12.5
    assert chassis.com[:3, 3].tolist() == [0, 0, 0.05]
    assert chassis.inertia.tolist() == [[0.2, 0.01, 0], [0.01, 0.3, 0], [0, 0, 0.4]]
    lift = rover.joints[0].coordinates[0]
    assert (lift.name, lift.lower, lift.upper) == ("lift", 0, 0.4)
    assert (lift.velocity_limit, lift.effort_limit, lift.damping, lift.friction) == (0.2, 150, 3, 0.5)


def test_link_without_inertial_has_the_default_of_the_format() -> None:
    link = load('<link name="L"/>').links[0]
    assert link.mass == 1
    np.testing.assert_array_equal(link.inertia, np.eye(3))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("", (-INF, INF, INF, INF)),
        ("<limit/>", (-INF, INF, INF, INF)),
        ("<limit><lower>-1e16</lower><upper>1e+16</upper></limit>", (-INF, INF, INF, INF)),
        ("<limit><lower>-inf</lower><upper>INF</upper></limit>", (-INF, INF, INF, INF)),
        ("<limit><velocity>-1</velocity><effort>-1</effort></limit>", (-INF, INF, INF, INF)),
        ("<limit><lower>-.5</lower><velocity>0</velocity></limit>", (-0.5, INF, 0, INF)),
        ("<limit><effort> 5e1 </effort></limit>", (-INF, INF, INF, 50)),
    ],
)
def test_limits_that_are_none_are_infinite(limit: str, expected: tuple[float, ...]) -> None:
    one = joint("revolute", f"<axis><xyz>1 0 0</xyz>{limit}</axis>").coordinates[0]
    assert (one.lower, one.upper, one.velocity_limit, one.effort_limit) == expected


@table("type_, names, axes")
def test_every_joint_type_has_its_coordinates_and_axes(
    type_: str, names: list[str], axes: list[list[float]]
) -> None:
    read = joint(type_, "<axis><xyz>0 3 0</xyz></axis><axis2><xyz>2 0 0</xyz></axis2>")
    assert read.type == type_.lower()
    assert [coordinate.name for coordinate in read.coordinates] == names
    np.testing.assert_allclose(read.axes, np.reshape(axes, (-1, 3)), atol=1e-12)


@table("version, flag, axis")
def test_axis_of_an_old_file_may_be_in_the_model_s_frame(version: str, flag: str, axis: list[float]) -> None:
    element = f"<use_parent_model_frame>{flag}</use_parent_model_frame>" if flag else ""
    read = joint("revolute", f"<axis><xyz>0 1 0</xyz>{element}</axis>", version)
    np.testing.assert_allclose(read.axes, [axis], atol=1e-12)


@table("pitch, expected")
def test_screw_moves_by_its_pitch_in_one_turn(pitch: str, expected: float) -> None:
    read = joint("screw", f"<axis><xyz>0 0 1</xyz></axis>{pitch}")
    assert read.pitch_m == pytest.approx(expected)


def test_mimic_follows_another_joint_of_its_model() -> None:
    axis = "<axis><xyz>0 0 1</xyz>{}</axis>"
    mimic = (
        '<mimic joint="lead"><multiplier>2</multiplier><offset>1</offset><reference>0.25</reference></mimic>'
    )
    robot = load(
        '<link name="A"/><model name="hand"><link name="B"/><link name="C"/><link name="D"/>'
        '<joint name="lead" type="revolute"><parent>B</parent><child>C</child>' + axis.format("") + "</joint>"
        '<joint name="follow" type="revolute"><parent>C</parent><child>D</child>'
        + axis.format(mimic)
        + "</joint></model>",
        "1.11",
    )
    follower = robot.joints[1].mimic
    assert follower is not None
    assert (follower.of, follower.multiplier, follower.offset) == ("hand::lead", 2, 0.5)
    assert robot.joints[1].coordinates[0].name == "hand::follow"


def test_gearbox_keeps_its_ratio_for_whoever_moves_it() -> None:
    inside = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2><gearbox_ratio>3</gearbox_ratio>"
    ends = "<parent>P</parent><child>C</child>"
    joint_ = f'<joint name="J" type="gearbox">{ends}{inside}</joint>'
    assert load(f'<link name="P"/><link name="C"/>{joint_}').metadata == {"gearbox_ratio": {"J": 3}}


@table("pose, same")
def test_poses_are_angles_degrees_or_quaternions(pose: str, same: str) -> None:
    robot = load(f'<link name="A">{pose}</link><link name="B"><pose>{same}</pose></link>')
    found = robot.forward_kinematics([])
    np.testing.assert_allclose(found["A"], found["B"], atol=1e-7)


def test_roll_pitch_and_yaw_turn_about_fixed_axes() -> None:
    found = load('<link name="L"><pose degrees="true">0 0 0 90 0 90</pose></link>').forward_kinematics([])
    np.testing.assert_allclose(found["L"][:3, :3] @ [0, 1, 0], [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(found["L"][:3, :3] @ [1, 0, 0], [0, 1, 0], atol=1e-12)


def test_joint_to_the_world_holds_the_robot_where_it_stands() -> None:
    robot = load(
        '<pose>0 0 5 0 0 0</pose><link name="L"><pose>0 0 1 0 0 0</pose></link>'
        '<joint name="J" type="prismatic"><parent>world</parent><child>L</child>'
        "<axis><xyz>1 0 0</xyz></axis></joint>"
    )
    assert robot.joints[0].parent == "world"
    assert robot.forward_kinematics([2.0])["L"][:3, 3].tolist() == [2, 0, 6]


def test_what_robots_do_not_need_is_passed_over() -> None:
    robot = load(
        '<link name="L"><gz:mark/><sensor name="imu" type="imu"><topic>__root__</topic></sensor></link>'
        '<plugin name="p" filename="f"><link name="L"/><anything/></plugin><own:part name="world"/>'
    )
    assert [link.name for link in robot.links] == ["L"]
    assert robot.warnings == ()


def test_file_without_models_holds_no_robot() -> None:
    text = b'<sdf version="1.6"><world name="w"><light name="sun" type="point"/></world></sdf>'
    assert sdf.load(text, Source(Path("w.sdf"))) == []
