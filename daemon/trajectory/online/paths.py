"""Paths that joints are led along, and how they come onto one that has begun without them.

A joint comes onto a path along with it: what is between them vanishes by a polynomial of fifth degree, with
its velocity and acceleration, so that a joint that is on the path already stays there. It takes the shortest
of some durations in which that keeps the joint's limits.
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from motiond.formats.arrays import Booleans, Floats

    from .limits import OnlineLimits
    from .spline import Spline

JOIN_S = np.array([0.1, 0.2, 0.4, 0.8])
"""How long it may take to come onto a path."""
MOST_WAITING = 16
"""So many paths may wait for their begin; of more, the earliest are left out."""
ROUNDING = 1e-9
"""Of a limit, or in rad, m, or that per s or s²: what differs by less is the same."""
BEND = 0.005
"""Of what a joint can make of its acceleration in a tick: how far what is between two ticks may be off."""
EVEN = 1.015
"""Of a limit of acceleration: how much of it the difference of two steps may be."""
_PLACES = 17
"""So many places of a way onto a path are looked at."""
_VANISHING = np.array(
    [
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 0.5],
        [-10.0, -6.0, -1.5],
        [15.0, 8.0, 1.5],
        [-6.0, -3.0, -0.5],
    ]
)
"""Of a gap, its velocity and its acceleration: the polynomial of fifth degree by which it vanishes."""
_ORDERS = np.arange(4.0)
_DERIVATIVES = np.zeros((4, 6, 6))
"""Of a polynomial's coefficients: those of itself and of its first three derivatives."""
for _order in range(4):
    for _power in range(6 - _order):
        _DERIVATIVES[_order, _power, _power + _order] = factorial(_power + _order) / factorial(_power)
_U = np.linspace(0.0, 1.0, _PLACES)
_SHAPES = (_U[:, None] ** np.arange(6.0) @ _DERIVATIVES)[:, None] / (
    JOIN_S[:, None, None] ** _ORDERS[:, None, None, None]
)
"""Shape (4, durations, places, 6): each part of the polynomial and of its derivatives at `_U`."""
_SCALES = JOIN_S[:, None, None] ** _ORDERS[:3, None]
"""Shape (durations, 3, 1): of a gap, its velocity and its acceleration, for the time that it takes."""
_AFTER_S = JOIN_S[:, None] * _U


