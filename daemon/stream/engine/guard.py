"""Keeps a robot that follows targets from running into itself or into what stands around.

A state is *clear* where the joints, if they brake from now on, keep their margin all the way until they rest.
The next setpoint is taken if it is clear; otherwise all joints take a tick of braking, which is what was left
of the way that was found to be clear before. So by induction each setpoint keeps the margin, whatever comes.

How near links come on a way is bounded by conservative advancement (after Mirtich, "Impulse-based Dynamic
Simulation of Rigid Body Systems", 1996): at a posture that was looked at, a pair of links has some room, and
a way that cannot use it up, by how far joints move, needs no other look.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.drivers import DriverError

from ...physics import Clearance, PhysicalJoint, PhysicsError, World

if TYPE_CHECKING:
    from ruckig import Trajectory

    from motiond.formats.arrays import Booleans, Floats, Indices

    from ...ipc.messages import CollisionSetup, Setup

ROOM_M = 2e-4
"""What is left beyond the margin where a robot comes to rest, so that it can move away again."""
LEAST_M = 1e-5
PARTS = 16
"""Into so many parts of equal time the way is cut that braking takes."""
SEEN = 24
"""So many postures that were looked at are kept."""
LOOK_S, LEAST_LOOKS, MOST_LOOKS = 2e-4, 4, 16
"""In each such time of a tick one look is allowed, within bounds. A way that needs more is not taken."""
AHEAD, AHEAD_M = 3.0, 0.05
"""Distances are worked out up to so many times what braking may take of them, and so much more."""
LONGEST_M = 100.0
"""How far a slide without limits goes."""


class Surroundings:
    """What may be near the links of one robot, and how near it may come.

    - `margin_m`: how near
    - `links`: the names of each pair
    - `weights` (pairs, joints): by how much the distance of each changes at most, per unit of each joint

    Raises DriverError if MuJoCo cannot load the robot, or is not there.
    """

    def __init__(self, setup: Setup, collision: CollisionSetup) -> None:
        joints = tuple(PhysicalJoint(*values) for values in collision.joints)
        world, touching = World(setup.robot, _unpacked(collision.world), joints), collision.left_out
        try:
            clearance = Clearance(world, setup, touching=[(one, other) for one, other in touching])
        except PhysicsError as error:
            raise DriverError(setup.robot, str(error)) from error
        self.margin_m, self.links = collision.margin_m, clearance.links
        ends = np.abs(np.array([setup.ways.lower, setup.ways.upper], dtype=float))
        farthest = np.where(np.isfinite(ends), ends, LONGEST_M).max(axis=0)
        self.weights: Floats = clearance.weights(farthest)
        self._look, self._all = clearance.look(), np.arange(len(self.links))

    def guard(self, posture: Floats, start: Floats, steps: Floats, period_s: float) -> Guard:
        """Return what guards joints of one follow, of arguments as of `Guard`."""
        return Guard(self, posture, start, steps, period_s)

    def distances(self, posture: Floats, most_m: Floats | float) -> Floats:
        """Return the distances of all pairs in a posture, shape (joints,), at least; shape (pairs,).

        Those of at most `most_m`, shape (pairs,), as they are.
        """
        look, most = self._look, np.broadcast_to(most_m, self._all.shape)
        look.place(posture)
        found = look.gaps(self._all)
        for pair in np.flatnonzero(found < most).tolist():
            found[pair] = look.distance(pair, float(most[pair]))
        return found


def _unpacked(world: str) -> str:
    return zlib.decompress(base64.b64decode(world)).decode()


class Guard:
    """Says whether joints that follow targets may go on; of one follow.

    - `held_by`: the links that have kept them from it since that was asked for last, and their distance in m

    `posture` (joints,): of the whole robot, where it begins. `steps` (joints, followed): how far each joint
    goes, of the way of each that follows targets.
    """

    def __init__(
        self, around: Surroundings, posture: Floats, start: Floats, steps: Floats, period_s: float
    ) -> None:
        self._around, self._posture, self._start, self._steps = around, posture.copy(), start.copy(), steps
        self._weights: Floats = around.weights @ np.abs(steps)
        self._held_by: int | None = None
        self._held_m = 0.0
        moves = self._weights.any(axis=1)
        distances = around.distances(posture, np.where(moves, np.inf, -np.inf))
        margin = around.margin_m
        beyond = distances - margin
        self._room = np.where(beyond < 0.0, ROOM_M, np.clip(beyond, LEAST_M, ROOM_M))
        self._floor = np.where(moves, np.minimum(margin, distances - self._room), -np.inf)
        self._is_near = bool((self._floor < margin)[moves].any())
        self._most_looks = int(min(max(period_s / LOOK_S, LEAST_LOOKS), MOST_LOOKS))
        self._seen, self._rooms = np.tile(start, (SEEN, 1)), np.full((SEEN, len(distances)), -np.inf)
        self._rooms[0], self._oldest = distances - self._floor, 0

    @property
    def holds(self) -> bool:
        """Whether anything has kept the joints from going on since that was asked for last."""
        return self._held_by is not None

    def take_held_by(self) -> dict[str, Any] | None:
        """Return which links have kept the joints from going on since the last time, JSON-ready."""
        pair, self._held_by = self._held_by, None
        return None if pair is None else {"links": [*self._around.links[pair]], "distance_m": self._held_m}

    def allows(self, here: Floats, next_: Floats, braking: Trajectory) -> bool:
        """Whether joints, shape (followed,), may go from here to their next setpoint, and brake there.

        `braking`: from there to rest, as seen from there.
        """
        low, high = next_ + np.array([(extent.min, extent.max) for extent in braking.position_extrema]).T
        np.minimum(low, here, out=low)
        np.maximum(high, here, out=high)
        reach = np.maximum(high - self._seen, self._seen - low)
        spare = (self._rooms - self._room - reach @ self._weights.T).max(axis=0)
        open_ = np.flatnonzero(spare < 0.0)
        if open_.size:
            return self._is_clear(open_, _ways(here, next_, low, high, braking))
        if self._is_near:
            self._leave(spare, next_)
        return True

    def _leave(self, spare: Floats, at: Floats) -> None:
        """Have pairs that began within the margin keep it from when they are beyond it."""
        margin = self._around.margin_m
        lift = np.where(np.isfinite(self._floor), margin - self._floor, 0.0)
        lift[spare < lift] = 0.0
        self._floor += lift
        self._rooms -= lift
        near = np.flatnonzero(np.isfinite(self._floor) & (self._floor < margin))
        self._is_near = bool(near.size)
        if self._is_near:
            self._look_at(at, near, np.full(near.size, margin))

    def _is_clear(self, pairs: Indices, ways: tuple[Floats, Floats, Floats]) -> bool:
        """Look at as many postures on the way as are needed to know that of some pairs."""
        lows, highs, places = ways
        low, high = lows.min(axis=0), highs.max(axis=0)
        weights = self._weights[pairs]
        reach = np.maximum(highs - self._seen[:, None], self._seen[:, None] - lows)
        short = (reach @ weights.T > self._rooms[:, None, pairs]).all(axis=0)
        away = np.abs(places[-1] - self._seen) @ weights.T
        is_end_short = bool((away > self._rooms[:, pairs] - self._room[pairs]).all(axis=0).any())
        for _ in range(self._most_looks):
            if not short.any():
                if not is_end_short:
                    return True
                part = PARTS
            else:
                part = int(short.any(axis=1).argmax())
            at = places[part]
            distances, room = self._look_at(at, pairs, weights @ np.maximum(high - at, at - low))
            short &= np.maximum(highs - at, at - lows) @ weights.T > room
            if short[part].any():
                return self._note(pairs, distances, short[part])
            if part == PARTS:
                if (too_near := room < self._room[pairs]).any():
                    return self._note(pairs, distances, too_near)
                is_end_short = False
        return self._note(pairs, distances, np.ones(len(pairs), dtype=bool))

    def _look_at(self, at: Floats, pairs: Indices, left: Floats) -> tuple[Floats, Floats]:
        """Look at a posture; return distances of some pairs there, and their room, shape (pairs,)."""
        posture = self._posture + self._steps @ (at - self._start)
        most = np.full(len(self._floor), -np.inf)
        most[pairs] = self._floor[pairs] + self._room[pairs] + AHEAD * left + AHEAD_M
        distances = self._around.distances(posture, most)
        self._oldest = (self._oldest + 1) % SEEN
        self._seen[self._oldest], self._rooms[self._oldest] = at, distances - self._floor
        return distances[pairs], self._rooms[self._oldest, pairs]

    def _note(self, pairs: Indices, distances: Floats, too_near: Booleans) -> bool:
        """Note which of some pairs is too near."""
        nearest = int(np.where(too_near, distances, np.inf).argmin())
        self._held_by, self._held_m = int(pairs[nearest]), float(distances[nearest])
        return False


def _ways(
    here: Floats, next_: Floats, low: Floats, high: Floats, braking: Trajectory
) -> tuple[Floats, Floats, Floats]:
    """Return the lowest, highest and last positions of each part of a way, (parts, joints).

    The first is from here to where braking begins, the others are of equal time. Each joint turns round once
    at most, where it is furthest.
    """
    times = np.linspace(0.0, braking.duration, PARTS + 1)
    places, speeds, _ = np.array([braking.at_time(time_s)[:3] for time_s in times]).swapaxes(0, 1)
    places += next_
    before = np.concatenate((here[None], places[:-1]))
    lows, highs = np.minimum(before, places), np.maximum(before, places)
    turns = speeds[:-1] * speeds[1:] < 0.0
    np.copyto(lows[1:], low, where=turns & (speeds[:-1] < 0.0))
    np.copyto(highs[1:], high, where=turns & (speeds[:-1] > 0.0))
    return lows, highs, places
