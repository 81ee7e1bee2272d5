"""Behaviour of ways that are made as they go, on joints that have no limit of position."""

from __future__ import annotations

import numpy as np

from motiond.daemon.trajectory.online import OnlineGenerator, OnlineLimits


def test_a_joint_without_end_turns_and_comes_to_rest_by_velocities() -> None:
    endless, others = np.array([np.inf]), (np.array([3.0]), np.array([20.0]), np.array([200.0]))
    generator = OnlineGenerator(OnlineLimits(-endless, endless, *others), np.array([-40.0]), 0.005)
    rows = []
    for speed in (0.0, 3.0, -1.0, 0.0):
        assert not generator.aim_at_velocity(np.array([speed]))
        for _ in range(200):
            generator.step()
            rows.append(float(generator.position[0]))
        assert abs(generator.velocity[0] - speed) < 1e-9
    steps = np.diff(rows) / 0.005
    assert np.abs(steps).max() <= 3.0 * (1 + 1e-9)
    assert np.abs(np.diff(steps)).max() / 0.005 <= 20.0 * 1.02


def test_a_joint_without_end_that_is_to_go_out_of_sight_keeps_no_other_from_its_target() -> None:
    limits = (
        np.array([-np.inf, -1.0]),
        np.array([np.inf, 1.0]),
        *np.repeat([[3.0], [20.0], [200.0]], 2, axis=1),
    )
    for far in (1e6, 1e300):
        generator = OnlineGenerator(OnlineLimits(*limits), np.zeros(2), 0.005)
        generator.aim(np.array([far, 0.5]))
        for _ in range(400):
            generator.step()
        assert abs(generator.position[1] - 0.5) < 1e-9
        assert abs(generator.velocity[0] - 3.0) < 1e-9
        generator.go_through(np.array([0.0, 0.5, 1.0]), np.array([[-far, 0.5], [far, 0.2], [-far, 0.0]]))
        for tick in range(600):
            generator.step(tick * 0.005)
        assert abs(generator.position[1]) < 1e-9
