"""Behaviour of ways from a moving state: within every limit by differences alone, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.trajectory import Bounds, Motion, WayError, plan_handover

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

RATE_HZ, JOINTS = 200.0, 3
ALL = np.ones(JOINTS, dtype=bool)


def bounds_of(chance: np.random.Generator, *, mimic: bool = False) -> Bounds:
    velocity, acceleration = chance.uniform(0.5, 3.0, JOINTS), chance.uniform(2.0, 30.0, JOINTS)
    leaders, multipliers = np.arange(JOINTS), np.ones(JOINTS)
    if mimic:
        leaders[2], multipliers[2] = 0, -0.5
    return Bounds(
        velocity,
        acceleration,
        20.0 * acceleration,
        np.full(JOINTS, -2.0),
        np.full(JOINTS, 2.0),
        leaders,
        multipliers,
    )


def swung(bounds: Bounds, chance: np.random.Generator) -> Floats:
    """Return three setpoints of joints that swing within bounds, shape (3, joints)."""
    velocity, acceleration = bounds.velocity.copy(), bounds.acceleration.copy()
    if bounds.leaders[2] == 0:
        velocity[0] = min(velocity[0], 2.0 * velocity[2])
        acceleration[0] = min(acceleration[0], 2.0 * acceleration[2])
    omega = np.minimum(chance.uniform(0.5, 4.0, JOINTS), acceleration / velocity)
    reach = np.minimum(velocity / omega, 1.9)
    if bounds.leaders[2] == 0:
        omega[2], reach[2] = omega[0], -0.5 * reach[0]
    phase = chance.uniform(0.0, 2.0 * np.pi)
    return np.asarray(reach * np.sin(phase + omega * np.arange(3)[:, np.newaxis] / RATE_HZ), dtype=float)


@pytest.mark.parametrize("mimic", [False, True], ids=["free", "mimic"])
@pytest.mark.parametrize("seed", range(60))
def test_it_keeps_every_limit_from_any_moving_state_or_is_refused(seed: int, mimic: bool) -> None:  # noqa: FBT001
    chance = np.random.default_rng(seed)
    bounds = bounds_of(chance, mimic=mimic)
    before = swung(bounds, chance)
    moves = Motion.seen(before, 1.0 / RATE_HZ).within(bounds.velocity, bounds.acceleration, bounds.jerk)
    target = chance.uniform(-1.5, 1.5, JOINTS)
    if mimic:
        target[2] = moves.position[2] - 0.5 * (target[0] - moves.position[0])
    try:
        rows, speeds = plan_handover(moves, target, ALL, bounds, first_s=1.0 / RATE_HZ, rate_hz=RATE_HZ)
    except WayError:
        return
    whole = np.concatenate((before, rows))
    assert (rows[-1] == target).all()
    assert (speeds[-1] == 0.0).all()
    assert (np.abs(rows) <= 2.0).all()
    assert (np.abs(np.diff(whole, axis=0)).max(axis=0) * RATE_HZ <= bounds.velocity * (1 + 1e-6)).all()
    bends = np.abs(np.diff(whole, 2, axis=0)).max(axis=0) * RATE_HZ**2
    assert (bends <= 1.02 * bounds.acceleration + 1e-6).all()
    if mimic:
        assert np.allclose(rows[:, 2] - before[-1, 2], -0.5 * (rows[:, 0] - before[-1, 0]), atol=1e-9)


def test_joints_that_are_not_driven_come_to_rest_on_their_way() -> None:
    bounds = bounds_of(np.random.default_rng(1))
    moves = Motion(np.zeros(JOINTS), 0.4 * np.ones(JOINTS), np.zeros(JOINTS))
    driven, target = np.array([True, False, False]), np.array([0.5, 9.0, 9.0])
    rows, _ = plan_handover(moves, target, driven, bounds, first_s=0.005, rate_hz=RATE_HZ)
    assert rows[-1, 0] == 0.5
    assert (np.diff(rows[:, 1:], axis=0) >= 0.0).all()
    assert (rows[-1, 1:] < 0.2).all()


def test_what_still_speeds_up_towards_its_velocity_limit_is_eased() -> None:
    one = np.ones(1)
    moves = Motion(np.zeros(1), 0.99 * one, 50.0 * one).within(one, 50.0 * one, 100.0 * one)
    assert moves.acceleration[0] == pytest.approx(np.sqrt(2.0 * 100.0 * 0.01))
