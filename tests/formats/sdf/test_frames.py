"""Every example of "Pose Frame Semantics" in SDFormat 1.7, valid and invalid, and what follows from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.formats import FormatError, sdf
from motiond.formats.io.source import Source
from tests.tables import table

if TYPE_CHECKING:
    from motiond.formats import RobotModel

QUARTER = "1.5707963267948966"


def load(body: str, version: str = "1.7") -> list[RobotModel]:
    return sdf.load(f'<sdf version="{version}">\n{body}\n</sdf>'.encode(), Source(Path("arm.sdf")))


def refusal(body: str, version: str = "1.7") -> list[str]:
    with pytest.raises(FormatError) as refused:
        load(body, version)
    return str(refused.value).splitlines()


def places(robot: RobotModel) -> dict[str, list[float]]:
    """Return x, y, z of everything in the world, with all joints at zero."""
    found = robot.forward_kinematics(np.zeros(robot.dof))
    return {name: pose[:3, 3].round(9).tolist() for name, pose in found.items()}


def attached(robot: RobotModel) -> dict[str, str]:
    return {frame.name: frame.attached_to for frame in robot.frames}


PENDULUM = """
<model name="pendulum_with_base" canonical_link="base">
  <link name="base"><pose>0 0 0.3 0 0 0</pose></link>
  <link name="pendulum"><pose relative_to="joint">0 0 -0.5 0 0 0</pose></link>
  <joint name="joint" type="revolute">
    <parent>base</parent><child>pendulum</child>
    <pose relative_to="base">0 0 0.73 1.57 0 0</pose>
    <axis><xyz expressed_in="__model__">1 0 0</xyz></axis>
  </joint>
  <frame name="tip" attached_to="pendulum"><pose>0 0 -0.5 -1.57079 0 0</pose></frame>
