"""Whether a robot's links keep clear of each other, and of where they must not be, before it moves.

Each row counts, and the curve between rows (`physics.sweeping`). Of a motion, the library looks at the pairs
of links whose distance its own joints make; the others depend on where the robot holds joints that it does
not move, and are looked at before it begins. A way may begin within the margin, and leads out of it: until a
pair is, it must not come nearer.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import listed

from ...ipc.messages import CollisionSetup
from ...physics import Canceled, JointPath, PhysicsError, nearing, sweep
from .plan_check import PlanFindings, whole_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from motiond.formats import Interpolation
    from motiond.formats.arrays import Booleans, Floats, Indices

    from ...config.collision import CollisionSettings
    from ...joints import JointMap
    from ...physics import Clearance, Encounter, Swept, World
    from ...trajectory import Track
    from ..planner import Plan
    from .plan_check import Meanwhile

MOST_BYTES = 40_000
"""Of a world, beside what else is in the first message to a stream process."""
MOST_NAMED = 3
"""So many pairs are named, those that come nearest."""
MOST_HALVINGS = 8
"""So often another motion is halved, to know how far links are from each other on its parts."""
KEPT = 500
"""So many motions are known again, as when limits have changed and all are planned anew."""


class CollisionCheck:
    """Holds distances between links, and to the workspace, to a margin.

    - `around` (collection of str): the names of the shapes of the workspace
    - `bare` (sequence of str): links that have no shape to touch with
    - `initial` (ndarray, shape (joints,)): where the description begins
    """

    name = "nearest"
    slows = False
    depends_on_speed = False

    def __init__(
        self,
        clearance: Clearance,
        settings: CollisionSettings,
        around: Collection[str] = (),
        bare: Sequence[str] = (),
        initial: Floats | None = None,
    ) -> None:
        self._clearance, self._settings, self._around = clearance, settings, frozenset(around)
        self.refuses_unseen = settings.on_violation == "reject"
        self._known: dict[bytes, Swept] = {}
        pairs = listed([f"{one} and {other}" for one, other in clearance.touching])
        notes = [f"links that touch in any posture do not count as collisions: {pairs}"] if pairs else []
        if bare:
            notes.append(f"links without collision shapes are compared with nothing: {listed([*bare])}")
        self.notes: Sequence[str] = notes
        near = () if initial is None else clearance.near(initial, settings.margin_m)
        self.warnings: Sequence[str] = [_near_at_first(near, settings.margin_m)] if near else []

    def for_following(self) -> CollisionSetup | None:
        """Return what a stream process looks at while it follows targets; None where it only would warn.

        Raises PhysicsError if that does not fit into a message.
        """
        settings, clearance = self._settings, self._clearance
        if settings.on_violation == "warn":
            return None
        world, left_out = clearance.world, [*settings.ignore, *clearance.touching]
        joints = [(one.name, one.column, one.factor, one.offset) for one in world.joints]
        return CollisionSetup(_packed(world), joints, left_out, settings.margin_m)

    def of_plan(self, planned: Plan, joint_map: JointMap, stopped: Callable[[], bool]) -> PlanFindings:
        """Look at a motion, as `PlanCheck`; not at what depends on joints that it does not move."""
        moved_by, driven = self._clearance.moved_by, planned.driven
        pairs = np.flatnonzero(moved_by[:, driven].any(axis=1) & ~moved_by[:, ~driven].any(axis=1))
        path = _path(
            whole_rows(planned, joint_map), planned.velocities / planned.rate_hz, planned.interpolation
        )
        key = _digest(path, driven)
        swept = self._known.get(key)
        if swept is None:
            try:
                swept = sweep(self._clearance, path, self._settings.margin_m, pairs=pairs, stopped=stopped)
            except Canceled:
                return PlanFindings()
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[key] = swept
        rate_hz = planned.rate_hz if path.last else None
        places = [self._said(one, rate_hz, planned.frames_per_tick) for one in swept.violations]
        return self._findings(places, swept.nearest, planned.rate_hz, path)

    def of_held(self, track: Track, meanwhile: Meanwhile, joint_map: JointMap) -> PlanFindings:
        """Look at a motion that is about to begin, as `PlanCheck`."""
        if lost := _unknown(track, meanwhile, joint_map):
            return PlanFindings(refusals=lost)
        moved_by, driven = self._clearance.moved_by, track.driven
        reserve = self._reserve(track, meanwhile)
        is_open = moved_by[:, ~driven].any(axis=1) | (reserve > 0.0)
        pairs = np.flatnonzero(self._moved(track, meanwhile) & is_open)
        try:
            swept = self._swept(track, meanwhile, pairs, reserve)
        except Canceled:
            return PlanFindings()
        path = _path_of(track, meanwhile.held)
        said = [self._said(one, track.rate_hz if path.last else None) for one in swept.violations]
        return self._findings(said, swept.nearest, track.rate_hz, path)

    def of_way(self, way: Track, meanwhile: Meanwhile, joint_map: JointMap) -> PlanFindings:
        """Look at an approach or a blend, as `PlanCheck`."""
        if not len(way.positions):
            return PlanFindings()
        if lost := _unknown(way, meanwhile, joint_map):
            return PlanFindings(refusals=lost)
        reserve = self._reserve(way, meanwhile)
        pairs = np.flatnonzero(self._moved(way, meanwhile))
        path, margin_m = _path_of(way, meanwhile.held), self._settings.margin_m
        leaving = self._within(path.positions[0], pairs, reserve)
        nearer = nearing(self._clearance, path, margin_m, leaving, reserve) if leaving.size else None
        try:
            swept = self._swept(way, meanwhile, np.setdiff1d(pairs, leaving), reserve)
        except Canceled:
            return PlanFindings()
        said = [self._said(one, way.rate_hz) for one in swept.violations]
        if nearer is not None:
            said.insert(0, self._said(nearer, way.rate_hz, is_leaving=True))
        return self._findings(said, swept.nearest, way.rate_hz, path)

    def _moved(self, track: Track, meanwhile: Meanwhile) -> Booleans:
        """Return which pairs are to be looked at along a track, shape (pairs,).

        Those that it moves, and those that only what is added moves. Others' own were looked at with theirs.
        """
        moved_by, others = self._clearance.moved_by, meanwhile.spread > 0.0
        by_added = moved_by[:, meanwhile.added > 0.0].any(axis=1) & ~moved_by[:, others].any(axis=1)
        moved: Booleans = moved_by[:, track.driven].any(axis=1) | by_added
        return moved

    def _swept(self, track: Track, meanwhile: Meanwhile, pairs: Indices, reserve: Floats) -> Swept:
        """Look at pairs along a track; where another motion stands against it, with that in parts."""
        swept, parts = self._swept_once(track, meanwhile, pairs, reserve), meanwhile.parts
        links = {one.nearest.links for one in swept.violations if one.reserve_m > 0.0}
        if not parts or not links:
            return swept
        again = np.array([pair for pair in pairs.tolist() if self._clearance.links[pair] in links])
        certain = [one for one in swept.violations if one.nearest.links not in links]
        in_doubt = self._in_parts(track, meanwhile, again)
        return replace(swept, violations=(*certain, *in_doubt))

    def _in_parts(self, track: Track, meanwhile: Meanwhile, pairs: Indices) -> tuple[Encounter, ...]:
        """Return what comes too near while another motion is anywhere on itself, part by part.

        Parts in which nothing does are done; others are halved, until two links would meet for certain.
        """
        parts = [ranges_of(track) for track in meanwhile.parts]
        found: tuple[Encounter, ...] = ()
        for _ in range(MOST_HALVINGS):
            left = []
            for lower, upper in parts:
                lowest, highest = lower.min(axis=0), upper.max(axis=0)
                moves = meanwhile.spread > 0.0
                held = np.where(moves, (lowest + highest) / 2, meanwhile.held)
                spread = np.where(moves, (highest - lowest) / 2, 0.0)
                there = replace(meanwhile, held=held, spread=spread)
                swept = self._swept_once(track, there, pairs, self._reserve(track, there))
                if swept.violations:
                    left.append(np.stack((lower, upper)))
                    found = swept.violations
                    if found[0].nearest.distance_m < self._settings.margin_m:
                        return found
            if not left:
                return ()
            parts = [half for part in left for half in np.array_split(part, 2, axis=1) if half.shape[1]]
        return found

    def _swept_once(self, track: Track, meanwhile: Meanwhile, pairs: Indices, reserve: Floats) -> Swept:
        return sweep(
            self._clearance,
            _path_of(track, meanwhile.held),
            self._settings.margin_m,
            pairs=pairs,
            reserve_m=reserve,
            stopped=meanwhile.stopped,
        )

    def _reserve(self, track: Track, meanwhile: Meanwhile) -> Floats:
        """Return by how much each pair may be nearer, as others go on and something is added, (pairs,)."""
        held, spread = meanwhile.held, meanwhile.spread + meanwhile.added
        if not spread.any():
            return np.zeros(len(self._clearance.links))
        farthest = np.maximum(np.abs(track.positions).max(axis=0, initial=0.0), np.abs(held)) + spread
        reserve: Floats = self._clearance.weights(farthest) @ spread
        return reserve

    def _within(self, posture: Floats, pairs: Indices, reserve: Floats) -> Indices:
        """Return which of some pairs are within the margin in a posture."""
        look, margin_m = self._clearance.look(), self._settings.margin_m
        look.place(posture)
        near = pairs[look.gaps(pairs) < margin_m + reserve[pairs]]
        within = [pair for pair in near.tolist() if look.distance(pair) < margin_m + reserve[pair]]
        return np.array(within, dtype=np.intp)

    # -- in words -------------------------------------------------------------------------------------------

    def _findings(
        self, said: Sequence[str], nearest: Encounter | None, rate_hz: float, path: JointPath
    ) -> PlanFindings:
        more = len(said) - MOST_NAMED
        if more > 0:
            others = "1 more pair comes" if more == 1 else f"{more} more pairs come"
            said = [*said[:MOST_NAMED], f"and {others} too near"]
        about = None if nearest is None else self._about(nearest, rate_hz, path)
        if self._settings.on_violation == "warn":
            return PlanFindings(warnings=tuple(said), about=about)
        return PlanFindings(refusals=tuple(said), about=about)

    def _about(self, encounter: Encounter, rate_hz: float, path: JointPath) -> dict[str, Any]:
        nearest = encounter.nearest
        return {
            "links": [*nearest.links],
            "distance_m": round(nearest.distance_m, 6),
            "time": round(encounter.place / rate_hz, 6),
            "points": nearest.points.round(6).tolist(),
            "margin_m": self._settings.margin_m,
            "posture": path.at(encounter.place).round(6).tolist(),
        }

    def _said(
        self,
        encounter: Encounter,
        rate_hz: float | None,
        frames: float | None = None,
        *,
        is_leaving: bool = False,
    ) -> str:
        """Return an encounter in words; `rate_hz`: of the rows, None of a posture."""
        one, other = encounter.nearest.links
        is_around = not self._around.isdisjoint(encounter.nearest.links)
        distance = encounter.nearest.distance_m
        apart = f"{_mm(distance)} apart" if distance > 0.0 else f"{_mm(-distance)} in each other"
        frame = "" if frames is None else f" (frame {int(encounter.place * frames)})"
        where = apart if rate_hz is None else f"{apart} at {encounter.place / rate_hz:.3f} s{frame}"
        if encounter.reserve_m:
            where += f", and what plays beside may take {_mm(encounter.reserve_m)} of that"
        verb = "come nearer, and are" if is_leaving else "are"
        kind = "" if is_around else "links "
        margin = f"`collision.margin_m` is {_mm(self._settings.margin_m)}"
        hint = "move them apart, or name both in `collision.ignore`"
        return f"{kind}'{one}' and '{other}' {verb} {where}; {margin}; {hint}"


def _packed(world: World) -> str:
    text = base64.b64encode(zlib.compress(world.mjcf.encode())).decode()
    if len(text) > MOST_BYTES:
        reason = f"it has {len(text) // 1000} kB packed"
        hint = "keep shapes of many corners in files of meshes"
        raise PhysicsError(f"{world.robot}: collision: the world is too large; {reason}; {hint}")
    return text


def _near_at_first(near: Sequence[tuple[str, str]], margin_m: float) -> str:
    """Return that pairs are within the margin where the description begins, and what to do if they may be."""
    names, (one, other) = listed([f"{one} and {other}" for one, other in near]), near[0]
    problem = f"where the description begins, these are less than {_mm(margin_m)} apart: {names}"
    reason = "whatever leads there is a collision"
    return f"{problem}; {reason}; name what may touch in `collision.ignore`, as [{one}, {other}]"


def _mm(metres: float) -> str:
    return f"{1e3 * metres:.3g} mm" if abs(metres) < 1.0 else f"{metres:.3g} m"


def _path(positions: Floats, slopes: Floats, interpolation: Interpolation) -> JointPath:
    return JointPath(positions, slopes if interpolation in {"cubic", "smooth"} else None)


def _path_of(track: Track, held: Floats) -> JointPath:
    """Return the curve of a track, with joints that it does not drive where they are held."""
    positions = np.where(track.driven, track.positions, held)
    slopes = np.where(track.driven, track.velocities / track.rate_hz, 0.0)
    return _path(positions, slopes, track.interpolation)


def ranges_of(track: Track) -> Floats:
    """Return the lowest and the highest positions from each row to the next, shape (2, rows, joints)."""
    rows = track.positions
    after = rows[1:] if len(rows) > 1 else rows
    before = rows[: len(after)]
    ranges: Floats = np.stack((np.minimum(before, after), np.maximum(before, after)))
    past = _past(track)
    ranges[0] -= past
    ranges[1] += past
    return ranges


def range_of(track: Track) -> tuple[Floats, Floats]:
    """Return the lowest and the highest positions of rows, and between them, each of shape (joints,)."""
    rows, past = track.positions, _past(track)
    lower, upper = np.min(rows, axis=0), np.max(rows, axis=0)
    return lower - past, upper + past


def _past(track: Track) -> Floats:
    """Return how far a curve goes past its rows at most: less than a third of what is gone in a period."""
    if track.interpolation != "smooth":
        return np.zeros(track.positions.shape[1])
    past: Floats = np.abs(track.velocities).max(axis=0) / track.rate_hz / 3.0
    return past


def _unknown(track: Track, meanwhile: Meanwhile, joint_map: JointMap) -> tuple[str, ...]:
    """Return that distances are unknown, for each joint that holds nobody knows where."""
    lost = np.flatnonzero(~track.driven & ~np.isfinite(meanwhile.held))
    problem, reason = "has no measured position", "how near links come is unknown; check the actuator"
    return tuple(f"joint '{joint_map.joints[joint]}' {problem}; {reason}" for joint in lost)


def _digest(path: JointPath, driven: Booleans) -> bytes:
    digest = blake2b(path.positions.tobytes(), digest_size=16)
    digest.update(b"" if path.slopes is None else path.slopes.tobytes())
    digest.update(driven.tobytes())
    return digest.digest()
