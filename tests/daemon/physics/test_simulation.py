"""Robots of a configuration that are simulated in a world made of their description."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml

from motiond.daemon.api import PlayRequest
from motiond.daemon.config.robot import JointSettings
from motiond.daemon.config.settings import load_settings
from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.physics import Dynamics, PhysicalRobot, PhysicsError, make_world, with_physics
from motiond.daemon.tools.check import check_motions
from motiond.daemon.tools.dry_run import DryRun, run_dry
from motiond.drivers.base import CONTACT, ActuatorState
from motiond.drivers.sim import ARMATURE
from motiond.drivers.testing.rig import Clock
from motiond.formats import load_robot
from tests.drivers.sim.joints import Joints
from tests.drivers.sim.physics.worlds import plant_of

if TYPE_CHECKING:
    from motiond.formats import RobotModel
    from motiond.formats.arrays import Floats

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
ARM = ROOT / "config" / "robots" / "six_axis.hrdf"
GOOD = ROOT / "tests" / "files" / "good"
JOINTS = ("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3")
LIMITS = {"lower": -3.0, "upper": 3.0, "acceleration": 20}


def configured(folder: Path, **changes: Any) -> Path:
    """Write a configuration of the example's arm in a physical world; `changes`: of the robot."""
    robot: dict[str, Any] = {
        "model": str(ARM),
        "driver": {"type": "sim", "physics": True},
        "motions": [str(ROOT / "config" / "motions")],
        "joints": {name: {"limits": LIMITS} for name in JOINTS},
    }
    path = folder / "motiond.yaml"
    path.write_text(yaml.safe_dump({"mqtt": {"broker": "embedded"}, "robots": {"arm": robot | changes}}))
    return path


def play(config: Path, motion: str = "wave") -> DryRun:
    return run_dry(load_settings(config), "arm", PlayRequest(motion=motion), traced=True)


def traced(run: DryRun, name: str) -> Floats:
    assert run.trace is not None
    found: Floats = run.trace[name]
    return found


@pytest.mark.parametrize("motion", ["wave", "nod", "stretch"])
def test_under_gravity_motions_are_played_within_two_milliradians(tmp_path: Path, motion: str) -> None:
    run = play(configured(tmp_path), motion)
    assert run.result["code"] == "SUCCESSFUL"
    error = traced(run, "feedback_position") - traced(run, "reference_position")
    assert 1e-4 < np.abs(error).max() < 2e-3
    assert np.abs(traced(run, "feedback_effort")).max(axis=0)[1] > 5.0  # the shoulder bears the arm


@pytest.mark.parametrize(("model", "motions", "motion"), [
    (ARM, "motions", "wave"),
    (ARM, "motions", "nod"),
    (ROOT / "config" / "robots" / "so101.urdf", "motions/so101", "greet"),
], ids=["HEBI arm at 500 Hz", "HEBI arm at 100 Hz", "SO-101 at 100 Hz"])  # fmt: skip
def test_smooth_motions_take_the_efforts_of_inverse_dynamics(
    tmp_path: Path, model: Path, motions: str, motion: str
) -> None:
    robot = load_robot(model)
    joint_map = build_joint_map("arm", robot, {})
    limits = {name: {"limits": {"acceleration": 20}} for name in joint_map.joints}
    folder = str(ROOT / "config" / motions)
    run = play(configured(tmp_path, model=str(model), motions=[folder], joints=limits), motion)
    time_s, positions, velocities = (
        traced(run, name) for name in ("time_s", "reference_position", "reference_velocity")
    )
    accelerations = np.gradient(velocities, time_s, axis=0)
    dynamics = Dynamics(PhysicalRobot(make_world(robot, joint_map)), joint_map)
    needed = dynamics.efforts(positions, velocities, accelerations) + ARMATURE * accelerations
    measured = traced(run, "feedback_effort")
    peaks, expected = np.abs(measured).max(axis=0), np.abs(needed).max(axis=0)
    np.testing.assert_allclose(peaks, expected, rtol=0.15, atol=0.01)
    off = np.abs(measured - needed)[time_s > 0.2]  # by then it holds what it has caught
    assert (off.max(axis=0) < 0.05 * expected + 0.02).all()


def test_two_runs_are_the_same_to_the_bit(tmp_path: Path) -> None:
    config = configured(tmp_path)
    one, other = play(config), play(config)
    for name in ("feedback_position", "feedback_velocity", "feedback_effort"):
        assert traced(one, name).tobytes() == traced(other, name).tobytes()


def test_motors_keep_to_the_efforts_of_the_description(tmp_path: Path) -> None:
    heavy = {"frame": "tool/end_effector", "mass": 12.0}
    run = play(configured(tmp_path, payload=heavy))
    assert run.result["code"] == "GOAL_TOLERANCE_VIOLATED"
    assert np.abs(traced(run, "feedback_effort")).max(axis=0)[1] == 44.0