</model>
"""


def test_pendulum_hangs_from_a_joint_that_is_placed_by_its_base() -> None:
    robot = load(PENDULUM)[0]
    hang = 0.5 * np.array([0, np.sin(1.57), -np.cos(1.57)])
    top = np.array([0, 0, 1.03])
    found = robot.forward_kinematics([0.0])
    np.testing.assert_allclose(found["joint"][:3, 3], top, atol=1e-12)
    np.testing.assert_allclose(found["pendulum"][:3, 3], top + hang, atol=1e-12)
    np.testing.assert_allclose(found["tip"][:3, 3], top + 2 * hang, atol=1e-12)
    swung = robot.forward_kinematics([-1.57])
    np.testing.assert_allclose(swung["tip"][:3, 3], [0, 0, 0.03], atol=1e-12)
    np.testing.assert_allclose(swung["base"], found["base"])
    assert robot.canonical_link == "base"
    assert attached(robot) == {"__model__": "base", "tip": "pendulum"}


def test_empty_poses_and_frames_are_the_identity() -> None:
    robot = load(
        """<model name="m"><pose/><link name="A"><pose>1 2 3 0 0 1</pose></link>
        <link name="B"><pose relative_to="A"/></link>
        <link name="C"><pose relative_to="A">0 0 0 0 0 0</pose></link>
        <frame name="F1" attached_to="A"/>
        <frame name="F2" attached_to="A"><pose/></frame>
        <frame name="F3" attached_to="A"><pose relative_to="A"/></frame>
        <frame name="F4" attached_to="A"><pose relative_to="A">0 0 0 0 0 0</pose></frame></model>"""
    )[0]
    found = robot.forward_kinematics([])
    for name in ("B", "C", "F1", "F2", "F3", "F4"):
        np.testing.assert_allclose(found[name], found["A"], atol=1e-12)


def test_frame_moves_with_what_it_is_attached_to_wherever_it_is_placed() -> None:
    robot = load(
        """<model name="m"><link name="base"/><link name="arm"/>
        <joint name="slide" type="prismatic"><parent>base</parent><child>arm</child>
          <axis><xyz>1 0 0</xyz></axis></joint>
        <frame name="moves" attached_to="arm"><pose relative_to="base">0 0 1 0 0 0</pose></frame>
        <frame name="stays" attached_to="base"><pose relative_to="arm">0 0 2 0 0 0</pose></frame></model>"""
    )[0]
    found = robot.forward_kinematics([5.0])
    assert found["moves"][:3, 3].tolist() == [5, 0, 1]
    assert found["stays"][:3, 3].tolist() == [0, 0, 2]


@table("body, expected")
def test_frames_lead_to_links_through_models_and_joints(body: str, expected: dict[str, str]) -> None:
    (robot,) = load(body)
    assert attached(robot) == expected
    assert robot.canonical_link == expected["__model__"]


@table("body, message")
def test_names_and_rings_that_lead_nowhere_are_refused(body: str, message: str) -> None:
    assert refusal(body) == message.splitlines()


def test_frames_of_a_world_lead_to_it_or_to_its_models() -> None:
    body = """<world name="frame_attaching"><frame name="F0"><pose>1 0 0 0 0 0</pose></frame>
    <frame name="F1" attached_to=""><pose relative_to="F0">1 0 0 0 0 0</pose></frame>
    <frame name="F2" attached_to="F1"><pose>1 0 0 0 0 0</pose></frame>
    <model name="M0"><pose relative_to="F4">0 0 1 0 0 0</pose><link name="L"/></model>
    <frame name="F4" attached_to="M0"><pose relative_to="F2">1 0 0 0 0 0</pose></frame></world>"""
    robot = load(body)[0]
    assert places(robot) == {"L": [4, 0, 1], "__model__": [4, 0, 1]}


@table("content, link")
def test_canonical_link_of_a_model_may_be_in_a_nested_one(content: str, link: str) -> None:
    robot = load(f'<model name="top">{content}<frame name="F"/></model>')[0]
    assert robot.canonical_link == attached(robot)["F"] == attached(robot)["__model__"] == link


def test_model_frame_moves_with_the_canonical_link() -> None:
    robot = load(
        """<model name="m" canonical_link="arm"><link name="base"/><link name="arm"/>
        <joint name="slide" type="prismatic"><parent>base</parent><child>arm</child>
          <axis><xyz>1 0 0</xyz></axis></joint></model>"""
    )[0]
    assert robot.forward_kinematics([2.0])["__model__"][:3, 3].tolist() == [2, 0, 0]


def test_static_model_is_attached_to_the_world() -> None:
    robot = load(
        """<world name="w"><model name="wall"><static>true</static><pose>1 0 0 0 0 0</pose><link name="L"/>
        <frame name="hook"><pose>0 0 2 0 0 0</pose></frame></model></world>"""
    )[0]
    assert attached(robot) == {"__model__": "world", "hook": "__model__"}
    assert places(robot) == {"L": [1, 0, 0], "__model__": [1, 0, 0], "hook": [1, 0, 2]}


def test_joint_axis_is_in_the_frame_it_names() -> None:
    child = f'<link name="C"><pose>0 0 0 {QUARTER} 0 0</pose></link>'
    joint = """<joint name="joint" type="universal"><pose>0 0 0 0 0 1.5707963267948966</pose>
    <parent>P</parent><child>C</child><axis><xyz>1 0 0</xyz></axis>
    <axis2><xyz expressed_in="__model__">0 0 2</xyz></axis2></joint>"""
    body = f'<model name="m"><link name="P"/>{child}{joint}</model>'
    axes = load(body)[0].joints[0].axes
    np.testing.assert_allclose(axes, [[1, 0, 0], [1, 0, 0]], atol=1e-12)


def turning(expressed_in: str, besides: str = "", name: str = "pendulum") -> str:
    """Return a model whose child link is turned a quarter about z against it, with an axis on line 5."""
    return f"""<model name="{name}"><link name="P"/>
    <link name="C"><pose>0 0 0 0 0 {QUARTER}</pose></link>{besides}
    <joint name="J" type="revolute"><parent>P</parent><child>C</child>
    <axis><xyz expressed_in="{expressed_in}">1 0 0</xyz></axis></joint></model>"""


def axis_of(robot: RobotModel, name: str) -> list[float]:
    axes = {joint.name: joint.axes for joint in robot.joints}[name]
    return [float(value) for value in np.round(axes[0], 9)]


@table("expressed_in, axis")
def test_name_of_its_own_model_means_the_model_frame_in_an_axis(expressed_in: str, axis: list[float]) -> None:
    (robot,) = load(turning(expressed_in))
    assert axis_of(robot, "J") == axis
    assert robot.warnings == ()


def test_name_of_its_own_model_in_an_axis_gives_way_to_a_frame_of_that_name() -> None:
    half = f"0 0 0 0 0 {np.pi}"
    frame = f'<frame name="pendulum"><pose>{half}</pose></frame>'
    assert axis_of(load(turning("pendulum", frame))[0], "J") == [0, 1, 0]
    flat = f"""<link name="pendulum::L"/>
    <frame name="pendulum::__model__" attached_to="pendulum::L"><pose>{half}</pose></frame>"""
    assert axis_of(load(turning("pendulum", flat))[0], "J") == [0, 1, 0]


def test_name_of_its_own_model_in_an_axis_means_the_model_it_stands_in() -> None:
    nested = f'<model name="m"><link name="L"/><pose>0 0 0 0 0 {QUARTER}</pose>{turning("pendulum")}</model>'
    assert axis_of(load(nested)[0], "pendulum::J") == [0, -1, 0]
    assert refusal(f'<model name="m"><link name="L"/>\n{turning("m")}</model>') == [
        "arm.sdf:6: an axis of joint 'J' is expressed_in 'm'; there is no such frame in model 'm::pendulum'"
    ]


@table("expressed_in, reason")
def test_axis_in_a_frame_that_is_not_there_is_refused(expressed_in: str, reason: str) -> None:
    body = f"""<world name="w">{turning(expressed_in, '<frame name="hook"/>')}
    <model name="other"><link name="L"/></model></world>"""
    assert refusal(body) == [f"arm.sdf:5: an axis of joint 'J' is expressed_in '{expressed_in}'; {reason}"]


def test_siblings_of_different_kinds_are_renamed_before_1_7_and_beside_models_of_a_world() -> None:
    robot = load(
        """<model name="model"><link name="a"/><link name="b"/>
