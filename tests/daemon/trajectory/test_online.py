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
