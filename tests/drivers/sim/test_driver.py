from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.sim.plant import AMBIENT_C, HOTTEST_C
from tests.drivers.sim.joints import Joints

if TYPE_CHECKING:
    from motiond.drivers.base import Floats
    from motiond.drivers.testing.rig import Clock


@pytest.mark.parametrize("damping_ratio", [0.2, 1.0, 3.0])
def test_follows_a_step_as_a_second_order_system_does(clock: Clock, damping_ratio: float) -> None:
    joints = Joints(clock, natural_frequency_hz=5, damping_ratio=damping_ratio)
    time_s = 0.01 * np.arange(1, 61)
    frequency = 2 * np.pi * 5
    poles = np.roots([1, 2 * damping_ratio * frequency, frequency**2]) + np.array([1e-6, -1e-6])
    transient = (poles[1] * np.exp(poles[0] * time_s) - poles[0] * np.exp(poles[1] * time_s)) / (
        poles[0] - poles[1]
    )
    expected = np.outer(1 + transient.real, [1, -2])
    np.testing.assert_allclose(joints.play([1, -2], 0.6), expected, atol=1e-5)


def test_a_velocity_alone_moves_on(clock: Clock) -> None:
    joints = Joints(clock, initial={"wrist": 0.5})
    joints.play(velocity=[0.2, np.nan], duration_s=2.0)
    np.testing.assert_allclose(joints.state.position, [0.4, 0.5], atol=0.003)
    np.testing.assert_allclose(joints.state.velocity, [0.2, 0.0], atol=0.001)


def test_an_effort_fed_forward_yields_by_the_stiffness(clock: Clock) -> None:
    reached = Joints(clock, inertia=0.5, natural_frequency_hz=2).play(0, 5.0, effort=[1, -3])[-1]
    stiffness = 0.5 * (2 * np.pi * 2) ** 2
    np.testing.assert_allclose(reached, np.array([1, -3]) / stiffness, rtol=1e-6)


def test_noise_is_the_same_for_the_same_seed(clock: Clock) -> None:
    def measure(seed: int) -> Floats:
        joints = Joints(clock, noise={"wrist": 0.01}, seed=seed)
        return np.array([joints.read() for _ in range(2000)])

    first = measure(seed=1)
    np.testing.assert_array_equal(first, measure(seed=1))
    assert (first[:, 1] != measure(seed=2)[:, 1]).any()
    assert (first[:, 0] == 0).all()
    assert first[:, 1].std() == pytest.approx(0.01, rel=0.1)


def test_releases_when_commands_end_and_coasts_to_rest(clock: Clock) -> None:
    joints = Joints(clock, command_lifetime_s=0.1, natural_frequency_hz=1)
    joints.write([10, -10])
    moving, velocity = joints.read(0.1), joints.state.velocity.copy()
    joints.read(0.05)
    np.testing.assert_allclose(joints.state.velocity, velocity * np.exp(-0.05 / 0.1), rtol=1e-6)
    np.testing.assert_allclose(joints.read(5.0), moving + velocity * 0.1, rtol=1e-3)
    np.testing.assert_allclose(joints.state.velocity, 0, atol=1e-9)


def test_disabled_commands_move_nothing_and_keep_it_held(clock: Clock) -> None:
    joints = Joints(clock, disable_commands=True, command_lifetime_s=0.1, initial=0.3)
    assert (joints.play(1, 0.5) == 0.3).all()


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"effort_limit": 5.0}], ids=["without a limit", "limited"])
def test_a_stuck_joint_warms_like_a_motor_and_no_more_than_its_winding_stands(
    clock: Clock, options: dict[str, Any]
) -> None:
    joints = Joints(clock, **options)
    joints.inject("stuck", actuator="elbow")
    joints.write([3.0, 0.0])
    found = []
    for after_s in (0.01, 0.99, 9.0, 50.0, 3540.0, 3600.0):
        joints.read(after_s)
        found.append(joints.state.temperature_c[0])
    assert (np.diff(found) > 0.0).all()
    assert found[1] < 28.0  # no check of temperature speaks before one of standing still
    assert 40.0 < found[2] < 45.0
    assert found[-1] == pytest.approx(HOTTEST_C, abs=0.01)
    assert joints.state.temperature_c[1] == AMBIENT_C