<joint name="a" type="fixed"><parent>a</parent><child>b</child></joint></model>""",
        "1.6",
    )[0]
    assert [joint.name for joint in robot.joints] == ["a_joint"]
    assert robot.warnings == (
        "arm.sdf:3: joint 'a' is read as 'a_joint'; the link at arm.sdf:2 has its name",
    )
    world = '<world name="w"><model name="a"><link name="l"/></model>\n<frame name="a"/></world>'
    assert load(world)[0].warnings == (
        "arm.sdf:3: frame 'a' is read as 'a_frame'; the model at arm.sdf:2 has its name",
    )


RESERVED = "world and names that begin and end with `__` are SDFormat's own; choose another"


@table("body, message")
def test_reserved_names_are_refused(body: str, message: str) -> None:
    assert refusal(body) == [f"arm.sdf:2: {message}; {RESERVED}"]


@pytest.mark.parametrize("name", ["world_model", "__wheel", "wheel__", "__"])
def test_names_that_look_nearly_reserved_are_fine(name: str) -> None:
    assert load(f'<model name="{name}"><link name="{name}"/></model>')[0].links[0].name == name


def test_own_frame_is_called_model_inside_and_by_its_name_outside() -> None:
    robot = load(
        """<model name="model"><link name="L"/><frame name="frame1"/>
        <frame name="frame2" attached_to="__model__"/>
        <model name="in"><link name="K"/></model><frame name="frame3" attached_to="in"/></model>"""
    )[0]
    assert attached(robot)["frame1"] == attached(robot)["frame2"] == "L"
    assert attached(robot)["frame3"] == "in::K"


@table("body, message")
def test_names_that_mean_nothing_there_are_refused(body: str, message: str) -> None:
    assert refusal(body) == [f"arm.sdf:2: {message}"]


def test_long_rings_are_shown_in_part() -> None:
    links = "".join(
        f'<link name="l{number}"><pose relative_to="l{(number + 1) % 30}"/></link>' for number in range(30)
    )
    shown = " -> ".join(f"m::l{number}" for number in range(10))
    assert refusal(f'<model name="m">{links}</model>') == [
        (
            f"arm.sdf:2: link 'l0' is placed by itself: {shown} -> … -> m::l0; that leads nowhere; "
            "change one of them"
        )
    ]


def test_placement_frame_puts_one_of_its_own_frames_where_the_pose_says() -> None:
    robot = load(
        """<model name="m" placement_frame="n::K"><pose>0 0 10 0 0 0</pose><link name="L"/>
        <model name="n" placement_frame="K"><pose>5 0 0 0 0 0</pose>
          <link name="K"><pose>1 0 0 0 0 0</pose></link></model></model>"""
    )[0]
    assert places(robot) == {
        "L": [-5, 0, 10],
        "__model__": [-5, 0, 10],
        "n": [-1, 0, 10],
        "n::__model__": [-1, 0, 10],
        "n::K": [0, 0, 10],
    }
    assert robot.base_pose[:3, 3].tolist() == [-5, 0, 10]


def test_flattened_names_of_old_files_stand_for_nested_models() -> None:
    robot = load(
        """<model name="m"><link name="base"/>
        <frame name="hand::__model__" attached_to="hand::palm">
          <pose relative_to="__model__">0 0 1 0 0 0</pose></frame>
        <link name="hand::palm"><pose relative_to="hand::__model__">1 0 0 0 0 0</pose></link></model>"""
    )[0]
    assert attached(robot) == {"__model__": "base", "hand::__model__": "hand::palm", "hand": "hand::palm"}
    assert places(robot)["hand"] == [0, 0, 1]
    assert refusal('<model name="m"><link name="hand::palm"/></model>', "1.8") == [
        (
            "arm.sdf:2: <link> name 'hand::palm' has '::' in it; since SDFormat 1.8 that joins the names of "
            "nested models; choose another, or nest a <model>"
        )
    ]


def test_every_link_stays_where_the_file_puts_it_whichever_joints_there_are() -> None:
    link = '<link name="{0}"><pose>{1} 0 {1} 0 {1} 0</pose></link>'
    joint = '<joint name="J{0}{1}" type="continuous"><pose>1 1 0 0 0 0</pose>'
    joints = "".join(
        joint.format(parent, child)
        + f"<parent>{parent}</parent><child>{child}</child><axis><xyz>0 1 0</xyz></axis></joint>"
        for parent, child in ("AB", "BC", "CD", "DA")
    )
    links = "".join(link.format(name, number) for number, name in enumerate("ABCD"))
    robot = load(f'<model name="four_bar">{links}{joints}</model>')[0]
    found = places(robot)
    assert [found[name] for name in "ABCD"] == [[0, 0, 0], [1, 0, 1], [2, 0, 2], [3, 0, 3]]
    assert [joint.name for joint in robot.joints if joint.closes_loop] == ["JDA"]
    assert robot.warnings == (
        (
            "arm.sdf:2: joint 'JDA' closes a loop; link 'A' hangs on another joint or carries this one; "
            "its coordinates move no link"
        ),
    )
    moved = robot.forward_kinematics([0.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(moved["A"], robot.forward_kinematics(np.zeros(4))["A"])
