"""Cross-fades: the end of one motion flows into the beginning of the next, within every limit.

For some rows both overlap, and each joint goes over from the one to the other by the share
`w = u³ (10 - 15 u + 6 u²)`, whose slope and bend are 0 at both ends: `(1 - w) a + w b` is as smooth as both.

    ValueError
    └── BlendError    it would break a limit, or does not fit; `.data` is for programs
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..joints import joint_bounds, with_rounding
from ..trajectory import Track, slowing
from .curve import peak_accelerations, peak_positions, peak_speeds, slopes_of
from .speed_limits import FASTEST, clock_acceleration

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.formats import Interpolation
    from motiond.formats.arrays import Booleans, Floats

    from ..config.robot import RobotSettings
    from ..joints import JointMap
    from .playback import Playback

AROUND = 3
"""So many rows beside a cross-fade bend with it."""
RAMPS_TRIED = 4
"""So often it is looked where the clock slows down: the rows there make its ramp, and that their number."""
TRIED = 40
"""So many lengths are looked at to find those that would do."""
LONGEST_S = 10.0
"""No blend is made longer than this, in time of the motions, which is as long as one may be asked for."""
LONGER_TRIED, BETWEEN_TRIED = 10, 6
"""So many longer blends are tried, and so many between the first that would do and the one before it."""
NO_LONGER = "leave `blend_s` out, as no longer blend would do"
KINDS = ("velocity", "acceleration")


class BlendError(ValueError):
    """A cross-fade would break a limit, or does not fit.

    - `data`: `shortest_s` and `longest_s` of the blends that would do, JSON-ready; empty where there are none
    """

    def __init__(self, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.data = data or {}


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two motions at one rate, of which the end of the one is to flow into the beginning of the other.

    - `before`, `after` (ndarray, shape (rows, joints)): in the order in which they are played, in rad or m;
      joints that one of them does not drive hold there
    - `driven` (ndarray of bool, shape (joints,)): the joints that either of them drives
    - `name`: of the second, for messages
    - `turned` (ndarray, shape (joints,)): what was added to the rows of the second, in rad
    """

    before: Floats
    after: Floats
    driven: Booleans
    rate_hz: float
    name: str
    interpolation: Interpolation
    turned: Floats

    @property
    def most(self) -> int:
        """How many rows may overlap: each motion has at least one row of its own beside them."""
        return min(len(self.before), len(self.after)) - 2


def overlap_of(
    before: Playback, after: Playback, held: Floats, joint_map: JointMap, blended_rows: int = 0
) -> Overlap:
    """Return what overlaps where one playback is to flow into another, at the turns that are nearest.

    - `held` (ndarray, shape (joints,)): where the joints hold that the first does not drive
    - `blended_rows`: over how many of its first rows something flows into the first itself

    Raises BlendError if their rows come at different rates.
    """
    one, other = before.plan, after.plan
    if one.rate_hz != other.rate_hz:
        reason = f"it was not planned for the {one.rate_hz:g} rows/s of {one.motion}"
        raise BlendError(f"{other.motion}: it cannot be blended; {reason}; queue it again")
    ends = before.last_pass[blended_rows if before.passes.count == 1 else 0 :]
    ends = np.where(one.driven, ends, held)
    turned = joint_map.nearest(ends[-1], after.begins_at, other.driven)
    begins = np.where(other.driven, after.first_pass + turned if turned.any() else after.first_pass, ends[-1])
    driven = one.driven | other.driven
    return Overlap(ends, begins, driven, one.rate_hz, other.motion, other.interpolation, turned)


