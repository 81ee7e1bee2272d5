"""A robot's whole daemon and its stream process on virtual time, and a record of what both have done.

A `Life` is lived with the real registry, dispatcher, session and streaming loop, on simulated actuators. What
becomes of it is an `Account` for `tests.daemon.invariants` to judge.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from motiond.daemon.api import (
    Dispatcher,
    PlayRequest,
    RawRequest,
    Report,
    ReportHub,
    RequestError,
)
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.config.robot import DriverSettings, MotionFolderSettings
from motiond.daemon.config.settings import Settings
from motiond.daemon.ipc import messages, ring
from motiond.daemon.ipc.states import ACTIVE, State
from motiond.daemon.planning.speed_limits import LONGEST_STOP
from motiond.daemon.robots.assembly import make_registry
from motiond.daemon.robots.robot import FORESEEN_S
from motiond.daemon.robots.session.follow_goal import FollowGoal
from motiond.daemon.robots.session.goal import MotionGoal, new_goal
from motiond.daemon.stream.engine.execution import ON_MOTION
from motiond.daemon.stream.engine.loop import StreamLoop
from motiond.daemon.trajectory.ramp import FULL_RAMP
from motiond.drivers.base import ActuatorCommand, ActuatorState, CommunicationLost, DriverError
from motiond.drivers.sim.driver import SimDriver, SimOptions
from tests.daemon.lives import TO_A_CHANGE, span_of
from tests.daemon.rig import make_clock, write_seq
from tests.daemon.virtual_forks import LoopClock, VirtualForks, VirtualMachine
from tests.virtual import NETWORK, VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from motiond.daemon.ipc.messages import Command
    from motiond.daemon.planning import Blend
    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.daemon.robots.session import PlannedBlend, WayOver
    from motiond.daemon.stream.engine.execution import Result
    from motiond.daemon.stream.engine.player import Player
    from motiond.drivers.base import Driver
    from tests.daemon.lives import Life
    from tests.daemon.virtual_forks import VirtualProcess

ROBOT = "arm"
ANSWER_S = 5.0
"""Within which clients want an answer."""
REST_S = 30.0
"""In which everything that has an end has come to it."""
LEAVE_S = 30.0
LONGEST = 300
"""Ticks in which a change is waited for."""
WATCH_S = 1.5
"""A process that hangs is killed by then."""
RECORDS = 64  # of the ring, whose memory is otherwise a sixth of what a life costs
TICK_S = 0.01
"""What a tick is taken for where there is no stream process that ticks."""
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        verb: (verb, {})
        for verb in ("pause", "resume", "stop", "estop", "reset", "enable", "disable", "torque", "status")
    },
    "acquire": ("lease/acquire", {"holder": "ana"}),
    "take": ("lease/take", {"holder": "bob"}),
    "renew": ("lease/renew", {}),
    "give_back": ("lease/release", {}),
    "reload": ("motions/reload", {}),
    "teach": ("teach/start", {}),
    "teach_stop": ("teach/stop", {}),
    "pose": ("teach/pose", {}),
    "follow": ("follow/start", {}),
    "follow_stop": ("follow/stop", {}),
}
"""The acts that are a request and nothing else: its verb, and what it always carries."""
REQUEST: ContextVar[int | None] = ContextVar("request", default=None)
"""The number of the request that is being served."""


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
        if not self.is_guided:
            self.received = command.position.tolist()

    @property
    def is_guided(self) -> bool:
        """Whether the actuators carry themselves, and hold nothing."""
        return self._plant is not None and self._plant.guided

    @property
    def has_torque(self) -> bool:
        """Whether the actuators have it by themselves."""
        return self._plant is not None and self._plant.torque

    def guide(self) -> None:
        self._fail("enable")
        super().guide()
        self.stretch += 1

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

    goal: MotionGoal | FollowGoal
    command: messages.Play | messages.Follow
    doubts: float
    fastest: float
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
    brakes: bool = False


@dataclass(slots=True)
class Asked:
    """A request."""

    order: int
    verb: str
    values: dict[str, Any]
    at_s: float
    answered_s: float = 0.0
    answer: dict[str, Any] | None = None
    given_up: bool = False

    @property
    def is_accepted(self) -> bool:
        return self.answer is not None and self.answer["status"] == "ok"


@dataclass(slots=True)
class Halt:
    """What ends all that moves or waits: a stop, an emergency stop, a release of the joints, an exit."""

    kind: str
    order: int
    number: int
    at_s: float


@dataclass(slots=True)
class Reason:
    """What has happened that goals may end by, and from when to when they may."""

    kind: str
    begins_s: float
    ends_s: float


@dataclass(slots=True)
class Sent:
    """A goal that was sent to the stream process, with the request that it belongs to."""

    goal_id: str
    motion: str
    order: int
    at_s: float
    halts: int


@dataclass(slots=True)
class Account:
    """What became of a life."""

    life: Life
    handed: list[Handed] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    moves: list[tuple[State, State]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    acts: Counter[str] = field(default_factory=Counter)
    asked: list[Asked] = field(default_factory=list)
    halts: list[Halt] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    results: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    taught: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    state: str = ""


class NotingHub(ReportHub):
    """A hub that lets results be noted in the moment in which they are published."""

    def __init__(self, take: Any) -> None:
        super().__init__()
        self._take = take

    def publish(self, report: Report) -> None:
        self._take(report)
        super().publish(report)


class LateLoopClock(LoopClock):
    """Oversleeps once."""

    oversleep_s = 0.0

    def sleep_until(self, deadline_s: float) -> None:
        """Let the loop go on until a time, and once beyond."""
        late_s, self.oversleep_s = self.oversleep_s, 0.0
        super().sleep_until(deadline_s + late_s)


class WatchedLoop(StreamLoop):
    """Shows each tick to the engine."""

    engine: Engine

    def step(self) -> bool:
        goes_on = super().step()
        self.engine.take_tick(self)
        return goes_on

    def _end_goals(self, results: Sequence[Result], *, beside: bool) -> None:
        for result in results:
            self.engine.take_begin(result.execution.goal_id)
        super()._end_goals(results, beside=beside)


class Engine:
    """One life of one robot's daemon."""

    def __init__(self, life: Life, folder: Path) -> None:
        self.life = life
        self.account = Account(life)
        self._folder = folder
        self._motions = folder / "motions"
        self._motions.mkdir()
        initial = dict(zip(self.life.joint_map.actuators, self.life.start, strict=True))
        options = self.life.settings.driver.options | {"plant": folder / "plant.bin", "initial": initial}
        self.settings = self.life.settings.model_copy(
            update={
                "driver": DriverSettings.model_construct(type="sim", **options),
                "motions": [MotionFolderSettings.model_construct(folder=self._motions)],
            }
        )
        for motion in self.life.plans:
            self._write(motion, 1.0)
        self._loop = asyncio.get_running_loop()
        self._loops: WatchedLoop | None = None
        self._driver: WatchedSim | None = None
        self._clock: LateLoopClock | None = None
        self._tick_waiters: list[tuple[int, int, asyncio.Future[None]]] = []
        self._requests: dict[asyncio.Task[None], Asked] = {}
        self._orders: dict[str, int] = {}
        self._goals: dict[str, int] = {}
        self._begins: MotionGoal | None = None
        self._blends: MotionGoal | None = None
        self._offered: dict[str, tuple[MotionGoal | FollowGoal, messages.Play]] = {}
        self._blend: Blend | None = None
        self._lease: str | None = None
        self._start: dict[str, Any] = {}
        self._starts = count(1)
        self._began = -1
        self._stretches = self._ticks = 0
        self._rest_by_s: float | None = None
        self._hangs_until_s = 0.0
        self._late_reason = self._fault_reason = Reason("", 0.0, 0.0)
        self._least_ramp = FULL_RAMP / self.settings.stop_duration_s / LONGEST_STOP

    def _write(self, motion: str, share: float) -> None:
        plan = self.life.plans[motion]
        rows = plan.positions[:, plan.driven]
        joints = tuple(
            joint for joint, driven in zip(self.life.joint_map.joints, plan.driven, strict=True) if driven
        )
        write_seq(self._motions / f"{motion}.seq", rows[:1] + share * (rows - rows[:1]), joints, plan.rate_hz)

    # -- a life ---------------------------------------------------------------------------------------------

    async def live(self) -> Account:
        whole = Settings.model_construct(
            robots={ROBOT: self.settings},
            mqtt=MqttSettings.model_construct(telemetry_hz=2.0, idle_telemetry_hz=0.5),
            http=None,
        )
        with VirtualForks(self._machine) as self._forks:
            self._forks.opens_in_s = self.life.opens_in_s
            registry = make_registry(whole, NotingHub(self._take_report), self._forks, make_clock())
            self._watch(registry)
            running = asyncio.create_task(registry.run(), name="registry")
            try:
                await self._act(registry)
                await self._end(registry, running)
            finally:
                await _cancelled([running, *self._requests])
        return self.account

    def _watch(self, registry: RobotRegistry) -> None:
        """Note what the robot's session is asked for and does."""
        self._registry, self._dispatcher = registry, Dispatcher(registry)
        self._robot = robot = registry.members[ROBOT].robot
        self._session = session = robot.session
        begin, send, chain = robot.begin, robot.stream.send, robot.chain
        take_over = robot.take_over
        blend_of = robot.planner.blend_of
        # What it keeps from the garbage collector, a process keeps for good; here are many lives in one.
        robot.motions._keep_for_good = lambda least: None  # type: ignore[method-assign] # noqa: ARG005

        def noted_begin(goal: MotionGoal, start: list[float]) -> Any:
            self._begins = goal
            try:
                return begin(goal, start)
            finally:
                self._begins = None

        def noted_take_over(goal: MotionGoal, over: WayOver | None) -> int:
            self._begins = goal
            self.account.acts["looked at"] += over is not None
            try:
                return take_over(goal, over)
            finally:
                self._begins = None

        def noted_chain(before: MotionGoal, goal: MotionGoal) -> int:
            self._begins, self._blends = goal, before
            try:
                return chain(before, goal)
            finally:
                self._begins = self._blends = None

        def noted_blend(*asked: Any) -> PlannedBlend:
            planned = blend_of(*asked)
            self._blend = planned.blend
            return planned

        def noted_send(command: Command, fds: tuple[int, ...] = ()) -> int:
            number = send(command, fds)
            self._take_command(command, number)
            return number

        if self.life.looks_s is not None:
            self._look_over_for(self.life.looks_s)
        robot.take_over = noted_take_over  # type: ignore[method-assign,assignment]
        robot.chain = noted_chain  # type: ignore[method-assign]
        robot.planner.blend_of = noted_blend  # type: ignore[method-assign,assignment]
        robot.begin = noted_begin  # type: ignore[method-assign,assignment]
        robot.stream.send = noted_send  # type: ignore[method-assign]
        for name in ("stop", "estop", "disable", "leave", "end_goal"):
            setattr(session, name, self._noted_halt(name, getattr(session, name)))
        session.teach = self._noted_teach(session.teach)  # type: ignore[method-assign]
        robot.draft.end = self._noted_end(robot.draft.end)  # type: ignore[method-assign]
        for name in ("begin_instead", "enqueue"):
            setattr(session, name, self._noted_goal(getattr(session, name)))

    def _look_over_for(self, looks_s: float) -> None:
        """Have each way on which a motion takes over looked at before, for so long."""
        robot, look_over = self._robot, self._robot._ahead.look_over

        def foresee(goal: MotionGoal) -> bool:
            robot._send_surely(messages.Foresee(goal.goal_id, FORESEEN_S))
            return True

        def slow_look(*asked: Any) -> None:
            self._loop.call_later(looks_s, look_over, *asked)

        robot.foresee = foresee  # type: ignore[method-assign,assignment]
        robot._ahead.look_over = slow_look  # type: ignore[method-assign,assignment]

    def _noted_halt(self, kind: str, act: Any) -> Any:
        def noted(*values: Any, **options: Any) -> Any:
            goal = self._session.goal
            order = REQUEST.get()
            halt = Halt(kind, len(self.account.asked) if order is None else order, 0, self._loop.time())
            self._note_reason(kind, math.inf if kind == "leave" else 0.0)
            if kind != "end_goal":
                self.account.halts.append(halt)
            number = act(*values, **options)
            halt.number = number if isinstance(number, int) else 0
            is_end = kind in {"stop", "end_goal"} and self._session.goal is goal
            if is_end and isinstance(goal, MotionGoal | FollowGoal):
                within_s = goal.stops_within_s(self.settings.max_skip_s) + 3.0 / rate_of(goal)
                obeyed_s = max(halt.at_s, self._hangs_until_s)
                self._rest_by_s = self._rest_by_s or obeyed_s + within_s + TICK_S
            return number

        return noted

    def _noted_teach(self, act: Any) -> Any:
        def noted(*values: Any) -> Any:
            number = act(*values)
            self.account.taught["begun"] += self._session.teaching is not None
            return number

        return noted

    def _noted_end(self, act: Any) -> Any:
        def noted(ended: messages.TeachingEnded) -> None:
            self.account.taught["ended"] += 1
            act(ended)

        return noted

    def _noted_goal(self, act: Any) -> Any:
        def noted(goal: MotionGoal, *values: Any, **options: Any) -> Any:
            order = REQUEST.get()
            assert order is not None
            self._orders[goal.goal_id] = order
            return act(goal, *values, **options)

        return noted

    async def _act(self, registry: RobotRegistry) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(1.5):
                while self._session.state is State.OFFLINE:  # noqa: ASYNC110 - it is polled once
                    await asyncio.sleep(TICK_S)
        for act in self.life.acts:
            await self._pass(act.after, act.values.get("turns", 0))
            self.account.acts[act.verb] += 1
            self._do(act.verb, **{key: act.values[key] for key in act.values if key != "turns"})
            await self._pass(int(act.values.get("ticks", 0)), 0)
        assert registry is self._registry

    async def _pass(self, ticks: int, turns: int) -> None:
        """Let ticks pass, and then turns of the loop, in which messages are taken."""
        if ticks:
            waiter = self._loop.create_future()
            moves = len(self.account.moves) if ticks == TO_A_CHANGE else sys.maxsize
            ticks = LONGEST if ticks == TO_A_CHANGE else ticks
            self._tick_waiters.append((self._ticks + ticks, moves, waiter))
            with suppress(TimeoutError):
                async with asyncio.timeout(ticks * TICK_S):
                    await waiter
            self._tick_waiters = [one for one in self._tick_waiters if one[-1] is not waiter]
        for _ in range(turns):
            await asyncio.sleep(0)

    async def _end(self, registry: RobotRegistry, running: asyncio.Task[None]) -> None:
        if self.life.rests_first:
            self._ask("stop")
            await self._answered()
            await self._until(
                lambda: self._session.state not in ACTIVE, REST_S, "at rest after the last stop"
            )
            await asyncio.sleep(1.0)
            self.account.state = self._session.state
            if not self._session.rests:
                self._blame("something plays, waits or is about to begin after the last stop")
        with self._as_request("leave"):
            registry.leave()
        await asyncio.wait((running,), timeout=LEAVE_S)
        if not running.done():
            self._blame(f"the daemon did not end within {LEAVE_S:g} s")
        elif running.exception() is not None:
            self._blame(f"the daemon ended by {running.exception()!r}")
        await self._answered()
        if self._session._pending:
            self._blame(f"still waited for: {self._session._pending}")

    async def _answered(self) -> None:
        """Wait until each request is answered; one may take `ANSWER_S`."""
        if self._requests:
            await asyncio.wait([*self._requests], timeout=ANSWER_S + 1.0)
        for asked in self._requests.values():
            self._blame(f"{asked.verb} (request {asked.order}) has no answer")

    async def _until(self, holds: Any, within_s: float, what: str) -> None:
        deadline_s = self._loop.time() + within_s
        while not holds():
            if self._loop.time() > deadline_s:
                self._blame(f"not {what} within {within_s:g} s: {self._session.state}")
                return
            await asyncio.sleep(TICK_S)

    def _blame(self, problem: str) -> None:
        self.account.problems.append(f"tick {self._ticks}, {self._loop.time():.3f} s: {problem}")

    # -- what the stream process does -----------------------------------------------------------------------

    def _machine(self, process: VirtualProcess, opens_in_s: float) -> VirtualMachine:
        engine = self

        class Watched(VirtualMachine):
            def clock(self, kind: str) -> LateLoopClock:
                assert kind == "real"
                engine._clock = LateLoopClock(process)
                return engine._clock

            def driver(self, setup: messages.Setup, clock: Any) -> Driver:
                options = SimOptions.model_validate(setup.options)
                engine._driver = WatchedSim(tuple(setup.actuators), options, clock.now)
                engine._stretches += 1
                return engine._driver

            def loop(self, *parts: Any) -> StreamLoop:
                loop = engine._loops = WatchedLoop(*parts)
                loop.engine = engine
                engine._note_moves(loop)
                return loop

        return Watched(process, opens_in_s)

    def _note_moves(self, loop: WatchedLoop) -> None:
        player, enter = loop.player, loop.player._enter

        def noted(state: State) -> None:
            self.account.moves.append((player.state, state))
            enter(state)

        player._enter = noted  # type: ignore[method-assign]

    def take_tick(self, loop: WatchedLoop) -> None:
        self._ticks += 1
        self.account.steps += 1
        player = loop.player
        if (plays := player.pursuit or player.execution) is not None:
            self.take_begin(plays.goal_id)
        driver = self._driver
        assert driver is not None
        if driver.stretch:
            self._stretches, driver.stretch = self._stretches + driver.stretch, 0
        if received := driver.taken():
            self._note_setpoint(loop, received)
        self._look_at_rest(loop)
        self._look_at_torque(loop, driver)
        self._end_reasons()
        for tick, moves, waiter in self._tick_waiters:
            if (tick <= self._ticks or len(self.account.moves) > moves) and not waiter.done():
                waiter.set_result(None)

    def _look_at_torque(self, loop: WatchedLoop, driver: WatchedSim) -> None:
        """Find torque that is not what is reported of it, and a reference that is not what was measured."""
        player, record = loop.player, loop.record
        if player.state is State.TEACHING:
            self.account.acts["ticks taught"] += 1
            if not player.torque and driver.has_torque:
                self._blame("torque is on while it is taught without")
            if driver.has_torque and not driver.is_guided:
                self._blame("it holds while it is taught")
            if record["reference_position"].tobytes() != record["position"].tobytes():
                self._blame("the reference is not what was measured while it is taught")
        elif driver.is_guided and player.torque and player.state is not State.FAULT:
            self._blame(f"{player.state}: it gives way though nobody teaches it")

    def take_begin(self, goal_id: str) -> None:
        if goal_id in self._offered:
            self._note_goal(*self._offered.pop(goal_id))
            self.account.acts["taken over"] += 1
        self._note_sent(goal_id)
        self._began = max(self._began, self._goals.get(goal_id, -1))

    def _note_setpoint(self, loop: WatchedLoop, position: list[float]) -> None:
        player, schedule = loop.player, loop.schedule
        late_s = max(0.0, loop.clock.now() - schedule.deadline_s)
        rate_hz, skips = 1.0 / schedule.period_s, 1
        if late_s <= self.settings.max_lateness_s:
            skips += min(int(late_s * rate_hz), int(self.settings.max_skip_s * rate_hz + 1e-9))
        if late_s > 0.5 / rate_hz and self._rest_by_s is not None:
            self._rest_by_s += late_s + TICK_S
        self.account.received.append(
            Received(
                self._ticks,
                loop.clock.now(),
                position,
                self._stretches,
                self._began,
                player.state,
                player.phase not in ON_MOTION and not self._follows,
                player.frame,
                self._speed_of_goal(),
                skips,
                self._brakes(player),
            )
        )

    def _brakes(self, player: Player) -> bool:
        """Whether it was caught from a hand: until it rests, and as long as nothing plays."""
        if player.state is State.IDLE:
            return bool(self.account.received) and self.account.received[-1].brakes
        return player.state is State.STOPPING and player.execution is None and player.pursuit is None

    @property
    def _follows(self) -> bool:
        """Whether what has begun last follows targets."""
        return self._began >= 0 and isinstance(self.account.handed[self._began].goal, FollowGoal)

    def _speed_of_goal(self) -> float:
        goal = self.account.handed[self._began].goal if self._began >= 0 else None
        return goal.speed if isinstance(goal, MotionGoal) else 1.0

    def _look_at_rest(self, loop: WatchedLoop) -> None:
        """Find what moves though a stop was obeyed and nobody has asked for anything since."""
        state, now_s = loop.player.state, self._loop.time()
        if state not in ACTIVE:
            self._rest_by_s = None
        elif self._rest_by_s is not None and now_s > self._rest_by_s:
            self._blame(f"{state}: not at rest by {self._rest_by_s:.3f} s, as a stop promised")
            self._rest_by_s = None
        halts = self.account.halts
        if not halts or state not in ACTIVE - {State.STOPPING, State.TEACHING} or self._began < 0:
            return
        goal = self.account.handed[self._began].goal
        order = next(sent.order for sent in self.account.sent if sent.goal_id == goal.goal_id)
        halt = next((one for one in halts if one.order > order and one.number), None)
        if halt is not None and loop.channel.received >= halt.number:
            self._blame(f"{state}: {goal.motion} of request {order} moves after the {halt.kind} {halt.order}")

    # -- what the daemon does -------------------------------------------------------------------------------

    def _take_command(self, command: Command, number: int) -> None:
        if isinstance(command, messages.Speed) and self._session.goal is not None:
            handed = self.account.handed[self._goals[self._session.goal.goal_id]]
            handed.fastest = max(handed.fastest, command.speed)
            assert isinstance(handed.goal, MotionGoal)
            handed.doubts = max(handed.doubts, self._doubts(handed.goal, command.speed))
        if isinstance(command, messages.Play | messages.Follow | messages.Chain) and number:
            goal = self._begins
            assert goal is not None
            play = command.play if isinstance(command, messages.Chain) else command
            self._refuse_halted(goal)
            if isinstance(play, messages.Play) and play.takes_over:
                self._offered[goal.goal_id] = goal, play
                return
            self._note_goal(goal, play)
            if not isinstance(command, messages.Chain):
                self._note_sent(goal.goal_id)
            else:
                self._note_chain(goal)

    def _note_chain(self, goal: MotionGoal) -> None:
        """Take of both goals how fast the clock may go and ramp on the blend."""
        assert self._blends is not None
        assert self._blend is not None
        ramp = self._blend.clock_acceleration
        for one in (goal, self._blends):
            handed = self.account.handed[self._goals[one.goal_id]]
            handed.doubts = max(handed.doubts, ramp if ramp <= self._least_ramp * (1 + 1e-9) else 0.0)
            handed.fastest = max(handed.fastest, goal.speed, self._blends.speed)
        self.account.acts["chained"] += 1

    def _note_sent(self, goal_id: str) -> None:
        """Take that a goal begins."""
        account = self.account
        if goal_id in self._goals and all(sent.goal_id != goal_id for sent in account.sent):
            goal = account.handed[self._goals[goal_id]].goal
            order = self._order_of(goal)
            account.sent.append(Sent(goal_id, goal.motion, order, self._loop.time(), len(account.halts)))

    def _note_goal(self, goal: MotionGoal | FollowGoal, command: messages.Play | messages.Follow) -> None:
        account = self.account
        if goal.goal_id not in self._goals:
            self._goals[goal.goal_id] = len(account.handed)
            handed = Handed(goal, command, 0.0, 1.0)
            if isinstance(goal, MotionGoal):
                handed.doubts, handed.fastest = self._doubts(goal, goal.speed), max(1.0, goal.speed)
            account.handed.append(handed)

    def _refuse_halted(self, goal: MotionGoal | FollowGoal) -> None:
        order = self._order_of(goal)
        halt = next((one for one in self.account.halts if one.order > order), None)
        if halt is not None:
            self._blame(f"{goal.motion} of request {order} begins after the {halt.kind} {halt.order}")

    def _order_of(self, goal: MotionGoal | FollowGoal) -> int:
        """Return the number of the request that a goal belongs to: what follows one has its."""
        if goal.goal_id in self._orders:
            return self._orders[goal.goal_id]
        if isinstance(goal, MotionGoal) and goal.group_start is not None:
            return int(self._orders[goal.group_start])
        leaves = [halt.order for halt in self.account.halts if halt.kind == "leave"]
        return leaves[0] if leaves else self.account.sent[-1].order

    def _doubts(self, goal: MotionGoal, speed: float) -> float:
        ramp = self._robot.planner.clock_acceleration(goal.playback, speed)
        return ramp if ramp <= self._least_ramp * (1 + 1e-9) else 0.0

    def _take_report(self, report: Report) -> None:
        if report.subject != "result":
            return
        data = report.data
        self.account.results.append((self._loop.time(), data))
        if data["code"] != "SUCCESSFUL":
            self._note_reason("an end")
        number = self._goals.get(data["goal_id"])
        if number is not None:
            handed = self.account.handed[number]
            handed.ended.append(
                messages.Ended(
                    data["goal_id"], data["code"], data["message"], data["played_s"], data["details"]
                )
            )
            handed.ended_at = self._ticks

    # -- what is asked --------------------------------------------------------------------------------------

    @contextmanager
    def _as_request(self, verb: str) -> Iterator[Asked]:
        asked = Asked(len(self.account.asked) + 1, verb, {}, self._loop.time())
        self.account.asked.append(asked)
        token = REQUEST.set(asked.order)
        try:
            yield asked
        finally:
            REQUEST.reset(token)

    def _ask(self, verb: str, **values: Any) -> None:
        """Send a request; nobody waits for it here."""
        if self._lease is not None and not verb.startswith("lease/") and verb not in {"stop", "estop"}:
            values["lease"] = self._lease
        self.account.steps += 1
        with self._as_request(verb) as asked:
            asked.values = values
            raw = RawRequest(ROBOT, verb, json.dumps(values).encode())
            task = asyncio.create_task(self._serve(raw, asked), name=f"request {asked.order} {verb}")
            self._requests[task] = asked
            task.add_done_callback(self._requests.pop)

    async def _serve(self, raw: RawRequest, asked: Asked) -> None:
        answer = json.loads(await self._dispatcher.answer(raw))
        asked.answer, asked.answered_s = answer, self._loop.time()
        if asked.answered_s - asked.at_s > ANSWER_S:
            self._blame(f"{asked.verb} was answered after {asked.answered_s - asked.at_s:.3f} s")
        if answer.get("code") == "INTERNAL":
            self._blame(f"{asked.verb}: {answer['error']}")
        if asked.is_accepted:
            self._take_answer(asked, answer["data"])

    def _take_answer(self, asked: Asked, data: dict[str, Any]) -> None:
        if asked.verb in {"lease/acquire", "lease/take"}:
            self._lease = data["lease"]
        elif asked.verb == "fleet/prepare":
            self._start = data
            self._orders[data["start"]] = asked.order

    def _do(self, act: str, **values: Any) -> None:
        """Let something happen: a request that is sent as it stands, or what has a method of its own."""
        if act not in REQUESTS:
            getattr(self, f"_{act}")(**values)
            return
        if act == "reset":
            self._note_reason("reset")
        verb, fixed = REQUESTS[act]
        lease = {"lease": self._lease} if verb in {"lease/renew", "lease/release"} and self._lease else {}
        self._ask(verb, **fixed, **values, **lease)

    def _play(self, *, blend_s: float = 0.0, **values: Any) -> None:
        asked = self._motion_values(**values)
        if blend_s:
            asked["blend_s"] = self._blend_for(asked, blend_s)
        self._ask("play", **asked)

    def _blend_for(self, asked: dict[str, Any], blend_s: float) -> float:
        """Return a blend as it was meant, or one of those that would do instead where there are some."""
        session, planner = self._session, self._robot.planner
        held = session.known.reference
        if held is None or not (session.begin or session.goal or session.queue):
            return blend_s
        before, held = session.ends_before(held)
        try:
            request = PlayRequest.model_validate(asked | {"blend_s": blend_s})
            if before is not None:
                planner.blend_of(before, new_goal(planner.playback_for(request), request), held)
        except RequestError as error:
            longest_s = error.data.get("longest_s", blend_s)
            return float(np.clip(blend_s, error.data.get("shortest_s", blend_s), longest_s))
        return blend_s

    def _motion_values(
        self,
        *,
        motion: str,
        speed_share: float,
        ends: tuple[float, float] | None = None,
        in_s: float | None = None,
        **values: Any,
    ) -> dict[str, Any]:
        """Return what a request for a motion holds; its speed is a share of what there is."""
        plan = self.life.plans.get(motion)
        asked: dict[str, Any] = {"motion": motion, **values}
        if plan is not None and ends is not None:
            rows = sorted(int(share * (len(plan.positions) - 1)) for share in ends)
            asked["first"], asked["last"] = ({"time": row / plan.rate_hz} for row in rows)
        if in_s is not None:
            asked["start_at"] = time.time() + max(0.0, in_s) + 0.2
        if speed_share >= 0.0:
            keys = ("motion", "loop", "ping_pong", "seam", "first", "last")
            known = {key: asked[key] for key in keys if key in asked}
            with suppress(RequestError):
                playback = self._robot.planner.playback_for(PlayRequest.model_validate(known))
                asked["speed"] = min(10.0, max(0.1, _speed(speed_share, playback.track.max_speed)))
        return asked

    def _sequence(self, **values: Any) -> None:
        self._ask("sequence", **values)

    def _goto(self, fraction: float, on_busy: str, *, from_beyond: bool = False) -> None:
        lower, upper = span_of(self.life.joint_map)
        row = lower + fraction * (upper - lower)
        joints = dict(zip(self.life.joint_map.joints, row.tolist(), strict=True))
        self._ask("goto", joints=joints, on_busy=on_busy, from_beyond=from_beyond)

    def _target(self, fractions: list[float], shares: list[float], left: list[bool]) -> None:
        """Send a target by the mode of what is followed: positions or velocities, None where one is left."""
        lower, upper = span_of(self.life.joint_map)
        goal = self._session.goal
        by_velocity = isinstance(goal, FollowGoal) and goal.request.mode == "velocity"
        values = lower + np.array(fractions[: lower.size]) * (upper - lower)
        if by_velocity:
            values = np.array(shares[: lower.size]) * self.life.joint_map.limits.velocity
        target = [None if leaves else value for value, leaves in zip(values.tolist(), left, strict=False)]
        kind = "velocities" if by_velocity else "positions"
        self._ask("follow/target", goal_id=self._followed, **{kind: target})

    def _chunk(self, fractions: list[list[float]], period_s: float) -> None:
        lower, upper = span_of(self.life.joint_map)
        rows = lower + np.array(fractions)[:, : lower.size] * (upper - lower)
        self._ask("follow/chunk", goal_id=self._followed, positions=rows.tolist(), period_s=period_s)

    @property
    def _followed(self) -> str:
        goal = self._session.goal
        return goal.goal_id if isinstance(goal, FollowGoal) else "none"

    def _speed(self, share: float) -> None:
        goal = self._session.goal
        speed = _speed(share, goal.playback.track.max_speed) if isinstance(goal, MotionGoal) else 1.0
        self._ask("speed", speed=min(10.0, max(0.1, speed)))

    def _seek(self, share: float) -> None:
        at_s = 0.0
        if isinstance(goal := self._session.goal, MotionGoal):
            passes = goal.playback.passes
            row = passes.first + round(share * (passes.last - passes.first))
            at_s = (row + goal.playback.offset) / goal.playback.plan.rate_hz
        self._ask("seek", time=max(0.0, at_s))

    def _waiting(self) -> str:
        return next((goal.goal_id for goal in self._session.queue), "none")

    def _queue_remove(self) -> None:
        self._note_reason("queue")
        self._ask("queue/remove", goal_id=self._waiting())

    def _queue_move(self, place: int) -> None:
        self._ask("queue/move", goal_id=self._waiting(), place=place)

    def _queue_clear(self) -> None:
        self._note_reason("queue")
        self._ask("queue/clear")

    def _prepare(self, expires_s: float, **values: Any) -> None:
        asked = self._motion_values(**values)
        self._ask("fleet/prepare", start=f"s{next(self._starts)}", expires_s=expires_s, **asked)

    def _commit(self, in_s: float) -> None:
        if self._start:
            start_at = time.time() + self._start["ready_in_s"] + in_s
            start, token = self._start["start"], self._start["token"]
            self._ask("fleet/commit", start=start, token=token, robots=[ROBOT], start_at=start_at)

    def _release(self) -> None:
        if self._start:
            self._ask("fleet/release", start=self._start["start"], token=self._start["token"])

    def _break_off(self) -> None:
        with self._as_request("fleet/break off"):
            start = self._start.get("start", "none")
            self._registry.reservations[ROBOT].break_off(start, "another has failed", "leg")

    def _change_motion(self, share: float) -> None:
        for motion in self.life.plans:
            self._write(motion, share)
        self._ask("motions/reload")

    def _give_up(self) -> None:
        for task, asked in [*self._requests.items()][:1]:
            asked.given_up = True
            task.cancel()

    # -- what goes wrong ------------------------------------------------------------------------------------

    def _late(self, periods: float) -> None:
        if self._loops is not None and self._loops.player.active:
            self._oversleep(periods * self._loops.schedule.period_s)

    def _too_late(self, late_s: float) -> None:
        if self._loops is not None and self._loops.player.active:
            self._oversleep(late_s)

    def _oversleep(self, late_s: float) -> None:
        if self._clock is not None:
            self._clock.oversleep_s = late_s
            self._late_reason = self._note_reason("late", math.inf)

    def _note_reason(self, kind: str, lasts_s: float = 0.0) -> Reason:
        now_s = self._loop.time()
        self.account.reasons.append(Reason(kind, now_s, now_s + lasts_s))
        return self.account.reasons[-1]

    def _end_reasons(self) -> None:
        now_s = self._loop.time() + TICK_S
        if self._clock is not None and not self._clock.oversleep_s:
            self._late_reason.ends_s = min(self._late_reason.ends_s, now_s)
        if self._driver is not None and self._driver.failing is None:
            self._fault_reason.ends_s = min(self._fault_reason.ends_s, now_s)

    def _driver_fails(self, during: str) -> None:
        self._fail(during, DriverError("servo 7", "overload"))

    def _bus_is_lost(self, during: str) -> None:
        self._fail(during, CommunicationLost("/dev/ttyUSB0", "bus lost"))

    def _fail(self, during: str, error: Exception) -> None:
        if self._driver is not None:
            self._driver.failing = during, error
            self._fault_reason = self._note_reason("fault", math.inf)

    def _daemon_dies(self) -> None:
        """Let the stream process find that its daemon has gone, as where that was killed."""
        process = self._robot.stream._process
        if process is not None:
            self._note_reason("fault", LEAVE_S)
            process._channel._socket.shutdown(socket.SHUT_RDWR)

    def _daemon_hangs(self, for_s: float) -> None:
        """Send no heartbeats for a while."""
        process = self._robot.stream._process
        if process is not None:
            send = process.send
            self._note_reason("silence", for_s + TICK_S)
            process.send = lambda *sent: isinstance(sent[0], messages.Heartbeat) or send(*sent)  # type: ignore[method-assign]
            self._loop.call_later(for_s, setattr, process, "send", send)

    def _kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _crash(self) -> None:
        self._signal(signal.SIGSEGV)

    def _signal(self, number: signal.Signals, noticed_in_s: float = 0.1) -> None:
        self._note_reason("fault", noticed_in_s)
        self._rest_by_s = None
        with suppress(ProcessLookupError):
            self._forks.send_signal(self._robot.stream.pid or 0, number)

    def _hang(self, for_s: float) -> None:
        pid = self._robot.stream.pid or 0
        self._note_reason("late", for_s + TICK_S)
        self._signal(signal.SIGSTOP, for_s + WATCH_S)
        self._hangs_until_s = self._loop.time() + for_s

        def go_on() -> None:
            with suppress(ProcessLookupError):
                self._forks.send_signal(pid, signal.SIGCONT)

        self._loop.call_later(for_s, go_on)

    def _hand(self, joint: int, fraction: float, for_s: float) -> None:
        """Let a hand move a joint to a place between its limits, or beyond, wherever it gives way."""
        lower, upper = span_of(self.life.joint_map)
        to = float(lower[joint] + fraction * (upper - lower)[joint])
        if self._driver is not None:
            name = self.life.joint_map.actuators[joint]
            self._driver.inject({"fault": "hand", "actuator": name, "to": to, "for_s": for_s})

    def _rest(self, ticks: int) -> None:
        """Let ticks pass."""


