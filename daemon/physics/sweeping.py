"""How near a robot's links come along a whole path, between its rows as well.

A path is cut into intervals. In the middle of each the distances of all pairs are looked at; what they lose
at most up to its ends follows from how far each joint goes there (`Clearance.weights`). A pair that cannot
come nearer in it than it has come already, or than the margin, is done there; for the others the interval is
halved. So none is passed over, whatever the distance between two rows, and where nothing is near, a look may
do for many seconds. Intervals are halved until a pair would come nearer by no more than `TOLERANCE_M`.

Between two rows the curve is a cubic in Bézier's form, which stays between its control points and is halved
exactly: Farin, Curves and Surfaces for CAGD (2002), chapter 4 (de Casteljau).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .clearance import FAR_M, Nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.formats.arrays import Booleans, Floats, Indices

    from .clearance import Clearance, Look

TOLERANCE_M = 0.0005
"""Nowhere between two looks does a pair come nearer than it was found, or than the margin, by more."""
SHARE, COARSE_M = 0.9, 0.001
"""What is nearest is found within a tenth; within the margin, and this, at the least."""
WORST = 3
"""So many pairs of links within the margin are followed to where they are nearest; of others it is enough."""
ROWS_AT_ONCE = 1024
FIRST_LOOKS = 64


class Canceled(Exception):
    """The looking was to end."""


@dataclass(frozen=True, slots=True)
class JointPath:
    """Rows, and the curve between them.

    - `positions` (ndarray, shape (rows, joints)): in rad or m, of all joints
    - `slopes` (ndarray, shape (rows, joints)): of a cubic curve, per row; None where it is straight
    """

    positions: Floats
    slopes: Floats | None = None

    @property
    def last(self) -> int:
        """The number of its last row."""
        return len(self.positions) - 1

    @property
    def farthest(self) -> Floats:
        """How far from 0 the curve may come, shape (joints,)."""
        farthest: Floats = np.abs(self.positions).max(axis=0)
        return farthest if self.slopes is None else farthest + np.abs(self.slopes).max(axis=0) / 3.0

    def controls(self, first: int, end: int) -> Floats:
        """Return the control points of the curve from row to row, shape (end - first, 4, joints)."""
        rows = self.positions[first : end + 1]
        start, stop = rows[:-1], rows[1:]
        if self.slopes is None:
            third = (stop - start) / 3.0
            return np.stack((start, start + third, stop - third, stop), axis=1)
        thirds = self.slopes[first : end + 1] / 3.0
        return np.stack((start, start + thirds[:-1], stop - thirds[1:], stop), axis=1)

    def at(self, place: float) -> Floats:
        """Return the posture at a place between two rows, shape (joints,)."""
        row = min(int(place), max(self.last - 1, 0))
        share = place - row
        points = self.controls(row, row + 1)[0] if self.last else self.positions
        while len(points) > 1:
            points = points[:-1] + share * (points[1:] - points[:-1])
        return np.asarray(points[0])


@dataclass(frozen=True, slots=True)
class Encounter:
    """Where on a path a pair of links is nearest.

    - `place`: in rows
    - `reserve_m`: by how much they may be nearer yet
    """

    nearest: Nearest
    place: float
    reserve_m: float = 0.0


@dataclass(frozen=True, slots=True)
class Swept:
    """What was found along a path.

    - `nearest`: the nearest pair of all; None where there is none
    - `violations`: two links each that are within the margin, the worst first: the `WORST` where they are
      nearest, the others where they were found to be
    """

    nearest: Encounter | None
    violations: tuple[Encounter, ...]


def sweep(
    clearance: Clearance,
    path: JointPath,
    margin_m: float,
    *,
    pairs: Indices | None = None,
    reserve_m: Floats | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Swept:
    """Look for what comes nearer than a margin, and for what is nearest, along a path.

    Parameters
    ----------
    pairs : ndarray of int, shape (n,)
        By default all.
    reserve_m : ndarray, shape (pairs,)
        By how much each pair may be nearer yet, by what is no part of the path; default 0.
    stopped : callable
        Asked again and again; once it says so, `Canceled` is raised.
    """
    search = _Search(clearance, path, margin_m, reserve_m)
    chosen = np.arange(len(clearance.first)) if pairs is None else np.asarray(pairs, dtype=np.intp)
    if chosen.size:
        search.glance(chosen)
        for first in range(0, max(path.last, 1), ROWS_AT_ONCE):
            if stopped():
                raise Canceled
            search.search(chosen, first)
    return search.swept()


class _Search:
    """The search along one path: what each pair, and each two links, have come to so far.

    Shapes of what is kept by pair are (pairs,), as of `Clearance`; distances are less what is reserved.
    """

    def __init__(
        self, clearance: Clearance, path: JointPath, margin_m: float, reserve_m: Floats | None
    ) -> None:
        self._clearance, self._path, self._margin_m = clearance, path, margin_m
        self._look: Look = clearance.look()
        self._weights = clearance.weights(path.farthest)
        count = len(clearance.first)
        self._reserve = np.zeros(count) if reserve_m is None else reserve_m
        self._least = np.full(count, np.inf)
        self._found: dict[int, Encounter] = {}
        self._best = self._worst = np.inf  # the nearest of all; of the WORST, the one that is nearest last
        self._by_links: dict[tuple[str, str], float] = {}

    def glance(self, pairs: Indices) -> None:
        """Look at a few rows all over the path, so that less has to be looked at in detail."""
        rows = np.unique(np.linspace(0, self._path.last, FIRST_LOOKS).round().astype(int))
        postures = self._path.positions[rows]
        unit, pair = np.repeat(np.arange(len(rows)), pairs.size), np.tile(pairs, len(rows))
        self._examine(postures, np.zeros_like(postures), rows.astype(float), unit, pair)

    def search(self, pairs: Indices, first: int) -> None:
        """Look at the next rows, and at what is between them."""
        end = min(first + ROWS_AT_ONCE, self._path.last)
        controls = self._path.controls(first, end)
        if not len(controls):
            return
        lows, highs = [controls.min(axis=1)], [controls.max(axis=1)]
        while len(lows[-1]) > 1:
            odd = len(lows[-1]) % 2
            for levels, join in ((lows, np.minimum), (highs, np.maximum)):
                last = levels[-1]
                whole = np.concatenate((last, last[-1:])) if odd else last
                levels.append(join(whole[::2], whole[1::2]))
        unit, pair = np.zeros(pairs.size, dtype=np.intp), pairs
        for level in range(len(lows) - 1, 0, -1):
            numbers, unit = np.unique(unit, return_inverse=True)
            middles = np.minimum(first + numbers * 2**level + 2 ** (level - 1), end)
            postures = self._path.positions[middles]
            moves = np.maximum(highs[level][numbers] - postures, postures - lows[level][numbers])
            left = self._examine(postures, moves, middles.astype(float), unit, pair)
            unit = (2 * numbers[unit[left]][:, None] + [0, 1]).ravel()
            pair = np.repeat(pair[left], 2)
            exists = unit < len(lows[level - 1])
            unit, pair = unit[exists], pair[exists]
        self._between_rows(controls, first, unit, pair)

    def _between_rows(self, controls: Floats, first: int, unit: Indices, pair: Indices) -> None:
        """Halve curves between rows until no pair comes nearer in them; `unit`: of each pair its curve."""
        numbers, unit = np.unique(unit, return_inverse=True)
        curves, begins, width = controls[numbers], first + numbers.astype(float), 1.0
        while pair.size:
            before, after = _halves(curves)
            middles = after[:, 0]
            moves = np.abs(curves - middles[:, None]).max(axis=1)
            left = self._examine(middles, moves, begins + width / 2, unit, pair)
            numbers, unit = np.unique(unit[left], return_inverse=True)
            width /= 2
            curves = np.concatenate((before[numbers], after[numbers]))
            begins = np.concatenate((begins[numbers], begins[numbers] + width))
            pair = np.tile(pair[left], 2)
            unit = np.concatenate((unit, unit + len(numbers)))

    def _examine(
        self, postures: Floats, moves: Floats, places: Floats, unit: Indices, pair: Indices
    ) -> Booleans:
        """Look at pairs in postures; return which may come nearer than is known, while joints move on.

        - `postures`, `moves`: shape (postures, joints), from there on each joint goes at most so far
        - `places`: shape (postures,), in rows
        - `unit`, `pair`: shape (n,); in which posture to look at which pair
        """
        bound = np.einsum("ij,ij->i", moves[unit], self._weights[pair]) + self._reserve[pair]
        left = np.zeros(pair.size, dtype=bool)
        order = np.argsort(unit, kind="stable")
        edges = np.searchsorted(unit[order], np.arange(len(postures) + 1))
        for number in range(len(postures)):
            mine = order[edges[number] : edges[number + 1]]
            if mine.size:
                self._look.place(postures[number])
                left[mine] = self._in_place(pair[mine], bound[mine], float(places[number]))
        return left

    def _in_place(self, pairs: Indices, bounds: Floats, place: float) -> Booleans:
        """Do as `_examine` in the posture that was placed; `bounds` (n,): how much nearer each may come."""
        look, needed = self._look, self._sought(self._least[pairs]) + bounds - TOLERANCE_M
        left: Booleans = look.gaps(pairs) < needed
        near = np.flatnonzero(left)
        if not near.size:
            return left
        mine, reserve = pairs[near], self._reserve[pairs[near]]
        most = np.clip(needed[near], 0.0, FAR_M) + TOLERANCE_M
        news = np.minimum(most, np.minimum(self._least[mine], max(self._margin_m, self._best)) + reserve)
        numbers, distances = mine.tolist(), np.empty(near.size)
        measured = look.distances(numbers, most.tolist())
        for number, (distance, below) in enumerate(zip(measured, news.tolist(), strict=True)):
            distances[number] = distance
            if distance < below:
                self._take(numbers[number], distance, place)
        left[near] = distances - bounds[near] < self._sought(self._least[mine]) - TOLERANCE_M
        return left

    def _sought(self, least: Floats) -> Floats:
        """Return below which distance each of some pairs would be news, by their least ones so far."""
        beyond = max(self._margin_m, SHARE * self._best)
        within = np.minimum(least, self._margin_m)
        deeper = np.minimum(within - COARSE_M - (1.0 - SHARE) * np.abs(within), self._worst)
        return np.where(least < self._margin_m, deeper, beyond)

    def _take(self, pair: int, distance: float, place: float) -> None:
        """Note the distance of a pair that was looked at last, where it is news beside those before it."""
        near = distance - float(self._reserve[pair])
        if near < min(float(self._least[pair]), max(self._margin_m, self._best)):
            self._note(pair, near, distance, place)

    def _note(self, pair: int, near: float, distance: float, place: float) -> None:
        self._least[pair] = near
        self._best = min(self._best, near)
        links = self._clearance.links[pair]
        if near < min(self._margin_m, self._by_links.get(links, np.inf)):
            self._by_links[links] = near
            self._worst = (
                sorted(self._by_links.values())[WORST - 1] if len(self._by_links) >= WORST else np.inf
            )
        found = Nearest(self._clearance.links[pair], distance, self._look.points)
        self._found[pair] = Encounter(found, place, float(self._reserve[pair]))

    def swept(self) -> Swept:
        """Return what was found."""
        order = sorted(self._found, key=lambda pair: float(self._least[pair]))
        worst: dict[tuple[str, str], Encounter] = {}
        for pair in order:
            if self._least[pair] < self._margin_m:
                worst.setdefault(self._clearance.links[pair], self._found[pair])
        return Swept(self._found[order[0]] if order else None, tuple(worst.values()))


def nearing(
    clearance: Clearance, path: JointPath, margin_m: float, pairs: Indices, reserve_m: Floats
) -> Encounter | None:
    """Return where one of some pairs, which begin within the margin, comes nearer before it is out of it.

    Looks one after the other along the path, each as far on as nothing can come near before it (conservative
    advancement: Mirtich, Impulse-based Dynamic Simulation of Rigid Body Systems (1996), 2.3). Otherwise as
    `sweep`.
    """
    look, places = clearance.look(), np.arange(path.last + 1.0)
    steps = 3.0 * np.abs(np.diff(path.controls(0, path.last), axis=1)).max(axis=1)
    weights = clearance.weights(path.farthest)
    for pair in pairs.tolist():
        gone = np.concatenate(([0.0], np.cumsum(steps @ weights[pair])))
        within, highest, place = margin_m + float(reserve_m[pair]), -np.inf, 0.0
        while True:
            look.place(path.at(place))
            distance = look.distance(pair)
            if distance < min(within, highest) - TOLERANCE_M:
                found = Nearest(clearance.links[pair], distance, look.points)
                return Encounter(found, place, float(reserve_m[pair]))
            if place >= path.last:
                break
            highest = max(highest, distance)
            onward = np.interp(place, places, gone) + max(distance - within, TOLERANCE_M)
            place = float(np.interp(onward, gone, places))
    return None


def _halves(curves: Floats) -> tuple[Floats, Floats]:
    """Return both halves of cubic curves by their control points, shape (n, 4, joints)."""
    a, b, c, d = np.moveaxis(curves, 1, 0)
    ab, bc, cd = (a + b) / 2, (b + c) / 2, (c + d) / 2
    abc, bcd = (ab + bc) / 2, (bc + cd) / 2
    middle = (abc + bcd) / 2
    return np.stack((a, ab, abc, middle), axis=1), np.stack((middle, bcd, cd, d), axis=1)
