"""What a goal plays: which rows of a plan, how often, in which direction, and the seam between two passes.

A seam that keeps the limits is passed without stopping. A motion that rests at both ends does so at its seam.
Where a joint turns without end, the next pass begins at the turn of it that is nearest to the last row.

    ValueError
    └── PlaybackError    it cannot be played so; `.data` is for programs
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import echoed, listed, nearest

from ..joints import ROUNDING
from ..trajectory import Passes
from .curve import peak_speeds, slopes_of
from .speed_limits import fastest_factor
from .violations import accelerations_of, speeds_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Floats

    from ..api import PlaceRequest, SeamPolicy
    from ..joints import JointMap
    from .library.markers import Marker
    from .planner import Plan


ROUNDING_OF_BENDS = 1e-6


class PlaybackError(ValueError):
    """A motion cannot be played in the way that was asked for.

    - `data`: JSON-ready
    """

    def __init__(self, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.data = data or {}


@dataclass(frozen=True, slots=True)
class StepBegin:
    """Where a step of a sequence begins: the row, which step it is, and for which time, both from 0."""

    row: int
    step: int
    time: int
    motion: str


@dataclass(frozen=True, slots=True)
class Playback:
    """Passes over a plan.

    Attributes
    ----------
    plan : Plan
        The whole motion's.
    track : Plan
        Whose rows are played: the whole motion's, or those of the range, closed to a ring, where it is
        seamless.
    offset : int
        The plan's row that is the track's first.
    passes : Passes
        Over the track.
    returns : bool
        Whether there is a way to go from the last row back to the first.
    begins : tuple of StepBegin
        Where the steps of a sequence begin, ascending; () of any other motion.
    """

    plan: Plan
    track: Plan
    offset: int
    passes: Passes
    returns: bool = False
    markers: tuple[Marker, ...] = ()
    begins: tuple[StepBegin, ...] = ()

    @property
    def begins_at(self) -> Floats:
        """The first row that is played, shape (joints,)."""
        row: Floats = self.track.positions[self.passes.first]
        return row

    @property
    def ends_at(self) -> Floats:
        """The last row that is played, shape (joints,)."""
        row: Floats = self.track.positions[self.passes.last]
        return row

    @property
    def advance(self) -> Floats:
        """How much further on each pass is than the one before, shape (joints,): whole turns."""
        return np.array(self.passes.advance) if self.passes.advance else np.zeros(len(self.plan.joints))

    @property
    def gap(self) -> Floats:
        """How far the last row is from the first one of the next pass, without sign, shape (joints,)."""
        gap = np.abs(self.begins_at + self.advance - self.ends_at)
        return np.where(self.plan.driven, gap, 0.0)

    @property
    def first_pass(self) -> Floats:
        """The rows of the first pass, shape (rows, joints)."""
        rows: Floats = self.track.positions[self.passes.first : self.passes.last + 1]
        return rows

    @property
    def last_pass(self) -> Floats:
        """The rows of the last pass in the order in which they are played, shape (rows, joints)."""
        turns = self.passes.ping_pong and self.passes.count % 2 == 0
        return self.first_pass[::-1] if turns else self.first_pass

    @property
    def marker_rows(self) -> list[float]:
        """Where the markers are, in rows of the plan, ascending."""
        scale = self.plan.rate_hz / self.plan.slowed_to
        return [round(marker.time_s * scale, 6) for marker in self.markers]  # on a row, where it is meant

    def step_at(self, row: float) -> StepBegin | None:
        """Return which step of a sequence a row of the plan is in; None of any other motion."""
        at = bisect_right(self.begins, row, key=lambda begin: begin.row)
        return self.begins[max(0, at - 1)] if self.begins else None

    def row_of(self, place: PlaceRequest) -> int:
        """Return the track's row at a place.

        Raises
        ------
        PlaybackError
            If there is no such place, or it is not among the rows that are played.
        """
        first, last = self.passes.first, self.passes.last
        row = row_of(place, self.plan, self.markers) - self.offset
        if not first <= row <= last:
            played = f"it plays rows {first + self.offset} to {last + self.offset}; name one of them"
            raise PlaybackError(f"{self.plan.motion}: row {row + self.offset} is not played now; {played}")
        return row


def whole(plan: Plan, markers: Sequence[Marker] = ()) -> Playback:
    """Return the playback that goes over all rows once."""
    return Playback(plan, plan, 0, Passes(0, len(plan.positions) - 1), markers=tuple(markers))


def whole_of(plan: Plan, playback: Playback) -> Playback:
    """Return the playback that goes once over all rows of a plan of another one's motion, at another rate."""
    rows = playback.plan.frames_per_tick / plan.frames_per_tick
    begins = tuple(replace(begin, row=round(begin.row * rows)) for begin in playback.begins)
    return replace(whole(plan, playback.markers), begins=begins)


