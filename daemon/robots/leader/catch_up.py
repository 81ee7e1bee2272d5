"""The targets of a follower: first on a slow way to where its leader is, then with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...trajectory import OnlineGenerator

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

    from ...trajectory import OnlineLimits

NEAR_PERIODS = 2.0
"""A joint is where its leader's is when it could be there in so many periods."""
AS_FAST = 0.2
"""And when their velocities differ by this share of an approach's at most."""


class CatchUp:
    """Goes to the leader within the bounds of approaches, and with it from when it is there.

    - `limits`: of the joints, with the velocity, acceleration and jerk of approaches
    - `start` (joints,): where the follower holds, in rad or m
    - `period_s`: between two targets

    - `is_there`: whether every joint has reached its leader's
    """

    def __init__(self, limits: OnlineLimits, start: Floats, period_s: float) -> None:
        self._generator = OnlineGenerator(limits, start, period_s)
        self._limits, self._period_s, self._behind_s = limits, period_s, 0.0
        self.is_there = False

    def next(self, positions: Floats, velocities: Floats, since_s: float) -> tuple[Floats, Floats]:
        """Return the next target: where the joints are to be, and how fast they pass there.

        Parameters
        ----------
        positions, velocities : ndarray, shape (joints,)
            Of the leader, by the follower's joints.
        since_s : float
            Since the last target.
        """
        if self.is_there:
            return positions, velocities
        way = self._generator
        way.aim(positions, velocities)
        self._behind_s += since_s
        while self._behind_s >= self._period_s / 2.0:
            way.step()
            self._behind_s -= self._period_s
        near = NEAR_PERIODS * self._period_s * self._limits.velocity
        is_near = np.abs(positions - way.position) <= near
        is_as_fast = np.abs(velocities - way.velocity) <= AS_FAST * self._limits.velocity
        self.is_there = bool((is_near & is_as_fast).all())
        return way.position.copy(), way.velocity.copy()
