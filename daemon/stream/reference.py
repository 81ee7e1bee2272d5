"""The reference of one robot: the setpoint, and its place on the route of an execution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ..trajectory.clock import TrajectoryClock
from ..trajectory.route import Leg
from .execution import PassedMarker
from .markers import MarkerCursor

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

    from ..trajectory.track import Track
    from .execution import Execution, Phase


class _Left(NamedTuple):
    """The place that something has moved the robot from, where it goes on once it is back."""

    phase: Phase | None
    leg: Leg | None
    clock: TrajectoryClock
    position: Floats


class Reference:
    """The setpoint, moved along the legs of a route.

    A base class of the player, and not a part of it, as every tick reads its attributes.

    Parameters
    ----------
    position, velocity : ndarray, shape (joints,)
        Where the setpoint is written, in place: views of the telemetry record. The velocity is 0 at rest.

    Attributes
    ----------
    clock : TrajectoryClock
        How far along the leg it is.
    frame : float
        The place on the newest motion, in rows of the plan.
    loop : int
        The pass over it, counted from 1.
    moved : float
        Ticks that the reference has moved on since the first row of the motion, ways between passes included.
        NaN before it, and from a pause, a stop, a seek or another speed on.
    passed : list of PassedMarker
        Markers that were passed, until somebody takes them out.
    displaced : dict or None
        While it goes back to where it held: the joint that was moved furthest, and how far.
    """

    def __init__(self, position: Floats, velocity: Floats) -> None:
        self.position = position
        self.velocity = velocity
        self.velocity[:] = 0.0
        self.clock = TrajectoryClock()
        self.frame = 0.0
        self.loop = 1
        self.moved = math.nan
        self.passed: list[PassedMarker] = []
        self._leg: Leg | None = None
        self._cursor = MarkerCursor()
        self._played_ticks = 0
        self.displaced: dict[str, Any] | None = None
        self._displaced: dict[str, Any] = {}
        self._left: _Left | None = None

    def _start_route(self, execution: Execution) -> None:
        """Count passes, markers and ticks anew."""
        self.frame, self.loop = float(execution.offset + execution.route.passes.first), 1
        self._cursor = MarkerCursor(execution.markers)
        self._played_ticks = 0
        self._displaced, self._left = {}, None
        self.moved = math.nan

    def _end_route(self) -> None:
        self._leg = self._left = self.displaced = None

    def _start_way(self, track: Track) -> None:
        """Stand before the first row of a way to the motion, which is no part of it."""
        self._leg = Leg(track, 0, track.last)
        self.clock.start(1.0, track.clock_acceleration / track.rate_hz)

    def _start_pass(self, execution: Execution, begin: int | None) -> Leg:
        """Take up the present pass over the motion, from its first row or from row `begin`."""
        leg = self._leg = execution.route.leg(self.loop - 1, begin)
        self._cursor.restart()
        self.frame = float(execution.offset + leg.first)
        return leg

    # -- what was moved -------------------------------------------------------------------------------------

    def displace(self, start: Floats, found: dict[str, Any]) -> None:
        """Take joints for where something has moved them, shape (joints,); what begins next begins there.

        Parameters
        ----------
        found : dict
            The joint that was moved furthest, and how far.
        """
        self.position[:] = start
        self.displaced = found
        self._displaced = found | {"times": self._displaced.get("times", 0) + 1}

    @property
    def held(self) -> Floats:
        """Where it paused, shape (joints,), also if it has been moved since."""
        return self.position if self._left is None else self._left.position

    def _moved(self) -> dict[str, Any]:
        """Return what was moved last on this route, as a result has it."""
        return {"displaced": self._displaced} if self._displaced else {}

    def _leave(self, phase: Phase | None, track: Track) -> None:
        """Stand before the first row of a way back to `held`."""
        if self._left is None:
            self._left = _Left(phase, self._leg, self.clock, track.positions[-1])
            self.clock = TrajectoryClock()
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
        """Move on along the leg; return whether its end is reached.

        Parameters
        ----------
        on_motion : bool
            Whether the leg is part of the motion, rather than a way to it.
        """
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
        if on_motion:
            self.frame = row + execution.offset
            self._played_ticks += ticks
            if execution.markers:
                self._note_markers(execution, leg, self.frame)
        return at_end

    def _pass_seam(self, execution: Execution, leg: Leg) -> tuple[Leg, float]:
        """Pass from the end of a pass into the next one; return that, and the place on it."""
        if execution.markers:
            self._note_markers(execution, leg, float(execution.offset + leg.last))
        self.loop += 1
        self.clock.carry_back(leg.length)
        self._leg = execution.route.leg(self.loop - 1)
        self._cursor.restart()
        return self._leg, self.clock.position

    def _note_markers(self, execution: Execution, leg: Leg, row: float) -> None:
        """Note the markers that were passed on the way to a row."""
        for number in self._cursor.advance(float(execution.offset + leg.first), row, leg.direction):
            ago = abs(row - execution.markers[number]) / self.clock.rate if self.clock.rate > 0.0 else 0.0
            self.passed.append(PassedMarker(execution, number, self.loop, ago))