def row_of(place: PlaceRequest, plan: Plan, markers: Sequence[Marker]) -> int:
    """Return the plan's row that is nearest to a place.

    Raises PlaybackError if it is beyond the end, or there is no such marker.
    """
    if place.marker is not None:
        time_s = _time_of(place.marker, plan, markers)
    elif place.time is not None:
        time_s = place.time
    else:
        time_s = (place.frame or 0) / (plan.frames_per_tick * plan.rate_hz)
    at, end = time_s * plan.rate_hz, len(plan.positions) - 1
    if not at < end + 1 or round(at) > end:
        last = f"its last frame is {end * plan.frames_per_tick:g}, at {plan.duration_s:.3f} s"
        said = f"frame {place.frame}" if place.frame is not None else f"{time_s:g} s"
        raise PlaybackError(f"{plan.motion}: {said} is beyond its end; {last}; name an earlier one")
    return round(at)


def _time_of(name: str, plan: Plan, markers: Sequence[Marker]) -> float:
    times: dict[str, float] = {}
    for marker in markers:  # of several of one name the first counts
        times.setdefault(marker.name, marker.time_s)
    if name not in times:
        known = f"there are {listed(times)}" if times else "there are no markers at all"
        parts = (f"{plan.motion}: no marker '{echoed(name)}'", known, nearest(name, times))
        raise PlaybackError("; ".join(part for part in parts if part))
    return times[name] / plan.slowed_to


def plan_playback(
    playback: Playback,
    joint_map: JointMap,
    *,
    first: PlaceRequest | None,
    last: PlaceRequest | None,
    count: int,
    ping_pong: bool,
    seam: SeamPolicy,
    tolerance: Floats,
) -> Playback:
    """Lay passes over a plan.

    Parameters
    ----------
    playback : Playback
        Over all rows.
    first, last : PlaceRequest, optional
        The range to play.
    count : int
        How often to play it; 0 is for ever.
    tolerance : ndarray, shape (joints,)
        Rows that are this near are taken for the same.

    Raises
    ------
    PlaybackError
        If there is no such range, or its seam does not fit.
    """
    plan, last_row = playback.plan, playback.passes.last
    begin = row_of(first, plan, playback.markers) if first else 0
    end = row_of(last, plan, playback.markers) if last else last_row
    if begin > end:
        frames = f"frame {begin * plan.frames_per_tick:g} comes after frame {end * plan.frames_per_tick:g}"
        raise PlaybackError(f"{plan.motion}: {frames}; the first must come first; exchange them")
    passes = Passes(begin, end, count, ping_pong, eases_in=begin > 0, eases_out=end < last_row)
    ranged = replace(playback, passes=passes)
    if count == 1 or ping_pong:
        return ranged
    advance = joint_map.nearest(ranged.ends_at, ranged.begins_at, plan.driven)
    if advance.any():
        ranged = replace(ranged, passes=replace(passes, advance=advance.tolist()))
    seamless = _seamless_at_rest if plan.rests else _seamless_in_motion
    return seamless(ranged, joint_map) or _returning(ranged, joint_map, seam, tolerance)


def _returning(playback: Playback, joint_map: JointMap, seam: SeamPolicy, tolerance: Floats) -> Playback:
    """Let every pass end at rest, and go back to the first row where that is another one."""
    plan, gap = playback.plan, playback.gap
    joint = int((gap - tolerance).argmax())
    if gap[joint] <= tolerance[joint] or seam == "approach":
        return replace(playback, returns=True)
    name, unit = joint_map.joints[joint], joint_map.units[joint]
    far = f"its last row is {gap[joint]:.4g} {unit} from its first at joint '{name}'"
    reason = "it rests on both" if plan.rests else "that cannot be passed in one tick"
    raise PlaybackError(
        f"{plan.motion}: {far}; {reason}; choose seam approach, or ping-pong",
        {"joint": name, "distance": float(gap[joint]), "unit": unit},
    )


def _seamless_at_rest(playback: Playback, joint_map: JointMap) -> Playback | None:
    """Let the next pass begin on the last row, at rest, where that is the first one again; else None.

    The speed turns there within one tick: of a last and a first step that are large, as of way-points a tick
    apart, that is more than either of them asks for where the motion begins or ends.
    """
    plan, passes = playback.plan, playback.passes
    whole_motion = not (passes.eases_in or passes.eases_out)
    takes_time = len(plan.positions) > 1  # else any number of passes would begin and end in one tick
    if not whole_motion or not takes_time or (playback.gap > ROUNDING * np.abs(playback.advance)).any():
        return None
    around = plan.positions[-2:-1], plan.positions[:2] + playback.advance
    turn = np.abs(np.diff(np.concatenate(around), 2, axis=0)).max(axis=0, initial=0.0) * plan.rate_hz**2
    factor, joint = fastest_factor(np.zeros_like(turn), turn, joint_map, plan.driven)
    if factor < 1.0:
        return None
    track = plan if factor >= plan.max_speed else replace(plan, max_speed=factor, limiting_joint=joint)
    return replace(playback, track=track, passes=replace(passes, seamless=True))


