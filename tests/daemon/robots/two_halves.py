"""A session and the engine of its stream process in one thread, tick by tick, with messages under way.

The session is the daemon's own; player and commands are those of the stream process. Between them a message
takes as many ticks as a test says, each way for itself, and none overtakes another.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from motiond.daemon.api import RequestError
from motiond.daemon.ipc import messages
from motiond.daemon.ipc.states import ACTIVE, ResultCode, State
from motiond.daemon.robots.session.follow_goal import FOLLOW
from motiond.daemon.robots.session.goal import MotionGoal
from motiond.daemon.robots.session.goal_planner import WayOver
from motiond.daemon.robots.session.robot_session import RobotSession
from motiond.daemon.stream.engine.commands import CommandHandler
from motiond.daemon.stream.engine.displacement import WaysBack
from motiond.daemon.stream.engine.execution import Phase
from motiond.daemon.stream.engine.following import Following
from motiond.daemon.stream.engine.layers import Layers
from motiond.daemon.stream.engine.player import Player
from motiond.daemon.stream.timing.clocks import VirtualClock
from motiond.daemon.stream.timing.schedule import Schedule
from motiond.daemon.trajectory.handover import Motion
from motiond.daemon.trajectory.route import Passes
from motiond.daemon.trajectory.track import Track, share
from motiond.daemon.trajectory.transmission import Transmission
from motiond.drivers.limits import ActuatorLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from motiond.daemon.api import Follows
    from motiond.daemon.robots.session.goal import Goal
    from motiond.daemon.robots.session.pending import Seek

RATE_HZ = 100.0
RAMP = 40.0
"""In 1/s: a stop takes four ticks or so."""
JOINTS = ["elbow", "gripper"]
PLACES = {
    "wave": (0.0, 0.6),
    "long": (0.0, 0.6),
    "nod": (0.6, 0.2),
    "park": (1.0, 1.0),
    "grip": (0.1, 0.5),
}
"""Where each motion begins and ends: `grip` the gripper, others the elbow."""
ADDED, WEIGHT, FADE_S = "idle", 0.5, 0.04
"""The motion that is added to others, to the elbow and back, its weight, and how long that takes to come."""
ROWS, LONG = 12, 30
"""Of a motion, and of `long`."""
SAG = 0.01
"""How far a joint is from where it was when torque comes on."""
AHEAD, LOOK = 7, 1
"""In ticks: so far ahead it is foreseen where a motion takes over, and so long its way is looked at."""
LONGEST = 300
"""Ticks in which everything that was asked for is over."""
STILL = 6
"""Ticks in which nothing happens any more where nothing has happened in them."""


WAYS = messages.WayBounds(
    velocity=[2.0] * 2,
    acceleration=[20.0] * 2,
    jerk=[400.0] * 2,
    clock_acceleration=10.0,
    start_tolerance=[0.01] * 2,
    lower=[-2.0] * 2,
    upper=[2.0] * 2,
    velocity_limit=[2.0] * 2,
    acceleration_limit=[20.0] * 2,
    leaders=[0, 1],
    multipliers=[1.0] * 2,
    turn=[0.0] * 2,
)
QUICK = replace(
    WAYS,
    velocity=[20.0] * 2,
    acceleration=[4000.0] * 2,
    jerk=[1e6] * 2,
    velocity_limit=[20.0] * 2,
    acceleration_limit=[8000.0] * 2,
)
"""Of ways from motions, which are faster than joints follow targets."""
BLENDED = 3
"""Over so many rows a motion flows into the next."""
ONE, NONE, EACH = np.ones(2), np.zeros(2), np.arange(2)
TRANSMISSION = Transmission(EACH, ONE, NONE, EACH, ONE, NONE, ONE).as_lists()


@dataclass(eq=False)
class Asked:
    """A goal as a session knows it."""

    motion: str
    goal_id: str
    is_endless: bool = False
    group_start: str | None = None
    number: int = 0
    expires_at: float | None = None
    needs_control: bool = False
    is_beside: bool = False
    is_stopped: bool = False
    resumed: int = 0

    is_additive = False

    def why_not_beside(self, _other: Any) -> str:
        """What follows targets plays beside nothing."""
        return "it has the robot to itself"


class AskedMotion(MotionGoal):
    """A goal that motions flow into and are taken over by; of a motion it has the name alone."""

    def __init__(
        self, motion: str, goal_id: str, *, is_endless: bool, blend_s: float, is_additive: bool
    ) -> None:
        self._asked, self._is_additive = Asked(motion, goal_id, is_endless), is_additive
        self.goal_id, self.group_start, self.number, self.expires_at = goal_id, None, 0, None
        self.is_beside = self.is_stopped = False
        self.resumed, self.blend_s, self.speed = 0, blend_s, 1.0
        self.ways, self.holds, self.warnings = [], [], []

    __eq__, __hash__ = object.__eq__, object.__hash__

    @property
    def motion(self) -> str:
        return self._asked.motion

    @property
    def is_endless(self) -> bool:
        return self._asked.is_endless

    @property
    def plan(self) -> Any:
        return None

    @property
    def is_additive(self) -> bool:
        return self._is_additive

    def take_rate(self, _rate_hz: float | None) -> None:
        """There is one rate alone."""

    def why_not_beside(self, other: Any) -> str:
        if not isinstance(other, AskedMotion):
            return self._asked.why_not_beside(other)
        if self.is_additive or other.is_additive:
            return "one at a time" if self.is_additive and other.is_additive else ""
        joint = _joint_of(self.motion)
        return f"it moves joint '{JOINTS[joint]}', too" if joint == _joint_of(other.motion) else ""


@dataclass
class Engine:
    """What a stream process does, but for its actuators, which are where they are sent."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    position: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(2))
    trace: list[tuple[float, ...]] = field(default_factory=list)
    ends: list[tuple[messages.Ended, tuple[float, ...]]] = field(default_factory=list)
    notices: list[messages.Notice] = field(default_factory=list)
    after: int = 0
    _received: int = 0
    is_over: bool = False
    has_failed: bool = False

    def __post_init__(self) -> None:
        self.player = Player(JOINTS, ["rad"] * 2, self.position, np.zeros(2))
        self.layers = Layers(self.player)
        self._ended: list[messages.Ended] = []
        self._ended_at: dict[str, tuple[float, ...]] = {}
        self._reported: tuple[Any, ...] = ()
        driver = SimpleNamespace(disable=lambda: None, limits=ActuatorLimits.none(2))
        measured = np.zeros(2)
        setup: dict[str, Any] = {"joints": JOINTS, "units": ["rad"] * 2, "ways": WAYS}
        setup |= {"transmission": TRANSMISSION, "collision": None}
        actuators = SimpleNamespace(
            driver=driver,
            measured=measured,
            any_holds=False,
            take_hold=lambda *_: np.add(self.position, SAG, measured),
            set_period=lambda _: None,
        )
        watch = SimpleNamespace(
            checks=None,
            displaced=lambda: None,
            moved=lambda _: None,
            start_holding=lambda: None,
            start_motion=lambda: None,
            ways=WaysBack(cast("Any", SimpleNamespace(**setup | {"ways": QUICK})), driver.limits),
        )
        self.ways = watch.ways
        schedule = self._schedule = Schedule(self.clock, 0.01, 0.1, 0.02)
        following = Following(
            cast("Any", SimpleNamespace(**setup)),
            player=self.player,
            actuators=cast("Any", actuators),
            watch=cast("Any", watch),
            schedule=schedule,
            report=self.notices.append,
        )
        self._commands = CommandHandler(
            layers=self.layers,
            teaching=cast("Any", None),
            following=following,
            actuators=cast("Any", actuators),
            watch=cast("Any", watch),
            schedule=schedule,
            report=self.notices.append,
            refused=self._ended,
        )

    def tick(self, commands: list[tuple[messages.Command, tuple[int, ...], int]]) -> messages.Changed | None:
        """Obey, make one tick, and return what has changed."""
        player, layers = self.player, self.layers
        now_s = self.clock.now()
        self._schedule.ticked_s, self._schedule.deadline_s = now_s - 1 / RATE_HZ, now_s
        for command, fds, number in commands:
            self._commands.obey(command, list(fds))
            self._received = number
        self._commands.take_over_as_foreseen()
        self.after = self._received - self._commands.is_taking_over
        if self._commands.shutting_down and not layers.active:
            self.is_over = True
        else:
            player.tick(1)
            if layers.any:
                layers.tick(1, 1)
            self._finish()
        self.trace.append(tuple(self.position.tolist()))
        self.clock.sleep_until(self.clock.now() + 1 / RATE_HZ)
        return self._changed()

    def _finish(self) -> None:
        """End what has reached its last row; what is added ends by itself, once its weight has gone."""
        added = self.layers.addition
        for player, _ in self.layers.parts():
            is_added = added is not None and player is added.player
            if player.phase is Phase.SETTLE and not player.slowing and not is_added:
                if player.execution is not None:
                    self._ended_at[player.execution.goal_id] = tuple(player.position.tolist())
                player.finish()

    def aim(self, goal_id: str, position: float) -> None:
        """Take a target, on a way that has no delay."""
        self._commands.obey(messages.Target(goal_id, [position], None, None, 0.0), [])

    def fail(self) -> None:
        """Fail as a driver does, so that the robot is in fault in this tick."""
        self.has_failed = True
        self.layers.fault(ResultCode.HARDWARE_FAULT, "a servo has failed")

    def _changed(self) -> messages.Changed | None:
        player, layers = self.player, self.layers
        reported = (player.changes, self.after)
        if reported == self._reported and not self._ended:
            return None
        self._reported = reported
        for result in layers.take_results():
            one = messages.Ended(result.execution.goal_id, result.code, result.message, 0.0, result.details)
            self._ended.append(one)
        here = tuple(player.position.tolist())
        self.ends += [(one, self._ended_at.get(one.goal_id, here)) for one in self._ended]
        changed = messages.Changed(
            layers.state,
            player.torque,
            goal.goal_id if (goal := player.pursuit or player.execution) else None,
            player.position.tolist() if player.torque else None,
            player.waits,
            ended=[*self._ended],
            beside=layers.states,
            after=self.after,
            blends=player.blends,
        )
        self._ended.clear()
        return changed


