"""Loose joints in a world, held against closed forms, in the setting in which they are shipped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import pytest

from motiond.drivers.sim.layout import STEP_S
from motiond.drivers.sim.physics.world import HALF_STEP_S
from tests.drivers.sim.joints import TICK_S
from tests.drivers.sim.physics.worlds import (
    ARM,
    INERTIA,
    LENGTH,
    LIFT,
    MASS,
    MOTOR,
    PENDULUM,
    SLIPPERY,
    G,
    Mechanism,
)

if TYPE_CHECKING:
    from motiond.drivers.base import Floats
    from motiond.drivers.testing.rig import Clock

pytestmark = pytest.mark.slow


def agm(one: float, other: float) -> float:
    while abs(one - other) > 1e-15:
        one, other = (one + other) / 2, (one * other) ** 0.5
    return one


def swing(clock: Clock, amplitude: float, duration_s: float) -> Floats:
    """Return time, angle and velocity of a pendulum that is let loose."""
    pendulum = Mechanism(clock, PENDULUM, ["swing"], initial=amplitude, **SLIPPERY)
    rows = []
    for number in range(round(duration_s / STEP_S)):
        pendulum.read(STEP_S)
        rows.append([(number + 1) * STEP_S, pendulum.state.position[0], pendulum.state.velocity[0]])
    return np.array(rows).T


@pytest.mark.parametrize("amplitude", [0.01, 1.0, 2.8])
def test_a_pendulum_passes_its_lowest_point_when_the_closed_form_says(clock: Clock, amplitude: float) -> None:
    small_s = 2 * np.pi * (INERTIA / (MASS * G * LENGTH)) ** 0.5
    period_s = small_s / agm(1.0, np.cos(amplitude / 2))
    time_s, angle, _ = swing(clock, amplitude, 2.2 * period_s)
    (before,) = np.nonzero(angle[:-1] * angle[1:] <= 0)
    share = angle[before] / (angle[before] - angle[before + 1])
    passed_s = time_s[before] + share * STEP_S
    np.testing.assert_allclose(passed_s, np.array([0.25, 0.75, 1.25, 1.75]) * period_s, rtol=1e-6)


def test_a_pendulum_loses_and_gains_no_energy(clock: Clock) -> None:
    _, angle, velocity = swing(clock, 2.0, 20.0)
    energy = INERTIA * velocity**2 / 2 - MASS * G * LENGTH * np.cos(angle)
    begin = -MASS * G * LENGTH * np.cos(2.0)
    assert np.abs(energy - begin).max() < 1e-6 * MASS * G * LENGTH
    assert angle.min() == pytest.approx(-2.0, abs=1e-6)


@pytest.mark.parametrize("tick_s", [STEP_S, 0.001, 0.01])
def test_what_falls_from_rest_is_within_a_micrometre_of_the_closed_form_at_every_tick(
    clock: Clock, tick_s: float
) -> None:
    lift = Mechanism(clock, LIFT, ["lift"], **SLIPPERY)
    acceleration = 2 * G / (2 + MOTOR)
    for time_s in tick_s * np.arange(1, round(1 / tick_s) + 1):
        lift.read(tick_s)
        assert lift.state.velocity[0] == pytest.approx(-acceleration * time_s, rel=1e-6)
        assert lift.state.position[0] == pytest.approx(-acceleration * time_s**2 / 2, abs=1e-6)


def test_a_robot_that_nothing_holds_falls_within_a_micrometre_of_the_closed_form(clock: Clock) -> None:
    floating = f'<body name="base" pos="0 0 100"><freejoint/><geom size="0.1" mass="5"/>{ARM}</body>'
    robot = Mechanism(clock, floating, ["shoulder", "elbow"], initial={"elbow": 0.5}, **SLIPPERY)
    data = robot.mujoco.data
    for time_s in TICK_S * np.arange(1, 101):
        robot.read(TICK_S)
        place = data.qpos[:3] - data.qvel[:3] * HALF_STEP_S
        np.testing.assert_allclose(place, [0.0, 0.0, 100.0 - G * time_s**2 / 2], rtol=0, atol=1e-6)
        np.testing.assert_allclose(robot.state.position, [0.0, 0.5], rtol=0, atol=1e-6)


def test_what_is_put_somewhere_at_a_velocity_is_reported_there(clock: Clock) -> None:
    lift = Mechanism(clock, LIFT, ["lift"], gravity={"acceleration": [0, 0, 0]}, **SLIPPERY)
    lift.inject("hand", to=0.2, for_s=0.3)
    for time_s in TICK_S * np.arange(1, 31):
        share = time_s / 0.3
        expected = 0.2 * share**3 * (10 - share * (15 - 6 * share))
        assert lift.read(TICK_S)[0] == pytest.approx(expected, abs=1e-12)
        data = lift.mujoco.data
        assert data.qpos[0] - data.qvel[0] * HALF_STEP_S == pytest.approx(expected, abs=1e-12)


def test_gravity_pulls_where_the_option_says(clock: Clock) -> None:
    lift = Mechanism(clock, LIFT, ["lift"], gravity={"acceleration": [3.0, 0.0, 1.5]}, **SLIPPERY)
    lift.read(1.0)
    assert lift.state.velocity[0] == pytest.approx(1.5 * 2 / (2 + MOTOR), rel=1e-6)


def test_what_floats_keeps_its_momentum_however_its_joints_are_moved(clock: Clock) -> None:
    floating = f'<body name="base" pos="0 0 1"><freejoint/><geom size="0.1" mass="5"/>{ARM}</body>'
    none = {"acceleration": [0.0, 0.0, 0.0]}
    arm = Mechanism(clock, floating, ["shoulder", "elbow"], holds=True, gravity=none)
    model, data = arm.mujoco.model, arm.mujoco.data
    exchanged, kept = [], []
    for time_s in np.arange(0.0, 2.0, TICK_S):
        arm.play([np.sin(3 * time_s), -np.sin(4 * time_s)])
        mujoco.mj_forward(model, data)
        mujoco.mj_subtreeVel(model, data)
        exchanged.append(np.abs(data.subtree_angmom[2:]).max())
        kept.append([*data.subtree_linvel[1], *data.subtree_angmom[1]])
    assert np.abs(data.qpos[3:7] - [1, 0, 0, 0]).max() > 0.1  # the base turns the other way
    assert np.abs(kept).max() < 2e-3 * max(exchanged)


@pytest.mark.parametrize("effort_limit", [1000.0, 30.0])
def test_reported_efforts_are_those_that_change_the_momentum(clock: Clock, effort_limit: float) -> None:
    geared = {"reduction": -3.0, "offset": 0.2}
    lift = Mechanism(
        clock, LIFT, ["lift"], holds=True, effort_limit=effort_limit, initial=-0.6, of_joints=geared
    )
    lift.driver.set_period(TICK_S)
    efforts, velocities = [], [0.0]
    for time_s in np.arange(0.0, 1.0, TICK_S):
        lift.write(-0.6 + 0.5 * np.sin(8 * time_s), 4.0 * np.cos(8 * time_s))
        for _ in range(round(TICK_S / STEP_S)):
            lift.read(STEP_S)
            efforts.append(lift.state.effort[0])
            velocities.append(lift.state.velocity[0] / -3.0)
    force = (2 + MOTOR) * np.diff(velocities) / STEP_S + 2 * G
    np.testing.assert_allclose(np.array(efforts) * -3.0, force, rtol=0, atol=1e-9)
    assert (np.abs(efforts).max() == pytest.approx(30.0)) == (effort_limit == 30.0)


def test_a_motor_that_holds_bears_the_weight(clock: Clock) -> None:
    arm = Mechanism(clock, ARM, ["shoulder", "elbow"], holds=True, initial={"shoulder": -0.3, "elbow": 0.8})
    arm.read(1.0)
    held = arm.state.position
    upper, fore = 0.2 * np.cos(held[0]), 0.4 * np.cos(held[0])
    tip = fore + 0.2 * np.cos(held.sum())
    expected = -G * np.array(
        [2 * upper + 1 * tip, 0.2 * np.cos(held.sum())]
    )  # y points away from gravity's turn
    assert arm.state.effort == pytest.approx(expected, rel=1e-6)
    assert np.abs(held - [-0.3, 0.8]).max() < 1e-3


@pytest.mark.parametrize("of_joints", [{}, {"reduction": -4.0, "offset": 0.2}], ids=str)
def test_a_reduction_turns_positions_and_efforts(clock: Clock, of_joints: dict[str, Any]) -> None:
    reduction, offset = of_joints.get("reduction", 1.0), of_joints.get("offset", 0.0)
    at = (0.5 - offset) * reduction
    arm = Mechanism(clock, PENDULUM, ["swing"], holds=True, of_joints=of_joints, initial=at)
    arm.read(1.0)
    assert arm.state.position[0] == pytest.approx(at, abs=1e-2)
    joint = arm.state.position[0] / reduction + offset
    assert arm.state.effort[0] == pytest.approx(MASS * G * LENGTH * np.sin(joint) / reduction, rel=1e-6)
