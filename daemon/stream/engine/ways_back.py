"""The ways that a stream process plans itself: from where joints were moved, back to where they were held."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...trajectory import (
    FROM_BEYOND,
    WAY_BACK,
    Track,
    Transmission,
    WayError,
    far_outside,
    plan_way,
    slack_of,
)

if TYPE_CHECKING:
    from motiond.drivers import ActuatorLimits
    from motiond.formats.arrays import Booleans, Floats

    from ...ipc.messages import Setup

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
            return f"joint '{self._joints[joint]}' {where}; send goto with from_beyond: true"
        return ""

    def _is_far(self, position: Floats) -> Booleans:
        return (position < self._lower - self._slack) | (position > self._upper + self._slack)

    def plan(self, start: Floats, target: Floats, rate_hz: float, *, from_beyond: bool = False) -> Track:
        """Plan a way from rest to rest, at approach speed, or as slowly as from beyond a limit.

        Raises WayError if there is none.
        """
        share = FROM_BEYOND if from_beyond else 1.0
        bounds = (share * values for values in (self._velocity, self._acceleration, self._jerk))
        way = plan_way(start, target, *bounds)
        if not way.duration_s <= LONGEST_S:
            raise WayError(f"it would take {way.duration_s:.0f} s")
        rows, velocities = (np.ascontiguousarray(values) for values in way.rows(rate_hz))
        return Track(rows, velocities, np.ones(len(start), dtype=bool), rate_hz, self._ramp)


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
