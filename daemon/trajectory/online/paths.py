"""Paths that joints are led along, and how they come onto one that has begun without them.

A joint comes onto a path along with it: what is between them vanishes by a polynomial of fifth degree, with
its velocity and acceleration, so that a joint that is on the path already stays there. It takes the shortest
of some durations in which that keeps the joint's limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from motiond.formats.arrays import Booleans, Floats

    from .limits import OnlineLimits
    from .spline import Spline

JOIN_S = (0.1, 0.2, 0.4, 0.8)
"""How long it may take to come onto a path."""
MOST_WAITING = 16
"""So many paths may wait for their begin; of more, the earliest are left out."""
ROUNDING = 1e-9
"""Of a limit, or in rad, m, or that per s or s²: what differs by less is the same."""
BEND = 0.005
"""Of what a joint can make of its acceleration in a tick: how far what is between two ticks may be off."""
_U = np.linspace(0.0, 1.0, 17)[:, None]
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
        self._gaps = np.zeros((6, count))
        self._tries = 0

    @property
    def ends_s(self) -> float:
        """When the last of them ends; in the past where there is none."""
        last = self._waiting[-1] if self._waiting else self.path
        return -np.inf if last is None else last.ends_s

    def add(self, path: Spline) -> None:
        """Let a path follow from its begin on, instead of all that would have been later."""
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
        if self._waiting and self._waiting[0].begins_s <= now_s:
            due = [path for path in self._waiting if path.begins_s <= now_s]
            self.path = due[-1]
            del self._waiting[: len(due)]
            self.led.fill(True)
            self.joined.fill(False)
            self._tries = 0
        if self.path is None or now_s <= self.path.ends_s:
            return None
        rest, self.path = self.path.rest, None
        return rest

    def lead(self, path: Spline, now_s: float, state: Floats) -> Booleans:
        """Fill in where the path leads from a state, shape (3, joints); return which joints can go there."""
        if not (self.joined | ~self.led).all():
            self._join(path, now_s - self._period_s, state)
        self.ahead = path.state_at(now_s)
        share = np.minimum((now_s - self._since_s) / self._join_s, 1.0)
        self.rows[:] = self.ahead
        if (share < 1.0).any():
            self.rows += _vanishing(self._gaps, share, self._join_s)[:3]
        self.joined &= self._can_follow(state)
        return self.joined & self.led

    def lose(self, joints: list[int]) -> None:
        """Note that joints could not go where the path leads."""
        self.joined[joints] = False

    def _join(self, path: Spline, now_s: float, state: Floats) -> None:
        """Find ways onto the path for joints that have none: at first of any duration, then one a tick."""
        gap = state - path.state_at(now_s)
        durations = JOIN_S[(self._tries - 1) % len(JOIN_S) :][:1] if self._tries else JOIN_S
        self._tries += 1
        for duration_s in durations:
            gaps = _gaps(gap, duration_s)
            times = np.minimum(now_s + duration_s * _U[:, 0], path.ends_s)
            powers = duration_s ** np.arange(4.0)[:, None, None]
            p, v, a, j = path.at(times) + _SHAPES @ gaps / powers
            limits = self._limits
            keeps = (p >= limits.lower) & (p <= limits.upper) & (np.abs(v) <= limits.velocity)
            keeps &= (np.abs(a) <= limits.acceleration) & (np.abs(j) <= limits.jerk)
            found = keeps.all(axis=0) & ~self.joined
            self._gaps[:, found] = gaps[:, found]
            self._since_s[found], self._join_s[found] = now_s, duration_s
            self.joined |= found
            if self.joined.all():
                return

    def _can_follow(self, state: Floats) -> Booleans:
        """Return which joints can be where the path leads, from a state a tick before."""
        limits, h = self._limits, self._period_s
        p, v, a = state
        next_p, next_v, next_a = self.rows
        jerk = limits.jerk * h
        change = next_a - a
        peak = next_v + next_a * np.abs(next_a) / (2.0 * limits.jerk)
        can: Booleans = np.maximum(np.abs(next_v), np.abs(peak)) <= limits.velocity * (1.0 + ROUNDING)
        can &= np.abs(next_a) <= limits.acceleration * (1.0 + ROUNDING)
        can &= np.abs(next_v - v) <= limits.acceleration * h * (1.0 + ROUNDING)  # also where it peaks between
        can &= np.abs(change) <= jerk * (1.0 + 1e-6) + ROUNDING
        can &= np.abs(next_v - v - h / 2.0 * (a + next_a)) <= jerk * h / 4.0 + ROUNDING
        step = next_p - p
        bend = step - h / 2.0 * (v + next_v) + h**2 / 12.0 * change
        can &= np.abs(step) <= limits.velocity * h * (1.0 + ROUNDING)
        most = np.minimum(jerk * h**2 / 16.0, BEND * limits.acceleration * h**2)
        can &= np.abs(bend) <= most + ROUNDING * h
        return can


def _gaps(gap: Floats, duration_s: float) -> Floats:
    """Return by which polynomial a gap, shape (3, joints), vanishes; shape (6, joints)."""
    gaps: Floats = _VANISHING @ (gap * np.array([[1.0], [duration_s], [duration_s**2]]))
    return gaps


def _vanishing(gaps: Floats, share: Floats, duration_s: Floats | float) -> Floats:
    """Return the polynomial and its three derivatives where a share of its time has passed."""
    c0, c1, c2, c3, c4, c5 = gaps
    u = share
    return np.stack(
        [
            c0 + u * (c1 + u * (c2 + u * (c3 + u * (c4 + u * c5)))),
            (c1 + u * (2.0 * c2 + u * (3.0 * c3 + u * (4.0 * c4 + u * 5.0 * c5)))) / duration_s,
            (2.0 * c2 + u * (6.0 * c3 + u * (12.0 * c4 + u * 20.0 * c5))) / duration_s**2,
            (6.0 * c3 + u * (24.0 * c4 + u * 60.0 * c5)) / duration_s**3,
        ]
    )


_SHAPES = _vanishing(np.eye(6)[:, None], _U, 1.0)
"""Shape (4, 17, 6): each part of the polynomial and of its derivatives at `_U`, for a duration of 1 s."""
