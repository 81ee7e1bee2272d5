"""The whole engine in one process on virtual time, and a record of what its driver received.

A `Sequence` is planned, handed over and commanded as the daemon does it, through a real channel,
the streaming loop and simulated actuators. The result is an `Account` for `tests.daemon.invariants` to judge.
"""

from __future__ import annotations

import math
import os
import select
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from unittest.mock import patch

from motiond.daemon.api import GotoRequest, PlaceRequest, PlayRequest, RequestError
from motiond.daemon.config.settings import Settings
from motiond.daemon.ipc import messages, ring
from motiond.daemon.ipc.channel import Channel
from motiond.daemon.ipc.ring import RingWriter
from motiond.daemon.ipc.states import ACTIVE, State
from motiond.daemon.planning.library import Entry, MotionLibrary
from motiond.daemon.planning.playback import PlaybackError
from motiond.daemon.planning.speed_limits import LONGEST_STOP
from motiond.daemon.robots.assembly import make_setup
from motiond.daemon.robots.session.goal import new_goal
from motiond.daemon.robots.session.goal_planner import GoalPlanner, refuse_speed
from motiond.daemon.stream.engine.execution import ON_MOTION
from motiond.daemon.stream.engine.loop import StreamLoop
from motiond.daemon.stream.timing.clocks import VirtualClock
from motiond.daemon.trajectory.ramp import FULL_RAMP
from motiond.drivers.base import ActuatorCommand, ActuatorState, CommunicationLost, DriverError
from motiond.drivers.sim.driver import SimDriver, SimOptions
from tests.daemon.sequences import MAX_RATE_HZ

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from motiond.daemon.planning.planner import Plan
    from motiond.daemon.planning.playback import Playback
    from motiond.daemon.robots.session.goal import Goal
    from motiond.daemon.stream.engine.player import Player
    from tests.daemon.sequences import Sequence

    Floats: TypeAlias = NDArray[np.float64]

DAEMON_TIMEOUT_S = 0.05
BEAT_S = DAEMON_TIMEOUT_S / 4
RECORDS = 64  # of the ring, whose memory is otherwise a sixth of what a sequence costs
SETTLING = 150  # ticks after the last act, before all is stopped
COMMANDS: dict[str, messages.Command] = {
    "pause": messages.Pause(),
    "resume": messages.Resume(),
    "estop": messages.Estop(),
    "reset": messages.Reset(),
    "enable": messages.Enable(),
    "disable": messages.Disable(),
}
LONGEST = 20_000  # ticks; what plays on then never ends


class LateClock(VirtualClock):
    """Oversleeps once, by `oversleep_s`."""

    oversleep_s = 0.0

    def sleep_until(self, deadline_s: float) -> None:
        """Let time pass to the deadline, and once beyond."""
        late_s, self.oversleep_s = self.oversleep_s, 0.0
        super().sleep_until(deadline_s + late_s)


class WatchedSim(SimDriver):
    """Simulated actuators that remember the last setpoint, and fail where a test wants."""

    received: list[float] | None = None
    stretch = 0
    failing: tuple[str, Exception] | None = None

    def _fail(self, during: str) -> None:
        if self.failing is not None and self.failing[0] == during:
            error, self.failing = self.failing[1], None
            raise error

    def taken(self) -> list[float] | None:
        """Return the setpoint since the last call, if there was one."""
        received, self.received = self.received, None
        return received

    def write(self, command: ActuatorCommand) -> None:
        self._fail("write")
        super().write(command)
        self.received = command.position.tolist()

    def read(self, state: ActuatorState) -> None:
        self._fail("read")
        super().read(state)

    def enable(self) -> None:
        self._fail("enable")
        super().enable()
        self.stretch += 1

    def disable(self) -> None:
        self._fail("disable")
        super().disable()
        self.stretch += 1

    def halt(self) -> None:
        super().halt()
        self.stretch += 1


@dataclass(slots=True)
class Handed:
    """A goal that was handed over."""

    goal: Goal
    command: messages.Play
    doubts: float
    fastest: float
    disturbed: bool = False
    ended_at: int = 0
    ended: list[messages.Ended] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Received:
    """A setpoint that the driver received."""

    tick: int
    time_s: float
    position: list[float]
    stretch: int
    goal: int
    state: State
    on_approach: bool
    frame: float
    speed: float
    skips: int
    quiet: int


