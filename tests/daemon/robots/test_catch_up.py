"""A follower comes to its leader slowly, and then goes with it."""

from __future__ import annotations

import numpy as np

from motiond.daemon.robots.leader import CatchUp
from motiond.daemon.trajectory import OnlineLimits

PERIOD_S = 0.01
LIMITS = OnlineLimits(
    lower=np.full(2, -2.0),
    upper=np.full(2, 2.0),
    velocity=np.array([0.5, 1.0]),
    acceleration=np.array([2.0, 2.0]),
    jerk=np.array([20.0, 20.0]),
)
STILL = np.zeros(2)


def test_a_far_leader_is_approached_slowly_and_then_followed_as_it_goes() -> None:
    start, leader = np.array([0.0, 0.1]), np.array([0.8, 0.1])
    catch_up, places = CatchUp(LIMITS, start, PERIOD_S), [start]
    while not catch_up.is_there:
        places.append(catch_up.next(leader, STILL, PERIOD_S)[0])
    steps = np.diff(places, axis=0)
    assert (np.abs(steps) <= LIMITS.velocity * PERIOD_S + 1e-12).all()
    assert (np.abs(np.diff(steps, axis=0)) <= LIMITS.acceleration * PERIOD_S**2 + 1e-12).all()
    assert 0.8 / 0.5 < len(steps) * PERIOD_S < 0.8 / 0.5 + 0.6
    np.testing.assert_allclose(places[-1], leader, atol=0.01)
    moving = np.array([1.5, -2.0])
    position, passing = catch_up.next(leader + 0.3, moving, PERIOD_S)
    np.testing.assert_array_equal(position, leader + 0.3)
    np.testing.assert_array_equal(passing, moving)


def test_a_leader_that_is_faster_than_an_approach_is_reached_once_it_is_slower() -> None:
    catch_up, leader, fast = CatchUp(LIMITS, STILL, PERIOD_S), np.zeros(2), np.array([1.0, 0.0])
    for _ in range(100):
        leader = leader + fast * PERIOD_S
        catch_up.next(leader, fast, PERIOD_S)
    assert not catch_up.is_there
    for _ in range(150):
        catch_up.next(leader, STILL, PERIOD_S)
    assert catch_up.is_there


def test_targets_that_come_late_are_as_far_on() -> None:
    even, late = (CatchUp(LIMITS, STILL, PERIOD_S) for _ in range(2))
    leader = np.array([1.0, 1.0])
    for _ in range(60):
        expected, _ = even.next(leader, STILL, PERIOD_S)
    for since_s in (0.03, 0.005, 0.005, 0.02, *[PERIOD_S] * 54):
        position, _ = late.next(leader, STILL, since_s)
    np.testing.assert_allclose(position, expected, atol=1e-9)