def driver_of(robot: RobotModel, joints: dict[str, JointSettings], **options: Any) -> Joints:
    joint_map = build_joint_map("robot", robot, joints)
    filled = with_physics("sim", {"physics": True} | options, robot, joint_map)
    return Joints(Clock(), holds=False, actuators=joint_map.actuators, **filled)


def test_reductions_and_offsets_are_those_of_the_joint_map() -> None:
    plain = driver_of(load_robot(ARM), {}, initial={"shoulder": 0.7})
    geared = driver_of(
        load_robot(ARM),
        {"shoulder": JointSettings(reduction=-4.0, offset=0.3)},
        initial={"shoulder": (0.7 - 0.3) * -4.0},
    )
    for arm in (plain, geared):
        arm.driver.enable()
        arm.read(0.5)
    assert geared.state.position[1] / -4.0 + 0.3 == pytest.approx(plain.state.position[1], abs=1e-6)
    assert geared.state.effort[1] * -4.0 == pytest.approx(plain.state.effort[1], rel=1e-4)


def test_gravity_may_pull_elsewhere_and_its_bodies_are_the_world_s() -> None:
    none = {"from_model": True, "acceleration": [0.0, 0.0, 0.0]}
    floating = driver_of(load_robot(ARM), {}, gravity=none, initial={"shoulder": 0.7})
    floating.driver.enable()
    floating.read(0.5)
    assert np.abs(floating.state.effort).max() < 1e-9


def test_joints_without_actuators_go_with_those_that_they_follow() -> None:
    picker = load_robot(GOOD / "urdf" / "picker.urdf")
    heavy = replace(picker, links=tuple(replace(link, mass=0.5) for link in picker.links))
    gripper = driver_of(heavy, {"right_finger": JointSettings(actuator="none")})
    assert len(gripper.driver.actuators) == 4
    gripper.driver.enable()
    column = gripper.driver.actuators.index("left_finger")
    goal = np.zeros(4)
    goal[column] = 0.02
    gripper.play(goal, 1.0)
    fingers = [plant_of(gripper).world.data.joint(f"{side}_finger").qpos[0] for side in ("left", "right")]
    assert fingers == pytest.approx([0.02, -0.02], abs=1e-3)