class Halves:
    """Both halves, and what is on its way between them."""

    def __init__(self, on_end: Follows, on_exit: str, command_ticks: int, notice_ticks: int) -> None:
        self.engine = Engine()
        self.tick = 0
        self.sent: list[tuple[int, messages.Command]] = []
        self.results: list[tuple[messages.Ended, str | None]] = []
        self.accepted: set[str] = set()
        self.warnings: list[str] = []
        self.refused = ""
        self._untrue: list[str] = []
        self._announced: tuple[int, str | None] = (0, None)
        self._delays = command_ticks, notice_ticks
        self.foresees = False
        self._looks: deque[tuple[int, messages.Foreseen]] = deque()
        self._commands: deque[tuple[int, messages.Command, tuple[int, ...], int]] = deque()
        self._notices: deque[tuple[int, messages.Changed | messages.Foreseen | str | None]] = deque()
        self._numbers, self._ids = count(1), count(1)
        self.session = RobotSession("arm", on_end=on_end, on_exit=on_exit, outlet=self)
        self.session.come_on_line()

    # -- what a session reaches -----------------------------------------------------------------------------

    def send(self, command: messages.Command, fds: tuple[int, ...] = ()) -> int:
        if self.engine.is_over:
            return 0
        number = next(self._numbers)
        self.sent.append((self.tick, command))
        self._commands.append((self.tick + self._delays[0], command, fds, number))
        return number

    def refuse_late(self, goal: Goal) -> None: ...

    def is_looked_at(self, _goal: Goal, _start: list[float], _row: int | None = None) -> bool:
        return True

    def begin(self, goal: Goal, start: list[float]) -> tuple[int, dict[str, Any]]:
        if goal.motion == self.refused:
            raise RequestError("INVALID_MOTION", goal.motion, "there is no way")
        if goal.motion == FOLLOW:
            return self._sent(goal, follow_of(goal.goal_id, start))
        if isinstance(goal, MotionGoal):
            goal.holds = start
        rows, joint = _rows(goal), _joint_of(goal.motion)
        approach = _track(rows[:0], joint) if goal.is_additive else _way(start[joint], rows[0, joint], joint)
        tracks = approach, _track(rows, joint), _track(rows[:0], joint)
        return self._sent(goal, _play(goal, start), _shared(*tracks))

    def _sent(
        self, goal: Goal, command: messages.Command, fds: tuple[int, ...] = ()
    ) -> tuple[int, dict[str, Any]]:
        number = self.send(command, fds)
        if not number:
            raise RequestError("OFFLINE", "arm", "the stream process does not listen")
        self.accepted.add(goal.goal_id)
        return number, {"goal_id": goal.goal_id}

    def chain(self, before: MotionGoal, goal: MotionGoal) -> int:
        rows, share_of = _rows(goal), np.linspace(0.0, 1.0, BLENDED + 1)[:, np.newaxis]
        blend = (1.0 - share_of) * _rows(before)[-BLENDED - 1 :] + share_of * rows[: BLENDED + 1]
        goal.holds = blend[-1].tolist()
        command = messages.Chain(before=before.goal_id, speed_limit=1.0, play=_play(goal, goal.holds))
        return self.send(command, _shared(_track(blend), _track(rows), _track(rows[:0])))

    def foresee(self, goal: Goal) -> bool:
        if self.foresees and not self.send(messages.Foresee(goal.goal_id, AHEAD / RATE_HZ)):
            raise RequestError("OFFLINE", "arm", "the stream process does not listen")
        return self.foresees

    def take_over(self, goal: Goal, over: WayOver | None = None) -> int:
        rows = _rows(goal)
        play = replace(_play(goal, []), takes_over=True, as_foreseen=over is not None)
        way = over.way if over else _track(rows[:0])
        if not (number := self.send(play, _shared(way, _track(rows), _track(rows[:0])))):
            raise RequestError("OFFLINE", "arm", "the stream process does not listen")
        return number

    def _look_over(self, foreseen: messages.Foreseen) -> None:
        """Plan the way from where the robot will be, and hand it over."""
        begin = self.session.begin
        if begin is None or begin.goal.goal_id != foreseen.goal_id:
            return
        if foreseen.reason:
            self.session.hand_over(begin.goal, RequestError("INVALID_REQUEST", "arm", foreseen.reason))
            return
        how = {"first_s": foreseen.period_s, "rate_hz": RATE_HZ}
        moves = Motion.seen(np.array(foreseen.setpoints), foreseen.period_s)
        way, turned = self.engine.ways.hand_over(moves, _rows(begin.goal)[0], np.arange(2) == 0, **how)
        self.session.hand_over(begin.goal, WayOver(way, turned, []))

    def flow(self, goal: Goal) -> None:
        self.accepted.add(goal.goal_id)

    def seek(self, seek: Seek, start: list[float]) -> int:
        begin, end = PLACES[seek.goal.motion]
        place = float(np.linspace(begin, end, len(_rows(seek.goal)))[seek.row])
        joint = _joint_of(seek.goal.motion)
        command = messages.Seek(seek.goal.goal_id, seek.row, start, seek.goes_on)
        return self.send(command, (share(_way(start[joint], place, joint)),))

    def park_goal(self, _option: str) -> Goal:
        return self.goal("park")

    def end(self) -> None:
        self.send(messages.Shutdown())

    def warn(self, message: str) -> None:
        self.warnings.append(message)

    def report(self, _subject: str, _data: dict[str, Any]) -> None: ...
    def report_state(self) -> None: ...
    def wake(self) -> None: ...

    def end_teaching(self, ended: messages.TeachingEnded) -> None:
        """Nobody teaches it."""

    def report_result(self, _goal: Goal, ended: messages.Ended, follows: str | None) -> None:
        self.results.append((ended, follows))
        self._announced = (len(self.sent), None if "flowed_into" in ended.details else follows)

    # -- time -----------------------------------------------------------------------------------------------

    def goal(
        self, motion: str, *, is_endless: bool = False, blend_s: float = 0.0, is_beside: bool = False
    ) -> Goal:
        goal_id = f"{motion} {next(self._ids)}"
        if motion != FOLLOW:
            is_added = motion == ADDED
            goal = AskedMotion(motion, goal_id, is_endless=is_endless, blend_s=blend_s, is_additive=is_added)
            goal.is_beside = is_beside or is_added
            return goal
        return cast("Goal", Asked(motion, goal_id, is_endless=True, needs_control=True))

    def step(self) -> None:
        self.tick += 1
        if not self.engine.is_over:
            due = []
            while self._commands and self._commands[0][0] < self.tick:
                due.append(self._commands.popleft()[1:])
            if (changed := self.engine.tick(due)) is not None:
                self._notices.append((self.tick + self._delays[1], changed))
            for one in [one for one in self.engine.notices if isinstance(one, messages.Foreseen)]:
                self.engine.notices.remove(one)
                self._notices.append((self.tick + self._delays[1], one))
            while self.engine.player.unblended:
                dropped, _ = self.engine.player.unblended.pop(0)
                self._notices.append((self.tick + self._delays[1], dropped))
            self._notices += [(self.tick + self._delays[1], None)] * self.engine.is_over
        else:
            self.engine.trace.append(self.engine.trace[-1])
        while self._notices and self._notices[0][0] <= self.tick:
            self._take(self._notices.popleft()[1])
        while self._looks and self._looks[0][0] <= self.tick:
            self._look_over(self._looks.popleft()[1])

    def _take(self, notice: messages.Changed | messages.Foreseen | str | None) -> None:
        """Take a notice, the goal of a blend that was dropped, or None for the end of the process."""
        match notice:
            case str():
                self.session.drop_blend(notice)
            case messages.Foreseen():
                self._looks.append((self.tick + LOOK, notice))
            case messages.Changed():
                self.session.take(notice)
                self._look_what_follows()
            case None:
                self.session.lose("shut down", failed=False)

    def _look_what_follows(self) -> None:
        """Hold what was said to follow a goal against what was sent next."""
        (sent, follows), self._announced = self._announced, (0, None)
        wanted = {"queue": messages.Play, "park": messages.Play, "release": messages.Disable}
        if follows in wanted and not any(isinstance(one, wanted[follows]) for _, one in self.sent[sent:]):
            self._untrue.append(f"tick {self.tick}: {follows} did not follow")

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            self.step()

    def run_out(self) -> None:
        """Let time pass until nothing happens any more."""
        still = 0
        for _ in range(LONGEST):
            self.step()
            still = 0 if self.moves or self._commands or self._notices or self.looks else still + 1
            if still == STILL:
                return

    def until(self, state: State) -> None:
        """Let time pass until the session knows the robot in a state."""
        self.run_until(lambda: self.session.state is state)

    def run_until(self, holds: Callable[[], bool]) -> None:
        """Let time pass until something holds."""
        for _ in range(LONGEST):
            if holds():
                return
            self.step()
        raise AssertionError(f"that never came; the robot is {self.session.in_words}")

    def close(self) -> None:
        for _, _, fds, _ in self._commands:
            for fd in fds:
                os.close(fd)

    @property
    def looks(self) -> bool:
        """Whether the way is looked at by which something is to take over."""
        return bool(self._looks)

    @property
    def moves(self) -> bool:
        return self.engine.layers.state in ACTIVE - {State.PAUSED}

    # -- what must hold, once everything is over ------------------------------------------------------------

    def is_refused(self, goal_id: str, message: str) -> bool:
        """Whether a goal was refused by the engine, with that message."""
        refused = (ended for ended, _ in self.results if ended.code == "INVALID_GOAL")
        return any(ended.goal_id == goal_id and ended.message == message for ended in refused)

    def problems(self, may: Collection[str] = ()) -> list[str]:
        """Return what is wrong with the results and with the end; a goal may be refused for some reasons."""
        wrong, state = [*self._untrue], self.engine.player.state
        may = [*may, "the robot is fault; it cannot play now"] if self.engine.has_failed else may
        wrong += [f"{one}" for one in self.engine.notices]
        reported = [ended for ended, _ in self.results]
        ids = [ended.goal_id for ended in reported]
        if sorted(ids) != sorted(self.accepted):
            wrong.append(f"accepted {sorted(self.accepted)}, and results of {sorted(ids)}")
        ends = {ended.goal_id: (ended.code, ended.message) for ended, _ in self.engine.ends}
        wrong += [
            f"{ended} is not how it ended: {ends[ended.goal_id]}"
            for ended in reported
            if ends.get(ended.goal_id, (ended.code, ended.message)) != (ended.code, ended.message)
        ]
        in_vain = [ended for ended in reported if ended.code == "INVALID_GOAL" and ended.message not in may]
        wrong += [f"{ended} was begun in vain" for ended in in_vain]
        for ended, place in self.engine.ends:
            motion, flows = ended.goal_id.split()[0], "flowed_into" in ended.details
            is_there = motion not in PLACES or place[_joint_of(motion)] == PLACES[motion][1]
            if ended.code == "SUCCESSFUL" and not is_there and not flows:
                wrong.append(f"{ended.goal_id} was SUCCESSFUL at {place}")
        if state not in {State.IDLE, State.ESTOPPED, State.FAULT if self.engine.has_failed else State.IDLE}:
            wrong.append(f"it ends {state}")
        if not self.engine.is_over and (not self.session.rests or self.session.state is not state):
            wrong.append(f"the session ends {self.session.in_words}, and the engine {state}")
        return wrong