@dataclass(frozen=True, slots=True)
class Blend:
    """A cross-fade.

    - `positions`, `velocities` (ndarray, shape (steps + 1, joints)): from the row of the first motion on
      which it begins to the row of the second on which it ends, both included
    - `max_speed`: the highest speed factor within the limits
    - `clock_acceleration`: in 1/s: how fast the clock's rate may change on it, up to the speed that it was
      planned for
    - `turned`: as of `Overlap`
    - `behind`: rows of the second motion on which the clock may still be as fast as on the blend; None where
      there are none
    """

    positions: Floats
    velocities: Floats
    driven: Booleans
    rate_hz: float
    interpolation: Interpolation
    max_speed: float
    clock_acceleration: float
    turned: Floats
    behind: Track | None = None

    @property
    def steps(self) -> int:
        """How many rows it goes on by."""
        return len(self.positions) - 1

    @property
    def lasts_s(self) -> float:
        """By how much of their time the motions overlap."""
        return self.steps / self.rate_hz

    @property
    def track(self) -> Track:
        """The rows as the stream process maps them."""
        return Track(
            self.positions,
            self.velocities,
            self.driven,
            self.rate_hz,
            self.clock_acceleration,
            self.interpolation,
        )


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a blend is played.

    - `speed`: at most, from its beginning on
    - `then`: the speed of the second motion, to which the clock slows down on the blend and behind it
    - `clock_acceleration`: in 1/s: how fast its rate may change on the second motion
    """

    speed: float = 1.0
    then: float = 1.0
    clock_acceleration: float = np.inf


STEADY = Pace()


def plan_blend(
    overlap: Overlap, blend_s: float, joint_map: JointMap, settings: RobotSettings, pace: Pace = STEADY
) -> Blend:
    """Let two motions overlap by so much of their time.

    A joint without an acceleration limit may be asked for as much as either motion asks it for on the rows
    around, or an approach.

    Raises BlendError with the joint and the limit, and the blends that would do.
    """
    steps, planner = max(1, round(blend_s * overlap.rate_hz)), _Planner(overlap, joint_map, settings, pace)
    if overlap.most < 1:
        reason = "each motion needs three rows or more"
        raise BlendError(f"{overlap.name}: there is nothing to blend; {reason}; leave blend_s out")
    problem = planner.problem(steps) if steps <= overlap.most else planner.too_long
    if not problem:
        return planner.blend(steps)
    would_do = planner.lengths_beside(steps)
    if would_do is None:
        hint = "no blend would do; leave blend_s out, so that it rests between"
        raise BlendError(f"{overlap.name}: a blend of {blend_s:g} s {problem}; {hint}")
    shortest_s, longest_s = (length / overlap.rate_hz for length in would_do)
    span = f"{longest_s:g} s" if would_do[0] == 1 else f"{shortest_s:g} to {longest_s:g} s"
    hint = f"up to {span} would do" if would_do[0] == 1 else f"{span} would do"
    data = {"shortest_s": shortest_s, "longest_s": longest_s}
    raise BlendError(f"{overlap.name}: a blend of {blend_s:g} s {problem}; {hint}", data)


def longer_blend(
    overlap: Overlap,
    blend: Blend,
    joint_map: JointMap,
    settings: RobotSettings,
    pace: Pace = STEADY,
    *,
    allows: Callable[[Blend], bool],
) -> Blend | None:
    """Return the shortest blend of those tried that is longer than another, keeps the limits, and is allowed.

    None where none is. Arguments as of `plan_blend`; `allows` is asked at most `LONGER_TRIED` and
    `BETWEEN_TRIED` times.
    """
    most = min(overlap.most, round(LONGEST_S * overlap.rate_hz))
    if most <= blend.steps:
        return None
    planner = _Planner(overlap, joint_map, settings, pace)

    def found(steps: int) -> Blend | None:
        one = None if planner.problem(steps) else planner.blend(steps)
        return one if one is not None and allows(one) else None

    lengths = np.unique(np.geomspace(blend.steps, most, LONGER_TRIED + 1).round().astype(int)).tolist()
    tried = ((short, found(steps)) for short, steps in pairwise(lengths))
    short, best = next((one for one in tried if one[1] is not None), (0, None))
    for _ in range(BETWEEN_TRIED):
        if best is None or best.steps - short <= 1:
            break
        middle = (short + best.steps) // 2
        shorter = found(middle)
        short, best = (middle, best) if shorter is None else (short, shorter)
    return best


class _Planner:
    def __init__(self, overlap: Overlap, joint_map: JointMap, settings: RobotSettings, pace: Pace) -> None:
        self._overlap, self._joint_map, self._pace = overlap, joint_map, pace
        self._speed = pace.speed
        self._stop_s = settings.stop_duration_s
        limits, driven = joint_map.limits, overlap.driven
        asked = joint_bounds(joint_map, settings).acceleration
        for rows in (overlap.before[-self._kept :], overlap.after[: self._kept]):
            bends = np.abs(np.diff(rows, 2, axis=0)).max(axis=0, initial=0.0)
            asked = np.maximum(asked, bends * overlap.rate_hz**2)
        acceleration = np.where(np.isfinite(limits.acceleration), limits.acceleration, asked)
        self._limits = [np.where(driven, one, np.inf) for one in (limits.velocity, acceleration)]
        self._lower = np.where(driven, limits.lower, -np.inf)
        self._upper = np.where(driven, limits.upper, np.inf)

    @property
    def _kept(self) -> int:
        return self._overlap.most + AROUND + 2

    @property
    def too_long(self) -> str:
        """That there are not so many rows, for messages."""
        return (
            f"does not fit; the motions overlap by at most {self._overlap.most / self._overlap.rate_hz:g} s"
        )

    def _rows(self, steps: int) -> tuple[Floats, int]:
        """Return the rows of a cross-fade and of what is around it, and how many come before it."""
        before, after = self._overlap.before, self._overlap.after
        at = len(before) - 1 - steps
        u = (np.arange(steps + 1) / steps)[:, None]
        share = u**3 * (10.0 - u * (15.0 - 6.0 * u))
        a, b = before[at:], after[: steps + 1]
        mixed = a + share * (b - a)
        mixed[0], mixed[-1] = a[0], b[-1]
        # Rounding must not carry it beyond the rows, which may stand on a limit.
        np.clip(mixed, np.minimum(a, b), np.maximum(a, b), out=mixed)
        around = before[max(0, at - AROUND) : at], mixed, after[steps + 1 : steps + 1 + AROUND]
        return np.concatenate(around), len(around[0])

    def _curve(self, rows: Floats) -> Floats:
        return slopes_of(rows, self._overlap.rate_hz, self._overlap.interpolation)

    def _peaks(self, rows: Floats, rates: Floats | float = 1.0) -> tuple[Floats, Floats]:
        """Return the highest speed and acceleration on inner rows, and from each to the next, (joints,).

        `rates`: at which speed each inner row is played, shape (rows - 2, 1).
        """
        rate_hz, slopes = self._overlap.rate_hz, self._curve(rows)
        changes = peak_accelerations(rows, slopes, rate_hz, self._overlap.interpolation)[1:-1]
        speeds = peak_speeds(rows, slopes, rate_hz)
        speeds[1:] *= rates  # the rate falls: from each row on it is at most that of the row
        speeds[0] *= np.max(rates)
        return speeds.max(axis=0), (changes * np.square(rates)).max(axis=0)

    def _fastest(self, peaks: tuple[Floats, Floats]) -> tuple[float, int, int]:
        """Return the highest speed within the limits, the joint that sets it, and the number of the kind."""
        with np.errstate(divide="ignore", over="ignore"):
            velocity, acceleration = (
                with_rounding(limits) / np.maximum(one, np.finfo(float).tiny)
                for limits, one in zip(self._limits, peaks, strict=True)
            )
        ratios = np.stack((velocity, np.sqrt(acceleration)))
        kind, joint = np.unravel_index(int(ratios.argmin()), ratios.shape)
        return min(FASTEST, float(ratios[kind, joint])), int(joint), int(kind)

    def problem(self, steps: int) -> str:
        """Return which limit a cross-fade would break at that speed, for messages; '' where none."""
        rows, _ = self._rows(steps)
        if outside := self._outside(rows):
            return outside
        return self._too_fast(self._peaks(rows), self._speed) or self._too_fast_behind(steps)

    def _too_fast_behind(self, steps: int) -> str:
        """Return which limit the second motion would break while the clock slows down, as `problem`."""
        pace = self._pace
        if pace.then >= pace.speed:
            return ""
        _, first, rates = self._clock(steps)
        if not rates.size:
            return ""
        rows = self._overlap.after[first - 1 : first + len(rates) + 1]
        speeds, changes = self._peaks(rows, rates[:, None])
        changes[np.isinf(self._joint_map.limits.acceleration)] = (
            0.0  # as for any motion that is played faster
        )
        when = f" behind it, where it may still slow down from speed {pace.speed:g} to {pace.then:g}"
        return self._too_fast((speeds, changes), 1.0, when)

    def _clock(self, steps: int) -> tuple[float, int, Floats]:
        """Return how fast the clock's rate may change, in 1/s, and where it may still slow down.

        That is on which row of the second motion first, and its rate at most on that and those behind it,
        shape (rows,); all rows at the full rate where it would take the whole pass.
        """
        pace, after, rate_hz = self._pace, self._overlap.after, self._overlap.rate_hz
        ramp, rates = self._ramp(steps), np.empty(0)
        if pace.then >= pace.speed:
            return ramp, steps, rates
        for _ in range(RAMPS_TRIED):
            places, falling = slowing(pace.speed, pace.then, min(ramp, pace.clock_acceleration) / rate_hz)
            if places[-1] >= len(after) - 1:
                break
            rates = np.interp(np.arange(steps, int(places[-1]) + 1), places, falling)
            gentler = self._ramp(steps, rates)
            if gentler >= ramp:
                return ramp, steps, rates
            ramp = gentler
        return ramp, 1, np.full(len(after) - 2, pace.speed)

    def _ramp(self, steps: int, rates: Floats | None = None) -> float:
        """Return how fast the clock's rate may change on a cross-fade, in 1/s.

        `rates`: up to which rate it comes on the last row of that and on those behind it, shape (rows,).
        """
        overlap, (rows, begin) = self._overlap, self._rows(steps)
        speeds = np.full(len(rows), max(1.0, self._speed))
        if rates is not None:
            rows = np.concatenate((rows[: begin + steps], overlap.after[steps : steps + len(rates)]))
            speeds = np.append(speeds[: begin + steps], np.maximum(1.0, rates))
        ramp, _ = clock_acceleration(
            rows,
            self._curve(rows),
            overlap.rate_hz,
            self._joint_map,
            self._stop_s,
            speed=speeds[:, None],
            interpolation=overlap.interpolation,
            rests=False,
        )
        return ramp

    def _too_fast(self, peaks: tuple[Floats, Floats], speed: float, when: str = "") -> str:
        joints, units = self._joint_map.joints, self._joint_map.units
        fastest, joint, kind = self._fastest(peaks)
        if fastest >= speed:
            return ""
        value = peaks[kind][joint] * speed ** (kind + 1)
        limit, unit = self._limits[kind][joint], units[joint] + ("/s", "/s²")[kind]
        does = ("moves", "accelerates")[kind]
        most = f"its {KINDS[kind]} limit is {limit:.4g} {unit}"
        if kind and np.isinf(self._joint_map.limits.acceleration[joint]):
            most = f"without a limit it gets at most {limit:.4g} {unit}, as by the motions or an approach"
        return f"{does} joint '{joints[joint]}' at {value:.4g} {unit}{when}; {most}"

    def _outside(self, rows: Floats) -> str:
        lowest = highest = rows
        if self._overlap.interpolation == "smooth":
            lowest, highest = peak_positions(rows, self._curve(rows), self._overlap.rate_hz)
        above = highest.max(axis=0) > with_rounding(self._upper)
        below = -lowest.min(axis=0) > with_rounding(-self._lower)
        for joint in np.flatnonzero(above | below):
            value = highest[:, joint].max() if above[joint] else lowest[:, joint].min()
            limit = (self._upper if above[joint] else self._lower)[joint]
            unit = self._joint_map.units[joint]
            name = f"joint '{self._joint_map.joints[joint]}'"
            return f"takes {name} to {value:.4g} {unit}; its limit is {limit:.4g} {unit}"
        return ""

    def blend(self, steps: int) -> Blend:
        """Return a cross-fade that was found to keep the limits."""
        overlap = self._overlap
        rows, begin = self._rows(steps)
        slopes = self._curve(rows)
        fade = slice(begin, begin + steps + 1)
        ramp, first, rates = self._clock(steps)
        blend = Blend(
            np.ascontiguousarray(rows[fade]),
            np.ascontiguousarray(slopes[fade]),
            overlap.driven,
            overlap.rate_hz,
            overlap.interpolation,
            self._fastest(self._peaks(rows))[0],
            ramp,
            overlap.turned,
        )
        if rates.size < 2:
            return blend
        behind = overlap.after[first : first + len(rates)]
        return replace(blend, behind=replace(blend.track, positions=behind, velocities=self._curve(behind)))

    def lengths_beside(self, steps: int) -> tuple[int, int] | None:
        """Return the shortest and the longest cross-fade, in steps, of those nearest to one that would do."""
        most = self._overlap.most
        lengths = np.unique(np.geomspace(1, most, TRIED).round().astype(int)).tolist()
        good = [length for length in lengths if not self.problem(length)]
        if not good:
            return None
        nearest = min(good, key=lambda length: abs(length - steps))
        place, ends = lengths.index(nearest), []
        for step in (-1, 1):
            at = place
            while 0 <= at + step < len(lengths) and lengths[at + step] in good:
                at += step
            beyond = lengths[at + step] if 0 <= at + step < len(lengths) else lengths[at]
            ends.append(self._edge(lengths[at], beyond))
        return ends[0], ends[1]

    def _edge(self, good: int, bad: int) -> int:
        """Return the length that would do nearest to one that would not."""
        while abs(bad - good) > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if not self.problem(middle) else (good, middle)
        return good
