"""The curve through rows of positions: a cubic spline, whose velocity and acceleration do not jump.

Its slopes at both ends are those of the cubic polynomial through the four rows there. After de Boor, "A
Practical Guide to Splines", 1978, chapter IV; of many rows the equations are solved by cyclic reduction
(Hockney 1965), so that no row takes a turn of a loop.
"""

from __future__ import annotations

from bisect import bisect_right
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from motiond.formats.arrays import Booleans, Floats

ENOUGH = 32
"""Slopes so many rows apart do not touch each other: what one makes of the next falls by 0.27 a row."""

MOST_PASSES = 64
"""All of them spread a row over about six on each side."""
MOST_AT_ONCE = 128
"""Of so many rows equations are solved, and passes made, by matrices: that costs less than small steps."""
ROOM = 0.8
"""Of limits of acceleration and jerk: what differences of rows may be, so that the curve keeps those."""


def smoothed(times: Floats, rows: Floats, acceleration: Floats, jerk: Floats) -> Floats:
    """Return rows, shape (rows, joints), as smooth as joints need them that are to keep their limits.

    Those of a joint that keeps them already stay as they are. `acceleration`, `jerk` (joints,): the limits.
    """
    passes, weights = 1, None
    while passes <= MOST_PASSES and (rough := _is_rough(times, rows, acceleration, jerk)).any():
        rows = rows.copy()
        if len(rows) > MOST_AT_ONCE:
            rows[:, rough] = _averaged(times, rows[:, rough], passes)
        else:
            weights = _averaged(times, np.eye(len(rows)), 1) if weights is None else weights @ weights
            rows[:, rough] = weights @ rows[:, rough]
        passes *= 2
    return rows


def _is_rough(times: Floats, rows: Floats, acceleration: Floats, jerk: Floats) -> Booleans:
    """Return which joints would accelerate too much, shape (joints,), by differences of their rows.

    Those at both ends do not count: nothing is known beyond them to smooth them by.
    """
    steps = np.diff(times)[:, None]
    accelerations = np.diff(np.diff(rows, axis=0) / steps, axis=0) / (steps[1:] + steps[:-1]) * 2.0
    jerks = np.diff(accelerations, axis=0) / steps[1:-1]
    rough: Booleans = np.abs(accelerations[1:-1]).max(axis=0, initial=0.0) > ROOM * acceleration
    rough |= np.abs(jerks[1:-1]).max(axis=0, initial=0.0) > ROOM * jerk
    return rough


def _averaged(times: Floats, rows: Floats, passes: int) -> Floats:
    """Return rows each of which has come halfway to the line between its neighbours, so many times.

    The first and the last one come an eighth of the way to the line through their two neighbours.
    """
    steps = np.diff(times)[:, None]
    share = steps[:-1] / (steps[:-1] + steps[1:])
    first, last = steps[0] / steps[1], steps[-1] / steps[-2]
    for _ in range(passes):
        between = rows[:-2] + share * (rows[2:] - rows[:-2])
        before, after = rows[1] + first * (rows[1] - rows[2]), rows[-2] + last * (rows[-2] - rows[-3])
        rows = np.concatenate(
            (
                [rows[0] + (before - rows[0]) / 8.0],
                (rows[1:-1] + between) / 2.0,
                [rows[-1] + (after - rows[-1]) / 8.0],
            )
        )
    return rows


