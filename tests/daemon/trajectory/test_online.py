"""Behaviour of ways that are made as they go, on joints that have no limit of position."""

from __future__ import annotations

import numpy as np
import pytest

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
        own = OnlineLimits(*limits)
        generator = OnlineGenerator(own, np.zeros(2), 0.005)
        generator.aim(np.array([far, 0.5]))
        for _ in range(400):
            generator.step()
        assert abs(generator.position[1] - 0.5) < 1e-9
        assert abs(generator.velocity[0] - 3.0) < 1e-9
        rows = np.array([[-1e6, 0.5], [1e6, 0.2], [-1e6, 0.0]])
        generator.go_along(own.path(np.array([0.0, 0.5, 1.0]), rows)[0])
        for tick in range(600):
            generator.step(tick * 0.005)
        assert abs(generator.position[1]) < 1e-9


@pytest.mark.parametrize("middle", [-7.0, 0.0, 5.0])
def test_joints_move_alike_wherever_their_limits_are(middle: float) -> None:
    limits = OnlineLimits(*np.array([[middle - 1.0], [middle + 1.0], [1.0], [8.0], [64.0]]))
    generator = OnlineGenerator(limits, np.array([middle]), 0.005)
    for target in (0.9, -3.0):
        generator.aim(np.array([middle + target]))
        for _ in range(600):
            generator.step()
        assert generator.position[0] - middle == pytest.approx(max(target, -1.0), abs=1e-9)


def test_joints_with_targets_keep_the_limits_of_those_that_follow_them() -> None:
    own = OnlineLimits(
        np.array([-1.0, -2.0, -0.3]),
        np.array([1.0, 2.0, 0.7]),
        np.array([3.0, 5.0, 1.0]),
        np.array([10.0, 10.0, 10.0]),
        np.array([100.0, 100.0, 100.0]),
    )
    leaders, turns, offsets = np.array([0, 1, 0]), np.array([1.0, 1.0, -0.5]), np.array([0.0, 0.0, 0.2])
    found = own.of_leaders([1, 0], leaders, turns, offsets)
    assert found.lower == pytest.approx([-2.0, -1.0])  # the third is at 0.7 there
    assert found.upper == pytest.approx([2.0, 1.0])
    assert found.velocity == pytest.approx([5.0, 2.0])
    assert found.acceleration == pytest.approx([10.0, 10.0])
    offsets[2] = 0.5
    assert own.of_leaders([0], leaders, turns, offsets).lower == pytest.approx([-0.4])


def test_of_rows_beyond_limits_a_path_is_made_that_is_not_and_one_row_is_a_short_path() -> None:
    own = OnlineLimits(*np.array([[-1.0], [1.0], [3.0], [10.0], [100.0]]))
    times = np.array([0.0, 1.0, 2.0, 3.0])
    path, clipped = own.path(times, np.array([[0.0], [0.5], [1.5], [2.0]]))
    assert clipped
    assert path.at(times)[0][:, 0] == pytest.approx([0.0, 0.5, 1.0, 1.0])
    assert path.rest == [1.0]
    single, clipped = own.path(np.array([0.5]), np.array([[0.2]]))
    assert (single.begins_s, single.rest.tolist(), clipped) == (0.5, [0.2], False)
    assert 0.5 < single.ends_s < 0.51
