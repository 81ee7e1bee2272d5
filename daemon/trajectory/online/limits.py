"""What each joint keeps while it follows targets, and the paths that it can go through rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from ruckig import InputParameter, Synchronization

from .spline import Spline, smoothed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from motiond.formats.arrays import Floats

ROUNDING = 1e-12
"""In rad or m: so far joints that keep in step with others stay within their limits, as sums are rounded."""
FURTHEST_S = 3600.0
"""A joint without limits goes no further than it can in that time; ruckig plans no more than two hours."""
ONE_ROW_S = 0.001
"""So long a path of one row is."""


@dataclass(frozen=True, slots=True)
class OnlineLimits:
    """What each joint keeps, shape (joints,).

    Those of position may be infinite; the others are finite and above 0.
    """

    lower: Floats
    upper: Floats
    velocity: Floats
    acceleration: Floats
    jerk: Floats

    def within(self, positions: Floats, here: Floats) -> Floats:
        """Return positions, shape (…, joints), clipped to limits, and not too far from `here` for ruckig."""
        reach = FURTHEST_S * self.velocity
        lower, upper = np.maximum(self.lower, here - reach), np.minimum(self.upper, here + reach)
        within: Floats = np.clip(positions, lower, np.maximum(lower, upper))
        return within

    def ruckig_input(self) -> InputParameter:
        """Return an input for ruckig, of joints that rest at 0, each of which moves for itself."""
        wanted = InputParameter(len(self.lower))
        wanted.synchronization = Synchronization.No
        wanted.max_velocity, wanted.max_acceleration = self.velocity.tolist(), self.acceleration.tolist()
        wanted.max_jerk = self.jerk.tolist()
        return wanted

    @classmethod
    def of_known(cls, known: Sequence[Floats], approach: Sequence[Floats], stop_s: float) -> OnlineLimits:
        """Return those of joints of which some limits are not known.

        Where no limit of velocity is known, it is that of approaches. Where none of acceleration is known, it
        is 2 v / T of the greatest velocity v and `stop_s` T, and the jerk is 16 v / T², each at least that of
        approaches: so a joint comes to rest from its greatest velocity in 0.63 T at most.

        `known`: lower, upper, velocity, acceleration; what is not known is infinite, or NaN. `approach`:
        velocity, acceleration, jerk.
        """
        lower, upper, velocity, acceleration = known
        velocity = np.where(np.isfinite(velocity), velocity, approach[0])
        needed = np.maximum(approach[1], 2.0 * velocity / stop_s)
        acceleration = np.where(np.isfinite(acceleration), acceleration, needed)
        return cls(lower, upper, velocity, acceleration, np.maximum(approach[2], 16.0 * velocity / stop_s**2))

    def no_higher_than(self, velocity: Floats, acceleration: Floats, jerk: Floats) -> OnlineLimits:
        """Return these with bounds of velocity, acceleration and jerk, where these are lower."""
        return replace(
            self,
            velocity=np.minimum(self.velocity, velocity),
            acceleration=np.minimum(self.acceleration, acceleration),
            jerk=np.minimum(self.jerk, jerk),
        )

    def of_leaders(
        self, joints: Sequence[int], leaders: NDArray[np.intp], turns: Floats, offsets: Floats
    ) -> OnlineLimits:
        """Return those of some joints, so that all that follow them keep theirs, too.

        Each joint is at `turns * leader + offsets`, shape (all joints,).
        """
        column = {joint: index for index, joint in enumerate(joints)}
        leads_by = leaders.tolist()
        moved = [joint for joint, leader in enumerate(leads_by) if leader in column and turns[joint]]
        columns, leads = [column[leads_by[joint]] for joint in moved], leaders[moved] == moved
        turns, offsets = turns[moved], offsets[moved]
        limit = np.stack((self.lower[moved], self.upper[moved]))
        ways = np.stack((limit[0] + ROUNDING - offsets, limit[1] - ROUNDING - offsets)) / turns
        lows, highs = np.where(leads, limit, np.sort(ways, axis=0))
        lower, upper = np.full((2, len(joints)), [[-np.inf], [np.inf]])
        np.maximum.at(lower, columns, lows)
        np.minimum.at(upper, columns, highs)
        others = [np.full(len(joints), np.inf) for _ in range(3)]
        for bound, values in zip(others, (self.velocity, self.acceleration, self.jerk), strict=True):
            np.minimum.at(bound, columns, values[moved] / np.abs(turns))
        return OnlineLimits(lower, upper, *others)

    def path(self, times: Floats, rows: Floats) -> tuple[Spline, bool]:
        """Return the curve through rows, shape (rows, joints), and whether a row had to be clipped to limits.

        The curve is as smooth as the joints need it. `times` (rows,): in s, ascending.
        """
        if len(times) == 1:
            times, rows = np.append(times, times + ONE_ROW_S), np.repeat(rows, 2, axis=0)
        within = np.clip(rows, self.lower, self.upper)
        smooth = smoothed(times, within, self.acceleration, self.jerk)
        return Spline.through(times, smooth, within[-1]), bool((within != rows).any())
