"""Robots that follow targets, and what is in their way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.ipc.states import State
from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.physics import make_world
from motiond.daemon.physics.clearance import Clearance
from motiond.daemon.stream.engine.guard import Surroundings
from motiond.daemon.trajectory import OnlineGenerator, OnlineLimits
from motiond.formats import load_robot
from tests.daemon.stream.followed import Followed
from tests.daemon.stream.test_loop import JOINTS, WAYS, setup_of
from tests.daemon.stream.walled import MARGIN_M, collision_of, distances, reacher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.daemon.joints.joint_map import JointMap
    from motiond.daemon.physics import World
    from motiond.daemon.stream.engine.guard import Guard
    from motiond.formats.arrays import Floats

ARM = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"
PERIOD_S = 0.005
ROOM_M = 0.001
"""As far beyond its margin a robot may stop."""
FREE, BEYOND = np.array([1.3, 0.4]), np.array([0.0, 0.0])
BEGUN = [1.0, 0.4]
"""Postures away from the wall, in it, and away from it within the limits of the robot."""


class Way:
    """Joints that follow targets past what is around them, within limits. `rows`: where they have been."""

    def __init__(self, world: World, joint_map: JointMap, start: Floats, margin_m: float = MARGIN_M) -> None:
        count = len(start)
        lower, upper = (np.full(count, end) for end in (-3.0, 3.0))
        ways = replace(WAYS, lower=lower.tolist(), upper=upper.tolist())
        setup = setup_of(joints=[*joint_map.joints], ways=ways)
        around = Surroundings(setup, collision_of(world, joint_map, margin_m))
        self.guard: Guard = around.guard(start, start, np.eye(count), PERIOD_S)
        bounds = (np.full(count, bound) for bound in (1.0, 8.0, 64.0))
        self.limits = OnlineLimits(lower, upper, *bounds)
        self.generator = OnlineGenerator(self.limits, start, PERIOD_S, self.guard)
        self.rows = [start]

    def goes_on(self, seconds: float) -> Floats:
        """Return where the joints are after some time."""
        for _ in range(round(seconds / PERIOD_S)):
            self.generator.step(PERIOD_S * len(self.rows))
            self.rows.append(self.generator.position.copy())
        return self.rows[-1]

    def at_random(self, rng: np.random.Generator, seconds: float) -> None:
        """Follow random targets of all kinds."""
        count = len(self.rows[0])
        until_s = PERIOD_S * len(self.rows) + seconds
        while (now_s := PERIOD_S * len(self.rows)) < until_s:
            kind = rng.random()
            if kind < 0.3:
                self.generator.aim(rng.uniform(-2.0, 2.0, count))
            elif kind < 0.5:
                self.generator.aim(rng.uniform(-2.0, 2.0, count), rng.uniform(-1.0, 1.0, count))
            elif kind < 0.7:
                self.generator.aim_at_velocity(rng.uniform(-1.2, 1.2, count))
            else:
                times = now_s + np.linspace(0.0, 0.8, 9)
                rows = self.rows[-1] + np.cumsum(rng.uniform(-0.15, 0.15, (9, count)), axis=0)
                self.generator.go_along(self.limits.path(times, rows)[0])
            self.goes_on(float(rng.uniform(0.05, 0.8)))


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, JointMap]:
    return reacher(tmp_path_factory.mktemp("reacher"))


@pytest.fixture(scope="module")
def six_axis() -> tuple[World, JointMap]:
    model = load_robot(ARM)
    joint_map = build_joint_map("arm", model, {})
    return make_world(model, joint_map), joint_map


def assert_within_limits(rows: list[Floats], limits: OnlineLimits) -> None:
    steps = np.diff(np.array(rows), axis=0) / PERIOD_S
    assert (np.abs(steps) <= limits.velocity * 1.000001).all()
    assert (np.abs(np.diff(steps, axis=0)) / PERIOD_S <= limits.acceleration * 1.02).all()


def test_it_stops_before_a_wall_and_moves_away_again(arm: tuple[World, JointMap]) -> None:
    way = Way(*arm, FREE)
    way.generator.aim(BEYOND)
    near = distances(way.goes_on(2.0))
    assert MARGIN_M <= near[0] <= MARGIN_M + ROOM_M
    held_by = way.guard.take_held_by()
    assert held_by is not None
    assert (held_by["links"], held_by["distance_m"]) == (
        ["wall", "forearm"],
        pytest.approx(near[0], abs=1e-4),
    )
    assert np.ptp(np.array(way.rows[-100:]), axis=0) == pytest.approx(0.0, abs=1e-9)
    way.generator.aim(FREE)
    assert way.goes_on(2.0) == pytest.approx(FREE, abs=1e-9)
    assert (distances(np.array(way.rows))[:, 0] >= MARGIN_M).all()
    way.guard.take_held_by()
    way.goes_on(0.5)
    assert way.guard.take_held_by() is None
    assert_within_limits(way.rows, way.limits)


def test_where_nothing_is_near_it_moves_as_without_a_guard(arm: tuple[World, JointMap]) -> None:
    way = Way(*arm, FREE)
    alone = OnlineGenerator(way.limits, FREE, PERIOD_S)
    for target in ([2.0, 0.8], [1.5, -0.1], [2.4, 0.9]):
        for generator in (way.generator, alone):
            generator.aim(np.array(target))
        for _ in range(100):
            alone.step()
            assert way.goes_on(PERIOD_S).tolist() == alone.position.tolist()
    assert way.guard.take_held_by() is None


def test_one_that_begins_within_the_margin_comes_no_nearer_and_moves_away(
    arm: tuple[World, JointMap],
) -> None:
    start = np.array([0.9, 0.0])
    begun = distances(start)[0]
    way = Way(*arm, start, margin_m=begun + 0.01)
    way.generator.aim(BEYOND)
    way.goes_on(1.0)
    assert distances(np.array(way.rows))[:, 0].min() >= begun - ROOM_M
    way.generator.aim(FREE)
    assert way.goes_on(2.0) == pytest.approx(FREE, abs=1e-9)
    way.generator.aim(BEYOND)
    assert distances(way.goes_on(2.0))[0] >= begun + 0.01


@pytest.mark.parametrize("seed", range(12))
def test_whatever_comes_it_keeps_its_margin_to_a_wall_and_to_itself(
    arm: tuple[World, JointMap], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    while (distances(start := rng.uniform(-2.5, 2.5, 2)) < MARGIN_M + ROOM_M).any():
        pass
    way = Way(*arm, start)
    way.at_random(rng, 10.0)
    assert distances(np.array(way.rows)).min() >= MARGIN_M
    assert_within_limits(way.rows, way.limits)
    assert np.ptp(np.array(way.rows), axis=0).min() > 0.1


@pytest.mark.parametrize("seed", range(4))
def test_whatever_comes_an_arm_of_six_joints_keeps_its_margin(
    six_axis: tuple[World, JointMap], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    look = Clearance(*six_axis).look()

    def nearest(posture: Floats) -> float:
        found = look.nearest(posture)
        return np.inf if found is None else found.distance_m

    while nearest(start := rng.uniform(-2.0, 2.0, 6)) < MARGIN_M + ROOM_M:
        pass
    way = Way(*six_axis, start)
    way.at_random(rng, 6.0)
    assert min(map(nearest, way.rows[::2])) >= MARGIN_M
    assert_within_limits(way.rows, way.limits)
    assert np.ptp(np.array(way.rows), axis=0).min() > 0.1


# -- in a stream process -------------------------------------------------------------------------------------


@pytest.fixture
def robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arm: tuple[World, JointMap]) -> Iterator[Followed]:
    setup, begun = {"collision": collision_of(*arm)}, dict(zip(JOINTS, BEGUN, strict=True))
    robot = Followed(tmp_path, monkeypatch, initial=begun, setup=setup)
    yield robot
    robot.leave()


def test_a_robot_reports_what_it_was_held_by_and_is_not_stopped_for_that(robot: Followed) -> None:
    robot.follow(timeout_s=5.0)
    robot.target(*BEYOND)
    robot.step(400)
    assert robot.state() is State.FOLLOWING
    near = distances(robot.setpoints()["reference_position"])[:, 0]
    assert MARGIN_M <= near.min() <= MARGIN_M + ROOM_M
    held_by = robot.facts().held_by
    assert held_by is not None
    assert held_by["links"] == ["wall", "forearm"]
    robot.target(*BEGUN)
    robot.step(600)
    assert robot.facts().held_by is None
    robot.end()
    assert robot.come_to_rest().code == "SUCCESSFUL"
