"""How far the ticks of a motion were from their appointed times, on clocks that are handed in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.states import State
from motiond.daemon.telemetry.drift import Drift
from motiond.daemon.telemetry.observer import Observer
from motiond.daemon.trajectory.route import Passes
from motiond.daemon.trajectory.track import Track, share
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.clock.clocks import Machine
from tests.daemon.stream.test_loop import RATE_HZ, ROWS, START, Bench, setup_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

pytestmark = pytest.mark.slow

PERIOD_S = 1.0 / RATE_HZ
LENGTH_S = (len(ROWS) - 1) * PERIOD_S
LEAD_S = 0.1
NONE = {"p50": 0.0, "p99": 0.0, "max": 0.0, "first": 0.0, "last": 0.0}
ROUNDING_S = 2e-6  # of Unix time in a float64, and of what is told


class Stage:
    """A stream loop on a machine's clock that plays at an appointed time, and an observer of it."""

    def __init__(self, folder: Path, machine: Machine | None = None, **setup: Any) -> None:
        self.machine = machine or Machine()
        self.bench = Bench(folder, setup_of(**setup), clock=self.machine)
        self.observer = Observer(self.bench.reader, 2, self.machine.unix_less_monotonic)

    def appoint(self, passes: Passes | None = None, way: int = 0, back: int = 0, speed: float = 1.0) -> None:
        """Appoint the first row for a tenth of a second from now; `way` and `back` rows lead to it."""
        self.bench.enable()
        start_at = self.machine.unix_s + LEAD_S
        self.observer.start_goal(Drift(start_at, RATE_HZ))
        fds = [share(track(rows)) for rows in (standing(way), ROWS, standing(back))]
        command = messages.Play(
            goal_id="goal-1",
            motion="wave",
            speed=speed,
            start=START,
            clock_acceleration=2.0,
            path_tolerance=[messages.OFF] * 2,
            goal_tolerance=[messages.OFF] * 2,
            goal_time_s=0.0,
            passes=passes or Passes(0, len(ROWS) - 1),
            start_s=start_at - self.machine.unix_less_monotonic(),
        )
        self.bench.channel.send(command, tuple(fds))
        for fd in fds:
            os.close(fd)

    def until_row(self, row: float) -> None:
        """Play on to a row of the motion."""
        player = self.bench.loop.player
        self.bench.step_until(lambda: player.frame >= row and player.state is State.PLAYING)
        self.observer.take()

    def until(self, state: State) -> None:
        """Play on to a state of the robot."""
        self.bench.step_until(lambda: self.bench.loop.player.state is state)

    def to_the_end(self) -> Any:
        """Play to the end, and a while on; return the drift."""
        self.bench.step_until(self.bench.ended)
        self.observer.take()
        self.bench.step(20)
        self.observer.take()
        assert self.observer.drift is not None
        return self.observer.drift.payload()

    def setpoints(self) -> NDArray[np.float64]:
        """Return when the driver received which setpoint, shape (setpoints, 3)."""
        self.bench.driver.close()
        trace = read_trace(self.bench.trace_path)
        return np.column_stack([trace["time"], trace["position"]])


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Callable[..., Stage]]:
    """Make stages, each in a folder of its own, and close them in the end."""
    made: list[Stage] = []

    def make(machine: Machine | None = None, **setup: Any) -> Stage:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Stage(folder, machine, **setup))
        return made[-1]

    yield make
    for one in made:
        one.bench.driver.close()
        one.bench.close()


def standing(rows: int) -> NDArray[np.float64]:
    return np.tile(ROWS[0], (rows, 1))


def track(rows: NDArray[np.float64]) -> Track:
    return Track(rows, np.zeros_like(rows), np.array([True, True]), RATE_HZ, 2.0)


def near(**expected: float) -> dict[str, Any]:
    """Return what is told of no drift, but for what is expected."""
    return {name: pytest.approx(value, abs=ROUNDING_S) for name, value in (NONE | expected).items()}


@pytest.mark.parametrize("way", [0, 20])
def test_a_motion_on_time_does_not_drift(stage: Callable[..., Stage], way: int) -> None:
    played = stage()
    played.appoint(way=way)
    assert played.to_the_end() == near()


@pytest.mark.parametrize("slew", [5e-4, -5e-4])
def test_a_clock_that_is_slewed_takes_the_motion_along(stage: Callable[..., Stage], slew: float) -> None:
    played = stage(Machine(slew))
    played.appoint()
    played.until_row(0)
    begun_s = played.machine.crystal_s
    assert played.to_the_end() == near()
    took_s = played.machine.crystal_s - begun_s - 20 / 100.0 / (1.0 + slew)  # less the ticks at rest
    assert took_s == pytest.approx(LENGTH_S / (1.0 + slew), abs=PERIOD_S / 2)


@pytest.mark.parametrize("step_s", [0.25, -0.25])
def test_a_clock_that_is_stepped_is_told_as_drift_and_moves_no_setpoint(
    stage: Callable[..., Stage], step_s: float
) -> None:
    both = stage(), stage()
    for one in both:
        one.appoint()
        one.until_row(200)
    both[0].machine.step(step_s)
    stepped, left_alone = (one.to_the_end() for one in both)
    assert stepped == near(p50=stepped["p50"], p99=stepped["p99"], max=0.25, last=step_s)
    assert left_alone == near()
    assert (both[0].setpoints() == both[1].setpoints()).all()


