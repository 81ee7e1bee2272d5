from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.base import ActuatorCommand, ActuatorState, Driver
from motiond.drivers.registry import make_driver

if TYPE_CHECKING:
    from motiond.drivers.base import Floats
    from motiond.drivers.testing.rig import Clock

PAIR = ("elbow", "wrist")


def enabled(clock: Clock, options: dict[str, Any]) -> Driver:
    driver = make_driver("sim", {"command_lifetime_s": None} | options, PAIR, clock)
    driver.open()
    driver.enable()
    return driver


def goal(position: Any = np.nan, velocity: Any = np.nan, effort: Any = np.nan) -> ActuatorCommand:
    command = ActuatorCommand(len(PAIR))
    command.position[:], command.velocity[:], command.effort[:] = position, velocity, effort
    return command


def state_of(driver: Driver) -> ActuatorState:
    state = ActuatorState(len(PAIR))
    driver.read(state)
    return state


def follow(driver: Driver, clock: Clock, command: ActuatorCommand, period_s: float, ticks: int) -> Floats:
    """Command the same position in every tick; return the position after each: (ticks, actuators)."""
    positions = np.empty((ticks, len(PAIR)))
    for tick in range(ticks):
        driver.write(command)
        clock.now_s += period_s
        positions[tick] = state_of(driver).position
    return positions


@pytest.mark.parametrize("damping_ratio", [0.2, 1.0, 3.0])
def test_follows_a_step_as_a_second_order_system_does(clock: Clock, damping_ratio: float) -> None:
    driver = enabled(clock, {"natural_frequency_hz": 5, "damping_ratio": damping_ratio})
    positions = follow(driver, clock, goal(position=[1, -2]), 0.01, 60)

    time_s = 0.01 * np.arange(1, 61)
    frequency = 2 * np.pi * 5
    poles = np.roots([1, 2 * damping_ratio * frequency, frequency**2]) + np.array([1e-6, -1e-6])
    transient = (poles[1] * np.exp(poles[0] * time_s) - poles[0] * np.exp(poles[1] * time_s)) / (
        poles[0] - poles[1]
    )
    expected = np.outer(1 + transient.real, [1, -2])
    np.testing.assert_allclose(positions, expected, atol=1e-5)


def test_a_velocity_alone_moves_on(clock: Clock) -> None:
    driver = enabled(clock, {"initial": {"wrist": 0.5}})
    follow(driver, clock, goal(velocity=[0.2, np.nan]), 0.01, 200)
    state = state_of(driver)
    np.testing.assert_allclose(state.position, [0.4, 0.5], atol=0.003)
    np.testing.assert_allclose(state.velocity, [0.2, 0.0], atol=0.001)


def test_an_effort_fed_forward_yields_by_the_stiffness(clock: Clock) -> None:
    driver = enabled(clock, {"inertia": 0.5, "natural_frequency_hz": 2})
    reached = follow(driver, clock, goal(position=0, effort=[1, -3]), 0.01, 500)[-1]
    stiffness = 0.5 * (2 * np.pi * 2) ** 2
    np.testing.assert_allclose(reached, np.array([1, -3]) / stiffness, rtol=1e-6)


def test_noise_is_the_same_for_the_same_seed(clock: Clock) -> None:
    def measure(seed: int) -> Floats:
        driver = enabled(clock, {"noise": {"wrist": 0.01}, "seed": seed})
        return np.array([state_of(driver).position for _ in range(2000)])

    first = measure(seed=1)
    np.testing.assert_array_equal(first, measure(seed=1))
    assert (first[:, 1] != measure(seed=2)[:, 1]).any()
    assert (first[:, 0] == 0).all()
    assert first[:, 1].std() == pytest.approx(0.01, rel=0.1)


def test_releases_when_commands_end_and_coasts_to_rest(clock: Clock) -> None:
    driver = enabled(clock, {"command_lifetime_s": 0.1, "natural_frequency_hz": 1})
    driver.write(goal(position=[10, -10]))
    clock.now_s += 0.1
    moving = state_of(driver)
    clock.now_s += 0.05
    slower = state_of(driver)
    clock.now_s += 5
    resting = state_of(driver)

    np.testing.assert_allclose(slower.velocity, moving.velocity * np.exp(-0.05 / 0.1), rtol=1e-6)
    np.testing.assert_allclose(resting.position, moving.position + moving.velocity * 0.1, rtol=1e-3)
    np.testing.assert_allclose(resting.velocity, 0, atol=1e-9)