class Paths:
    """The path that joints are led along now, and those that follow it.

    - `path`: that of now; None where there is none
    - `led` (joints,): which joints it leads; the others have a target of their own
    - `joined` (joints,): which of them are on it, or on their way onto it
    - `rows` (3, joints): positions, velocities and accelerations to which it leads next
    - `ahead` (3, joints): those of the path itself
    """

    def __init__(self, limits: OnlineLimits, period_s: float) -> None:
        count = len(limits.lower)
        self._limits, self._period_s = limits, period_s
        self.path: Spline | None = None
        self._waiting: list[Spline] = []
        self.led: Booleans = np.zeros(count, dtype=bool)
        self.joined: Booleans = np.zeros(count, dtype=bool)
        self.rows, self.ahead = np.zeros((3, count)), np.zeros((3, count))
        self._since_s, self._join_s = np.zeros(count), np.ones(count)
        self._is_new = False
        self._gaps, self._powers = np.zeros((3, 6, count)), np.ones((6, count))
        self._kept, self._most = np.zeros((9, count)), _most_of(limits, period_s)

    @property
    def ends_s(self) -> float:
        """When the last of them ends; in the past where there is none."""
        last = self._waiting[-1] if self._waiting else self.path
        return -np.inf if last is None else last.ends_s

    def add(self, path: Spline) -> None:
        """Let a path follow from its begin on, instead of all that would have been later.

        It begins in the tick after this at the earliest: to take a path and to find the way onto it is too
        much for one tick.
        """
        self._is_new = True
        self._waiting = [other for other in self._waiting if other.begins_s < path.begins_s]
        self._waiting.append(path)
        del self._waiting[:-MOST_WAITING]

    def leave(self, joints: Booleans) -> None:
        """Lead joints, a mask of shape (joints,), no longer, and begin no other path."""
        self._waiting.clear()
        self.led &= ~joints
        if not self.led.any():
            self.path = None

    def look(self, now_s: float) -> Floats | None:
        """Begin the path that is due; return where to rest, shape (joints,), at the end of one."""
        is_new, self._is_new = self._is_new, False
        if self._waiting and self._waiting[0].begins_s <= now_s and not is_new:
            due = [path for path in self._waiting if path.begins_s <= now_s]
            self.path = due[-1]
            del self._waiting[: len(due)]
            self.led.fill(True)
            self.joined.fill(False)
        if self.path is None or now_s <= self.path.ends_s:
            return None
        rest, self.path = self.path.rest, None
        return rest

    def lead(self, path: Spline, now_s: float, state: Floats) -> Booleans:
        """Fill in where the path leads from a state, shape (3, joints); return which joints can go there."""
        if not (self.joined | ~self.led).all():
            self._join(path, now_s - self._period_s, state)
        self.ahead = path.state_at(now_s)
        self.rows[:] = self.ahead
        share = (now_s - self._since_s) / self._join_s
        if (joins := share < 1.0).any():
            self._powers[1:] = np.minimum(share, 1.0)
            powers = np.multiply.accumulate(self._powers)
            self.rows += np.add.reduce(self._gaps * powers, axis=1) * joins
        self.joined &= self._can_follow(state)
        return self.joined & self.led

    def lose(self, joints: list[int]) -> None:
        """Note that joints could not go where the path leads."""
        self.joined[joints] = False

    def _join(self, path: Spline, now_s: float, state: Floats) -> None:
        """Find ways onto the path for joints that have none."""
        gap, limits = state - path.state_at(now_s), self._limits
        gaps = _VANISHING @ (gap * _SCALES)
        times = np.minimum(now_s + _AFTER_S, path.ends_s)
        ways = path.at(times.ravel()).reshape(4, len(JOIN_S), _PLACES, -1)
        ways += _SHAPES @ gaps
        p, v, a, j = ways
        keeps = (p >= limits.lower) & (p <= limits.upper) & (np.abs(v) <= limits.velocity)
        keeps &= (np.abs(a) <= limits.acceleration) & (np.abs(j) <= limits.jerk)
        can = keeps.all(axis=1)
        found = np.flatnonzero(can.any(axis=0) & ~self.joined)
        which = can.argmax(axis=0)[found]
        self._since_s[found], self._join_s[found] = now_s, JOIN_S[which]
        parts = _DERIVATIVES[:3] @ gaps[which, :, found].T
        self._gaps[:, :, found] = parts / self._join_s[found] ** _ORDERS[:3, None, None]
        self.joined[found] = True

    def _can_follow(self, state: Floats) -> Booleans:
        """Return which joints can be where the path leads, from a state a tick before."""
        h, kept = self._period_s, self._kept
        p, v, a = state
        next_p, next_v, next_a = self.rows
        change, gained, step = next_a - a, next_v - v, next_p - p
        kept[0], kept[1], kept[2], kept[3], kept[4] = next_v, next_a, gained, change, step
        kept[5] = next_v + next_a * np.abs(next_a) / (2.0 * self._limits.jerk)  # how fast it gets at least
        kept[6] = gained - h / 2.0 * (a + next_a)
        bow = step - h / 2.0 * (v + next_v)
        kept[7] = bow + h**2 / 12.0 * change
        kept[8] = h / 2.0 * np.abs(gained) + np.abs(bow)  # its share of how much two steps may differ
        can: Booleans = (np.abs(kept) <= self._most).all(axis=0)
        return can


def _most_of(limits: OnlineLimits, h: float) -> Floats:
    """Return what may be at most of what `_can_follow` looks at, in ticks of h, shape (9, joints)."""
    velocity, acceleration = limits.velocity * (1.0 + ROUNDING), limits.acceleration * (1.0 + ROUNDING)
    jerk = limits.jerk * h
    bend = np.minimum(jerk * h**2 / 16.0, BEND * limits.acceleration * h**2)
    return np.stack(
        [
            velocity,
            acceleration,
            acceleration * h,  # also where it peaks between
            jerk * (1.0 + 1e-6) + ROUNDING,
            velocity * h,
            velocity,
            jerk * h / 4.0 + ROUNDING,
            bend + ROUNDING * h,
            EVEN * limits.acceleration * h**2 / 2.0 + ROUNDING * h,
        ]
    )