class Spline:
    """The curve through rows.

    - `begins_s`, `ends_s`: the times of the first row and of the last one
    - `rest` (joints,): where it is held after them, in rad or m

    `times` (rows,): in s, ascending; at least two. `rows` (rows, joints): in rad or m.
    """

    def __init__(self, times: Floats, rows: Floats, rest: Floats) -> None:
        self.begins_s, self.ends_s = float(times[0]), float(times[-1])
        self.rest, self._times, self._edges = rest, times, times.tolist()
        self._joints = np.arange(rows.shape[1])
        steps = np.diff(times)[:, None]
        secants = np.diff(rows, axis=0) / steps
        slopes = _slopes(times, rows, steps, secants)
        before, after = slopes[:-1], slopes[1:]
        square = (3.0 * secants - 2.0 * before - after) / steps
        cube = (before + after - 2.0 * secants) / steps**2
        self._parts = np.stack([rows[:-1], before, square, cube])

    def at(self, times: Floats) -> Floats:
        """Return positions, velocities, accelerations and jerks, shape (4, times, joints).

        After the last row, it rests.
        """
        piece = self._piece(times)
        states = _states(self._parts[:, piece], (times - self._times[piece])[:, None])
        return self._held(states, times)

    def state_at(self, time_s: float) -> Floats:
        """Return the first three of these at one time, shape (3, joints)."""
        piece = min(max(bisect_right(self._edges, time_s) - 1, 0), len(self._edges) - 2)
        since = time_s - self._edges[piece]
        p, v, square, cube = self._parts[:, piece]
        state = np.empty((3, len(p)))
        bend = square + (3.0 * since) * cube
        state[0] = p + since * (v + since * (square + since * cube))
        state[1] = v + since * (square + bend)
        state[2] = bend + bend
        return state

    def at_each(self, times: Floats) -> Floats:
        """Return the same of each joint at a time of its own, shape (4, joints). `times` (joints,)."""
        piece = self._piece(times)
        return self._held(_states(self._parts[:, piece, self._joints], times - self._times[piece]), times)

    def _held(self, states: Floats, times: Floats) -> Floats:
        after = times > self.ends_s
        states[1:, after] = 0.0
        states[0, after] = np.broadcast_to(self.rest, states.shape[1:])[after]
        return states

    def _piece(self, times: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        piece = np.searchsorted(self._times, times, side="right") - 1
        return np.clip(piece, 0, len(self._times) - 2)


def _states(parts: Floats, since: Floats) -> Floats:
    p, v, square, cube = parts
    return np.stack(
        [
            p + since * (v + since * (square + since * cube)),
            v + since * (2.0 * square + since * 3.0 * cube),
            2.0 * square + since * 6.0 * cube,
            np.broadcast_to(6.0 * cube, np.broadcast_shapes(cube.shape, since.shape)),
        ]
    )


def _slopes(times: Floats, rows: Floats, steps: Floats, secants: Floats) -> Floats:
    """Return the velocities at the rows, shape (rows, joints)."""
    ends = _end_slope(times[:4], rows[:4]), _end_slope(times[:-5:-1], rows[:-5:-1])
    if len(rows) > MOST_AT_ONCE:
        return _reduced(ends, steps, secants)
    count, both = len(rows), 2.0 * (steps[:-1, 0] + steps[1:, 0])
    equations, right = np.zeros((count, count)), np.empty_like(rows)
    right[0], right[-1] = ends
    np.multiply(steps[1:], secants[:-1], out=right[1:-1])
    right[1:-1] += steps[:-1] * secants[1:]
    right[1:-1] *= 3.0
    flat = equations.reshape(-1)
    flat[0] = flat[-1] = 1.0
    for place, values in enumerate((steps[1:, 0], both, steps[:-1, 0]), count):
        flat[place :: count + 1][: count - 2] = values
    slopes: Floats = np.linalg.solve(equations, right)
    return slopes


def _reduced(ends: tuple[Floats, Floats], steps: Floats, secants: Floats) -> Floats:
    """Return the same by cyclic reduction."""
    count = len(steps) + 1
    slopes = np.empty((count, secants.shape[1]))
    slopes[0], slopes[-1] = ends
    before, after = np.zeros((2, count, 1))
    both = 2.0 * (steps[:-1] + steps[1:])
    before[1:-1], after[1:-1] = steps[1:] / both, steps[:-1] / both
    slopes[1:-1] = 3.0 * (before[1:-1] * secants[:-1] + after[1:-1] * secants[1:])
    places, apart = np.arange(count), 1
    while apart < min(count, ENOUGH):
        left, right = np.maximum(places - apart, 0), np.minimum(places + apart, count - 1)
        share = 1.0 - before * after[left] - after * before[right]
        slopes = (slopes - before * slopes[left] - after * slopes[right]) / share
        before, after = -before * before[left] / share, -after * after[right] / share
        apart *= 2
    return slopes


def _end_slope(times: Floats, rows: Floats) -> Floats:
    """Return the slope at the first of up to four rows of the polynomial through them, by Lagrange's form."""
    begin, *others = times.tolist()
    away = [time_s - begin for time_s in others]
    weights = [
        prod((other / (other - own) for other in away if other != own), start=1.0 / own) for own in away
    ]
    slope: Floats = np.dot([-sum(weights), *weights], rows)
    return slope
