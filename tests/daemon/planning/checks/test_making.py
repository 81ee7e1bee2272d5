"""The checks that configurations ask for, on a robot as its library has it."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.config.robot import RobotSettings
from motiond.daemon.joints import build_joint_map
from motiond.daemon.physics import PhysicsError
from motiond.daemon.planning import MotionLibrary, Step, make_checks, plan_sequence, preview, whole
from motiond.daemon.planning.sequence import SequenceError
from motiond.formats import Mesh, Shape, load_robot

if TYPE_CHECKING:
    from motiond.daemon.planning import Entry, PlanCheck

EXAMPLE = Path(__file__).parents[4] / "config"
ARM = EXAMPLE / "robots" / "six_axis.hrdf"


def library(**options: Any) -> MotionLibrary:
    settings = RobotSettings.model_validate(
        {
            "model": ARM,
            "driver": {"type": "sim"},
            "motions": [EXAMPLE / "motions" / "wave.seq", EXAMPLE / "motions" / "nod.seq"],
        }
        | options
    )
    model = load_robot(ARM)
    joint_map = build_joint_map("arm", model, settings.joints)
    found = MotionLibrary(joint_map, settings, 500.0, checks=make_checks(settings, model, joint_map))
    found.load_all()
    return found


def entry(**options: Any) -> Entry:
    found = library(**options).get("wave")
    assert found is not None
    return found


def shoulder(of: Entry) -> dict[str, Any]:
    joints: list[dict[str, Any]] = of.payload()["effort"]["joints"]
    return next(one for one in joints if one["joint"] == "shoulder")


def test_nothing_is_checked_that_is_not_asked_for() -> None:
    assert "effort" not in entry().payload()


def test_the_list_and_the_preview_show_what_a_motion_takes() -> None:
    found = entry(effort={})
    assert found.plan is not None
    assert shoulder(found)["limit"] == 44.0
    assert 2.0 < shoulder(found)["rms"] < shoulder(found)["peak"] < 44.0
    about, _ = preview(whole(found.plan, found.markers), library().joint_map)
    assert about["effort"] == found.payload()["effort"]


def test_what_is_carried_is_held_up_too() -> None:
    light, heavy = entry(effort={}), entry(effort={}, payload={"frame": "tool/end_effector", "mass": 0.2})
    assert shoulder(heavy)["peak"] > shoulder(light)["peak"] + 0.5


def test_too_heavy_a_payload_is_refused_and_the_list_says_what_it_would_take() -> None:
    found = entry(effort={}, payload={"frame": "tool/end_effector", "mass": 10.0})
    assert found.plan is None
    assert {one.kind for one in found.violations} == {"effort"}
    assert "wave: joint 'shoulder' needs " in found.reason
    assert shoulder(found)["peak"] > shoulder(found)["limit"]


def test_a_sequence_is_held_to_it_as_a_whole() -> None:
    joints = {"shoulder": {"limits": {"continuous_effort": 10.0}}}
    own = library(effort={}, joints=joints)
    steps = [Step(found.plan, ()) for found in own if found.plan]
    assert len(steps) == 2
    settings = RobotSettings.model_validate({"model": ARM, "driver": {"type": "sim"}, "effort": {}})
    fits = plan_sequence(steps, own.joint_map, settings, 500.0, own.checks)
    assert fits.plan.physics["effort"]["joints"]
    strict = library(effort={}, joints={"shoulder": {"limits": {"continuous_effort": 1.0}}})
    with pytest.raises(SequenceError) as caught:
        plan_sequence(steps, strict.joint_map, settings, 500.0, strict.checks)
    assert str(caught.value).startswith("steps[0].motion: joint 'shoulder' needs, as root mean square, ")


@pytest.mark.parametrize(
    ("with_model", "problem"),
    [("without", "there is no description"), ("with", "no part of the description has a mass")],
)
def test_without_masses_it_cannot_be_checked(with_model: str, problem: str, tmp_path: Path) -> None:
    urdf = tmp_path / "light.urdf"
    joint = "<joint name='j' type='revolute'><parent link='a'/><child link='b'/><axis xyz='0 0 1'/>"
    limit = "<limit lower='-1' upper='1' velocity='1' effort='1'/></joint>"
    urdf.write_text(f"<robot name='r'><link name='a'/><link name='b'/>{joint}{limit}</robot>")
    settings = RobotSettings.model_validate({"model": urdf, "driver": {"type": "sim"}, "effort": {}})
    model = load_robot(urdf)
    joint_map = build_joint_map("arm", model, {})
    with pytest.raises(PhysicsError) as caught:
        make_checks(settings, model if with_model == "with" else None, joint_map)
    hint = "name one with masses, or remove it"
    assert str(caught.value) == f"arm: effort: cannot be checked; {problem}; {hint}"


MOVES = "<axis xyz='0 0 1'/><limit lower='-1' upper='1' velocity='1' effort='1'/></joint>"
MISSING = "<geometry><mesh filename='gone.stl'/></geometry>"
ABOVE_A_TABLE = {"workspace": [{"name": "table", "plane": [0, 0, 1]}]}
BOX = "<geometry><box size='1 1 1'/></geometry>"
MASS = "<inertial><mass value='1'/></inertial>"
TURNS = "<axis><xyz>0 0 1</xyz></axis></joint>"


def urdf(*links: str) -> str:
    """Return a chain of links `a`, `b`, … with what stands in them, and a joint between each two."""
    names = "abcdef"[: len(links)]
    bodies = "".join(f"<link name='{name}'>{what}</link>" for name, what in zip(names, links, strict=True))
    joints = "".join(
        f"<joint name='j{number}' type='revolute'><parent link='{one}'/><child link='{other}'/>{MOVES}"
        for number, (one, other) in enumerate(pairwise(names))
    )
    return f"<robot name='r'>{bodies}{joints}</robot>"


def made(file: Path, text: str, **options: Any) -> tuple[PlanCheck, ...]:
    file.write_text(text)
    settings = RobotSettings.model_validate({"model": file, "driver": {"type": "sim"}} | options)
    model = load_robot(file)
    return make_checks(settings, model, build_joint_map("arm", model, {}))


SDF = f"""<sdf version='1.9'><model name='r'><link name='a'/><link name='b'><collision name='c'>
<geometry><mesh><uri>gone.stl</uri></mesh></geometry></collision></link>
<joint name='j' type='revolute'><parent>a</parent><child>b</child>{TURNS}</model></sdf>"""
SKEL = f"""<skel version='1.0'><world name='w'><skeleton name='r'><body name='a'/><body name='b'>
<collision_shape><geometry><mesh><file_name>gone.stl</file_name></mesh></geometry></collision_shape></body>
<joint name='j' type='revolute'><parent>a</parent><child>b</child>{TURNS}</skeleton></world></skel>"""
HRDF = """<robot version='1.6.0'><actuator type='X8-9' tag='j'/><rigid-body tag='b' mass='1'
com_rot='Rx(0)' com_trans='0 0 0' ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'
output_trans='0 0 0.1' output_rot='Rx(0)' mesh_path='gone.stl'/></robot>"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("collisions.urdf", urdf(f"<collision>{BOX}</collision>", f"<collision>{MISSING}</collision>")),
        ("visuals.urdf", urdf(f"<visual>{BOX}</visual>", f"<visual>{MISSING}</visual>")),
        ("r.sdf", SDF),
        ("r.skel", SKEL),
        ("r.hrdf", HRDF),
    ],
)
def test_a_link_whose_shape_is_missing_is_refused(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(PhysicsError) as caught:
        made(tmp_path / name, text, collision={})
    assert str(caught.value) == (
        "arm: collision: a shape of 'b' is missing; how near it comes would be unknown; "
        "look at the warnings about the description's shapes, and put it right"
    )


def test_a_look_that_is_missing_is_no_obstacle_where_links_have_collision_shapes(tmp_path: Path) -> None:
    solid = f"<collision>{BOX}</collision>"
    arm = urdf(solid, f"<visual>{MISSING}</visual>{solid}", solid)
    (check,) = made(tmp_path / "arm.urdf", arm, collision=ABOVE_A_TABLE)
    assert not [note for note in check.notes if "compared with nothing" in note]


def test_links_that_touch_nothing_are_named(tmp_path: Path) -> None:
    solid = f"<collision>{BOX}</collision>"
    arm = urdf(solid, "", f"<visual>{BOX}</visual>", solid)
    (check,) = made(tmp_path / "arm.urdf", arm, collision=ABOVE_A_TABLE)
    assert check.notes[-1] == "links without collision shapes are compared with nothing: c"


@pytest.mark.parametrize("name", ["b", "cell +x"])
def test_a_shape_of_the_workspace_has_no_name_of_a_link_or_a_wall(name: str, tmp_path: Path) -> None:
    arm = urdf(*[f"<collision>{BOX}</collision>"] * 3)
    cell = {"name": "cell", "kind": "allowed", "box": [2, 2, 2]}
    with pytest.raises(PhysicsError) as caught:
        made(tmp_path / "arm.urdf", arm, collision={"workspace": [cell, {"name": name, "plane": [0, 0, 1]}]})
    assert str(caught.value) == (
        f"arm: collision: workspace: '{name}' would be two; a link, or a wall of what is allowed, is called "
        "so, too; choose another name"
    )


def test_all_that_cannot_be_checked_is_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(PhysicsError) as caught:
        made(tmp_path / "arm.urdf", urdf("", "", ""), effort={}, collision={})
    assert str(caught.value) == (
        "arm: effort: cannot be checked; no part of the description has a mass; name one with masses, or "
        "remove it\n"
        "arm: collision: nothing can be checked; no two links can touch, and there is no workspace; "
        "add shapes to links, or remove it"
    )


def test_what_no_check_can_have_is_reported_once(tmp_path: Path) -> None:
    links = "".join(f"<link name='{name}'><inertial><mass>1</mass></inertial></link>" for name in "ab")
    joints = "".join(
        f"<joint name='{name}' type='revolute'><parent>a</parent><child>b</child>{TURNS}" for name in "jk"
    )
    ring = f"<sdf version='1.9'><model name='r'>{links}{joints}</model></sdf>"
    with pytest.raises(PhysicsError) as caught:
        made(tmp_path / "r.sdf", ring, effort={}, collision=ABOVE_A_TABLE)
    assert str(caught.value) == (
        "arm: joint 'k' closes a loop; MuJoCo has trees of links here; open it in the description"
    )


def test_joints_that_move_no_mass_are_named(tmp_path: Path) -> None:
    (check,) = made(tmp_path / "arm.urdf", urdf("", MASS, ""), effort={})
    assert check.notes == [
        "joints that move no mass take 0.01 kg·m² or kg times their acceleration alone: j1"
    ]
    payload = {"frame": "c", "mass": 1.0}
    (check,) = made(tmp_path / "arm.urdf", urdf("", MASS, ""), effort={}, payload=payload)
    assert check.notes == []


def test_efforts_of_a_robot_that_moves_no_mass_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PhysicsError) as caught:
        made(tmp_path / "arm.urdf", urdf(MASS, "", ""), effort={})
    assert str(caught.value) == (
        "arm: no joint moves a mass; no link beyond one has a mass; give links masses, or name a `payload`"
    )


