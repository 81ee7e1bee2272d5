"""Behaviour of the streaming loop on virtual time, with the real simulated driver and a real channel."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc import messages, ring
from motiond.daemon.ipc.channel import Channel
from motiond.daemon.ipc.ring import COLUMN, SCALARS, RingReader, RingWriter
from motiond.daemon.ipc.states import STATES, ResultCode, State
from motiond.daemon.stream.engine.commands import CommandHandler
from motiond.daemon.stream.engine.displacement import WaysBack
from motiond.daemon.stream.engine.loop import StreamLoop
from motiond.daemon.stream.timing.clocks import VirtualClock
from motiond.daemon.stream.timing.schedule import Schedule
from motiond.daemon.trajectory.route import Passes
from motiond.daemon.trajectory.track import Track, share
from motiond.daemon.trajectory.transmission import Transmission
from motiond.drivers.base import (
    ActuatorCommand,
    ActuatorState,
    CommunicationLost,
    Driver,
    DriverError,
    DriverOptions,
)
from motiond.drivers.registry import make_driver
from motiond.drivers.sim.command_log import read_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JOINTS = ["shoulder", "elbow"]
START = [0.1, -0.2]
RATE_HZ = 500.0
UNLIMITED = messages.CheckLimits([None, None], None, None, None, None, [0.05] * 2, [False, False])
NONE: list[float | None] = [None, None]
WAYS = messages.WayBounds(
    [0.5] * 2, [1.0] * 2, [5.0] * 2, 2.0, [0.002] * 2, NONE, NONE, NONE, NONE, [0, 1], [1.0, 1.0], [0.0, 0.0]
)
ROWS = np.linspace(START, [0.3, 0.4], 400)
NO_ROWS = np.empty((0, 2))


def setup_of(**changes: Any) -> messages.Setup:
    values: dict[str, Any] = {
        "robot": "arm",
        "driver": "sim",
        "options": {},
        "joints": JOINTS,
        "units": ["rad", "rad"],
        "actuators": JOINTS,
        "transmission": plain_transmission().as_lists(),
        "idle_rate_hz": 100.0,
        "max_lateness_s": 0.1,
        "max_skip_s": 0.02,
        "limits": UNLIMITED,
        "ways": WAYS,
        "priority": None,
        "core": None,
        "lock_memory": False,
    }
    return messages.Setup(**(values | changes))


def plain_transmission(reduction: float = 1.0, offset: float = 0.0) -> Transmission:
    order, reductions, offsets = np.arange(2), np.full(2, reduction), np.full(2, offset)
    return Transmission(order, reductions, offsets, order, reductions, offsets, reductions)


class LateClock(VirtualClock):
    """Oversleeps once, by `oversleep_s`."""

    oversleep_s = 0.0

    def _late(self, deadline_s: float) -> float:
        late_s, self.oversleep_s = deadline_s + self.oversleep_s, 0.0
        return late_s

    def sleep_until(self, deadline_s: float) -> None:
        super().sleep_until(self._late(deadline_s))

    def listen_until(self, fd: int, deadline_s: float) -> None:
        super().listen_until(fd, self._late(deadline_s))


class Bench:
    """A loop on virtual time, and the daemon's ends of its channel and ring."""

    rate_hz = RATE_HZ

    def __init__(
        self,
        folder: Path,
        setup: messages.Setup | None = None,
        driver: Driver | None = None,
        clock: VirtualClock | None = None,
    ) -> None:
        self.trace_path = folder / "trace.npy"
        self.clock = clock or LateClock(100.0)
        options = {"trace": self.trace_path, "initial": dict(zip(JOINTS, START, strict=True))}
        self.driver = driver or make_driver("sim", options, JOINTS, self.clock.now)
        self.driver.open()
        self.channel, theirs = Channel.pair()
        self._theirs = Channel(theirs)
        fd = ring.create(2)
        self._writer, self.reader = RingWriter(fd, 2), RingReader(fd, 2)
        os.close(fd)
        self.loop = StreamLoop(setup or setup_of(), self.driver, self.clock, self._theirs, self._writer)
        self.notices: list[messages.Command | messages.Notice] = []

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            assert self.loop.step()
            self.hear()

    def step_until(self, holds: Callable[[], bool], most: int = 5000) -> int:
        for count in range(most):
            if holds():
                return count
            self.step()
        pytest.fail("what was waited for never came")

    def steps_to_the_end(self, most: int = 5000) -> Iterator[None]:
        for _ in range(most):
            if not self.loop.step():
                return
            yield
        pytest.fail("the loop never left")

    def hear(self) -> None:
        while (received := self.channel.receive()) is not None:
            self.notices.append(received[0])

    def notices_of(self, kind: type[Any]) -> list[Any]:
        return [notice for notice in self.notices if isinstance(notice, kind)]

    def records(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return what the ring has since the last call, by name."""
        rows = self.reader.take()
        vectors = {name: rows[:, part] for name, part in ring.slices(2).items()}
        states = np.array([STATES[int(one)] for one in rows[:, COLUMN["state"]]])
        return vectors | {"state": states, "torque": rows[:, COLUMN["torque"]]}

    def ends(self) -> list[messages.Ended]:
        return [ended for changed in self.notices_of(messages.Changed) for ended in changed.ended]

    def enable(self) -> list[float]:
        self.channel.send(messages.Enable())
        self.step()
        reference: list[float] = self.notices_of(messages.Changed)[-1].reference
        return reference

    def play(
        self,
        rows: np.ndarray[Any, Any] = ROWS,
        *,
        approach: np.ndarray[Any, Any] = NO_ROWS,
        rate_hz: float | None = None,
        driven: tuple[bool, bool] = (True, True),
        number: int = 0,
        **play: Any,
    ) -> None:
        """Play rows from where the robot holds; `play`: what else the command has."""
        rate_hz = rate_hz or self.rate_hz
        velocities = np.zeros_like(approach), np.gradient(rows, 1 / rate_hz, axis=0), NO_ROWS
        tracks = zip((approach, rows, NO_ROWS), velocities, strict=True)
        fds = tuple(share(Track(*track, np.array(driven), rate_hz, 2.0)) for track in tracks)
        values: dict[str, Any] = {
            "goal_id": "goal-1",
            "motion": "wave",
            "speed": 1.0,
            "start": self.loop.player.position.tolist(),
            "clock_acceleration": 2.0,
            "path_tolerance": [messages.OFF] * 2,
            "goal_tolerance": [messages.OFF] * 2,
            "goal_time_s": messages.OFF,
            "passes": Passes(0, len(rows) - 1),
        }
        self.channel.send(messages.Play(**(values | play)), fds, number)
        for fd in fds:
            os.close(fd)

    def ended(self) -> bool:
        return bool(self.ends())

    def state(self) -> State:
        return self.loop.player.state

    def close(self) -> None:
        self.channel.close()
        self._theirs.close()
        self._writer.close()
        self.reader.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.driver.close()
    bench.close()


def test_the_driver_receives_every_row_once_in_order_bit_for_bit(bench: Bench) -> None:
    bench.enable()
    bench.play()
    bench.step_until(bench.ended)
    bench.driver.close()
    received = read_trace(bench.trace_path)["position"]
    first = next(k for k in range(len(received)) if (received[k : k + len(ROWS)] == ROWS).all())
    assert received[first : first + len(ROWS)].tobytes() == ROWS.tobytes()


@pytest.mark.parametrize(("owner", "act"), [(Schedule, "start_grid"), (CommandHandler, "_go_back")])
def test_a_command_that_fails_is_a_fault_of_the_robot_and_ends_its_goal_once(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    owner: type[Any],
    act: str,
) -> None:
    """Before its goal has begun, and after."""
    bench.enable()
    monkeypatch.setattr(owner, act, lambda *_: 1 / 0)
    bench.play()
    bench.step()
    bench.step()
    assert bench.state() is State.FAULT
    message = "a command could not be obeyed, so the robot halts; division by zero"
    assert [event.message for event in bench.notices_of(messages.Happened)] == [message]
    assert [(ended.goal_id, ended.code) for ended in bench.ends()] == [("goal-1", "HARDWARE_FAULT")]
    caplog.clear()  # its tracebacks keep the motion's memory


def test_a_tick_that_a_command_brings_about_is_not_due_in_the_future(bench: Bench) -> None:
    bench.step(3)
    bench.channel.send(messages.Enable())
    bench.step()
    assert bench.reader.take()[-1, SCALARS.index("deadline_s")] <= bench.clock.now()


def test_a_record_holds_when_the_oldest_of_its_feedback_was_received(bench: Bench) -> None:
    bench.step(3)
    times_s = bench.reader.take()[:, [SCALARS.index("setpoint_s"), SCALARS.index("received_s")]]
    assert (np.diff(times_s, axis=0) > 0).all()
    assert times_s[:, 1] == pytest.approx(times_s[:, 0], abs=1 / RATE_HZ)


def test_rows_are_one_period_apart_on_absolute_deadlines(bench: Bench) -> None:
    bench.enable()
    bench.play()
    bench.step_until(bench.ended)
    deadlines = bench.reader.take()[:, SCALARS.index("deadline_s")]
    steps = np.diff(deadlines[-len(ROWS) :])
    assert steps == pytest.approx(np.full(len(ROWS) - 1, 1 / RATE_HZ), abs=1e-9)


def test_enabling_holds_where_the_joints_are(bench: Bench) -> None:
    assert bench.enable() == START
    bench.step(5)
    assert bench.loop.player.position.tolist() == START


def test_a_play_is_refused_where_the_approach_was_planned_from_elsewhere(bench: Bench) -> None:
    bench.enable()
    bench.play(start=[0.0, 0.0])
    bench.step()
    (ended,) = bench.ends()
    assert (ended.code, ended.message) == (
        "INVALID_GOAL",
        "the robot is not where the approach was planned from; ask again",
    )
    assert bench.state() is State.IDLE


def test_a_play_without_torque_is_refused(bench: Bench) -> None:
    bench.play(start=START)
    bench.step()
    (ended,) = bench.ends()
    assert ended.message == "the robot is idle, released; it cannot play now"


def test_a_stop_comes_to_rest_on_the_path_and_is_reported_as_canceled(bench: Bench) -> None:
    bench.enable()
    bench.play()
    bench.step(50)
    bench.channel.send(messages.Stop())
    bench.step_until(bench.ended)
    (ended,) = bench.ends()
    assert ended.code == "CANCELED"
    assert bench.notices_of(messages.Changed)[-1].state == "idle"
    path = np.interp(bench.loop.player.position[0], ROWS[:, 0], ROWS[:, 1])
    assert bench.loop.player.position[1] == pytest.approx(path, abs=1e-9)


def test_an_emergency_stop_halts_in_the_next_tick_and_latches(bench: Bench) -> None:
    bench.enable()
    bench.play()
    bench.step(50)
    reached = bench.loop.player.position.tolist()
    bench.channel.send(messages.Estop())
    bench.step()
    assert bench.state() is State.ESTOPPED
    bench.step(100)
    assert bench.loop.player.position.tolist() == reached
    assert [ended.code for ended in bench.ends()] == ["ESTOP"]
    bench.channel.send(messages.Reset())
    bench.step(2)
    assert bench.state() is State.IDLE
    assert bench.loop.player.position == pytest.approx(bench.loop.record["position"], abs=1e-3)


def late_by(bench: Bench, oversleep_s: float) -> None:
    assert isinstance(bench.clock, LateClock)
    bench.clock.oversleep_s = oversleep_s


def test_a_late_tick_plays_where_the_clock_is_now_and_nothing_is_replayed(bench: Bench) -> None:
    bench.enable()
    bench.play()
    bench.step(50)
    before = bench.loop.player.frame
    late_by(bench, 3.5 / RATE_HZ)
    bench.step()
    assert bench.loop.player.frame == before + 4
    assert bench.loop.record.data[SCALARS.index("missed")] == 3
    bench.step()
    assert bench.loop.player.frame == before + 5
    bench.step_until(bench.ended)
    # Each setpoint is recorded for the time that its row is due, that of the late tick as well.
    records = bench.reader.take()
    playing = records[records[:, SCALARS.index("state")] == STATES.index(State.PLAYING)]
    times, rows = (playing[:, SCALARS.index(name)] for name in ("setpoint_s", "frame"))
    np.testing.assert_allclose(times - times[0], (rows - rows[0]) / RATE_HZ, atol=1e-9)


def test_a_resume_in_full_motion_does_not_put_off_the_checks(tmp_path: Path) -> None:
    limits = replace(UNLIMITED, stall_s=0.2, stall_error=[0.01] * 2)
    bench = Bench(tmp_path, setup_of(limits=limits), Failing())  # whose joints never move
    bench.enable()
    bench.play()
    for _ in range(5000):
        if bench.state() not in {State.IDLE, State.PLAYING} or bench.ended():
            break
        bench.channel.send(messages.Resume())
        bench.step()
    bench.step_until(bench.ended)
    (ended,) = bench.ends()
    assert (ended.code, ended.details["check"]) == ("PATH_TOLERANCE_VIOLATED", "stall")
    bench.close()


@pytest.mark.parametrize(
    ("max_skip_s", "rows", "skipped"), [(0.0, 1, 0), (2.0 / RATE_HZ, 3, 2), (1.0, 10, 9)]
)
def test_a_late_tick_skips_no_more_than_it_may_and_the_motion_ends_later_by_the_rest(
    bench: Bench, max_skip_s: float, rows: int, skipped: int
) -> None:
    bench.loop.schedule.max_skip_s = max_skip_s
    bench.enable()
    bench.play()
    bench.step(50)
    before = bench.loop.player.frame
    late_by(bench, 9.5 / RATE_HZ)
    bench.step()
    late = bench.loop.record.data[[SCALARS.index("missed"), SCALARS.index("skipped")]]
    assert (bench.loop.player.frame, late.tolist()) == (before + rows, [9, skipped])
    assert bench.step_until(bench.ended) == len(ROWS) - 1 - before - rows


def test_a_tick_later_than_allowed_stops_softly_from_where_the_robot_is_and_reports_so(bench: Bench) -> None:
    bench.enable()
    bench.play()
    bench.step(50)
    before = bench.loop.player.frame
    late_by(bench, 0.15)
    bench.step()
    assert bench.state() is State.STOPPING
    assert before < bench.loop.player.frame <= before + 1
    bench.step_until(bench.ended)
    (ended,) = bench.ends()
    assert (ended.code, ended.message) == (
        "DEADLINE_MISSED",
        "a tick came 0.150 s late; max_lateness_s is 0.1 s; ease the load on the machine or grant SCHED_FIFO",
    )


def test_without_its_daemon_the_loop_stops_softly_and_leaves(bench: Bench) -> None:
    bench.enable()
    bench.play()
    bench.step(50)
    bench.channel.close()
    steps = [bench.loop.player.position[0] for _ in bench.steps_to_the_end()]
    assert bench.state() is State.IDLE
    assert (np.diff(steps, n=2) < 1e-9).all()
    assert len(steps) > 100


SILENT = (
    "nothing was received from the daemon for more than 0.2 s (daemon_timeout_s); "
    "nobody could stop the robot; "
    "look at what kept the daemon busy, or raise it"
)


def test_a_silent_daemon_ends_the_motion_softly_and_is_obeyed_again_once_it_is_back(tmp_path: Path) -> None:
    bench = Bench(tmp_path, setup_of(daemon_timeout_s=0.2))
    bench.enable()
    bench.play()
    steps = bench.step_until(lambda: bench.state() is State.STOPPING)
    assert steps == pytest.approx(0.2 * RATE_HZ, abs=2)
    bench.step_until(bench.ended)
    (ended,) = bench.ends()
    assert (ended.code, ended.message, bench.state()) == ("CANCELED", SILENT, State.IDLE)
    bench.play()
    bench.step(2)
    assert bench.state() is State.PLAYING
    bench.driver.close()
    bench.close()


def test_a_shutdown_in_the_middle_stops_softly_first(bench: Bench) -> None:
    bench.enable()
    bench.play()
    bench.step(50)
    bench.channel.send(messages.Shutdown())
    for _ in bench.steps_to_the_end():
        bench.hear()
    bench.hear()
    assert [ended.code for ended in bench.ends()] == ["CANCELED"]


class Failing(Driver):
    """A driver that works until it has an `error`."""

    max_rate_hz = 1000.0
    error: Exception | None = None
    halts = 0

    def __init__(self) -> None:
        super().__init__(JOINTS, DriverOptions())

    def open(self) -> None: ...
    def close(self) -> None: ...
    def disable(self) -> None: ...
    def enable(self) -> None: ...
    def set_period(self, period_s: float) -> None: ...

    def read(self, state: ActuatorState) -> None:
        state.position[:] = START

    def write(self, _command: ActuatorCommand) -> None:
        if self.error is not None:
            raise self.error

    def halt(self) -> None:
        self.halts += 1
        if self.error is not None:
            raise self.error


def test_a_fault_that_the_driver_refuses_becomes_an_event_and_nothing_else(bench: Bench) -> None:
    bench.enable()
    bench.channel.send(messages.Inject({"fault": "hand", "actuator": "elbow"}))
    bench.step(2)
    assert bench.notices_of(messages.Happened) == [
        messages.Happened("fault_refused", "driver sim: fault hand: option 'to' is missing; set it")
    ]
    assert (bench.loop.player.state, bench.loop.player.torque) == (State.IDLE, True)


def test_what_the_driver_notices_becomes_events_once(tmp_path: Path) -> None:
    driver = Failing()
    bench = Bench(tmp_path, driver=driver)
    driver.notices.extend(["elbow: at its position limit", "elbow: off its position limit"])
    bench.step(3)
    assert bench.notices_of(messages.Happened) == [
        messages.Happened("driver", "elbow: at its position limit"),
        messages.Happened("driver", "elbow: off its position limit"),
    ]
    bench.close()


def test_what_the_daemon_does_not_read_now_is_sent_later_in_order(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.driver.notices.extend(["one", "two"])
    send, full = bench.loop.channel.send, iter([True])

    def send_if_there_is_room(notice: messages.Notice) -> None:
        if next(full, False):
            raise BlockingIOError
        send(notice)

    monkeypatch.setattr(bench.loop.channel, "send", send_if_there_is_room)
    bench.step()
    assert bench.notices == []
    bench.step()
    assert [notice.message for notice in bench.notices_of(messages.Happened)] == ["one", "two"]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (DriverError("servo 7", "overload"), "HARDWARE_FAULT", "servo 7: overload"),
        (ZeroDivisionError("division by zero"), "HARDWARE_FAULT", "division by zero"),
    ],
)
def test_a_driver_that_fails_ends_the_goal_halts_and_is_counted(
    tmp_path: Path, error: Exception, code: str, message: str
) -> None:
    driver = Failing()
    bench = Bench(tmp_path, driver=driver)
    bench.enable()
    bench.play()
    bench.step(10)
    driver.error = error
    bench.step(3)
    assert bench.state() is State.FAULT
    assert [(ended.code, ended.message) for ended in bench.ends()] == [(code, message)]
    assert [happened.message for happened in bench.notices_of(messages.Happened)] == [message]
    assert driver.halts == 2
    assert bench.loop.record.data[SCALARS.index("errors")] == 3
    bench.close()


def test_a_lost_bus_ends_the_goal_halts_what_is_left_and_ends_the_loop_so_that_another_can_begin(
    tmp_path: Path,
) -> None:
    driver = Failing()
    bench = Bench(tmp_path, driver=driver)
    bench.enable()
    bench.play()
    bench.step(10)
    driver.error = CommunicationLost("/dev/ttyUSB0", "bus lost")
    bench.step()
    assert [(ended.code, ended.message) for ended in bench.ends()] == [
        ("COMM_LOST", "/dev/ttyUSB0: bus lost")
    ]
    assert (bench.state(), driver.halts, bench.loop.lost) == (
        State.FAULT,
        1,
        messages.Lost("/dev/ttyUSB0: bus lost"),
    )
    assert not bench.loop.step()
    assert not bench.loop.is_shutting_down
    bench.close()


def test_a_shutdown_that_comes_with_the_loss_of_the_bus_is_not_forgotten(tmp_path: Path) -> None:
    driver = Failing()
    bench = Bench(tmp_path, driver=driver)
    bench.enable()
    driver.error = CommunicationLost("/dev/ttyUSB0", "bus lost")
    bench.channel.send(messages.Shutdown())
    while bench.loop.step():
        pass
    assert bench.loop.is_shutting_down
    bench.close()


def test_the_first_row_is_due_at_the_very_time_that_it_is_appointed_for(bench: Bench) -> None:
    start_s = bench.clock.now() + 0.1234567
    bench.enable()
    bench.play(start_s=start_s)
    bench.step_until(lambda: bench.state() is State.PLAYING)
    bench.step_until(bench.ended)
    records = bench.reader.take()
    frames, deadlines = (records[:, SCALARS.index(name)] for name in ("frame", "deadline_s"))
    second_row = int(np.flatnonzero(frames == 1.0)[0])
    assert deadlines[second_row - 1] == pytest.approx(start_s, abs=1e-9)


def test_an_appointment_before_the_end_of_the_approach_is_refused_by_how_much(bench: Bench) -> None:
    bench.enable()
    bench.play(start_s=bench.clock.now() - 1.0)
    bench.step()
    (ended,) = bench.ends()
    assert (ended.code, bench.state()) == ("INVALID_GOAL", State.IDLE)
    assert ended.message.endswith("; the robot is not on the first row by then; set it later")


# -- slow motions -------------------------------------------------------------------------------------------

SLOW_HZ = 2.0
SLOW_ROWS = np.linspace(START, [0.3, 0.4], 12)


class Follower(Failing):
    """A driver that is where it was sent to, and notes its calls with their times.

    `sticks`: whether it stays where it is.
    """

    def __init__(self, max_rate_hz: float = 1000.0) -> None:
        super().__init__()
        self.max_rate_hz = max_rate_hz
        self.calls: list[tuple[str, float]] = []
        self.sticks = False
        self._at = np.array(START)

    def read(self, state: ActuatorState) -> None:
        self.calls.append(("read", self.now()))
        if isinstance(self.error, CommunicationLost):
            raise self.error
        state.position[:] = self._at
        state.stamp_s.fill(self.now())

    def write(self, command: ActuatorCommand) -> None:
        self.calls.append(("write", self.now()))
        if not self.sticks:
            self._at[:] = command.position

    def halt(self) -> None:
        self.calls.append(("halt", self.now()))

    def times_of(self, call: str) -> list[float]:
        return [at_s for name, at_s in self.calls if name == call]


class Hearing(VirtualClock):
    """Virtual time that lets the daemon hear at each wait, and notes when it heard what."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.clock.now())
        self._bench = bench
        self.hears = True
        self.heard: list[tuple[float, messages.Command | messages.Notice]] = []

    def listen_until(self, fd: int, deadline_s: float) -> None:
        before = len(self._bench.notices)
        if self.hears:
            self._bench.hear()
        self.heard += [(self.time_s, notice) for notice in self._bench.notices[before:]]
        super().listen_until(fd, deadline_s)


class Slow:
    """A slow motion, in the middle, a moment after a row has gone out."""

    def __init__(self, folder: Path, driver: Follower | None = None, **limits: Any) -> None:
        self.driver = driver or Follower()
        self.bench = Bench(folder, setup_of(limits=replace(UNLIMITED, **limits)), self.driver)
        self.clock = Hearing(self.bench)
        self.bench.loop.clock = self.bench.loop.schedule.clock = self.clock
        self.driver.now = self.clock.now
        self.bench.enable()
        self.bench.play(rows=SLOW_ROWS, rate_hz=SLOW_HZ)
        self.bench.step(5)
        assert self.bench.state() is State.PLAYING
        self.row_s = self.clock.now()
        self.driver.calls.clear()

    def close(self) -> None:
        self.bench.close()
        del self.bench.loop  # and so the motion's memory, which this object would outlive

    def result_between_rows(self) -> messages.Ended:
        """Take the step in which the motion ends before the next row; give its result."""
        self.bench.step()
        assert self.clock.now() < self.row_s + 1 / SLOW_HZ
        ended: messages.Ended
        (ended,) = self.bench.ends()
        return ended


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Slow]:
    slow = Slow(tmp_path)
    yield slow
    slow.close()


