"""What one robot plays: its state, its setpoint, and how executions end.

The player makes no input or output and does not know the time: the stream loop gives it events (play, stop,
emergency stop, faults) and how many ticks have passed, so the same events give the same setpoints on any
clock.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...ipc.messages import DROPS, HOLDS, MAY_DROP, TeachingEnded
from ...ipc.states import ACTIVE, HALTED, SLOWING, STATES, TRANSITIONS, Event, ResultCode, State
from ...trajectory import Leg, Motion, TrajectoryClock, longest_stop
from .execution import ON_MOTION, PassedMarker, Phase, Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Floats

    from ...trajectory import Brake, Track
    from .execution import Chained, Execution
    from .pursuit import Pursuit


# Members of enums are slow to look up in every tick.
APPROACH, WAIT, MOTION, SETTLE = Phase.APPROACH, Phase.WAIT, Phase.MOTION, Phase.SETTLE
PAUSED, STOPPING, TEACHING, RETURN = State.PAUSED, State.STOPPING, State.TEACHING, Phase.RETURN


TOO_LATE = "it came too late"
SAME = 1e-9
"""In rad or m: what is less is rounding, between where a setpoint was foreseen and where it is."""


class MarkerCursor:
    """The place up to which markers have been reported. `markers`: in rows of the plan, ascending."""

    def __init__(self, markers: Sequence[float] = ()) -> None:
        self.markers = markers
        self._row = math.nan

    def restart(self) -> None:
        """Take the next row for the first of a pass: markers on it are passed too."""
        self._row = math.nan

    def advance(self, begin: float, row: float, direction: int) -> range:
        """Return the numbers of the markers up to a row, in the order in which they are passed.

        `begin`: the row at which the pass begins. `direction`: 1 forwards, -1 backwards.
        """
        markers, fresh = self.markers, math.isnan(self._row)
        begin = begin if fresh else self._row
        self._row = row
        if direction > 0:
            first = (bisect_left if fresh else bisect_right)(markers, begin)
            return range(first, bisect_right(markers, row))
        end = (bisect_right if fresh else bisect_left)(markers, begin)
        return range(end - 1, bisect_left(markers, row) - 1, -1)


class Foreseen(NamedTuple):
    """Where a reference will be in some ticks, if nothing is asked for meanwhile.

    `rows` (3, joints): the setpoints of that tick and of the two before it, in their order. `goal_count`: of
    the player by then. `elapsed`: that tick's number since the execution began.
    """

    rows: Floats
    goal_count: int
    elapsed: int


class _Left(NamedTuple):
    """The place that something has moved the robot from, where it goes on once it is back."""

    phase: Phase | None
    leg: Leg | None
    clock: TrajectoryClock
    position: Floats


class _Sought(NamedTuple):
    """The row that a seek leads to, and whether the motion plays on from there."""

    row: int
    goes_on: bool


class _Tail(NamedTuple):
    """What is left of a motion that flows into the next: its markers, up to its end."""

    execution: Execution
    leg: Leg
    cursor: MarkerCursor
    loop: int


class _Reason(NamedTuple):
    """Why the robot stops softly: as its result has it."""

    code: ResultCode
    message: str
    details: dict[str, Any] | None


class Player:
    """One robot's state and reference.

    `position`, `velocity` (joints,): where the setpoint is written, in place: views of the telemetry record.
    The velocity is 0 at rest. `active`, `slowing`, `halted`: whether the state is one of `ACTIVE` (something
    plays), `SLOWING` (on the way to rest, or there), or `HALTED`. `phase`: how far the execution is; None
    without one. `frame`: the place on the newest motion, in rows of the plan. `loop`: the pass over it,
    counted from 1. `moved`: ticks that the reference has moved on since the first row of the motion, ways
    between passes included. NaN before it, and from a pause, a stop, a seek or another speed on. `speed`:
    rows of the motion per tick that are aimed at while it plays. `settled_ticks`: ticks since the last row
    is out. `in_hand`: whether somebody moves the robot by hand, until it is caught. `taught`: why that has
    ended. `takes_over`: whether it is on its way from what moved before. `unblended`: the goals that nothing
    flows into any more, each with why. `pursuit`: the follow that moves it; None without one.
    """

    def __init__(
        self, joints: Sequence[str], units: Sequence[str], position: Floats, velocity: Floats
    ) -> None:
        self.joints, self.units = joints, units
        self.position, self.velocity = position, velocity
        self.velocity[:] = 0.0
        self.changes = 0
        self._enter(State.IDLE)
        self.torque = False
        self.execution: Execution | None = None
        self.phase: Phase | None = None
        self.pursuit: Pursuit | None = None
        self.clock = TrajectoryClock()
        self.frame, self.loop, self.moved = 0.0, 1, math.nan
        self.goal_count, self.speed = 0, 1.0
        self.passed: list[PassedMarker] = []
        self.results: list[Result] = []
        self.displaced: dict[str, Any] | None = None
        self.takes_over = False
        self._displaced: dict[str, Any] = {}
        self._trail = np.zeros((3, len(joints)))
        self._single_ticks = 0
        self._leg: Leg | None = None
        self._turned: Floats | None = None
        self._left: _Left | None = None
        self.in_hand = False
        self.taught: list[TeachingEnded] = []
        self._brake: Brake | None = None
        self._braked_ticks = 0
        self._sought: _Sought | None = None
        self._chained: Chained | None = None
        self._blend: Chained | None = None
        self._tail: _Tail | None = None
        self.unblended: list[tuple[str, str]] = []
        self._cursor = MarkerCursor()
        self._played_ticks = self._elapsed = self.settled_ticks = 0
        self._clock_acceleration = 0.0
        self._reason = _Reason(ResultCode.CANCELED, "", None)

    def _takes(self, event: Event) -> bool:
        """Whether the state knows an event."""
        return (self.state, event) in TRANSITIONS

    def _apply(self, event: Event) -> None:
        """Go where an event leads; one that the state does not know leaves it as it is."""
        self._enter(TRANSITIONS.get((self.state, event), self.state))

    def _enter(self, state: State) -> None:
        self.changes += 1
        self.state = state
        # Sets and enums are slow to look up in every tick.
        self.active, self.halted, self.slowing = state in ACTIVE, state in HALTED, state in SLOWING
        self.state_number = STATES.index(state)

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

    def teach(self) -> None:
        """Let the robot be moved by hand; only from idle."""
        self._apply(Event.TEACH)
        self.in_hand = True

    def catch(self, measured: Floats, brake: Brake) -> None:
        """Take a robot that was moved by hand as held, at the measured positions (joints,), and brake."""
        self.hold(measured)
        self.velocity[:] = brake.velocity
        self._end_teaching(self._reason, holds=True)
        self._brake, self._braked_ticks = brake, 0

    def _end_teaching(self, reason: _Reason, *, holds: bool) -> None:
        """Take why nobody moves the robot by hand any more, and tell who does whether it holds."""
        if self.in_hand:
            self.in_hand = False
            truth = HOLDS if holds else MAY_DROP if self.torque else DROPS
            self.taught.append(
                TeachingEnded(reason.code, f"{reason.message}; {truth}", holds, reason.details or {})
            )

    def play(self, execution: Execution) -> None:
        """Begin an execution; only from idle, with torque on."""
        self.execution = execution
        self.goal_count += 1
        self._start_route(execution)
        self.speed, self._clock_acceleration = execution.speed, execution.clock_acceleration
        self._elapsed = self.settled_ticks = 0
        self._sought = None
        self._single_ticks = 0
        self.takes_over = False
        self._apply(Event.PLAY)
        self._approach(execution, execution.route.approach)

    def take_over(self, execution: Execution, message: str) -> None:
        """End what plays as preempted, and begin an execution whose approach goes on from how it moves."""
        self._end(ResultCode.PREEMPTED, message)
        self.play(execution)
        self.takes_over = self.phase is APPROACH

    def moves(self, period_s: float) -> Motion | None:
        """Return how the reference moves; None where that is not known, shortly after it has changed its way.

        `period_s`: between two ticks.
        """
        if self.rests or self.phase is SETTLE:
            return Motion.at_rest(self.position)
        if self._single_ticks < len(self._trail):
            return None
        return Motion.seen(self._trail, period_s)

    def foresee(self, ticks: int) -> Foreseen | None:
        """Return where the reference will be if nothing is asked for; None where its way ends before.

        `ticks`: how far from now.
        """
        leg, rows = self._leg, np.tile(self.position, (3, 1))
        if not (self.rests or self.phase is SETTLE):
            places = [self.clock.place_after(ticks - before) for before in (2, 1, 0)]
            if leg is None or not places[0] <= places[-1] < leg.length:
                return None
            for row, place in zip(rows, places, strict=True):
                leg.track.sample(leg.first + leg.direction * place, row, np.empty_like(row), 1.0)
            if leg.turned is not None:
                np.add(rows, leg.turned, out=rows, where=leg.track.driven)
        return Foreseen(rows, self.goal_count, self._elapsed + ticks)

    def awaits(self, foreseen: Foreseen) -> bool:
        """Whether the tick that was foreseen is still to come."""
        is_on_its_way = self.active and self.goal_count == foreseen.goal_count
        return is_on_its_way and self._elapsed < foreseen.elapsed

    def why_not_at(self, foreseen: Foreseen) -> str:
        """Return why the reference is not where it was foreseen in this tick; '' where it is."""
        if self.goal_count == foreseen.goal_count and self._elapsed > foreseen.elapsed:
            return TOO_LATE
        seen = self.position if self.rests or self.phase is SETTLE else self._trail
        is_there = self.goal_count == foreseen.goal_count and np.abs(seen - foreseen.rows).max() <= SAME
        return "" if is_there else "the robot is not where it was foreseen to be"

    def follow(self, pursuit: Pursuit) -> None:
        """Begin to follow targets; only from idle, with torque on."""
        self.pursuit = pursuit
        self.goal_count += 1
        self.frame, self.loop, self._played_ticks = 0.0, 1, 0
        self._displaced = {}
        self._apply(Event.FOLLOW)

    def seek(self, approach: Track, row: int, turned: Floats | None = None, *, goes_on: bool) -> None:
        """Go to another row of the motion's track, and on from there or wait there; only while paused.

        `turned` (joints,): what is added to the rows from there on; None for nothing.
        """
        if self.execution is not None and self._takes(Event.SEEK):
            self._turned = self.execution.route.turned(1 - self.loop, turned)
            self._blend = self._tail = None
            self._sought, self._left = _Sought(row, goes_on), None
            self._apply(Event.SEEK)
            self._approach(self.execution, approach)

    def stop(self, code: ResultCode, message: str, details: dict[str, Any] | None = None) -> None:
        """Slow down on the path and end the goal with `code`; while stopping or at rest nothing changes.

        What is moved by hand is to be caught (`catch`), and slows down then.
        """
        if self._takes(Event.STOP):
            self._reason = _Reason(code, message, details)
            self._slow_down()
            self._apply(Event.STOP)

    def pause(self) -> None:
        """Slow down on the path and wait there; only on the way."""
        if self._takes(Event.PAUSE) and self.phase is not SETTLE:
            self._slow_down()
            self._apply(Event.PAUSE)

    def resume(self, back: Track | None = None, turned: Floats | None = None) -> None:
        """Go on along the path, or from where a seek leads to, after a way back to `held` first.

        `turned` (joints,): by how many turns that way does not go back, which all that follows goes on from.
        """
        on_motion = self.phase in ON_MOTION and back is None
        event = Event.RESUME if on_motion else Event.RETURN
        if self._sought is not None:
            self._sought = self._sought._replace(goes_on=True)
        if self._takes(event):
            if back is None:
                self.clock.aim(self._aimed if on_motion else 1.0)
            else:
                self._leave(self.phase, back, turned)
                self.phase = RETURN
            self._apply(event)

    def set_speed(self, speed: float, clock_acceleration: float) -> None:
        """Play the motion at another speed, from now on or from when it goes on; the approach keeps its own.

        `clock_acceleration`: in 1/s: how fast the clock's rate may change at that speed.
        """
        if self.execution is None:
            return
        if speed != self.speed:
            self.moved = math.nan
        self.speed, self._clock_acceleration = speed, clock_acceleration
        if self.phase in ON_MOTION:
            self.clock.max_slope = self._max_slope(self.execution)
            if self.state is State.PLAYING:
                self.clock.aim(self._aimed)

    def estop(self) -> None:
        """Latch the emergency stop; a goal ends with ESTOP."""
        halted = "" if self.in_hand and not self.torque else "halted at once; "
        self._halt(Event.ESTOP, ResultCode.ESTOP, f"emergency stop; {halted}reset when it is safe")

    def fault(self, code: ResultCode, message: str, details: dict[str, Any] | None = None) -> None:
        """Latch a fault; a goal ends with `code`."""
        self._halt(Event.FAULT, code, message, details)

    def _halt(
        self, event: Event, code: ResultCode, message: str, details: dict[str, Any] | None = None
    ) -> None:
        first = self._reason if self.state is State.STOPPING else _Reason(code, message, details)
        self._end_teaching(first, holds=self.torque and event is Event.ESTOP)
        self._apply(event)
        self.velocity[:] = 0.0
        self._brake = None
        self._end(code, message, details)

    def reset(self) -> None:
        """Leave the emergency stop; the caller then holds or releases."""
        self._apply(Event.RESET)

    @property
    def waits(self) -> bool:
        """Whether it stands on the first row, for the time at which that is due."""
        return self.phase is WAIT and not self.slowing

    @property
    def rests(self) -> bool:
        """Whether the setpoint stands still, also where it waits."""
        return not self.active or self.state is PAUSED or self.phase is WAIT

    @property
    def blends(self) -> bool:
        """Whether it is on its way from another motion onto its own rows: on a blend, or as it takes over."""
        return self.active and (self.takes_over or self._blend is not None)

    @property
    def tracks(self) -> list[Track]:
        """The motion that plays, and what it flows into, or has just flowed out of."""
        chains = [chained for chained in (self._chained, self._blend) if chained is not None]
        executions = [chained.execution for chained in chains]
        executions += [self.execution] if self.execution is not None else []
        return [chained.blend for chained in chains] + [one.route.motion for one in executions]

    # -- what it flows into ---------------------------------------------------------------------------------

    @property
    def _aimed(self) -> float:
        """The speed to aim at: no higher than a blend was checked for, on it and before it."""
        chained = self._blend or self._chained
        return self.speed if chained is None else min(self.speed, chained.speed_limit)

    def _max_slope(self, execution: Execution) -> float:
        """Return how much the clock's rate may change in one tick, also on a blend that comes or plays."""
        chains = (chained for chained in (self._blend, self._chained) if chained is not None)
        ramps = (chained.clock_acceleration for chained in chains)
        return min(self._clock_acceleration, *ramps, math.inf) / execution.rate_hz

    def chain(self, chained: Chained) -> str:
        """Let what plays flow into another execution; return why that cannot be, '' where it can."""
        execution = self.execution
        if execution is None or self.state is State.STOPPING or self.phase is SETTLE:
            return TOO_LATE
        if chained.execution.rate_hz != execution.rate_hz:
            return "its rows come at another rate"
        held = self.held if self._blend is None else self._blend_end(self._blend)
        holds = chained.blend.driven & ~execution.route.motion.driven
        if (chained.blend.positions[0] != held)[holds].any():
            return "the robot is not where it was planned from"
        before, self._chained = self._chained, chained
        leg, clock = self._on_motion()
        if leg is None or not execution.route.passes.end_with(self.loop - 1):
            return ""
        flowing = (leg.unshortened or leg).flowing(chained.steps)
        ramps_past = self._ramps_past(clock, flowing, chained, execution)
        if clock.brakes or ramps_past or clock.position + clock.fastest >= flowing.length:
            self._chained = before
            return TOO_LATE
        self._relay(flowing, execution)
        return ""

    def _ramps_past(self, clock: TrajectoryClock, leg: Leg, chained: Chained, execution: Execution) -> bool:
        """Whether the clock would still change its rate on a blend, too steeply or from too high a one."""
        too_steep, too_fast = clock.max_slope > self._max_slope(execution), clock.rate > chained.speed_limit
        return clock.settles_at > leg.length and (too_steep or too_fast)

    def unchain(self, goal_id: str) -> None:
        """Let what plays end by itself again, unless it is so near its end that it could not rest there."""
        execution, chained = self.execution, self._chained
        if execution is None or chained is None or chained.execution.goal_id != goal_id:
            return
        leg, clock = self._on_motion()
        if leg is None or leg.unshortened is None:
            self._chained = None
            return
        whole, rate = leg.unshortened, clock.fastest
        needs = rate * (longest_stop(rate, self._max_slope(execution)) + 2.0) if whole.eases_out else 0.0
        if whole.length - clock.position >= needs:
            self._chained = None
            self._relay(whole, execution)

    def _on_motion(self) -> tuple[Leg | None, TrajectoryClock]:
        """Return the leg of the motion that it is on, or comes back to, and its clock; None before."""
        if self._left is not None:
            return self._left.leg if self._left.phase is MOTION else None, self._left.clock
        return self._leg if self.phase is MOTION and self._blend is None else None, self.clock

    def _relay(self, leg: Leg, execution: Execution) -> None:
        """Go on along the same way up to another end."""
        if self._left is not None:
            self._left = self._left._replace(leg=leg)
            return
        self._leg = leg
        self.clock.max_slope = self._max_slope(execution)
        if self.state is State.PLAYING:
            self.clock.aim(self._aimed)

    def _pass_leg(self, execution: Execution, number: int, begin: int | None = None) -> Leg:
        """Return a pass, counted from 0, up to where it flows into what is chained."""
        leg, chained = execution.route.leg(number, begin, self._turned), self._chained
        if chained is None or not execution.route.passes.end_with(number):
            return leg
        if leg.length > chained.steps:
            return leg.flowing(chained.steps)
        self._chained = None
        reason = "it is sought beyond where the blend begins"
        self.unblended.append((chained.execution.goal_id, reason))
        return leg

    def _flow(self, before: Execution, chained: Chained, leg: Leg) -> Leg:
        """Go from the end of a leg into the blend; what it leads to begins, unless the robot stops."""
        self._chained, self._blend = None, chained
        self.changes += 1
        self._tail = _Tail(before, leg.unshortened or leg, self._cursor, self.loop)
        if self.state is not State.STOPPING:
            self._hand_over(before, chained)
        return chained.leg(leg.turned)

    def _hand_over(self, before: Execution, chained: Chained) -> None:
        """End an execution well, on a row of it, and begin the one that it flows into."""
        found = {"flowed_into": chained.execution.goal_id} | self._moved()
        message = f"it flows into {chained.motion}"
        self.results.append(Result(before, ResultCode.SUCCESSFUL, message, self._played_ticks, found))
        execution = self.execution = chained.execution
        self.goal_count += 1
        turned = chained.turned(self._leg.turned if self._leg is not None else None)
        self._start_route(execution)
        self._turned = turned
        self.speed, self._clock_acceleration = execution.speed, execution.clock_acceleration
        self.clock.max_slope = self._max_slope(execution)
        if self.state is State.PLAYING:
            self.clock.aim(self._aimed)

    def _leave_blend(self, blend: Chained) -> Leg:
        """Go from the end of a blend on along the motion that it leads to; other joints hold from there."""
        self._note_tail(blend.steps)
        execution, before = blend.execution, self._leg.turned if self._leg is not None else None
        np.copyto(self.position, self._blend_end(blend), where=blend.blend.driven)
        self.velocity[:] = 0.0
        self._blend = self._tail = None
        self.changes += 1
        leg = blend.leg_after(blend.turned(before))
        if self.execution is not execution:  # it stops, and never begins
            return leg
        if (chained := self._chained) is not None and execution.route.passes.end_with(0):
            flowing = leg.flowing(chained.steps)
            if self._ramps_past(self.clock, flowing, chained, execution):
                self._chained = None
                self.unblended.append((chained.execution.goal_id, TOO_LATE))
            else:
                leg = flowing
        self.clock.max_slope = self._max_slope(execution)
        if self.state is State.PLAYING:
            self.clock.aim(self._aimed)
        return leg

    def _blend_end(self, blend: Chained) -> Floats:
        """Return where the blend that it is on ends, shape (joints,)."""
        leg = self._left.leg if self._left is not None else self._leg
        end: Floats = blend.blend.positions[-1]
        return end if leg is None or leg.turned is None else end + leg.turned

    def _note_tail(self, place: float) -> None:
        """Note the markers of the motion before that were passed up to a place on the blend."""
        tail, blend = self._tail, self._blend
        if tail is None or blend is None or not tail.execution.markers:
            return
        leg = tail.leg
        row = tail.execution.offset + leg.last - leg.direction * (blend.steps - place)
        for number in tail.cursor.advance(row, row, leg.direction):
            self.passed.append(PassedMarker(tail.execution, number, tail.loop, 0.0))

    # -- time -----------------------------------------------------------------------------------------------

    def tick(self, ticks: int, due: int = 0) -> None:
        """Move the reference on.

        `ticks`: by so much; more than 1 where deadlines were missed and are skipped. `due`: how many ticks
        have become due; `ticks` where it is left out.
        """
        execution = self.execution
        if execution is None or not self.active:
            self.moved = math.nan
            if self.pursuit is not None:
                self._pursue(self.pursuit, ticks, due or ticks)
            elif self._brake is not None:
                self._slow_down_from_hand(self._brake, ticks)
            return
        self._elapsed += due or ticks
        phase = self.phase
        if phase is SETTLE:
            self.moved = math.nan
            self.settled_ticks += ticks
            if self.slowing:
                self._conclude(execution, at_end=True)
            return
        if phase is WAIT and not (ticks := self._ticks_since_due(execution, ticks)):
            return
        at_end = self._advance(execution, ticks, on_motion=self.phase is MOTION)
        self._note_trail(due or ticks)
        if at_end or self.slowing:
            self._conclude(self.execution or execution, at_end=at_end)

    def _note_trail(self, due: int) -> None:
        """Keep the last setpoints, which say how fast the reference moves and speeds up."""
        trail = self._trail
        trail[0], trail[1], trail[2] = trail[1], trail[2], self.position
        self._single_ticks = self._single_ticks + 1 if due == 1 else 1

    def _slow_down_from_hand(self, brake: Brake, ticks: int) -> None:
        self._braked_ticks += ticks
        if brake.sample(self._braked_ticks, self.position, self.velocity):
            self._brake = None
            self._come_to_rest(Event.STOPPED)

    def _pursue(self, pursuit: Pursuit, ticks: int, due: int) -> None:
        self._played_ticks += ticks
        self.frame += ticks
        brakes = self.state is STOPPING
        if pursuit.move(ticks, due, self.position, self.velocity, brakes=brakes):
            self._come_to_rest(Event.STOPPED)
            self._end(*self._reason)

    def _ticks_since_due(self, execution: Execution, most: int) -> int:
        """Begin the motion when its time has come; return how many ticks it has to move, 0 before."""
        if self.slowing:
            self._conclude(execution, at_end=True)
            return 0
        since = self._elapsed - execution.not_before
        if since < 0:
            return 0
        self._begin_motion(execution)
        return min(since + 1, most)

    def finish(self) -> None:
        """End the execution well; only once the last row is out, and not while stopping."""
        if self.phase is SETTLE and not self.slowing:
            self._come_to_rest(Event.FINISHED)
            self._end(ResultCode.SUCCESSFUL, "the last row is out and held")

    def _go_on_from_return(self, execution: Execution) -> None:
        """Go on from where it paused, at rest, as if nothing had moved it."""
        self.phase = self._rejoin()
        if self.phase is WAIT:
            self._go_on_from_approach(execution)
        elif self.phase is MOTION:
            self._apply(Event.ARRIVED)
            self.clock.max_slope = self._max_slope(execution)
            self.clock.aim(self._aimed)
        else:
            self.clock.aim(1.0)

    def _approach(self, execution: Execution, track: Track, turned: Floats | None = None) -> None:
        """Go to the row that is played next; the track may be empty."""
        if track.last >= 0:
            self.phase = APPROACH
            self._start_way(track, turned)
        else:
            self._go_on_from_approach(execution)

    def _go_on_from_approach(self, execution: Execution) -> None:
        """Begin the motion, or wait for its time."""
        if self._elapsed + 1 < execution.not_before:
            self.phase = WAIT
            self.changes += 1
            self._stay()
        else:
            self._begin_motion(execution)

    def _begin_motion(self, execution: Execution) -> None:
        sought, self._sought, self.displaced = self._sought, None, None
        self.takes_over = False
        stays = sought is not None and not sought.goes_on
        leg = self._start_pass(execution, sought.row if sought else None)
        max_slope, speed = self._max_slope(execution), self._aimed
        rests = stays or leg.eases_in or leg.is_too_short_to_slow_down(speed, max_slope)
        if sought is None and self.loop == 1:
            self.moved = -1.0  # the next tick is that of the first row
        self.phase = MOTION
        self._apply(Event.ARRIVED)
        self.clock.start(0.0 if rests else speed, max_slope)
        if stays:
            self._apply(Event.PAUSE)
            self._come_to_rest(Event.STOPPED)
        elif rests:
            self.clock.aim(speed)

    def _conclude(self, execution: Execution, *, at_end: bool) -> None:
        """Go on from the end of a leg, or from where the clock has come to rest."""
        if self.state is State.PAUSED:
            return
        if self.state is State.STOPPING:
            if at_end or self.clock.at_rest:
                self._come_to_rest(Event.STOPPED)
                self._end(*self._reason)
        elif at_end and self.phase is MOTION and execution.route.passes.end_with(self.loop - 1):
            self._arrive()
        elif self.state is State.PAUSING:
            if at_end or self.clock.at_rest:
                self._come_to_rest(Event.STOPPED)
        elif self.phase is MOTION:
            self._repeat(execution)
        elif self.phase is RETURN:
            self._go_on_from_return(execution)
        else:
            self._go_on_from_approach(execution)

    def _repeat(self, execution: Execution) -> None:
        """Go on to the next pass, from rest at the end of one."""
        turned = execution.route.turned(self.loop - 1, self._turned)
        self.loop += 1
        if execution.route.return_track.last >= 0:
            self._apply(Event.REPEAT)
            self._approach(execution, execution.route.return_track, turned)
        else:
            self._begin_motion(execution)

    def _arrive(self) -> None:
        """Hold the last row; `watch` ends the execution."""
        self.phase = SETTLE
        self.velocity[:] = 0.0
        if self.state is State.PAUSING:  # there is nothing left to pause
            self._apply(Event.RESUME)

    def _slow_down(self) -> None:
        self.clock.aim(0.0)
        self.moved = math.nan

    def _come_to_rest(self, event: Event) -> None:
        self._apply(event)
        self.clock.rest()
        self.velocity[:] = 0.0

    def _end(self, code: ResultCode, message: str, details: dict[str, Any] | None = None) -> None:
        goal = self.pursuit or self.execution
        if goal is not None:
            found = (details or {}) | self._moved()
            self.results.append(Result(goal, code, message, self._played_ticks, found))
            self.execution = self.phase = self.pursuit = None
            self._end_route()

    # -- on the route ---------------------------------------------------------------------------------------

    def _start_route(self, execution: Execution) -> None:
        """Restart the counts of passes, markers and ticks."""
        self.frame, self.loop = float(execution.offset + execution.route.passes.first), 1
        self._cursor = MarkerCursor(execution.markers)
        self._played_ticks = 0
        self._turned = execution.turned
        self._displaced, self._left = {}, None
        self.moved = math.nan

    def _end_route(self) -> None:
        self._leg = self._left = self.displaced = None
        self._chained = self._blend = self._tail = None

    def _start_way(self, track: Track, turned: Floats | None = None) -> None:
        """Stand before the first row of a way to the motion, which is no part of it."""
        self._leg = Leg(track, 0, track.last, turned=turned)
        self.clock.start(1.0, track.clock_acceleration / track.rate_hz)

    def _start_pass(self, execution: Execution, begin: int | None) -> Leg:
        """Take up the present pass over the motion, from its first row or from row `begin`."""
        self._blend = self._tail = None
        leg = self._leg = self._pass_leg(execution, self.loop - 1, begin)
        self._cursor.restart()
        self.frame = float(execution.offset + leg.first)
        return leg

    # -- what was moved -------------------------------------------------------------------------------------

    def displace(self, start: Floats, found: dict[str, Any]) -> None:
        """Take joints for where something has moved them, shape (joints,); what begins next begins there."""
        self.position[:] = start
        self._single_ticks = 0
        self.displaced = found
        self._displaced = found | {"times": self._displaced.get("times", 0) + 1}

    @property
    def held(self) -> Floats:
        """Where it paused, shape (joints,), also if it has been moved since."""
        return self.position if self._left is None else self._left.position

    def _moved(self) -> dict[str, Any]:
        """Return what was moved last on this route, as a result has it."""
        return {"displaced": self._displaced} if self._displaced else {}

    def _leave(self, phase: Phase | None, track: Track, turned: Floats | None) -> None:
        """Stand before the first row of a way back to `held`, or so many turns on."""
        if self._left is None:
            self._left = _Left(phase, self._leg, self.clock, track.positions[-1])
            self.clock = TrajectoryClock()
        if turned is not None:
            self._turned = turned if self._turned is None else self._turned + turned
            leg = self._left.leg and self._left.leg.turned_on(turned)
            self._left = self._left._replace(leg=leg, position=track.positions[-1])
        self._start_way(track)

    def _rejoin(self) -> Phase | None:
        """Stand where it was left, at rest; return the phase that this was in."""
        left, self._left, self.displaced = self._left, None, None
        if left is None:
            return None
        self._leg, self.clock = left.leg, left.clock
        return left.phase

    # -- on the way -----------------------------------------------------------------------------------------

    def _stay(self) -> None:
        """Hold the setpoint, on no leg."""
        self._leg = None
        self.clock.start(0.0, 1.0)
        self.velocity[:] = 0.0

    def _advance(self, execution: Execution, ticks: int, *, on_motion: bool) -> bool:
        """Move on along the leg; return whether its end is reached."""
        leg = self._leg
        if leg is None:
            return False
        if leg.eases_out:
            self.clock.brake_for(leg.length, ticks)
        place = max(0.0, self.clock.advance(ticks))  # a ramp that begins before row 0 is there at first
        while leg.seamless and place >= leg.length:
            leg, place = self._pass_seam(execution, leg)
        at_end = place >= leg.length
        if at_end:
            if self.clock.rate > 0.0:  # a late tick moves less far than it could where the leg ends
                ticks -= min(ticks - 1, int((place - leg.length) / self.clock.rate))
            place = self.clock.position = float(leg.length)
        self.moved += ticks
        row = leg.first + leg.direction * place
        leg.track.sample(row, self.position, self.velocity, self.clock.rate * leg.direction)
        if leg.turned is not None:
            np.add(self.position, leg.turned, out=self.position, where=leg.track.driven)
        if self._blend is not None:
            self._note_tail(place)
        execution = self.execution or execution  # it may have flowed into another
        if on_motion and self._is_of(execution, leg):
            self.frame = row + leg.beside + execution.offset
            self._played_ticks += ticks
            if execution.markers:
                self._note_markers(execution, leg, self.frame)
        return at_end

    def _pass_seam(self, execution: Execution, leg: Leg) -> tuple[Leg, float]:
        """Pass from the end of a pass, or of a blend, into what is next; return that, and the place on it."""
        execution = self.execution or execution
        if execution.markers and self._is_of(execution, leg):
            self._note_markers(execution, leg, float(execution.offset + leg.beside + leg.last))
        self.clock.carry_back(leg.length)
        if leg.flows and self._chained is not None:
            self._leg = self._flow(execution, self._chained, leg)
        elif self._blend is not None:
            self._leg = self._leave_blend(self._blend)
        else:
            self.loop += 1
            self._leg = self._pass_leg(execution, self.loop - 1)
            self._cursor.restart()
        return self._leg, self.clock.position

    def _is_of(self, execution: Execution, leg: Leg) -> bool:
        """Whether a leg is a pass of an execution, or the blend into it."""
        if self._blend is not None:
            return self._blend.execution is execution
        return leg.track is execution.route.motion

    def _note_markers(self, execution: Execution, leg: Leg, row: float) -> None:
        """Note the markers that were passed on the way to a row."""
        first = float(execution.offset + leg.beside + leg.first)
        for number in self._cursor.advance(first, row, leg.direction):
            ago = abs(row - execution.markers[number]) / self.clock.rate if self.clock.rate > 0.0 else 0.0
            self.passed.append(PassedMarker(execution, number, self.loop, ago))
