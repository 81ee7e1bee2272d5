"""A play without a daemon, on simulated actuators and virtual time: what `motiond play --dry-run` does.

Library, planner, goals, stream loop and driver are those of a real play; there is no other process, and
nothing waits. The result is the one that a daemon would report; a trace of every tick is kept if wanted.
"""

from __future__ import annotations

import gc
import logging
import os
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.drivers import make_driver

from ..api import RequestError, unknown_robot
from ..ipc import messages, ring
from ..ipc.channel import Channel
from ..joints import (
    build_joint_map,
    joint_bounds,
    load_model,
    never_fails,
    with_gravity,
    with_payload,
    with_stops,
)
from ..physics import with_physics
from ..planning import MotionLibrary, make_checks, unnoticed
from ..robots import GoalPlanner, make_setup, new_goal, result_payload
from ..stream.engine import StreamLoop
from ..stream.timing import VirtualClock
from ..telemetry import Extremes, PlayTrace, Timing

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from motiond.formats.arrays import Floats

    from ..api import GoalResult, PlayRequest
    from ..config.robot import RobotSettings
    from ..config.settings import Settings
    from ..joints import JointMap
    from ..robots import MotionGoal

log = logging.getLogger(__name__)


SIMULATED = "sim"
OUTSIDE = frozenset({"faults", "plant", "trace"})
"""Options of simulated actuators that reach beyond one play: its files, and scripts that end the process."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """How a play went."""

    result: dict[str, Any]  # as a daemon reports it, JSON-ready, and `events`
    in_place_of: str | None  # the driver that simulated actuators stood in for
    lasted_s: float  # of virtual time, from the first setpoint to the end
    took_s: float  # of real time
    trace: dict[str, NDArray[Any]] | None  # as docs/dry-run.md has it

    def payload(self) -> dict[str, Any]:
        """Return all but the trace JSON-ready."""
        run = {"in_place_of": self.in_place_of, "lasted_s": self.lasted_s, "took_s": self.took_s}
        return {**self.result, "dry_run": run}


def run_dry(settings: Settings, name: str, request: PlayRequest, *, traced: bool = False) -> DryRun:
    """Play a motion on simulated actuators, as fast as it goes.

    Raises
    ------
    RequestError
        If the request is refused, as by a daemon.
    FormatError, JointMapError, DriverError, PhysicsError
        If the robot cannot be made of its description, joints and driver.
    """
    if name not in settings.robots:
        raise unknown_robot(name, settings.robots)
    robot = settings.robots[name]
    _refuse_endless(name, request)
    model = load_model(robot, settings)
    joint_map = build_joint_map(name, model, robot.joints)
    options = with_physics(robot.driver.type, robot.driver.options, model, joint_map, robot.payload)
    laden = with_payload(name, model, robot.payload)
    options = with_gravity(robot.driver.type, options, laden, joint_map)
    driver = make_driver(robot.driver.type, options, joint_map.actuators)
    narrowed = joint_map.within(driver.limits)
    bounds = joint_bounds(narrowed, robot)
    if warning := never_fails(narrowed, bounds):
        log.warning("%s: %s", name, warning)
    checks = make_checks(robot, model, joint_map)
    library = MotionLibrary(
        narrowed, robot, driver.max_rate_hz, min_rate_hz=driver.min_rate_hz, checks=checks
    )
    library.load_all()
    simulated = _simulated(robot, narrowed, options)
    setup = make_setup(name, robot, settings, joint_map, simulated, allowed=driver.limits)
    with closing(GoalPlanner(name, robot, library)) as goals, closing(_Stage(setup)) as stage:
        goal = new_goal(goals.playback_for(request), request)
        if warning := unnoticed(goal.plan, narrowed, robot, bounds):
            log.warning("%s: %s", name, warning)
        stage.begin(goals, goal)
        trace = PlayTrace(len(setup.joints), goal.plan.frames_per_tick) if traced else None
        timing, extremes, took_s = stage.run(trace.add if trace else None)
        (ended,) = stage.ended
        result = result_payload(goal, ended, narrowed, timing=timing, extremes=extremes, bodies=stage.bodies)
        in_place_of = None if robot.driver.type == SIMULATED else robot.driver.type
        arrays = _arrays(trace, joint_map, goal, result) if trace else None
        events = [event for notice in stage.notices if (event := _event(goal, notice))]
        return DryRun({**result, "events": events}, in_place_of, stage.clock.now(), took_s, arrays)


def _refuse_endless(name: str, request: PlayRequest) -> None:
    if request.loop == "forever":
        problem, reason = "loop is 'forever'", "a dry run has to end"
        raise RequestError("INVALID_REQUEST", f"{name}/play", problem, reason, "set it to a number")
    if request.source == "feedback":
        problem, reason = "source is 'feedback'", "a dry run plays motions of the library as they are"
        raise RequestError("INVALID_REQUEST", f"{name}/play", problem, reason, "leave it out")
    if request.start_at is not None:
        problem, reason = f"start_at is {request.start_at}", "a dry run is on virtual time"
        raise RequestError("INVALID_REQUEST", f"{name}/play", problem, reason, "leave it out")


def _simulated(robot: RobotSettings, joint_map: JointMap, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the actuators that play: a simulated robot's own, or default ones."""
    simulates = robot.driver.type == SIMULATED
    own = {option: value for option, value in options.items() if simulates and option not in OUTSIDE}
    return with_stops(SIMULATED, own, joint_map)