def test_a_slow_motions_rows_go_out_at_its_rate_and_nothing_between_them(slow: Slow) -> None:
    slow.bench.step(3)
    assert slow.driver.times_of("write") == pytest.approx([slow.row_s + k / SLOW_HZ for k in (1, 2, 3)])
    assert len(slow.bench.reader.take()) == 9


def test_feedback_is_read_a_hundred_times_a_second_however_slow_the_motion(slow: Slow) -> None:
    slow.bench.step(2)
    read_s = [slow.row_s, *slow.driver.times_of("read")]
    assert np.diff(read_s).max() <= 0.01 + 1e-9
    assert len(read_s) == 1 + 100


def test_a_driver_is_asked_for_feedback_no_faster_than_it_can_give_it(tmp_path: Path) -> None:
    slow = Slow(tmp_path, Follower(max_rate_hz=30.0))
    slow.bench.step(2)
    read_s = np.diff([slow.row_s, *slow.driver.times_of("read")])
    assert 1 / 30.0 - 1e-9 <= read_s.min() <= read_s.max() < 3 / 30.0
    slow.close()


def test_a_tick_between_two_rows_is_as_late_as_the_command_for_it_takes(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    obey = CommandHandler.obey

    def slowly(*arguments: Any) -> None:
        slow.clock.time_s += 0.003
        obey(*arguments)

    monkeypatch.setattr(CommandHandler, "obey", slowly)
    slow.bench.channel.send(messages.Estop())
    slow.result_between_rows()
    assert slow.bench.reader.take()[-1, COLUMN["lateness_s"]] == pytest.approx(0.003)


def test_an_emergency_stop_halts_a_slow_motion_before_its_next_row(slow: Slow) -> None:
    slow.bench.channel.send(messages.Estop())
    assert slow.result_between_rows().code == "ESTOP"
    assert (slow.clock.now(), slow.driver.calls) == (slow.row_s, [("halt", slow.row_s), ("read", slow.row_s)])
    assert slow.bench.state() is State.ESTOPPED


def test_a_stop_is_taken_and_reported_at_once_and_slows_down_from_the_next_row_on(slow: Slow) -> None:
    before = slow.bench.loop.player.frame
    slow.bench.channel.send(messages.Stop())
    slow.bench.step()
    ((reported_s, notice),) = [one for one in slow.clock.heard if one[0] >= slow.row_s]
    assert (reported_s, getattr(notice, "state", "")) == (slow.row_s, "stopping")
    assert slow.driver.times_of("write") == [pytest.approx(slow.row_s + 1 / SLOW_HZ)]
    assert before < slow.bench.loop.player.frame < before + 1
    slow.bench.step_until(slow.bench.ended)


def test_a_bus_that_is_lost_between_two_rows_ends_the_motion_at_once(slow: Slow) -> None:
    slow.driver.error = CommunicationLost("/dev/ttyUSB0", "bus lost")
    assert not slow.bench.loop.step()
    slow.bench.hear()
    (ended,) = slow.bench.ends()
    assert ended.code == "COMM_LOST"
    assert slow.clock.now() == pytest.approx(slow.row_s + 0.01)
    assert [name for name, _ in slow.driver.calls] == ["read", "halt"]


def test_a_slow_motion_is_seen_to_be_alive_between_its_rows(slow: Slow) -> None:
    before = slow.bench.reader.pulse, slow.bench.reader.written
    slow.bench.step()
    after = slow.bench.reader.pulse, slow.bench.reader.written
    assert (after[0] - before[0], after[1] - before[1]) == (50, 1)


@pytest.mark.parametrize("periods", [0.4, 0.9, 1.3, 2.6])
@pytest.mark.parametrize("rate_hz", [50.0, 100.0, 500.0])
def test_a_take_over_that_takes_long_to_plan_neither_stops_nor_jumps_by_its_stamps(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, rate_hz: float, periods: float
) -> None:
    hand_over, clock = WaysBack.hand_over, bench.clock

    def slow(*asked: Any, **how: Any) -> tuple[Track, Any]:
        clock.sleep_until(clock.now() + periods / rate_hz)
        return hand_over(*asked, **how)

    monkeypatch.setattr(WaysBack, "hand_over", slow)
    rows = np.array(START) + 0.2 * np.arange(round(2.0 * rate_hz))[:, None] / rate_hz
    bench.enable()
    bench.play(rows, rate_hz=rate_hz)
    bench.step(round(0.4 * rate_hz))
    bench.reader.take()
    bench.step(4)
    bench.play(rows, rate_hz=rate_hz, goal_id="goal-2", takes_over=True)
    bench.step(8)
    assert [ended.code for ended in bench.ends()] == ["PREEMPTED"]
    records, now_s = bench.reader.take(), clock.now()
    stamps, positions = (
        records[:, SCALARS.index("setpoint_s")],
        records[:, ring.slices(2)["reference_position"]],
    )
    steps_s = np.diff(stamps)
    assert not np.diff(positions, axis=0)[steps_s == 0.0].any()  # where it is asked for at a tick's time
    speeds = np.diff(positions, axis=0)[steps_s > 0.0] / steps_s[steps_s > 0.0, None]
    np.testing.assert_allclose(speeds, 0.2, rtol=0.0, atol=5.0 * WAYS.acceleration[0] / rate_hz)
    assert now_s - stamps[-1] < 1.0 / rate_hz
    bench.step_until(lambda: len(bench.ends()) == 2)


# -- what takes over where that was foreseen ----------------------------------------------------------------

RISES = np.array(START) + 0.2 * np.arange(300)[:, None] / RATE_HZ
AHEAD = 30
"""In ticks: so far ahead it is foreseen where the robot will be."""


@pytest.fixture
def moving(bench: Bench) -> Iterator[Bench]:
    """Return a bench that plays what rises; it is halted in the end."""
    bench.enable()
    bench.play(RISES)
    bench.step(50)
    yield bench
    bench.channel.send(messages.Estop())
    bench.step()


def foreseen(bench: Bench, goal_id: str = "goal-2") -> messages.Foreseen:
    """Ask where the robot will be."""
    bench.channel.send(messages.Foresee(goal_id, AHEAD / RATE_HZ), number=1)
    bench.step()
    (notice,) = bench.notices_of(messages.Foreseen)
    assert isinstance(notice, messages.Foreseen)
    return notice


SETPOINT = SCALARS.index("setpoint_s")


def take_over_as(bench: Bench, notice: messages.Foreseen, *between: messages.Command) -> np.ndarray[Any, Any]:
    """Ask for a take-over where that was foreseen, and return its way."""
    last = np.array(notice.setpoints[-1])
    way: np.ndarray[Any, Any] = last + np.array([[0.002], [0.003], [0.0035], [0.0035]])
    how: dict[str, Any] = {"goal_id": "goal-2", "takes_over": True, "as_foreseen": True}
    bench.play(RISES + 0.01, approach=way, number=2, **how)
    for command in between:
        bench.channel.send(command, number=0 if isinstance(command, messages.Heartbeat) else 3)
    return way


def dropped(bench: Bench) -> list[str]:
    return [notice.message for notice in bench.notices_of(messages.Happened)]


def positions_of(bench: Bench) -> np.ndarray[Any, Any]:
    return bench.reader.take()[:, ring.slices(2)["reference_position"]]


def test_a_motion_takes_over_in_the_tick_that_was_foreseen_by_its_way_row_by_row(moving: Bench) -> None:
    notice = foreseen(moving)
    moving.reader.take()
    way = take_over_as(moving, notice)
    moving.step(40)
    positions = positions_of(moving)
    (begins,) = np.flatnonzero((positions == way[0]).all(axis=1))
    before = RISES[np.flatnonzero((positions[0] == RISES).all(axis=1))[0] :][:begins]
    assert begins == AHEAD - 1
    assert (positions[:begins] == before).all()
    assert np.abs(positions[begins - 3 : begins] - notice.setpoints).max() < 1e-12
    assert (positions[begins : begins + 4] == way).all()
    assert (moving.ends()[0].code, dropped(moving)) == ("PREEMPTED", [])


def test_a_take_over_is_obeyed_once_it_begins(moving: Bench) -> None:
    notice = foreseen(moving)
    asked = moving.notices_of(messages.Changed)[-1].after
    take_over_as(moving, notice)
    moving.step(AHEAD - 2)
    assert moving.notices_of(messages.Changed)[-1].after == asked
    moving.step(2)
    changed = moving.notices_of(messages.Changed)[-1]
    assert (changed.after, changed.goal_id) == (asked + 1, "goal-2")


@pytest.mark.parametrize(
    "command", [messages.Speed(0.5, 2.0), messages.Pause(), messages.Foresee("goal-3", 0.1)]
)
def test_whatever_else_is_asked_for_before_drops_it(moving: Bench, command: messages.Command) -> None:
    take_over_as(moving, foreseen(moving), command)
    moving.step(40)
    assert moving.ends() == []
    assert dropped(moving) == [
        "it does not flow into the next motion; something else was asked for meanwhile; it rests between"
    ]


def test_what_stops_in_the_tick_before_is_not_taken_over(moving: Bench) -> None:
    take_over_as(moving, foreseen(moving))
    moving.step(AHEAD - 1)
    moving.loop.player.stop(ResultCode.CANCELED, "nobody could stop it")
    moving.step_until(moving.ended)
    assert [(ended.goal_id, ended.code) for ended in moving.ends()] == [("goal-1", "CANCELED")]
    assert dropped(moving) == [
        "it does not flow into the next motion; the robot is stopping; it rests between"
    ]


def test_what_waits_to_take_over_is_dropped_at_once_where_nothing_plays_any_more(moving: Bench) -> None:
    take_over_as(moving, foreseen(moving))
    moving.step()
    moving.loop.player.fault(ResultCode.HARDWARE_FAULT, "a servo has failed")
    moving.step()
    assert dropped(moving) == ["it does not flow into the next motion; the robot is fault; it rests between"]
    assert moving.notices_of(messages.Changed)[-1].after == 2


def test_a_driver_that_fails_as_a_motion_takes_over_halts_the_robot(
    moving: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_once(_period_s: float) -> None:
        monkeypatch.undo()
        raise DriverError("servo 7", "overload")

    take_over_as(moving, foreseen(moving))
    moving.step(AHEAD - 1)
    monkeypatch.setattr(moving.loop._actuators, "set_period", fail_once)
    moving.step()
    assert moving.state() is State.FAULT
    assert [(ended.goal_id, ended.code) for ended in moving.ends()] == [("goal-1", "HARDWARE_FAULT")]


def test_what_has_expired_when_it_is_to_take_over_does_not(
    moving: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    notice = foreseen(moving)
    way = np.array(notice.setpoints[-1]) + np.array([[0.002], [0.003]])
    how: dict[str, Any] = {"takes_over": True, "as_foreseen": True, "expires_at": 1000.0}
    monkeypatch.setattr("motiond.daemon.stream.engine.commands.time.time", lambda: 1000.5)
    moving.play(RISES, approach=way, number=2, goal_id="goal-2", **how)
    moving.step(AHEAD + 5)
    reason = "it expired 0.500 s ago; send it again, or with more time"
    assert moving.ends() == []
    assert dropped(moving) == [f"it does not flow into the next motion; {reason}; it rests between"]


def test_it_is_foreseen_on_which_turn_the_robot_will_be(bench: Bench) -> None:
    bench.enable()
    bench.play(RISES - 6.0, turned=[6.0, 6.0])
    bench.step(50)
    notice = foreseen(bench)
    bench.reader.take()
    bench.step(AHEAD - 1)
    assert np.abs(positions_of(bench)[-3:] - notice.setpoints).max() < 1e-12
    bench.channel.send(messages.Estop())
    bench.step()


def test_a_daemon_that_is_alive_drops_nothing(moving: Bench) -> None:
    take_over_as(moving, foreseen(moving), messages.Heartbeat())
    moving.step(40)
    assert [ended.code for ended in moving.ends()] == ["PREEMPTED"]


@pytest.mark.parametrize("late", [False, True])
def test_a_robot_that_is_not_where_it_was_foreseen_plays_on(
    moving: Bench,
    late: bool,  # noqa: FBT001 - a row of a table
) -> None:
    notice = foreseen(moving)
    if late:
        moving.step(AHEAD)
        take_over_as(moving, notice)
    else:
        take_over_as(moving, notice)
        moving.step(AHEAD - 4)
        moving.clock.sleep_until(moving.clock.now() + 2.5 / RATE_HZ)
    moving.step(40)
    reason = "it came too late" if late else "the robot is not where it was foreseen to be"
    assert moving.ends() == []
    assert dropped(moving) == [f"it does not flow into the next motion; {reason}; it rests between"]


def test_a_robot_that_has_caught_up_with_a_late_tick_is_where_it_was_foreseen(moving: Bench) -> None:
    take_over_as(moving, foreseen(moving))
    moving.step(10)
    moving.clock.sleep_until(moving.clock.now() + 2.5 / RATE_HZ)
    moving.step(40)
    assert [ended.code for ended in moving.ends()] == ["PREEMPTED"]


@pytest.mark.parametrize("late_s", [0.0, 0.003, 0.011])
@pytest.mark.parametrize("rate_hz", [20.0, 100.0, 500.0, 1000.0])
@pytest.mark.parametrize("as_foreseen", [True, False])
def test_a_motion_of_another_rate_that_takes_over_in_a_late_tick_goes_on_at_its_own(
    moving: Bench,
    rate_hz: float,
    late_s: float,
    as_foreseen: bool,  # noqa: FBT001 - a row of a table
) -> None:
    rows = START[0] + 0.2 * np.arange(round(rate_hz))[:, None] / rate_hz * np.ones(2)
    way = np.array(foreseen(moving).setpoints[-1]) + 0.2 / RATE_HZ + rows - rows[0]
    moving.step(AHEAD - 2)
    how: dict[str, Any] = {"approach": way, "as_foreseen": as_foreseen, "rate_hz": rate_hz}
    moving.play(rows, number=2, goal_id="goal-2", takes_over=True, **how)
    moving.step(as_foreseen)
    moving.reader.take()
    moving.clock.sleep_until(moving.clock.now() + late_s)
    at_s = []
    for _ in range(5):
        moving.step()
        at_s.append(moving.clock.now())
    assert [ended.code for ended in moving.ends()] == ["PREEMPTED"]
    assert np.diff(at_s).max() <= 1.0 / rate_hz + 1e-9
    records = moving.reader.take()
    positions, stamps = records[:, ring.slices(2)["reference_position"]], records[:, SETPOINT]
    assert (np.diff(positions, axis=0) / np.diff(stamps)[:, None]).max() < 0.3


def test_a_take_over_that_was_foreseen_for_another_goal_is_dropped(moving: Bench) -> None:
    take_over_as(moving, foreseen(moving, "goal-3"))
    moving.step(40)
    reason = "where it was to begin is not foreseen any more"
    assert dropped(moving) == [f"it does not flow into the next motion; {reason}; it rests between"]


def test_nothing_is_foreseen_of_a_robot_at_rest(bench: Bench) -> None:
    bench.enable()
    assert foreseen(bench) == messages.Foreseen("goal-2", [], 0.01, "the robot is idle")


def test_nothing_is_foreseen_beyond_the_end_of_a_motion(moving: Bench) -> None:
    moving.channel.send(messages.Foresee("goal-2", 10.0))
    moving.step()
    (notice,) = moving.notices_of(messages.Foreseen)
    assert notice == messages.Foreseen("goal-2", [], 1.0 / RATE_HZ, "it goes another way within 10 s")