def _seamless_in_motion(playback: Playback, joint_map: JointMap) -> Playback | None:
    """Close the range to a ring, where the seam keeps the limits; else None.

    The last row is the first one again, or comes one tick before it: whichever bends less, where they differ.
    """
    plan, passes, advance = playback.plan, playback.passes, playback.advance
    rows = plan.positions[passes.first : passes.last + 1]
    if len(rows) < 5:
        return None
    # The three rows before the seam and those after it, where a pass begins again on row 1, or on row 0.
    around = (np.concatenate((rows[-3:], rows[begin : begin + 3] + advance)) for begin in (1, 0))
    same, next_one = (np.where(plan.driven, six, 0.0) for six in around)
    bends = [float(np.abs(np.diff(six, 2, axis=0)).max()) for six in (same, next_one)]
    merged = bool((rows[-1] == rows[0] + advance).all()) or bends[0] <= bends[1]
    gap = playback.gap if merged else np.zeros_like(advance)
    peaks, changes = _at_seam(plan, same if merged else next_one, gap)
    factor, joint = fastest_factor(peaks, changes, joint_map, plan.driven)
    if factor < 1.0 or _is_rough(changes, rows, plan, joint_map):
        return None
    track = _closed(plan, rows, advance, merged=merged)
    if factor < plan.max_speed:
        track = replace(track, max_speed=factor, limiting_joint=joint)
    passes = replace(passes, first=0, last=passes.last - passes.first, seamless=True)
    return replace(playback, track=track, offset=playback.passes.first, passes=passes)


def _closed(plan: Plan, rows: Floats, advance: Floats, *, merged: bool) -> Plan:
    """Return the plan of a ring: rows that end with the row at which the next pass begins."""
    ring = rows if merged else np.concatenate((rows, rows[:1] + advance))
    before = rows[-3:-1] if merged else rows[-2:]
    around = np.concatenate((before - advance, ring, rows[1:3] + advance))
    slopes = np.ascontiguousarray(slopes_of(around, plan.rate_hz, plan.interpolation)[2:-2])
    slopes[-1] = slopes[0]
    return replace(plan, positions=np.ascontiguousarray(ring), velocities=slopes)


def _at_seam(plan: Plan, rows: Floats, gap: Floats) -> tuple[Floats, Floats]:
    """Return the speed and the acceleration of rows in full motion, without sign, each (joints,).

    Where the last row is taken for the first, whatever is between them is passed in the tick of the seam.
    """
    slopes = slopes_of(rows, plan.rate_hz, plan.interpolation)
    peaks = peak_speeds(rows, slopes, plan.rate_hz).max(axis=0) + gap * plan.rate_hz
    changes = (np.abs(np.diff(rows, 2, axis=0)).max(axis=0) + 2.0 * gap) * plan.rate_hz**2
    return peaks, changes


def _is_rough(changes: Floats, rows: Floats, plan: Plan, joint_map: JointMap) -> bool:
    """Whether a seam asks a joint without an acceleration limit for more than the motion played once does."""
    steps, speeds = speeds_of(np.arange(len(rows)) / plan.rate_hz, rows)
    own = np.abs(accelerations_of(steps, speeds)).max(axis=0)
    unlimited = plan.driven & ~np.isfinite(joint_map.limits.acceleration)
    return bool((changes > own * (1.0 + ROUNDING_OF_BENDS))[unlimited].any())


def refuse_out_of_reach(playback: Playback, turned: Floats, joint_map: JointMap) -> None:
    """Raise PlaybackError where a joint that turns without end would turn further than its actuator counts.

    - `turned` (ndarray, shape (joints,)): what is added to the rows of the first pass, in rad
    """
    plan, passes = playback.plan, playback.passes
    for joint in np.flatnonzero(plan.driven & np.isfinite(joint_map.reach).any(axis=0)):
        rows = playback.track.positions[passes.first : passes.last + 1, joint] + turned[joint]
        advance = float(playback.advance[joint])
        lower, upper = joint_map.reach[:, joint]
        upward = rows.max() > upper or (rows.min() >= lower and advance > 0.0)
        farthest = float(rows.max() if upward else rows.min())
        limit = float(upper if upward else lower)
        room = limit - farthest if upward else farthest - limit
        fits = 0 if room < 0.0 else 1 + room // abs(advance) if advance else np.inf
        if fits < (passes.count or np.inf):
            name, unit = joint_map.joints[joint], joint_map.units[joint]
            far = f"joint '{name}' would be at {farthest + fits * advance:.4g} {unit}"
            when = f" in pass {fits + 1:.0f}" if fits else ""
            source = joint_map.limit_sources.get((name, "upper" if upward else "lower"), "")
            reason = f"its actuator counts to {limit:.4g} {unit}{f' ({source})' if source else ''}"
            fewer = f"play it at most {fits:.0f} times, or " if fits else ""
            hint = f"{fewer}turn the joint back by hand, or restart its actuator, which forgets whole turns"
            data = {"joint": name, "value": farthest + fits * advance, "limit": limit, "unit": unit}
            raise PlaybackError(f"{plan.motion}: {far}{when}; {reason}; {hint}", data)
