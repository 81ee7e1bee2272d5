"""A brake from any velocity to rest, within limits of acceleration and position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.trajectory.brake import Brake

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

PERIOD_S = 0.001
LIMITS = {"lower": np.array([-1.0]), "upper": np.array([1.0])}


def way(position: float, velocity: float, acceleration: float, duration_s: float) -> tuple[Floats, Floats]:
    """Return position and velocity at each tick up to rest."""
    brake = Brake.plan(
        np.array([position]),
        np.array([velocity]),
        acceleration=np.array([acceleration]),
        duration_s=duration_s,
        period_s=PERIOD_S,
        **LIMITS,
    )
    positions, velocities = [brake.position.copy()], [brake.velocity.copy()]
    for ticks in range(1, 100_000):
        at, fast = np.empty(1), np.empty(1)
        rests = brake.sample(ticks, at, fast)
        positions.append(at)
        velocities.append(fast)
        if rests:
            break
    return np.concatenate(positions), np.concatenate(velocities)


@pytest.mark.parametrize("velocity", [-1.0, 0.3])
def test_it_takes_the_time_that_is_wanted_and_half_of_the_way(velocity: float) -> None:
    positions, velocities = way(0.0, velocity, np.inf, 0.4)
    assert len(positions) == 401
    assert positions[-1] == pytest.approx(velocity * 0.4 / 2)
    assert (velocities[0], velocities[-1]) == (velocity, 0.0)
    assert np.diff(positions) / PERIOD_S == pytest.approx((velocities[1:] + velocities[:-1]) / 2, abs=1e-4)


def test_it_takes_longer_where_the_acceleration_limit_asks_for_it() -> None:
    positions, velocities = way(-0.5, 1.0, 2.0, 0.4)
    assert len(positions) == 751
    assert np.abs(np.diff(velocities)).max() / PERIOD_S == pytest.approx(2.0, rel=1e-3)


def test_it_takes_less_before_a_position_limit() -> None:
    positions, _ = way(0.9, 1.0, np.inf, 0.4)
    assert positions[-1] == pytest.approx(1.0)
    assert len(positions) == 201


def test_it_begins_more_slowly_where_even_the_acceleration_limit_leads_beyond() -> None:
    positions, velocities = way(0.9, 1.0, 4.0, 0.4)
    assert positions[-1] == pytest.approx(1.0)
    assert velocities[0] == pytest.approx(np.sqrt(0.1 * 4.0 / 0.75))
    assert np.abs(np.diff(velocities)).max() / PERIOD_S == pytest.approx(4.0, rel=1e-3)


@pytest.mark.parametrize(
    ("position", "velocity", "ends_at"), [(1.05, 1.0, 1.05), (1.05, -1.0, 0.85), (0.2, 0.0, 0.2)]
)
def test_a_joint_beyond_a_limit_stays_or_comes_back(position: float, velocity: float, ends_at: float) -> None:
    positions, _ = way(position, velocity, 100.0, 0.4)
    assert positions[-1] == pytest.approx(ends_at)


def test_whatever_it_begins_with_it_keeps_its_limits() -> None:
    random = np.random.default_rng(5)
    for _ in range(200):
        position, velocity = random.uniform(-1.0, 1.0), random.uniform(-5.0, 5.0)
        acceleration, duration_s = random.choice([1.0, 10.0, np.inf]), random.uniform(0.01, 1.0)
        positions, velocities = way(position, velocity, acceleration, duration_s)
        assert np.abs(positions).max() <= 1.0 + 1e-9
        assert np.abs(np.diff(velocities)).max(initial=0.0) <= acceleration * PERIOD_S * (1.0 + 1e-6)
        assert (np.diff(np.abs(velocities)) <= 1e-12).all()


@pytest.mark.parametrize(("upper", "share", "lasts_s"), [(9.0, 1.0, 0.75), (0.1, 0.516398, 0.387298)])
def test_joints_that_follow_another_brake_in_step_with_it(upper: float, share: float, lasts_s: float) -> None:
    """The one that needs the longest sets the time, and the one with the least room the velocities."""
    velocity = np.array([1.0, -0.5, 0.3])
    brake = Brake.plan(
        np.zeros(3),
        velocity,
        lower=np.full(3, -9.0),
        upper=np.array([upper, 9.0, 9.0]),
        acceleration=np.array([4.0, 1.0, np.inf]),
        duration_s=0.4,
        period_s=PERIOD_S,
        leaders=np.array([0, 0, 2]),
    )
    assert brake.velocity == pytest.approx(velocity * [share, share, 1.0], abs=1e-6)
    assert brake.lasts_s == pytest.approx([lasts_s, lasts_s, 0.4], abs=1e-6)
    at, fast = np.empty(3), np.empty(3)
    for ticks in range(1, 1000):
        brake.sample(ticks, at, fast)
        assert at[1] == pytest.approx(-0.5 * at[0], abs=1e-12)
        assert fast[1] == pytest.approx(-0.5 * fast[0], abs=1e-12)
    assert at[0] == pytest.approx(min(0.375, upper))