@pytest.mark.parametrize(
    ("max_skip_s", "later_s"), [(0.02, 0.0), (0.004, 0.002), (0.0, 0.006)], ids=["skip", "partly", "stretch"]
)
def test_a_late_tick_is_told_and_what_is_not_skipped_stays(
    stage: Callable[..., Stage], max_skip_s: float, later_s: float
) -> None:
    played = stage(max_skip_s=max_skip_s)
    played.appoint()
    played.until_row(200)
    played.machine.oversleep_s = 0.0065
    told = played.to_the_end()
    assert told == near(p50=told["p50"], p99=told["p99"], max=0.0065 - (0.006 - later_s), last=later_s)


def test_a_first_row_that_comes_late_is_told(stage: Callable[..., Stage]) -> None:
    played = stage(max_skip_s=0.0)
    played.appoint()
    played.until(State.APPROACHING)
    played.machine.oversleep_s = 0.0
    player = played.bench.loop.player
    played.bench.step_until(lambda: played.machine.time_s > 100.0 + LEAD_S - 1.5 * PERIOD_S)
    assert player.state is State.APPROACHING
    played.machine.oversleep_s = 0.05
    told = played.to_the_end()
    assert 0.04 < told["first"] <= 0.05 + ROUNDING_S
    assert told["last"] > 0.04


@pytest.mark.parametrize(
    "commands",
    [
        [messages.Pause(), messages.Resume()],
        [messages.Speed(0.5, 2.0)],
        [messages.Stop()],
        [messages.Estop()],
    ],
    ids=["pause", "speed", "stop", "estop"],
)
def test_what_slows_the_motion_ends_the_count(
    stage: Callable[..., Stage], commands: list[messages.Command]
) -> None:
    played = stage(max_skip_s=0.0)
    played.appoint()
    played.until_row(100)
    for command in commands:
        played.bench.channel.send(command)
        played.bench.step(5)
        played.machine.oversleep_s = 0.0065  # which would be told for ever
        played.bench.step(145)
    assert played.to_the_end() == near()


def test_what_is_sought_is_not_counted(stage: Callable[..., Stage]) -> None:
    played = stage()
    played.appoint()
    played.until_row(100)
    played.bench.channel.send(messages.Pause())
    played.until(State.PAUSED)
    fd = share(track(standing(3)))
    place = played.bench.loop.player.position.tolist()
    played.bench.channel.send(messages.Seek("goal-1", 0, place, goes_on=True), (fd,))
    os.close(fd)
    played.bench.step(20)
    assert played.bench.loop.player.state is State.PLAYING
    assert played.to_the_end() == near()


def test_a_pause_before_the_first_row_makes_it_late(stage: Callable[..., Stage]) -> None:
    played = stage()
    played.appoint(way=20)
    played.bench.step(10)
    played.bench.channel.send(messages.Pause())
    played.bench.step(200)
    played.bench.channel.send(messages.Resume())
    told = played.to_the_end()
    assert told["first"] > 0.1
    assert told["last"] == pytest.approx(told["first"], abs=ROUNDING_S)


@pytest.mark.parametrize(("speed", "commands"), [(0.5, []), (2.0, []), (1.0, [messages.Speed(1.0, 2.0)])])
def test_at_the_speed_that_it_begins_with_a_motion_is_counted(
    stage: Callable[..., Stage], speed: float, commands: list[messages.Command]
) -> None:
    played = stage(max_skip_s=0.0)
    played.appoint(speed=speed)
    played.until_row(200)
    for command in commands:
        played.bench.channel.send(command)
        played.bench.step(10)
    played.machine.oversleep_s = 0.0065
    told = played.to_the_end()
    assert (told["first"], told["last"]) == (
        pytest.approx(0.0, abs=ROUNDING_S),
        pytest.approx(0.006, abs=ROUNDING_S),
    )


@pytest.mark.parametrize(
    "passes",
    [
        Passes(0, len(ROWS) - 1, count=3),
        Passes(0, len(ROWS) - 1, count=3, ping_pong=True),
        Passes(0, len(ROWS) - 1, count=3, seamless=True),
        Passes(10, 300, count=3, eases_in=True, eases_out=True),
    ],
    ids=["anew", "to and fro", "seamless", "eased"],
)
@pytest.mark.parametrize("late_s", [0.0, 0.0065])
def test_passes_and_the_ways_between_them_are_counted_on(
    stage: Callable[..., Stage], passes: Passes, late_s: float
) -> None:
    played = stage(max_skip_s=0.0)
    played.appoint(passes, back=0 if passes.ping_pong or passes.seamless else 30)
    played.bench.step_until(lambda: played.bench.loop.player.loop == 2)
    played.machine.oversleep_s = late_s
    told = played.to_the_end()
    lasting_s = pytest.approx(late_s // PERIOD_S * PERIOD_S, abs=ROUNDING_S)
    assert (told["first"], told["last"]) == (pytest.approx(0.0, abs=ROUNDING_S), lasting_s)


def test_nothing_is_told_of_a_motion_that_did_not_begin(stage: Callable[..., Stage]) -> None:
    played = stage()
    played.appoint()
    played.bench.step(5)
    played.bench.channel.send(messages.Stop())
    assert played.to_the_end() is None
