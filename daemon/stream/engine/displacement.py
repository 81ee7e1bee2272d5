"""How far joints have been moved from where the robot holds them: what begins from there must not snap back.

Between setpoint and feedback there is always an error that holds the joints up against their weight. It is
no displacement: a robot that took its feedback for its setpoint would sink by it. So the error of a robot
that has come to rest is learned, and what differs from it by more than the start tolerance has been moved.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...trajectory import (
    FROM_BEYOND,
    WAY_BACK,
    Bounds,
    Track,
    Transmission,
    WayError,
    endless_within,
    far_outside,
    hand_over,
    nearest_turns,
    of_all,
    plan_way,
    slack_of,
)
from .pursuit import FollowLimits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.drivers import ActuatorLimits
    from motiond.formats.arrays import Booleans, Floats, Indices

    from ...ipc.messages import Setup
    from ...trajectory import Motion

SETTLED_S = 0.5
"""After which the joints of a robot at rest have come to where they hold."""
SHARE = 0.2
"""Of a new error in the mean: noise of the feedback is no displacement."""
FINEST = 1e-6
"""In rad or m: what is less is rounding, also where no start tolerance is wanted."""
NOISE = 0.1
"""Of the stall error: what a single look may find without a joint having been moved."""


class Displacement:
    """What moves joints of one robot while it holds.

    `start_tolerance`, `stall_error`: for each joint, in rad or m: how far it may be moved without having been
    displaced, and how large an error may be that holds it. `leaders` (joints,): the joint that each follows;
    itself, where it follows none. `ordinary` (joints,): setpoint less feedback, where the robot held at
    first; 0 before it is known.
    """

    def __init__(
        self,
        start_tolerance: Sequence[float],
        stall_error: Sequence[float],
        may_stall: Sequence[bool],
        leaders: Indices,
    ) -> None:
        self._leaders = leaders
        self._tolerance, self._near = np.maximum(start_tolerance, FINEST), np.array(stall_error)
        self._at_once = np.maximum(self._tolerance, NOISE * self._near)
        self._may_move: Booleans = np.array(may_stall, dtype=bool)
        self.ordinary: Floats = np.zeros(len(self._near))
        self._error, self._mean = np.zeros_like(self.ordinary), np.zeros_like(self.ordinary)
        self._first = np.full_like(self.ordinary, np.inf)
        self._since_s = np.inf
        self.settled = self._has_mean = False

    def start(self, now_s: float) -> None:
        """Begin to learn, as the robot has come to rest."""
        self._since_s = now_s
        self.settled = self._has_mean = False
        self.ordinary.fill(0.0)
        self._first.fill(np.inf)

    def look(self, reference: Floats, measured: Floats, now_s: float, *, bounded: bool = True) -> None:
        """Learn from one more tick at rest. `reference`, `measured` (joints,)."""
        error, mean = self._error, self._mean
        np.subtract(reference, measured, error)
        if math.isnan(np.add.reduce(error)):
            return
        if not self._has_mean:
            mean[:], self._has_mean = error, True
            np.abs(error, self._first)
        np.subtract(error, mean, error)
        error *= SHARE
        mean += error
        if not self.settled and now_s - self._since_s >= SETTLED_S:
            self.settled = True
            held = np.abs(mean) <= self._near if bounded else np.isfinite(mean)
            np.copyto(self.ordinary, mean, where=held)

    def far(self, reference: Floats, measured: Floats) -> Booleans:
        """Return which joints are further from a setpoint than an error that holds them, shape (joints,)."""
        far: Booleans = np.abs(reference - measured) > self._near  # a measured NaN is not
        return far & ~self._may_move

    def begin_from(
        self, reference: Floats, measured: Floats, moving: Booleans | None = None
    ) -> Floats | None:
        """Return from where to begin, shape (joints,); None where nothing has been moved.

        `moving` (joints,): the joints that are not held, as they play beside.

        What was moved begins where it is, with the error that held it before, and what follows it, or is
        followed by it, too; the rest begins where it holds.
        """
        error = reference - measured
        if self.settled:
            moved = np.abs(error - self.ordinary) > self._at_once
            moved |= np.abs(self._mean - self.ordinary) > self._tolerance
        else:  # a joint that has come to rest behind its setpoint may follow yet
            moved = np.abs(error) > self._near + self._first
        moved = of_all(np.logical_or, moved, self._leaders)
        moved &= ~self._may_move & np.isfinite(measured)
        if moving is not None:
            moved &= ~moving
        return np.where(moved, measured + self.ordinary, reference) if moved.any() else None


LONGEST_S = 600.0  # of a way back; one that takes longer has no sense


class WaysBack:
    """Plans ways back of one robot."""

    def __init__(self, setup: Setup, allowed: ActuatorLimits) -> None:
        ways, self._joints, self._units = setup.ways, setup.joints, setup.units
        found = Transmission.from_lists(setup.transmission).limits_of_joints(allowed)
        of_joints = {kind: values for kind, (values, _) in found.items()}
        self._lower = np.fmax(np.array(ways.lower, float), of_joints["lower"])
        self._upper = np.fmin(np.array(ways.upper, float), of_joints["upper"])
        self._slack = slack_of(self._lower, self._upper, setup.units)
        self._ramp = ways.clock_acceleration
        # Half of an acceleration limit is left for the clock's ramps.
        self._acceleration = np.minimum(ways.acceleration, of_joints["acceleration"] / 2.0)
        velocity = np.minimum(ways.velocity, of_joints["velocity"])
        left = of_joints["acceleration"] - self._acceleration
        self._velocity = np.minimum(velocity, left / self._ramp)
        self._jerk = np.array(ways.jerk)
        self._limits = FollowLimits(setup, allowed)
        self._leaders = np.array(ways.leaders)
        reach = of_joints["lower"], of_joints["upper"]
        self._turn = endless_within(np.array(ways.turn), self._leaders, *reach)

    def nearest(self, start: Floats, target: Floats) -> Floats:
        """Return by how much whole turns move a target on to be nearest to a start, shape (joints,)."""
        return nearest_turns(start, target, self._turn, self._leaders)

    def describe(self, start: Floats, held: Floats) -> dict[str, Any]:
        """Return how far what was moved is from where it was held, at the worst joint, JSON-ready."""
        away = np.abs(start - held)
        joint = int(away.argmax())
        return {"joint": self._joints[joint], "value": float(away[joint]), "unit": self._units[joint]}

    def refusal(self, start: Floats, target: Floats) -> str:
        """Return why joints do not go back without being asked to; '' where they do.

        One that was moved far outside its limits may have lost a turn; and one that was held there would be
        pushed out again.
        """
        moved, lower, upper = start != target, self._lower, self._upper
        for joint in np.flatnonzero(moved & self._is_far(start)):
            where = far_outside(start[joint], lower[joint], upper[joint], self._units[joint])
            return f"joint '{self._joints[joint]}' {where}; {WAY_BACK}"
        outward = np.abs(target - np.clip(target, lower, upper)) > np.abs(
            start - np.clip(start, lower, upper)
        )
        for joint in np.flatnonzero(moved & outward & self._is_far(target)):
            where = f"was held at {target[joint]:.4g} {self._units[joint]}, further outside its limits"
            return f"joint '{self._joints[joint]}' {where}; go to a posture with from_beyond"
        return ""

    def _is_far(self, position: Floats) -> Booleans:
        return (position < self._lower - self._slack) | (position > self._upper + self._slack)

    def plan(self, start: Floats, target: Floats, rate_hz: float, *, from_beyond: bool = False) -> Track:
        """Plan a way from rest to rest, at approach speed, or as slowly as from beyond a limit.

        Raises WayError if there is none.
        """
        share = FROM_BEYOND if from_beyond else 1.0
        bounds = (share * values for values in (self._velocity, self._acceleration, self._jerk))
        way = plan_way(start, target, *bounds, leaders=self._leaders)
        if not way.duration_s <= LONGEST_S:
            raise WayError(f"it would take {way.duration_s:.0f} s")
        rows, velocities = (np.ascontiguousarray(values) for values in way.rows(rate_hz))
        return Track(rows, velocities, np.ones(len(start), dtype=bool), rate_hz, self._ramp)

    def hand_over(
        self, moves: Motion, begins_at: Floats, driven: Booleans, *, first_s: float, rate_hz: float
    ) -> tuple[Track, Floats]:
        """Plan a way from how joints move to the nearest turn of a row, (joints,), and of others to rest.

        Returns it, and by how much the row is turned on. `first_s`: from the last setpoint to its first row.
        Raises WayError if there is none within the limits.
        """
        bounds = Bounds(
            self._velocity,
            self._acceleration,
            self._jerk,
            self._lower,
            self._upper,
            self._leaders,
            self._limits.turns,
        )
        turned = np.where(driven, self.nearest(bounds.rests_at(moves), begins_at), 0.0)
        target = np.where(driven, begins_at + turned, moves.position)
        clock = {"clock_acceleration": self._ramp, "first_s": first_s, "rate_hz": rate_hz}
        return hand_over(moves, target, driven, bounds, self._limits.own, **clock), turned


def joined(before: Track, after: Track) -> Track:
    """Return a track that goes over both, which meet at rest."""
    if after.last < 0:
        return before
    return replace(
        after,
        positions=np.concatenate((before.positions, after.positions)),
        velocities=np.concatenate((before.velocities, after.velocities)),
        driven=before.driven,
        clock_acceleration=min(before.clock_acceleration, after.clock_acceleration),
    )
