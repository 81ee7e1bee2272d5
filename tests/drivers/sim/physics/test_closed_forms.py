"""Loose joints in a world, held against closed forms, in the setting in which they are shipped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import pytest

from motiond.drivers.sim.layout import STEP_S
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
def test_a_pendulum_has_its_period_to_a_tenth_of_a_percent(clock: Clock, amplitude: float) -> None:
    small_s = 2 * np.pi * (INERTIA / (MASS * G * LENGTH)) ** 0.5
    expected_s = small_s / agm(1.0, np.cos(amplitude / 2))
    time_s, angle, _ = swing(clock, amplitude, 2.2 * expected_s)
    (before,) = np.nonzero((angle[:-1] < 0) & (angle[1:] >= 0))
    share = -angle[before] / (angle[before + 1] - angle[before])
    crossed_s = time_s[before] + share * STEP_S
    assert np.diff(crossed_s)[0] == pytest.approx(expected_s, rel=1e-3)


def test_a_pendulum_loses_no_energy(clock: Clock) -> None:
    _, angle, velocity = swing(clock, 2.0, 20.0)
    energy = INERTIA * velocity**2 / 2 - MASS * G * LENGTH * np.cos(angle)
    begin = -MASS * G * LENGTH * np.cos(2.0)
    assert np.abs(energy - begin).max() < 2e-3 * MASS * G * LENGTH
    assert angle.min() == pytest.approx(-2.0, abs=1e-3)


@pytest.mark.parametrize("steps", [1, 2, 200, 2000, 10_000])
def test_what_falls_is_to_a_micrometre_where_it_is_if_it_began_half_a_step_earlier(
    clock: Clock, steps: int
) -> None:
    lift = Mechanism(clock, LIFT, ["lift"], **SLIPPERY)
    lift.read(steps * STEP_S)
    acceleration, time_s = 2 * G / (2 + MOTOR), steps * STEP_S
    assert lift.state.velocity[0] == pytest.approx(-acceleration * time_s, rel=1e-6)
    assert lift.state.position[0] == pytest.approx(-acceleration * (time_s + STEP_S / 2) ** 2 / 2, abs=1e-6)


def test_masses_and_gravity_are_those_of_free_fall(clock: Clock) -> None:
    ball = '<body name="ball" pos="0 0 100"><freejoint/><geom size="0.1" mass="3"/></body>'
    lift = Mechanism(clock, LIFT + ball, ["lift"])
    model, data = lift.mujoco.model, lift.mujoco.data
    model.opt.integrator = 1  # of Runge and Kutta, which is exact here
    lift.read(2.0)
    assert 100.0 - data.joint(1).qpos[2] == pytest.approx(0.5 * G * 2.0**2, rel=1e-6)


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