@dataclass(slots=True)
class Account:
    """What became of a sequence."""

    sequence: Sequence
    handed: list[Handed] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    moves: list[tuple[State, State]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    acts: Counter[str] = field(default_factory=Counter)


class Engine:
    """A robot, driven through a sequence as the daemon would, but without its courtesy of waiting.

    Requests go out in any state; what the daemon itself would refuse (a speed too fast, a range that is
    none) is refused here by the same functions.
    """

    def __init__(self, sequence: Sequence) -> None:
        self.account = Account(sequence)
        self.settings, self.joint_map = sequence.settings, sequence.joint_map
        self.clock = LateClock(100.0)
        initial = dict(zip(self.joint_map.actuators, sequence.start, strict=True))
        options = SimOptions.model_validate({**self.settings.driver.options, "initial": initial})
        self.driver = WatchedSim(self.joint_map.actuators, options, self.clock.now)
        self.driver.open()
        library = MotionLibrary(self.joint_map, self.settings, MAX_RATE_HZ)
        library._entries = {name: _entry(name, plan) for name, plan in sequence.plans.items()}
        self.goals = GoalPlanner("arm", self.settings, library)
        self.channel, theirs = Channel.pair()
        self._theirs = Channel(theirs)
        joints = len(self.joint_map.joints)
        fd = ring.create(joints)
        self._writer = RingWriter(fd, joints)
        os.close(fd)
        whole = Settings.model_construct(robots={"arm": self.settings})
        allowed = self.driver.limits
        setup = make_setup("arm", self.settings, whole, self.joint_map, {}, allowed=allowed)
        setup = replace(setup, daemon_timeout_s=DAEMON_TIMEOUT_S)
        self.loop = StreamLoop(setup, self.driver, self.clock, self._theirs, self._writer)
        self.state, self.torque = State.IDLE, False
        self.reference: list[float] | None = None
        self.active: int | None = None
        self.began = -1
        self.alive = self.running = self.beats = True
        self.ticks = self._quiet = 0
        self._beat_at_s = 0.0
        self._poller = select.poll()
        self._poller.register(self.channel.fileno(), select.POLLIN)
        self._rest_by: dict[int, int] = {}
        self._least_ramp = FULL_RAMP / self.settings.stop_duration_s / LONGEST_STOP

    def close(self) -> None:
        self.goals.close()
        self.driver.close()
        if self.alive:
            self.channel.close()
        self._theirs.close()
        self._writer.close()

    # -- time -----------------------------------------------------------------------------------------------

    def play_through(self) -> None:
        """Let everything happen, then stop, and let the loop end."""
        for act in self.account.sequence.acts:
            self._tick(act.after)
            if not self.running:
                break
            self.account.acts[act.verb] += 1
            if act.verb in COMMANDS:
                self._send(COMMANDS[act.verb])
            else:
                getattr(self, f"_{act.verb}")(**act.values)
        self._tick(SETTLING, until=lambda: self.state not in ACTIVE)
        self._stop()
        self._tick(LONGEST, until=lambda: self.state not in ACTIVE)
        self._tick(3)
        self._shutdown()
        self._tick(LONGEST)
        if self.running:
            self.account.problems.append("the loop did not end")

    def _tick(self, count: int, until: Callable[[], bool] = lambda: False) -> None:
        for _ in range(count):
            if not self.running or until():
                return
            self._step()

    def _step(self) -> None:
        skips = 1 + self._skips_of(self.clock.oversleep_s)
        self._beat()
        self.running = self.loop.step()
        self.ticks += 1
        self._hear()
        if received := self.driver.taken():
            self._note(received, skips)
        self._quiet = self._quiet + 1 if self.state is State.PLAYING else 0
        for number, tick in list(self._rest_by.items()):
            if self.state not in ACTIVE:
                del self._rest_by[number]
            elif self.ticks > tick:
                self.account.problems.append(f"tick {self.ticks}: not at rest by tick {tick}")
                del self._rest_by[number]

    def _beat(self) -> None:
        """Send a heartbeat if it is time, and before a late tick, as one would arrive meanwhile."""
        now_s = self.clock.time_s
        if self.alive and self.beats and (now_s >= self._beat_at_s or self.clock.oversleep_s):
            self.channel.send(messages.Heartbeat())
            self._beat_at_s = now_s + BEAT_S

    def _skips_of(self, late_s: float) -> int:
        """Return how many ticks beyond one a late one may move on by."""
        settings = self.settings
        if self.active is None or late_s > settings.max_lateness_s:
            return 0
        rate_hz = self.account.handed[self.active].goal.playback.plan.rate_hz
        return min(int(late_s * rate_hz), int(settings.max_skip_s * rate_hz + 1e-9))

    def _note(self, position: list[float], skips: int) -> None:
        player = self.loop.player
        self.account.received.append(
            Received(
                self.ticks,
                self.clock.time_s,
                position,
                self.driver.stretch,
                self.began,
                self.state,
                player.phase not in ON_MOTION,
                player.frame,
                self.account.handed[self.began].goal.speed if self.began >= 0 else 1.0,
                skips,
                self._quiet,
            )
        )

    # -- what the loop reports ------------------------------------------------------------------------------

    def _hear(self) -> None:
        if not self.alive:
            self.state = self.loop.player.state
            if (execution := self.loop.player.execution) is not None:
                self.began = self._number_of(execution.goal_id)
            return
        while self._poller.poll(0) and (received := self.channel.receive()) is not None:
            self._take(received[0])

    def _take(self, notice: messages.Command | messages.Notice) -> None:
        match notice:
            case messages.Changed():
                for ended in notice.ended:
                    self._take_end(ended)
                self.state, self.torque = State(notice.state), notice.torque
                self.reference = notice.reference
                self._take_goal(notice.goal_id)

    def _number_of(self, goal_id: str) -> int:
        return next(k for k, one in enumerate(self.account.handed) if one.goal.goal_id == goal_id)

    def _take_goal(self, goal_id: str | None) -> None:
        if (goal_id is not None) != (self.state in ACTIVE):
            self.account.problems.append(f"tick {self.ticks}: {self.state} with goal {goal_id}")
        if goal_id is None:
            self.active = None
            return
        number = self._number_of(goal_id)
        if self.active not in {None, number}:
            self.account.problems.append(f"tick {self.ticks}: goal {number} began before {self.active} ended")
        self.active = self.began = number

    def _take_end(self, ended: messages.Ended) -> None:
        number = self._number_of(ended.goal_id)
        self.account.handed[number].ended.append(ended)
        self.account.handed[number].ended_at = self.ticks
        if self.active == number:
            self.active = None
        if ended.code == "ESTOP":  # another may begin within the same tick
            self._rest_by.pop(number, None)
        if (ended.played_s or 0.0) > 0 or ended.code != "INVALID_GOAL":
            self.began = max(self.began, number)  # it may have begun and ended within one tick

    # -- what happens ---------------------------------------------------------------------------------------

    def _send(self, command: messages.Command, fds: tuple[int, ...] = ()) -> None:
        if self.alive and self.running:
            self._quiet = 0
            for handed in self.account.handed[-1:]:
                handed.disturbed = True
            self.channel.send(command, fds)

    def _play(
        self,
        *,
        motion: str,
        seam: str,
        speed_share: float,
        loop: Any = 1,
        ping_pong: bool = False,
        ends: tuple[float, float] | None = None,
        in_s: float | None = None,
    ) -> None:
        plan = self.account.sequence.plans.get(motion)
        if plan is None:
            return
        asked: dict[str, Any] = {"motion": motion, "seam": seam, "loop": loop, "ping_pong": ping_pong}
        if ends is not None:
            rows = sorted(int(share * (len(plan.positions) - 1)) for share in ends)
            asked["first"], asked["last"] = (PlaceRequest(time=row / plan.rate_hz) for row in rows)
        try:
            playback = self.goals.playback_for(PlayRequest(**asked))
            speed = 1.0 if speed_share < 0 else _speed(speed_share, playback.track.max_speed)
            refuse_speed(playback.track, speed)
            self._begin(playback, PlayRequest(**asked, speed=speed), in_s)
        except RequestError:
            self.account.acts["play refused"] += 1

    def _goto(self, fraction: float, *, from_beyond: bool = False) -> None:
        limits = self.joint_map.limits
        row = limits.lower + fraction * (limits.upper - limits.lower)
        joints = dict(zip(self.joint_map.joints, row.tolist(), strict=True))
        try:
            playback = self.goals.playback_to(GotoRequest(joints=joints))
            self._begin(playback, PlayRequest(motion="goto"), None, from_beyond=from_beyond)
        except RequestError:
            self.account.acts["goto refused"] += 1

    def _begin(
        self, playback: Playback, request: PlayRequest, in_s: float | None, *, from_beyond: bool = False
    ) -> None:
        ends = not (self.alive and self.running) or self.loop.lost or self.account.acts["shutdown"]
        if ends or self.reference is None:
            return
        goal = new_goal(playback, request)
        goal.from_beyond = from_beyond
        with self.goals.prepare(goal, self.reference) as prepared:
            command = prepared.command
            if in_s is not None:
                approach_s = prepared.answer["approach_s"] + 2 / playback.plan.rate_hz
                command = replace(command, start_s=self.clock.time_s + approach_s + in_s)
            self._send(command, prepared.fds)
        doubts = self._doubts(playback, goal.speed)
        self.account.handed.append(Handed(goal, command, doubts, max(1.0, goal.speed)))

    def _doubts(self, playback: Playback, speed: float) -> float:
        """Return how steeply the clock may ramp where the plan says that a limit may be passed by it."""
        ramp = self.goals.clock_acceleration(playback, speed)
        return ramp if ramp <= self._least_ramp * (1 + 1e-9) else 0.0

    def _goal(self) -> Handed | None:
        """Return the goal that the daemon takes for active: the only one that has not ended."""
        going_on = [handed for handed in self.account.handed if not handed.ended]
        return going_on[0] if len(going_on) == 1 else None

    def _speed(self, share: float) -> None:
        if (handed := self._goal()) is None:
            return
        goal = handed.goal
        ramp = self.goals.set_speed(goal, _speed(share, goal.playback.track.max_speed))
        handed.fastest = max(handed.fastest, goal.speed)
        handed.doubts = max(handed.doubts, self._doubts(goal.playback, goal.speed))
        self._send(messages.Speed(goal.speed, ramp))

    def _seek(self, share: float, *, goes_on: bool) -> None:
        handed = self._goal()
        if handed is None or self.reference is None:
            return
        playback = handed.goal.playback
        passes = playback.passes
        row = passes.first + round(share * (passes.last - passes.first))
        try:
            row = playback.row_of(PlaceRequest(time=(row + playback.offset) / playback.plan.rate_hz))
            with self.goals.way_to(handed.goal, row, self.reference) as fd:
                self._send(messages.Seek(handed.goal.goal_id, row, self.reference, goes_on), (fd,))
        except (PlaybackError, RequestError):
            self.account.acts["seek refused"] += 1

    def _expect_rest(self) -> None:
        """Hold the robot to the time that a stop was said to take."""
        if self.active is None:
            return
        goal = self.account.handed[self.active].goal
        ticks = math.ceil(goal.stops_within_s(self.settings.max_skip_s) * goal.playback.plan.rate_hz)
        self._rest_by.setdefault(self.active, self.ticks + ticks + 1)

    def _stop(self) -> None:
        self._expect_rest()
        self._send(messages.Stop())

    def _shutdown(self) -> None:
        self._expect_rest()
        self._send(messages.Shutdown())

    def _daemon_dies(self) -> None:
        if self.alive:
            self._expect_rest()
            self.channel.close()
            self.alive = False

    def _daemon_hangs(self) -> None:
        self.beats = False

    def _late(self, periods: float) -> None:
        if self.active is not None:
            rate_hz = self.account.handed[self.active].goal.playback.plan.rate_hz
            self._disturb(periods / rate_hz)

    def _too_late(self, late_s: float) -> None:
        if self.active is not None:
            self._disturb(late_s)

    def _disturb(self, late_s: float) -> None:
        self.clock.oversleep_s = late_s
        rate_hz = self.account.handed[-1].goal.playback.plan.rate_hz
        self._rest_by = {goal: tick + math.ceil(late_s * rate_hz) + 1 for goal, tick in self._rest_by.items()}
        self.account.handed[-1].disturbed = True
        self._quiet = 0

    def _driver_fails(self, during: str) -> None:
        self._fail(during, DriverError("servo 7", "overload"))

    def _bus_is_lost(self, during: str) -> None:
        self._fail(during, CommunicationLost("/dev/ttyUSB0", "bus lost"))

    def _fail(self, during: str, error: Exception) -> None:
        self.driver.failing = during, error
        if self.account.handed:
            self.account.handed[-1].disturbed = True


def _speed(share: float, most: float) -> float:
    """Return a speed between the slowest and the fastest, half of them below 1."""
    return 0.1 + 1.8 * share if share < 0.5 else 1.0 + 2.0 * (share - 0.5) * (most - 1.0)


def _entry(name: str, plan: Plan) -> Entry:
    return Entry(name, cast("Path", None), plan)


@contextmanager
def moves_noted(player: Player, moves: list[tuple[State, State]]) -> Iterator[None]:
    """Note every change of a player's state, also those within one tick."""
    enter = player._enter

    def noted(state: State) -> None:
        moves.append((player.state, state))
        enter(state)

    with patch.object(player, "_enter", noted):
        yield


def account_of(sequence: Sequence) -> Account:
    """Play a sequence through and give what became of it."""
    with patch.object(ring, "RECORDS", RECORDS):
        engine = Engine(sequence)
        try:
            with moves_noted(engine.loop.player, engine.account.moves):
                engine.play_through()
        finally:
            engine.close()
    return engine.account