def follow_of(goal_id: str, start: list[float]) -> messages.Follow:
    return messages.Follow(
        goal_id=goal_id,
        joints=[0],
        mode="position",
        rate_hz=RATE_HZ,
        timeout_s=1.0,
        path_tolerance=[messages.OFF] * 2,
        start=start,
    )


def _joint_of(motion: str) -> int:
    return 1 if motion == "grip" else 0


def _rows(goal: Goal) -> np.ndarray[Any, Any]:
    count = LONG if goal.motion == "long" else ROWS
    rows, joint = np.zeros((count, 2)), _joint_of(goal.motion)
    added = 0.1 * np.sin(np.linspace(0.0, np.pi, count)) ** 2
    rows[:, joint] = np.linspace(*PLACES[goal.motion], count) if goal.motion in PLACES else added
    return rows


def _shared(*tracks: Track) -> tuple[int, ...]:
    return tuple(map(share, tracks))


def _play(goal: Goal, start: list[float]) -> messages.Play:
    return messages.Play(
        goal_id=goal.goal_id,
        motion=goal.motion,
        speed=1.0,
        start=start,
        clock_acceleration=RAMP,
        path_tolerance=[messages.OFF] * 2,
        goal_tolerance=[messages.OFF] * 2,
        goal_time_s=messages.OFF,
        passes=Passes(0, len(_rows(goal)) - 1),
        beside=goal.is_beside,
        weight=WEIGHT if goal.is_additive else None,
        ramp_s=FADE_S,
    )


def _way(start: float, end: float, joint: int) -> Track:
    rows = np.zeros((3 if start != end else 0, 2))
    rows[:, joint] = np.linspace(start, end, 4)[1:][: len(rows)]
    return _track(rows, joint)


def _track(rows: np.ndarray[Any, Any], joint: int = 0) -> Track:
    return Track(rows, np.zeros_like(rows), np.arange(2) == joint, RATE_HZ, RAMP)
