"""Joints of a `<world>`: the models that they join are one robot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motiond.formats import FormatError, RobotModel
from motiond.formats.io.source import Source
from motiond.formats.sdf import load
from tests.tables import table

ARM = """<model name="arm"><pose>1 0 0 0 0 0</pose><link name="base"/>
<link name="hand"><pose>0 0 1 0 0 0</pose></link>
<joint name="lift" type="prismatic"><parent>base</parent><child>hand</child><axis><xyz>0 0 1</xyz>
<limit><lower>0</lower><upper>2</upper></limit></axis></joint></model>"""
GRIPPER = """<model name="gripper"><pose relative_to="arm::hand">0 0 0.1 0 0 0</pose><link name="palm"/>
<link name="finger"/><joint name="open" type="prismatic"><parent>palm</parent><child>finger</child><axis>
<xyz>0 1 0</xyz><limit><lower>0</lower><upper>1</upper></limit></axis></joint></model>"""
MOUNT = '<joint name="mount" type="{}"><parent>arm::hand</parent><child>gripper</child>{}</joint>'
TURNS = "<axis><xyz>1 0 0</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>"
CART = '<model name="cart"><link name="deck"/></model>'


def robots(*parts: str) -> list[RobotModel]:
    text = f'<sdf version="1.11"><world name="w">\n{"".join(parts)}</world></sdf>'
    return load(text.encode(), Source(Path("cell.sdf")))


def robot(*parts: str) -> RobotModel:
    (found,) = robots(*parts)
    return found


def test_models_that_a_joint_of_the_world_joins_are_one_robot() -> None:
    joined, cart = robots(ARM, GRIPPER, CART, MOUNT.format("revolute", TURNS))
    assert (joined.name, cart.name) == ("arm", "cart")
    assert [joint.name for joint in joined.joints] == ["arm::lift", "gripper::open", "mount"]
    links = ["arm::base", "arm::hand", "gripper::palm", "gripper::finger"]
    assert [link.name for link in joined.links] == links
    assert joined.canonical_link == "arm::base"
    assert joined.warnings == ()
    mount = joined.joints[2]
    assert (mount.parent, mount.child) == ("arm::hand", "gripper::palm")


def test_what_hangs_on_the_joint_moves_with_both_models() -> None:
    joined = robot(ARM, GRIPPER, MOUNT.format("revolute", TURNS))
    at_rest = joined.forward_kinematics([0, 0, 0])
    np.testing.assert_allclose(at_rest["gripper::finger"][:3, 3], [1, 0, 1.1])
    moved = joined.forward_kinematics([0.5, 0.2, np.pi / 2])
    np.testing.assert_allclose(moved["gripper::palm"][:3, 3], [1, 0, 1.6], atol=1e-12)
    np.testing.assert_allclose(moved["gripper::finger"][:3, 3], [1, 0, 1.8], atol=1e-12)
    np.testing.assert_allclose(moved["arm"][:3, 3], [1, 0, 0], atol=1e-12)


def test_a_robot_that_only_the_world_holds_keeps_its_names() -> None:
    ends = "<parent>world</parent><child>arm::base</child>"
    slide = f'<joint name="slide" type="prismatic">{ends}{TURNS}</joint>'
    held = robot(ARM, slide)
    assert [joint.name for joint in held.joints] == ["lift", "slide"]
    assert (held.joints[1].parent, held.joints[1].child) == ("world", "base")
    np.testing.assert_allclose(held.forward_kinematics([0, 0.5])["hand"][:3, 3], [1.5, 0, 1])


def test_chains_of_joined_models_are_one_robot() -> None:
    pallet = '<model name="pallet"><link name="top"/></model>'
    tie = '<joint name="tie" type="fixed"><parent>{}</parent><child>{}</child></joint>'
    bolt = tie.replace("tie", "bolt").format("cart", "arm")
    (joined,) = robots(pallet, CART, ARM, bolt, tie.format("pallet", "cart"))
    assert joined.name == "pallet"
    assert [joint.name for joint in joined.joints] == ["arm::lift", "bolt", "tie"]


@pytest.mark.parametrize("end", ["world", "floor"])
def test_a_joint_that_would_carry_the_world_is_not_read(end: str) -> None:
    """The oldest reader of such files, libsdformat 12, passes over all joints of worlds."""
    floor = '<frame name="floor"><pose>0 0 -1 0 0 0</pose></frame>'
    joint = f'<joint name="j" type="ball"><parent>arm::hand</parent><child>{end}</child></joint>'
    standing = robot(floor, ARM, "\n", joint)
    assert [one.name for one in standing.joints] == ["lift"]
    (warning,) = standing.warnings
    assert warning == (
        "cell.sdf:6: joint 'j' of a world has the world as its child; the world is fixed; "
        "it is not read; swap the two"
    )


@table("parts, problem")
def test_a_joint_of_the_world_that_joins_nothing_is_refused(parts: str, problem: str) -> None:
    with pytest.raises(FormatError) as refused:
        robots(ARM, GRIPPER, "\n" + parts)
    assert str(refused.value).replace("cell.sdf:", "") == problem