def rate_of(goal: MotionGoal | FollowGoal) -> float:
    """Return how many setpoints of a goal there are in a second."""
    return goal.rate_hz if isinstance(goal, MotionGoal) else goal.setpoints_hz


def _speed(share: float, most: float) -> float:
    """Return a speed between the slowest and the fastest, half of them below 1."""
    return 0.1 + 1.8 * share if share < 0.5 else 1.0 + 2.0 * (share - 0.5) * (most - 1.0)


async def _cancelled(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Log(logging.Handler):
    """Keeps what failed unforeseen."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._problems = problems

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self._problems.append(f"log: {record.getMessage()}: {record.exc_info[1]!r}")


def account_of(life: Life) -> Account:
    """Live a life, and return what became of it."""
    problems: list[str] = []
    handler, logger = Log(problems), logging.getLogger("motiond")
    logger.addHandler(handler)
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            patch.object(ring, "RECORDS", RECORDS),
            asyncio.Runner(loop_factory=VirtualLoop) as runner,
        ):
            account = runner.run(_lived(life, Path(folder)))
    finally:
        logger.removeHandler(handler)
    account.problems += problems
    if left := [*NETWORK.sockets.values()]:
        account.problems.append(f"left behind: {left}")
        NETWORK.close()
    return account


async def _lived(life: Life, folder: Path) -> Account:
    account = await Engine(life, folder).live()
    left = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if left:
        account.problems.append(f"tasks left behind: {left}")
    return account