TABLE = """<mujoco><option timestep="0.01" gravity="0 0 1"/><worldbody>
  <geom name="table" type="box" size="0.3 0.3 0.05" pos="0.5 0 0"/>
  <body name="can" pos="0.4 0.1 0.11"><freejoint/><geom size="0.02 0.05" type="cylinder" mass="0.2"/></body>
</worldbody></mujoco>"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "cell.xml"
    path.write_text(TABLE)
    return path


def test_without_torque_the_arm_sinks_onto_the_floor_and_what_stands_in_its_scene(scene: Path) -> None:
    lying = driver_of(
        load_robot(ARM), {}, floor=True, scene=str(scene), initial={"shoulder": 0.9, "elbow": 1.2}
    )
    state = ActuatorState(6, np.empty((lying.driver.contact_slots, CONTACT)))
    lying.driver.read(state)
    lying.clock.now_s += 3.0
    lying.driver.read(state)
    assert np.abs(state.velocity).max() < 0.05
    lying.clock.now_s += 0.01
    lying.driver.read(state)
    pairs = state.contacts[:, :2]
    named = {
        frozenset(lying.driver.bodies[int(number)] for number in pair)
        for pair in pairs[~np.isnan(pairs[:, 0])]
    }
    assert frozenset({"scene/table", "scene/can"}) in named
    assert any("floor" in pair or ("scene/table" in pair and "scene/can" not in pair) for pair in named)


def test_a_scene_is_found_beside_the_configuration(scene: Path) -> None:
    driver = {"type": "sim", "physics": True, "scene": "cell.xml"}
    assert play(configured(scene.parent, driver=driver), "nod").result["code"] == "SUCCESSFUL"


OPTIONS = {"noise": 0.1, "physics": {"mjcf": "<mujoco/>", "joints": []}}


@pytest.mark.parametrize("options", [{}, {"physics": False}, OPTIONS], ids=["none", "not", "its own"])
def test_what_asks_for_no_world_stays_as_it_is(options: dict[str, Any]) -> None:
    robot = load_robot(ARM)
    joint_map = build_joint_map("arm", robot, {})
    assert with_physics("sim", options, robot, joint_map) == options
    assert with_physics("hebi", {"physics": True}, robot, joint_map) == {"physics": True}


def refused(tmp_path: Path, **changes: Any) -> str:
    """Return why `motiond check` refuses a configuration; a daemon refuses it for the same reason."""
    settings = load_settings(configured(tmp_path, **changes))
    with pytest.raises(PhysicsError) as caught:
        check_motions(settings)
    return str(caught.value)


def test_without_a_description_there_is_no_world(tmp_path: Path) -> None:
    expected = "arm: `physics` is true; it has no description; name one under `model`"
    limits = {name: {"limits": LIMITS | {"velocity": 3.0}} for name in JOINTS}
    assert refused(tmp_path, model=None, joints=limits) == expected


def test_a_scene_that_is_not_there_is_refused(tmp_path: Path) -> None:
    driver = {"type": "sim", "physics": True, "scene": "cel.xml"}
    path = tmp_path / "cel.xml"
    expected = f"arm: scene {path}: cannot be read; no such file; check the path"
    assert refused(tmp_path, driver=driver) == expected


def test_a_world_too_large_for_a_message_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("motiond.daemon.physics.simulation.MOST_BYTES", 1000)
    assert refused(tmp_path) == (
        "arm: `physics`: the world is too large; it has 1 kB packed; "
        "keep shapes of many corners in files of meshes"
    )


def test_what_mujoco_cannot_load_is_refused_before_a_stream_process_is_there(tmp_path: Path) -> None:
    flat = np.zeros(1, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")]))
    flat["corners"] = np.eye(3)
    (tmp_path / "flat.stl").write_bytes(bytes(80) + np.uint32(1).tobytes() + flat.tobytes())
    (tmp_path / "arm.urdf").write_text(
        """<robot name="arm"><link name="base"/><link name="beam">
        <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><geometry><mesh filename="flat.stl"/></geometry></collision></link>
        <joint name="lift" type="revolute"><parent link="base"/><child link="beam"/><axis xyz="0 1 0"/>
        <limit lower="-1" upper="1" effort="9" velocity="1"/></joint></robot>"""
    )
    assert refused(tmp_path, model="arm.urdf", joints={}) == (
        "arm: MuJoCo cannot load the robot; at least 4 vertices required; "
        "correct the robot's description, or what stands around it"
    )


def test_a_part_of_a_robot_has_no_world(tmp_path: Path) -> None:
    parts = {
        "lower": {"type": "sim", "actuators": list(JOINTS[:3]), "physics": True},
        "upper": {"type": "sim", "actuators": list(JOINTS[3:])},
    }
    assert refused(tmp_path, driver={"type": "composite", "parts": parts}) == (
        "arm: part lower: `physics` is true; a world has the whole robot, and this driver a part of it; "
        "simulate all of it by `driver: {type: sim, physics: true}`, or leave `physics` out"
    )


def test_without_mujoco_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    assert re.fullmatch(
        r"arm: `physics`: needs MuJoCo, which cannot be imported; .*; pip install 'motiond\[physics\]'",
        refused(tmp_path),
    )


def test_a_robot_that_moves_no_mass_is_refused(tmp_path: Path) -> None:
    picker = str(GOOD / "urdf" / "picker.urdf")
    assert refused(tmp_path, model=picker, joints={}) == (
        "arm: no joint moves a mass; no link beyond one has a mass; give links masses, or name a `payload`"
    )


BARE = """<robot version="1.5.0">
  <actuator type="X5-4"/><bracket type="X5LightRight"/><actuator type="X5-4"/>
  <link type="X5" extension="0.2" twist="0"/><actuator type="X5-1"/>
</robot>
"""


def test_a_bare_flange_behind_the_last_joint_plays_and_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "bare.hrdf").write_text(BARE)
    names = ["actuator1", "actuator2", "actuator3"]
    turns = 0.3 * (1 - np.cos(np.linspace(0, 2 * np.pi, 301)))
    rows = [f"{number / 100},{turn},{turn},{turn}" for number, turn in enumerate(turns)]
    (tmp_path / "turn.csv").write_text("\n".join([",".join(["time", *names]), *rows]) + "\n")
    joints = {name: {"limits": LIMITS} for name in names}
    run = play(configured(tmp_path, model="bare.hrdf", joints=joints, motions=["turn.csv"]), "turn")
    assert run.result["code"] == "SUCCESSFUL"
    error = traced(run, "feedback_position") - traced(run, "reference_position")
    assert 1e-4 < np.abs(error).max() < 2e-3
    what = "joints that move no mass have the inertia of a motor alone, 0.01 kg·m² or kg"
    assert caplog.messages == [f"arm: `physics`: {what}: actuator3"]


def test_links_that_can_be_seen_and_have_no_mass_are_named(caplog: pytest.LogCaptureFixture) -> None:
    picker = load_robot(GOOD / "urdf" / "picker.urdf")
    known = (link if link.name == "upper" else replace(link, mass=0.5) for link in picker.links)
    driver_of(replace(picker, links=tuple(known)), {})
    assert caplog.messages == ["robot: `physics`: links without a mass weigh nothing: upper"]


def test_a_check_makes_the_world_and_has_nothing_to_say_of_a_good_one(tmp_path: Path) -> None:
    lines: list[str] = []
    check_motions(load_settings(configured(tmp_path)), report=lines.append)
    assert lines == []