class _KeepingChannel(Channel):
    """The stream's end of a channel, which keeps what is sent, as nothing reads the other end meanwhile."""

    def __init__(self, end: socket.socket) -> None:
        super().__init__(end)
        self.sent: list[messages.Command | messages.Notice] = []

    def send(
        self, message: messages.Command | messages.Notice, _fds: tuple[int, ...] = (), _number: int = 0
    ) -> int:
        """Keep a message; changes, which come with each pass, add nothing to the trace but an end."""
        if not isinstance(message, messages.Changed) or message.ended:
            self.sent.append(messages.decode(messages.encode(message))[0])
        return 0


class _Stage:
    """A stream loop on virtual time with simulated actuators, and the daemon's ends of channel and ring."""

    def __init__(self, setup: messages.Setup) -> None:
        self.clock = VirtualClock()
        self._driver = make_driver(SIMULATED, setup.options, setup.actuators, self.clock.now)
        self._driver.open()
        setup = replace(setup, contact_slots=self._driver.contact_slots)
        self._channel, theirs = Channel.pair()
        self._theirs = _KeepingChannel(theirs)
        joints = self._joints = len(setup.joints)
        widths = joints, setup.contact_slots
        fd = ring.create(*widths)
        self._writer, self._reader = ring.RingWriter(fd, *widths), ring.RingReader(fd, *widths)
        os.close(fd)
        self._loop = StreamLoop(setup, self._driver, self.clock, self._theirs, self._writer)

    def begin(self, goals: GoalPlanner, goal: MotionGoal) -> None:
        """Take hold, and hand a goal over; the first setpoint is then due at time 0."""
        self._channel.send(messages.Enable())
        self._loop.step()
        with goals.prepare(goal, self._loop.player.position.tolist()) as made:
            self._channel.send(made.command, made.fds)
        self._reader.take()

    def run(self, keep: Callable[[Floats], None] | None) -> tuple[Timing, Extremes, float]:
        """Tick until the goal has ended; give timing and extremes of the ticks, and how long it took in s."""
        step, player = self._loop.step, self._loop.player
        timing, extremes = Timing(), Extremes(self._joints)
        begun_s = time.perf_counter()
        goes_on = True
        with _no_collector():
            while goes_on:
                goes_on = all(step() and player.execution is not None for _ in range(ring.RECORDS))
                records = self._reader.take()
                timing.add(records, 0)
                extremes.add(records)
                if keep is not None:
                    keep(records)
        return timing, extremes, time.perf_counter() - begun_s

    @property
    def bodies(self) -> tuple[str, ...]:
        """What can touch, by the numbers in contacts."""
        return self._driver.bodies

    @property
    def notices(self) -> list[messages.Command | messages.Notice]:
        """What the loop has sent."""
        return self._theirs.sent

    @property
    def ended(self) -> list[messages.Ended]:
        """The goals that have ended."""
        return [
            ended for notice in self.notices if isinstance(notice, messages.Changed) for ended in notice.ended
        ]

    def close(self) -> None:
        """Free everything."""
        self._driver.close()
        self._channel.close()
        self._theirs.close()
        self._writer.close()
        self._reader.close()


@contextmanager
def _no_collector() -> Iterator[None]:
    """Keep the garbage collector away, as a stream process does; it costs a tenth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _event(goal: MotionGoal, notice: messages.Command | messages.Notice) -> dict[str, Any] | None:
    match notice:
        case messages.Happened():
            return {"kind": notice.kind, "message": notice.message}
        case messages.Reached():
            marker = goal.playback.markers[notice.marker]
            message = f"{goal.motion}: {marker.name}"
            return {"kind": "marker", "message": message, "marker": marker.name, "loop": notice.loop}
    return None


def _arrays(
    trace: PlayTrace, joint_map: JointMap, goal: MotionGoal, result: GoalResult
) -> dict[str, NDArray[Any]]:
    scalars = {
        "robot": joint_map.robot,
        "motion": goal.motion,
        "joints": list(joint_map.joints),
        "units": list(joint_map.units),
        "continuous": joint_map.continuous,
        "rate_hz": goal.rate_hz,
        "result": result["code"],
        "message": result["message"],
    }
    return trace.arrays() | {name: np.array(value) for name, value in scalars.items()}
