"""Where a joint that is not on its path can meet it first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from ruckig import Ruckig, RuckigError, Trajectory

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

    from .limits import OnlineLimits
    from .spline import Spline

FURTHEST_S = 1.0
"""So far ahead a path is met."""


class Interception:
    """Finds where joints can meet a path, each as soon as it can.

    A joint that needs no longer to a place on the path than the path does meets it there. Of some places,
    each twice as far ahead as the one before, the first such counts; where between it and the one before the
    two take the same time is interpolated. Where the path is too fast for that, the least late counts.
    """

    def __init__(self, limits: OnlineLimits, period_s: float) -> None:
        count = len(limits.lower)
        self._limits = limits
        self._ruckig, self._trajectory = Ruckig(count, period_s), Trajectory(count)
        self._wanted = limits.ruckig_input()
        ticks = 2 ** np.arange(max(1, int(np.log2(FURTHEST_S / period_s)) + 1))
        self._places_s = period_s * ticks

    def find(self, path: Spline, since_s: float, state: Floats) -> Floats:
        """Return positions, velocities and accelerations to aim at, shape (3, joints).

        `state` (3, joints): where the joints are at `since_s`, by the scale of the path.
        """
        wanted = self._wanted
        wanted.current_position, wanted.current_velocity, wanted.current_acceleration = state.tolist()
        places_s = self._places_s
        here = state[0]
        ways = self._attainable(path.at(since_s + places_s), here)
        late_s = np.array([self._needs_s(place) for place in ways.swapaxes(0, 1)]) - places_s[:, None]
        is_met = late_s <= 0.0
        first = np.where(is_met.any(axis=0), is_met.argmax(axis=0), late_s.argmin(axis=0))
        joints = np.arange(state.shape[1])
        before, late = np.maximum(first - 1, 0), late_s[first, joints]
        later = late_s[before, joints]
        meets = is_met[first, joints] & (first > 0) & np.isfinite(later)
        gained = np.subtract(later, late, out=np.ones_like(late), where=meets)
        share = np.divide(later, gained, out=np.ones_like(late), where=meets)
        at_s = places_s[before] + share * (places_s[first] - places_s[before])
        return self._attainable(path.at_each(since_s + at_s), here)

    def _needs_s(self, place: Floats) -> Floats:
        """Return how long each joint takes to a place, shape (joints,); infinite where nobody knows."""
        wanted = self._wanted
        wanted.target_position, wanted.target_velocity, wanted.target_acceleration = place.tolist()
        try:
            self._ruckig.calculate(wanted, self._trajectory)
        except (RuckigError, ValueError):  # the latter for codes that ruckig itself does not name
            return np.full(place.shape[1], np.inf)
        return np.array(self._trajectory.independent_min_durations)

    def _attainable(self, states: Floats, here: Floats) -> Floats:
        """Return positions, velocities and accelerations, shape (3, …), at which ruckig can aim from here."""
        limits = self._limits
        p, v, a, _ = states
        within = limits.within(p, here)
        v = np.clip(v, -limits.velocity, limits.velocity) * (within == p)
        room = np.sqrt(2.0 * limits.jerk * (limits.velocity - np.abs(v)))
        bound = np.minimum(limits.acceleration, room) * (within == p)
        return np.stack([within, v, np.clip(a, -bound, bound)])
