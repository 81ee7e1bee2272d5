"""The state machine of one robot: which setpoint is due, and how a goal ends.

In come events (play, stop, estop, reset, faults) and ticks, out come the reference for each tick and one
result for each goal. It does no input or output and does not know the time: the streaming loop tells it how
many ticks have passed, so the same events give the same setpoints on any clock.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..ipc.states import ACTIVE, HALTED, SLOWING, STATES, TRANSITIONS, Event, ResultCode, State
from ..trajectory.clock import TrajectoryClock
from ..trajectory.route import Leg

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ..trajectory.route import Route
    from ..trajectory.track import Track
    from .tolerances import Excess, Tolerances

    Booleans: TypeAlias = NDArray[np.bool_]
    Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Goal:
    """One play, from its acceptance to its result.

    Attributes
    ----------
    speed : float
        Rows of the motion per tick, to begin with.
    clock_acceleration : float
        In 1/s: how fast the clock's rate may change on the motion at that speed.
    path, goal : Tolerances
        Of the feedback, while the motion plays and after its last row.
    goal_ticks : float
        How many ticks after the last row the joints may take to come within the goal tolerance.
    not_before : int
        The tick, counted from 1, in which the first row is due at the earliest.
    offset : int
        The row of the plan that is the first of the motion's track.
    markers : tuple of float
        Places to tell of as they are passed, in rows of the plan, ascending.
    """

    goal_id: str
    motion_name: str
    route: Route
    speed: float
    clock_acceleration: float
    path: Tolerances
    goal: Tolerances
    goal_ticks: float
    not_before: int = 0
    offset: int = 0
    markers: tuple[float, ...] = ()

    @property
    def rate_hz(self) -> float:
        """Rows per second at speed 1."""
        return self.route.motion.rate_hz


class Passed(NamedTuple):
    """A marker of a goal that was passed: its number, in which pass, and how many ticks ago."""

    goal: Goal
    marker: int
    loop: int
    ticks_ago: float


@dataclass(frozen=True, slots=True)
class Result:
    """How a goal ended."""

    goal: Goal
    code: ResultCode
    message: str
    played_ticks: int
    details: dict[str, Any] = field(default_factory=dict)


class Player:
    """One robot's state and reference.

    Parameters
    ----------
    joints, units : sequence of str
        For messages.
    position, velocity : ndarray, shape (joints,)
        Where the reference is written, in place: views of the telemetry record. The velocity is 0 at rest.

    Attributes
    ----------
    state : State
    active, slowing, halted : bool
        Whether it is one of `ACTIVE` (there is a goal), `SLOWING` (on the way to rest, or there) or `HALTED`.
    speed : float
        Rows of the motion per tick that are aimed at while it plays.
    state_number : int
        Its place in `STATES`.
    changes : int
        Counts what happens to the state, the torque or the goal, so that one look tells whether to report.
    torque : bool
        Whether the actuators hold; without torque there is no reference.
    goal_count : int
        Goals taken since the start.
    frame : float
        The place on the newest goal's motion, in rows of the plan.
    loop : int
        The pass over it, counted from 1.
    passed : list of Passed
        Markers that were passed, until somebody takes them out.
    """

    def __init__(
        self, joints: Sequence[str], units: Sequence[str], position: Floats, velocity: Floats
    ) -> None:
        self._joints, self._units = joints, units
        self.position = position
        self.velocity = velocity
        self.velocity[:] = 0.0
        self.changes = 0
        self._enter(State.IDLE)
        self.torque = False
        self.goal: Goal | None = None
        self.goal_count = 0
        self.frame = 0.0
        self.loop = 1
        self.speed = 1.0
        self.clock = TrajectoryClock()
        self.results: list[Result] = []
        self.passed: list[Passed] = []
        self._leg: Leg | None = None
        self._begin_row: int | None = None
        self._pauses_there = False
        self._waiting = False
        self._arrived = False
        self._looked_at = math.nan
        self._elapsed = 0
        self._waited_ticks = 0
        self._played_ticks = 0
        self._stop_details: dict[str, Any] = {}
        self._clock_acceleration = 0.0
        self._stop_code = ResultCode.CANCELED
        self._stop_message = ""

    # -- events ---------------------------------------------------------------------------------------------

    def hold(self, measured: Floats) -> None:
        """Take torque as switched on, with the measured positions (joints,) as the reference."""
        self.position[:] = measured
        self.velocity[:] = 0.0
        self.torque = True
        self.changes += 1

    def release(self) -> None:
        """Take torque as switched off."""
        self.velocity[:] = 0.0
        self.torque = False
        self.changes += 1

    def play(self, goal: Goal) -> None:
        """Begin a goal; only from idle, with torque on."""
        self.goal = goal
        self.goal_count += 1
        self.frame, self.loop = float(goal.offset + goal.route.passes.first), 1
        self.speed, self._clock_acceleration = goal.speed, goal.clock_acceleration
        self._elapsed = self._played_ticks = self._waited_ticks = 0
        self._arrived = self._waiting = self._pauses_there = False
        self._begin_row = None
        self._apply(Event.PLAY)
        self._approach(goal, goal.route.approach)

    def seek(self, approach: Track, row: int, *, goes_on: bool) -> None:
        """Go to another row of the motion's track, and on from there or wait there; only while paused."""
        if self.goal is not None and (self.state, Event.SEEK) in TRANSITIONS:
            self._begin_row, self._pauses_there = row, not goes_on
            self._waiting = False
            self._apply(Event.SEEK)
            self._approach(self.goal, approach)

    def stop(self, code: ResultCode, message: str, details: dict[str, Any] | None = None) -> None:
        """Slow down on the path and end the goal with `code`; while stopping or at rest nothing changes."""
        if (self.state, Event.STOP) in TRANSITIONS:
            self._stop_code, self._stop_message, self._stop_details = code, message, details or {}
            self.clock.aim(0.0)
            self._apply(Event.STOP)

    def pause(self) -> None:
        """Slow down on the path and wait there; only on the way."""
        if (self.state, Event.PAUSE) in TRANSITIONS and not self._arrived:
            self.clock.aim(0.0)
            self._apply(Event.PAUSE)

    def resume(self) -> None:
        """Go on along the path at the speed that was asked for last."""
        on_motion = self._on_motion
        event = Event.RESUME if on_motion else Event.RETURN
        if (self.state, event) in TRANSITIONS:
            self._pauses_there = False
            self.clock.aim(self.speed if on_motion else 1.0)
            self._apply(event)

    def set_speed(self, speed: float, clock_acceleration: float) -> None:
        """Play the motion at another speed, from now on or from when it goes on; the approach keeps its own.

        Parameters
        ----------
        clock_acceleration : float
            In 1/s: how fast the clock's rate may change at that speed.
        """
        if self.goal is None:
            return
        self.speed, self._clock_acceleration = speed, clock_acceleration
        if self._on_motion:
            self.clock.max_slope = clock_acceleration / self.goal.rate_hz
            if self.state is State.PLAYING:
                self.clock.aim(speed)

    def estop(self) -> None:
        """Latch the emergency stop; a goal ends with ESTOP."""
        self._apply(Event.ESTOP)
        self.velocity[:] = 0.0
        self._end(ResultCode.ESTOP, "emergency stop; halted at once; reset when it is safe")

    def fault(self, code: ResultCode, message: str, details: dict[str, Any] | None = None) -> None:
        """Latch a fault; a goal ends with `code`."""
        self._apply(Event.FAULT)
        self.velocity[:] = 0.0
        self._end(code, message, details)

    def reset(self) -> None:
        """Leave the emergency stop; the caller then holds or releases."""
        self._apply(Event.RESET)

    # -- time -----------------------------------------------------------------------------------------------

    def tick(self, ticks: int, due: int = 0) -> None:
        """Move the reference on.

        Parameters
        ----------
        ticks : int
            By so much; more than 1 where deadlines were missed and are skipped.
        due : int
            How many ticks have become due; `ticks` where it is left out.
        """
        goal = self.goal
        if goal is None or not self.active:
            return
        self._elapsed += due or ticks
        if self._arrived:
            self._waited_ticks += ticks
            if self.slowing:
                self._conclude(goal, at_end=True)
            return
        if self._waiting and not (ticks := self._ticks_since_due(goal, ticks)):
            return
        self._move(goal, ticks)

    def _move(self, goal: Goal, ticks: int) -> None:
        leg = self._leg
        if leg is None:
            return
        if leg.eases_out:
            self.clock.brake_for(leg.length, ticks)
        place = max(0.0, self.clock.advance(ticks))  # a ramp that begins before row 0 is there at first
        while leg.seamless and place >= leg.length:
            leg, place = self._pass_seam(goal, leg)
        at_end = place >= leg.length
        if at_end:
            place = self.clock.position = float(leg.length)
        row = leg.first + leg.direction * place
        leg.track.sample(row, self.position, self.velocity, self.clock.rate * leg.direction)
        if leg.on_motion:
            self.frame = row + goal.offset
            self._played_ticks += ticks
            if goal.markers:
                self._look_for_markers(goal, leg, self.frame)
        if at_end or self.slowing:
            self._conclude(goal, at_end=at_end)

    def _pass_seam(self, goal: Goal, leg: Leg) -> tuple[Leg, float]:
        """Pass from the end of a pass into the next one; give that, and the place on it."""
        if goal.markers:
            self._look_for_markers(goal, leg, float(goal.offset + leg.last))
        self.loop += 1
        self.clock.carry_back(leg.length)
        self._leg = goal.route.leg(self.loop - 1)
        self._looked_at = math.nan
        return self._leg, self.clock.position

    def _ticks_since_due(self, goal: Goal, most: int) -> int:
        """Begin the motion when its time has come; give how many ticks it has to move, 0 before."""
        if self.slowing:
            self._conclude(goal, at_end=True)
            return 0
        since = self._elapsed - goal.not_before
        if since < 0:
            return 0
        self._begin_motion(goal)
        return min(since + 1, most)

    def _look_for_markers(self, goal: Goal, leg: Leg, row: float) -> None:
        """Note the markers between the row that was looked at last and this one."""
        markers, fresh = goal.markers, math.isnan(self._looked_at)
        begin = float(goal.offset + leg.first) if fresh else self._looked_at
        if leg.direction > 0:
            first = (bisect_left if fresh else bisect_right)(markers, begin)
            numbers = range(first, bisect_right(markers, row))
        else:
            end = (bisect_right if fresh else bisect_left)(markers, begin)
            numbers = range(end - 1, bisect_left(markers, row) - 1, -1)
        for number in numbers:
            ago = abs(row - markers[number]) / self.clock.rate if self.clock.rate > 0.0 else 0.0
            self.passed.append(Passed(goal, number, self.loop, ago))
        self._looked_at = row

    @property
    def _on_motion(self) -> bool:
        return self._leg is not None and self._leg.on_motion

    def watch(self, measured: Floats, forgiven: Booleans | None = None) -> None:
        """Hold feedback against the goal's tolerances, once the tick's setpoint is written.

        Parameters
        ----------
        measured : ndarray, shape (joints,)
        forgiven : ndarray of bool, shape (joints,), optional
            Joints that may be anywhere, as they have stalled and may.
        """
        goal = self.goal
        if goal is None or self.slowing or not self._on_motion:
            return
        if self._arrived:
            self._settle(goal, goal.goal.worst(self.position, measured, forgiven))
        elif goal.path.any and (excess := goal.path.worst(self.position, measured, forgiven)):
            message = f"{self._off(goal, excess)}; its path tolerance is"
            self._break_off(goal, ResultCode.PATH_TOLERANCE_VIOLATED, message, excess)

    def _settle(self, goal: Goal, excess: Excess | None) -> None:
        """End the goal where the joints have come near enough, or have had their time."""
        if excess is None:
            self._come_to_rest(Event.FINISHED)
            self._end(ResultCode.SUCCESSFUL, "the last row is out and held")
        elif self._waited_ticks >= goal.goal_ticks:
            waited_s = self._waited_ticks / goal.rate_hz
            message = f"{self._off(goal, excess)}, {waited_s:.3f} s after the last row; its goal tolerance is"
            self._break_off(goal, ResultCode.GOAL_TOLERANCE_VIOLATED, message, excess)

    def _off(self, goal: Goal, excess: Excess) -> str:
        joint, unit = self._joints[excess.joint], self._units[excess.joint]
        at_s = self.frame / goal.rate_hz
        far = "without feedback" if math.isnan(excess.error) else f"{excess.error:.4g} {unit} off"
        return f"joint '{joint}' is {far} at {at_s:.3f} s (row {self.frame:.0f})"

    def _break_off(self, goal: Goal, code: ResultCode, message: str, excess: Excess) -> None:
        joint, unit = self._joints[excess.joint], self._units[excess.joint]
        details = {
            "joint": joint,
            "error": None if math.isnan(excess.error) else excess.error,
            "tolerance": excess.tolerance,
            "unit": unit,
            "time": self.frame / goal.rate_hz,
        }
        mend = "look for what holds it, or raise the tolerance"
        self.stop(code, f"{message} {excess.tolerance:.4g} {unit}; {mend}", details)

    def _approach(self, goal: Goal, track: Track) -> None:
        """Go to the row that is played next; the track may be empty."""
        if track.last >= 0:
            self._leg = Leg(track, 0, track.last, on_motion=False)
            self.clock.start(1.0, track.clock_acceleration / track.rate_hz)
        else:
            self._go_on_from_approach(goal)

    def _go_on_from_approach(self, goal: Goal) -> None:
        """Begin the motion, or wait for its time."""
        if self._elapsed + 1 < goal.not_before:
            self._waiting = True
            self._leg = None
            self.clock.start(0.0, 1.0)
            self.velocity[:] = 0.0
        else:
            self._begin_motion(goal)

    def _begin_motion(self, goal: Goal) -> None:
        leg = self._leg = goal.route.leg(self.loop - 1, self._begin_row)
        max_slope = self._clock_acceleration / goal.rate_hz
        rests = leg.eases_in or self._pauses_there or leg.is_too_short_to_slow_down(self.speed, max_slope)
        self._waiting, self._begin_row, self._looked_at = False, None, math.nan
        self.frame = float(goal.offset + leg.first)
        self._apply(Event.ARRIVED)
        self.clock.start(0.0 if rests else self.speed, max_slope)
        if self._pauses_there:
            self._pauses_there = False
            self._apply(Event.PAUSE)
            self._come_to_rest(Event.STOPPED)
        elif rests:
            self.clock.aim(self.speed)

    def _conclude(self, goal: Goal, *, at_end: bool) -> None:
        """Take note of the end of a leg, and of the clock's coming to rest."""
        if self.state is State.PAUSED:
            return
        if self.state is State.STOPPING:
            if at_end or self.clock.at_rest:
                self._come_to_rest(Event.STOPPED)
                self._end(self._stop_code, self._stop_message, self._stop_details)
        elif at_end and self._on_motion and goal.route.passes.end_with(self.loop - 1):
            self._arrive()
        elif self.state is State.PAUSING:
            if at_end or self.clock.at_rest:
                self._come_to_rest(Event.STOPPED)
        elif self._on_motion:
            self._repeat(goal)
        else:
            self._go_on_from_approach(goal)

    def _repeat(self, goal: Goal) -> None:
        """Go on to the next pass, from rest at the end of one."""
        self.loop += 1
        if goal.route.return_track.last >= 0:
            self._apply(Event.REPEAT)
            self._approach(goal, goal.route.return_track)
        else:
            self._begin_motion(goal)

    def _arrive(self) -> None:
        """Hold the last row; `watch` ends the goal."""
        self._arrived = True
        self.velocity[:] = 0.0
        if self.state is State.PAUSING:  # there is nothing left to pause
            self._apply(Event.RESUME)

    def _come_to_rest(self, event: Event) -> None:
        self._apply(event)
        self.clock.rest()
        self.velocity[:] = 0.0

    def _end(self, code: ResultCode, message: str, details: dict[str, Any] | None = None) -> None:
        if self.goal is not None:
            self.results.append(Result(self.goal, code, message, self._played_ticks, details or {}))
            self.goal = self._leg = None

    def _apply(self, event: Event) -> None:
        self._enter(TRANSITIONS.get((self.state, event), self.state))

    def _enter(self, state: State) -> None:
        self.changes += 1
        self.state = state
        # Sets and enums are slow to look up in every tick.
        self.active, self.halted, self.slowing = state in ACTIVE, state in HALTED, state in SLOWING
        self.state_number = STATES.index(state)
