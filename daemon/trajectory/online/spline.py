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
    from typing import Self

    from motiond.formats.arrays import Booleans, Floats

SHORTEST_S = 1e-7
"""Between two rows."""
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

    `times` (rows,): in s, ascending; at least two. `rows` (rows, joints): in rad or m. `slopes` (rows,
    joints): the velocities there. `begins_s`: of what the times count from.
    """

    def __init__(
        self, times: Floats, rows: Floats, slopes: Floats, rest: Floats, begins_s: float = 0.0
    ) -> None:
        self.rest, self._times, self._edges, self._zero_s = rest, times, times.tolist(), begins_s
        self.begins_s, self.ends_s = begins_s + self._edges[0], begins_s + self._edges[-1]
        self._rows, self._slopes, self._joints = rows, slopes, np.arange(rows.shape[1])
        self._piece_of_state, self._parts = -1, np.empty((4, rows.shape[1]))

    @classmethod
    def through(cls, times: Floats, rows: Floats, rest: Floats) -> Self:
        """Return the one whose acceleration does not jump."""
        return cls(times, rows, _slopes(times, rows), rest)

    def as_bytes(self) -> bytes:
        """Return what `from_bytes` makes a curve of."""
        parts = self._times, self._rows, self._slopes, self.rest
        data: bytes = np.concatenate([part.ravel() for part in parts]).tobytes()
        return data

    @classmethod
    def from_bytes(cls, data: bytes, joints: int, begins_s: float) -> Self:
        """Return the curve of so many joints that data are of, as from another time on.

        Raises ValueError for what is none.
        """
        values = np.frombuffer(data)
        rows, others = divmod(len(values) - joints, 1 + 2 * joints)
        if rows < 2 or others or not np.isfinite(values).all():
            raise ValueError("no curve")
        times, rest = values[:rows], values[-joints:]
        if (np.diff(times) < SHORTEST_S).any():
            raise ValueError("times that do not ascend")
        places, slopes = values[rows:-joints].reshape(2, rows, joints)
        return cls(times, places, slopes, rest, begins_s)

    def at(self, times: Floats) -> Floats:
        """Return positions, velocities, accelerations and jerks, shape (4, times, joints).

        After the last row, it rests.
        """
        times = times - self._zero_s
        piece = self._piece(times)
        steps, since = self._times[piece + 1] - self._times[piece], times - self._times[piece]
        ends = self._rows[piece], self._rows[piece + 1], self._slopes[piece], self._slopes[piece + 1]
        return self._held(_states(_parts(*ends, steps[:, None]), since[:, None]), times)

    def state_at(self, time_s: float) -> Floats:
        """Return the first three of these at one time, shape (3, joints)."""
        time_s -= self._zero_s
        piece = min(max(bisect_right(self._edges, time_s) - 1, 0), len(self._edges) - 2)
        since = time_s - self._edges[piece]
        if piece != self._piece_of_state:
            rows, slopes = self._rows, self._slopes
            step_s, then = self._edges[piece + 1] - self._edges[piece], piece + 1
            self._parts = _parts(rows[piece], rows[then], slopes[piece], slopes[then], step_s)
            self._piece_of_state = piece
        p, v, square, cube = self._parts
        state = np.empty((3, len(p)))
        bend = square + (3.0 * since) * cube
        state[0] = p + since * (v + since * (square + since * cube))
        state[1] = v + since * (square + bend)
        np.add(bend, bend, out=state[2])
        return state

    def at_each(self, times: Floats) -> Floats:
        """Return the same of each joint at a time of its own, shape (4, joints). `times` (joints,)."""
        times, joints = times - self._zero_s, self._joints
        piece = self._piece(times)
        steps, since = self._times[piece + 1] - self._times[piece], times - self._times[piece]
        ends = self._rows[piece, joints], self._rows[piece + 1, joints]
        slopes = self._slopes[piece, joints], self._slopes[piece + 1, joints]
        return self._held(_states(_parts(*ends, *slopes, steps), since), times)

    def _held(self, states: Floats, times: Floats) -> Floats:
        after = times > self._edges[-1]
        if not after.any():
            return states
        states[1:, after] = 0.0
        states[0, after] = np.broadcast_to(self.rest, states.shape[1:])[after]
        return states

    def _piece(self, times: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        piece = np.searchsorted(self._times, times, side="right") - 1
        return np.clip(piece, 0, len(self._times) - 2)


def _parts(begin: Floats, end: Floats, before: Floats, after: Floats, steps: Floats | float) -> Floats:
    """Return the coefficients of Hermite's polynomials between places, with slopes before and after."""
    parts = np.empty((4, *begin.shape))
    parts[0], parts[1] = begin, before
    secants = (end - begin) / steps
    gain, both = secants - before, before + after - 2.0 * secants
    np.divide(gain - both, steps, out=parts[2])
    np.divide(both, np.square(steps), out=parts[3])
    return parts


def _states(parts: Floats, since: Floats) -> Floats:
    p, v, square, cube = parts
    states = np.empty_like(parts)
    bend = square + since * (3.0 * cube)
    states[0] = p + since * (v + since * (square + since * cube))
    states[1] = v + since * (square + bend)
    np.add(bend, bend, out=states[2])
    np.multiply(cube, 6.0, out=states[3])
    return states


def _slopes(times: Floats, rows: Floats) -> Floats:
    """Return the velocities at the rows, shape (rows, joints)."""
    steps = np.diff(times)[:, None]
    secants = np.diff(rows, axis=0) / steps
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