def test_links_whose_mass_is_not_known_are_named(tmp_path: Path) -> None:
    solid = f"<collision>{BOX}</collision>"
    (check,) = made(tmp_path / "arm.urdf", urdf(solid, solid, solid + MASS), effort={})
    assert check.notes == ["links without a mass weigh nothing in efforts: b"]


def test_an_effort_limit_of_nothing_counts_as_none_and_is_named(tmp_path: Path) -> None:
    arm = urdf(MASS, MASS, MASS).replace("effort='1'", "effort='0'", 1)
    joints = {"j0": {"limits": {"effort": 20.0}}}
    (check,) = made(tmp_path / "arm.urdf", arm, effort={}, joints=joints)
    problem = "an effort limit of 0 in the description counts as none: j0"
    reason = "no actuator moves anything without effort"
    hint = "write what they bear, or set `joints.NAME.limits.effort`"
    assert check.warnings == [f"{problem}; {reason}; {hint}"]
    limits = build_joint_map("arm", load_robot(tmp_path / "arm.urdf"), {}).limits
    assert limits.effort.tolist() == [float("inf"), 1.0]


def test_without_the_extra_it_is_refused_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(PhysicsError) as caught:
        library(effort={})
    message = str(caught.value)
    assert message.startswith("arm: effort: needs MuJoCo, which cannot be imported; ")
    assert message.endswith("; pip install 'motiond[physics]'")
    assert library().get("wave")


def test_meshes_that_mujoco_cannot_read_are_no_obstacle() -> None:
    model = load_robot(ARM)
    mesh = Shape("mesh", mesh=Mesh(Path("arm.dae"), "dae"))
    dressed = replace(model, links=tuple(replace(link, shapes=(mesh,)) for link in model.links))
    settings = RobotSettings.model_validate({"model": ARM, "driver": {"type": "sim"}, "effort": {}})
    assert make_checks(settings, dressed, build_joint_map("arm", model, {}))
