"""Inverse dynamics, held against closed forms, forward dynamics and the power that motions take."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import pytest

from motiond.daemon.config.robot import JointSettings, PayloadSettings
from motiond.daemon.joints import build_joint_map
from motiond.daemon.physics import Dynamics, PhysicalRobot, make_world
from motiond.formats import Coordinate, Joint, JointType, Link, RobotModel
from tests.daemon.random_robots import random_robot

if TYPE_CHECKING:
    from motiond.daemon.joints import JointMap
    from motiond.formats.arrays import Floats

G = 9.80665
ROWS = np.linspace(-1.0, 1.0, 9)[:, None]
AT = np.hstack((ROWS, ROWS[::-1] + 0.2, np.roll(ROWS, 3)))
"""Of one joint, (rows, 3): positions, velocities, accelerations."""


def one_joint(
    kind: JointType, axis: tuple[float, float, float], com: tuple[float, float, float]
) -> RobotModel:
    """Return a body of 2 kg on a joint that rubs, turning or moving along an axis."""
    place = np.eye(4)
    place[:3, 3] = com
    body = Link("body", 2.0, com=place, inertia=np.diag([0.03, 0.03, 0.03]))
    coordinate = Coordinate("joint", damping=0.4, friction=0.3, spring_stiffness=1.5, spring_reference=0.25)
    joint = Joint("joint", kind, "base", "body", np.array([axis]), (coordinate,))
    return RobotModel("one", "test", "1", (joint,), (Link("base", 1.0), body), (), "base")


def efforts(model: RobotModel, joint_map: JointMap, *rows: Floats, **options: Any) -> Floats:
    dynamics = Dynamics(PhysicalRobot(make_world(model, joint_map, **options)), joint_map)
    return dynamics.efforts(*rows)


def of_one(model: RobotModel, **options: Any) -> Floats:
    joint_map = build_joint_map("one", model, {})
    return efforts(model, joint_map, *AT.T[:, :, None], **options)[:, 0]


def rubbed(q: Floats, v: Floats) -> Floats:
    rubs: Floats = 0.4 * v + 0.3 * np.sign(v) + 1.5 * (q - 0.25)
    return rubs


def test_a_pendulum_takes_its_weight_its_inertia_and_what_rubs() -> None:
    q, v, a = AT.T
    needed = 2 * G * 0.5 * np.sin(q) + (0.03 + 2 * 0.5**2) * a + rubbed(q, v)
    hanging = one_joint("revolute", (0, 1, 0), (0, 0, -0.5))
    np.testing.assert_allclose(of_one(hanging), needed, rtol=0, atol=1e-12)


def test_a_slide_that_rises_takes_its_weight_and_its_mass() -> None:
    q, v, a = AT.T
    needed = 2 * (G + a) + rubbed(q, v)
    rising = one_joint("prismatic", (0, 0, 1), (0.1, 0, 0))
    np.testing.assert_allclose(of_one(rising), needed, rtol=0, atol=1e-12)


def test_what_is_carried_hangs_on_too() -> None:
    q, _, a = AT.T
    payload = PayloadSettings(frame="body", mass=1.5, com=(0, 0, -0.7))
    more = 1.5 * G * 0.7 * np.sin(q) + 1.5 * 0.7**2 * a
    hanging = one_joint("revolute", (0, 1, 0), (0, 0, -0.5))
    np.testing.assert_allclose(of_one(hanging, payload=payload) - of_one(hanging), more, rtol=0, atol=1e-8)


def test_a_joint_that_moves_no_mass_takes_the_inertia_of_its_motor() -> None:
    hanging = one_joint("revolute", (0, 1, 0), (0, 0, -0.5))
    free = (Coordinate("flange"),)
    flange = replace(hanging.joints[0], name="flange", parent="body", child="tool", coordinates=free)
    model = replace(hanging, joints=(*hanging.joints, flange), links=(*hanging.links, Link("tool")))
    rows = np.stack((AT, AT[::-1])).transpose(2, 1, 0)
    found = efforts(model, build_joint_map("one", model, {}), *rows)
    np.testing.assert_allclose(found[:, 0], of_one(hanging), rtol=0, atol=1e-5)
    np.testing.assert_allclose(found[:, 1], 0.01 * AT[::-1, 2], rtol=0, atol=1e-5)


def test_behind_a_gear_positions_are_smaller_and_so_is_the_effort() -> None:
    hanging = one_joint("revolute", (0, 1, 0), (0, 0, -0.5))
    joint = replace(hanging.joints[0], gear_ratio=-4.0, coordinates=(Coordinate("joint"),))
    q, _, a = AT.T / -4.0
    needed = (2 * G * 0.5 * np.sin(q) + (0.03 + 2 * 0.5**2) * a) / -4.0
    np.testing.assert_allclose(of_one(replace(hanging, joints=(joint,))), needed, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_random_robots_take_what_accelerates_them_so_in_forward_dynamics(seed: int) -> None:
    model = random_robot(seed, rubs=True)
    model = replace(model, joints=tuple(replace(joint, mimic=None) for joint in model.joints))
    joint_map = build_joint_map("robot", model, {})
    world = make_world(model, joint_map)
    robot, rng = PhysicalRobot(world), np.random.default_rng(seed)
    robot.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    positions, velocities, applied = rng.normal(size=(3, 5, model.dof))
    accelerations = np.empty_like(applied)
    for row in range(5):
        robot.place(positions[row])
        robot.data.qvel[robot.dofs] = velocities[row, robot.columns]
        robot.data.qfrc_applied[robot.dofs] = applied[row, robot.columns]
        mujoco.mj_forward(robot.model, robot.data)
        accelerations[row, robot.columns] = robot.data.qacc[robot.dofs]
    friction = np.array([joint.coordinates[0].friction for joint in model.joints])
    needed = applied + friction * np.sign(velocities)
    found = efforts(model, joint_map, positions, velocities, accelerations)
    np.testing.assert_allclose(found, needed, rtol=0, atol=1e-10 * max(1, np.abs(accelerations).max()))


@pytest.mark.parametrize("seed", range(20))
def test_what_follows_loads_the_actuator_that_moves_it(seed: int) -> None:
    model = random_robot(seed, count=12, rubs=True)
    alone = replace(model, joints=tuple(replace(joint, mimic=None) for joint in model.joints))
    follows = {joint.name: JointSettings(actuator="none") for joint in model.joints if joint.mimic}
    joint_map, every = build_joint_map("robot", model, follows), build_joint_map("robot", alone, {})
    rows = np.random.default_rng(seed).normal(size=(3, 5, model.dof))
    joint_map.follow(rows[0])
    for mimic in joint_map.mimics:
        rows[1:, :, mimic.joint] = mimic.multiplier * rows[1:, :, mimic.leader]
    loads, of_joints = efforts(model, joint_map, *rows), efforts(alone, every, *rows)
    np.testing.assert_allclose((loads * rows[1]).sum(axis=1), (of_joints * rows[1]).sum(axis=1), rtol=1e-10)
    assert not loads[:, [mimic.joint for mimic in joint_map.mimics]].any()


@pytest.mark.parametrize("factor", [0.0, 0.3, 2.0])
def test_what_does_not_and_what_does_change_with_speed_comes_apart(factor: float) -> None:
    model = random_robot(3, rubs=True)
    joint_map = build_joint_map("robot", model, {})
    dynamics = Dynamics(PhysicalRobot(make_world(model, joint_map)), joint_map)
    q, v, a = np.random.default_rng(3).normal(size=(3, 7, model.dof))
    still, rubs, moves = dynamics.by_powers(q, v, a)
    slower = dynamics.by_powers(q, factor * v, factor**2 * a)
    if factor:
        np.testing.assert_allclose(slower[0], still, rtol=0, atol=1e-10)
    whole = slower[1] + slower[2]
    np.testing.assert_allclose(whole, factor * rubs + factor**2 * moves, rtol=0, atol=1e-9)


def test_a_joint_with_an_actuator_of_its_own_bears_its_own_load() -> None:
    model = random_robot(1, count=12)
    joint_map = build_joint_map("robot", model, {})
    alone = replace(model, joints=tuple(replace(joint, mimic=None) for joint in model.joints))
    rows = np.random.default_rng(1).normal(size=(3, 4, model.dof))
    of_joints = efforts(alone, build_joint_map("robot", alone, {}), *rows)
    assert joint_map.mimics
    np.testing.assert_allclose(efforts(model, joint_map, *rows), of_joints, rtol=0, atol=1e-12)
