"""A follower comes to its leader as slowly as on an approach, whatever that does, and then goes with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc import messages
from tests.daemon.stream.followed import BOUNDS, Followed, assert_within
from tests.daemon.stream.test_loop import WAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Array = np.ndarray[Any, Any]

PERIOD_S = 1.0 / Followed.rate_hz
APPROACH = replace(BOUNDS, velocity_limit=[*WAYS.velocity], acceleration_limit=[*WAYS.acceleration])
FAR, STILL = [0.9, -1.2], [0.0, 0.0]
LED_TICKS, CALM_TICKS = 800, 1400


@pytest.fixture
def robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Followed]:
    robot = Followed(tmp_path, monkeypatch)
    robot.follow(catches_up=True)
    robot.setpoints()
    yield robot
    robot.leave()


class Led:
    """A follower that is led, and its setpoints."""

    def __init__(self, robot: Followed) -> None:
        self.robot, self.rows = robot, np.array([robot.loop.player.position])

    def step(self, ticks: int = 1) -> None:
        for _ in range(ticks):
            self.robot.step()
            self.rows = np.concatenate((self.rows, self.robot.setpoints()["reference_position"]))

    @property
    def has_caught_up(self) -> bool:
        return any(not report.is_behind for report in self.robot.notices_of(messages.Followed))

    def keeps_to_the_approach(self) -> None:
        assert_within(self.rows, PERIOD_S, APPROACH)


def test_a_far_leader_is_approached_slowly_and_then_followed_at_the_joints_own_limits(
    robot: Followed,
) -> None:
    led = Led(robot)
    while not led.has_caught_up:
        robot.passing(FAR, STILL)
        led.step(2)
    led.keeps_to_the_approach()
    assert 1.2 / 0.5 < len(led.rows) * PERIOD_S < 1.2 / 0.5 + 1.1
    assert led.rows[-1] == pytest.approx(FAR, abs=0.01)
    led.rows = led.rows[-1:]
    for _ in range(100):
        robot.passing([-0.5, 0.5], STILL)
        led.step(2)
    assert_within(led.rows, PERIOD_S)
    fastest = np.abs(np.diff(led.rows, axis=0)).max(axis=0) / PERIOD_S
    assert (fastest > 1.9 * np.array(WAYS.velocity)).all()


def test_a_leader_that_is_where_the_follower_holds_is_reached_at_once(robot: Followed) -> None:
    led = Led(robot)
    assert robot.loop.player.pursuit is not None
    led.step(10)
    assert robot.loop.player.pursuit.is_behind  # no target has come yet
    robot.passing(led.rows[-1].tolist(), STILL)
    led.step(2)
    assert led.has_caught_up


def test_a_leader_that_rushes_past_is_not_chased(robot: Followed) -> None:
    led = Led(robot)
    for tick in range(150):
        robot.passing([0.1 - 0.9 + 0.9 * 2 * tick * PERIOD_S, 0.2], [0.9, 0.0])
        led.step(2)
    assert not led.has_caught_up
    led.keeps_to_the_approach()


def test_a_leader_beyond_the_limits_of_the_follower_is_reached_where_these_end(robot: Followed) -> None:
    led = Led(robot)
    for _ in range(300):
        robot.passing([3.0, 0.2], STILL)
        led.step(2)
    assert led.has_caught_up
    assert led.rows[-1] == pytest.approx([1.2, 0.2], abs=1e-9)


def test_a_stop_on_the_way_is_as_short_as_any(robot: Followed) -> None:
    led = Led(robot)
    for _ in range(60):
        robot.passing(FAR, STILL)
        led.step(2)
    led.keeps_to_the_approach()
    begun = len(led.rows)
    robot.send(messages.Stop())
    while not robot.ended():
        led.step()
    assert_within(led.rows, PERIOD_S)
    assert (len(led.rows) - begun) * PERIOD_S < 0.5 / 6.0 + 0.2  # an approach's 1 rad/s² would take 0.5 s


@dataclass
class Leader:
    """Moves as somebody might who does not look at the follower."""

    rng: np.random.Generator
    place: Array

    def pieces(self, ticks: int) -> Iterator[tuple[Array, Array]]:
        """Yield positions and velocities of so many ticks."""
        kinds: list[Callable[[int], Array]] = [self._rests, self._swings, self._runs, self._jumps]
        left = ticks
        while left > 0:
            count = min(int(self.rng.integers(5, 200)), left)
            rows = kinds[self.rng.integers(len(kinds))](count)
            velocities = np.diff(rows, axis=0, prepend=[self.place]) / PERIOD_S
            self.place = rows[-1]
            left -= count
            yield from zip(rows, velocities, strict=True)

    def _rests(self, count: int) -> Array:
        return np.repeat([self.place], count, axis=0)

    def _swings(self, count: int) -> Array:
        phase = self.rng.uniform(0.5, 20.0, 2) * PERIOD_S * np.arange(count)[:, None]
        rows: Array = self.place + self.rng.uniform(0.01, 0.5, 2) * np.sin(phase)
        return rows

    def _runs(self, count: int) -> Array:
        rows: Array = self.place + self.rng.normal(size=2) * PERIOD_S * np.arange(count)[:, None]
        return rows

    def _jumps(self, count: int) -> Array:
        return np.repeat([self.rng.uniform(-2.0, 2.0, 2)], count, axis=0)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_a_leader_does_the_way_to_it_keeps_the_bounds_of_approaches(
    robot: Followed, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    led, leader = Led(robot), Leader(rng, rng.uniform(-1.5, 1.5, 2))
    calm = np.zeros((CALM_TICKS, 2, 2))
    way = [*leader.pieces(LED_TICKS)]
    calm[:, 0] = leader.place
    next_tick = behind = 0
    for tick, (position, velocity) in enumerate([*way, *calm]):
        if tick >= next_tick:  # measured, and not quite in time
            noise = rng.normal(size=(2, 2)) * [[1e-4], [1e-2]]
            robot.passing((position + noise[0]).tolist(), (velocity + noise[1]).tolist())
            next_tick = tick + int(rng.choice([1, 2, 3, 10], p=[0.2, 0.6, 0.15, 0.05]))
        led.step()
        if not led.has_caught_up:
            behind = len(led.rows)
    assert led.has_caught_up
    assert_within(led.rows[:behind], PERIOD_S, APPROACH)
    assert_within(led.rows[max(behind - 2, 0) :], PERIOD_S)
    assert led.rows[-1] == pytest.approx(np.clip(leader.place, [-1.0, -1.5], [1.2, 1.5]), abs=5e-3)
