"""What was moved becomes a motion: cut, smoothed to a bound, at the rate of ticks, from rest to rest.

By its clock (`easing`), the curve through the motion's rows is at no tick further from what was recorded in
that tick than the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats import Motion
from motiond.formats.model import interpolate, smooth, still_ends

from ..joints import joint_bounds
from .easing import eased
from .rows import Taught, TeachingError, as_motion, pose_bounds, taught_columns, within_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.formats.arrays import Floats

    from ..config.robot import RobotSettings
    from ..joints import JointMap
    from .easing import EasedClock

RATES_HZ = (100.0, 200.0, 250.0, 400.0, 500.0, 1000.0)
SLOW_RATES_HZ = (50.0, 40.0, 25.0, 20.0, 10.0)
SHARES = (0.8, 0.4)
"""Of the bound, for smoothing; the rest is for what lies between rows at another rate."""
LONGEST_GAP_S = 0.1
"""What is longer without a position is mentioned."""
LEAD_S = 0.2
"""So long it stands still before it moves, and after."""
NOTABLE_S = 0.1
"""Easing that takes less is not mentioned."""
MOST_VALUES, LONGEST_TICK_S = 1_000_000, 0.02
"""To smooth more takes half a minute."""
LEAST_ROWS = 3
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Movement:
    """How a motion is made of what was moved.

    - `first_s`, `last_s`: what of it; by default from its beginning and to its end
    - `trim`: whether its ends are cut where nothing moves
    - `smooth_rad`, `smooth_m`: how far each joint may leave what was recorded
    - `rate_hz`: of the motion's rows; by default a round one that the bound and the driver allow
    """

    first_s: float | None = None
    last_s: float | None = None
    trim: bool = True
    smooth_rad: float = 0.005
    smooth_m: float = 0.0005
    rate_hz: float | None = None


def movement(
    name: str,
    times: Floats,
    positions: Floats,
    how: Movement,
    *,
    joint_map: JointMap,
    settings: RobotSettings,
    max_rate_hz: float,
) -> Taught:
    """Make a motion of what was moved.

    - `times`: in s, from 0 on, shape (rows,)
    - `positions`: in rad or m, NaN where a joint reported nothing, shape (rows, joints)
    - `max_rate_hz`: the highest rate at which the driver takes setpoints

    Raises TeachingError if a joint has reported nothing, or nothing is left, or the bound cannot be kept.
    """
    columns = taught_columns(joint_map, np.isfinite(positions).any(axis=0))
    bound = np.array([how.smooth_m if joint_map.units[one] == "m" else how.smooth_rad for one in columns])
    times, recorded, notes = _complete(times, positions[:, columns])
    times, recorded = _cut(times, recorded, how)
    if how.trim:
        times, recorded = _trimmed(times, recorded, bound)
    even = _evenly(times, recorded)
    own = pose_bounds(joint_map, settings, columns, 1.0)
    gentle = np.minimum(own.acceleration, joint_bounds(joint_map, settings).acceleration[columns])
    smoothed = cache(lambda share: smooth(even, share * bound)[0].positions)
    for rate_hz, share in product(_rates(how.rate_hz, max_rate_hz), SHARES):
        smooth_rows = smoothed(share)
        clock = eased(even.times, smooth_rows, own.acceleration, gentle, rate_hz)
        rows = _rows(even.times, smooth_rows, clock, rate_hz)
        rows = within_limits(rows, recorded, bound, joint_map, columns)
        deviation = _deviation(times, recorded, rows, clock, rate_hz)
        if (deviation <= bound + ROUNDING).all():
            notes += _says_of_easing(clock)
            return Taught(as_motion(name, joint_map, columns, rows, rate_hz), deviation, tuple(notes))
    worst = int((deviation / bound).argmax())
    joint, unit = joint_map.joints[columns[worst]], joint_map.units[columns[worst]]
    problem = f"joint '{joint}' would leave what was recorded by {deviation[worst]:.3g} {unit}"
    reason = f"at {rate_hz:g} rows/s; {bound[worst]:g} {unit} are allowed"
    raise TeachingError(f"{problem} {reason}; raise `smooth_{unit}`, or `rate_hz` where the driver allows it")


def _complete(times: Floats, recorded: Floats) -> tuple[Floats, Floats, list[str]]:
    """Return the rows in which all joints have a position, and what is to be said of the others."""
    whole = np.isfinite(recorded).all(axis=1)
    whole &= np.diff(times, prepend=-np.inf) > 0.0
    times, recorded = times[whole], recorded[whole]
    if not len(times):
        raise TeachingError("nothing was recorded; no tick has a position of every joint; teach it again")
    gaps = np.flatnonzero(np.diff(times) > LONGEST_GAP_S)
    notes = [
        f"no positions from {times[gap]:.3f} s to {times[gap + 1]:.3f} s; a curve is in their place"
        for gap in gaps
    ]
    return times, recorded, notes


def _cut(times: Floats, recorded: Floats, how: Movement) -> tuple[Floats, Floats]:
    """Return the rows that are wanted, with times from 0 on."""
    first_s = times[0] if how.first_s is None else how.first_s
    last_s = times[-1] if how.last_s is None else how.last_s
    wanted = (times >= first_s - ROUNDING) & (times <= last_s + ROUNDING)
    if wanted.sum() < LEAST_ROWS:
        reason = f"it was recorded from {times[0]:.3f} s to {times[-1]:.3f} s"
        hint = "correct `first_s` and `last_s`"
        raise TeachingError(f"hardly anything lies from {first_s:g} s to {last_s:g} s; {reason}; {hint}")
    return times[wanted] - times[wanted][0], recorded[wanted]


def _trimmed(times: Floats, recorded: Floats, bound: Floats) -> tuple[Floats, Floats]:
    """Return the rows without those at the ends in which no joint leaves its place by more than a bound."""
    even = Motion("", (), 1.0, times, recorded)
    begins_s, ends_s = still_ends(even, bound)
    if begins_s + ends_s >= times[-1]:
        reason = "no joint left its place by more than the bound of smoothing"
        raise TeachingError(f"nothing was moved; {reason}; teach it again, or switch `trim` off")
    moves = (times >= begins_s - LEAD_S) & (times <= times[-1] - ends_s + LEAD_S)
    return times[moves] - times[moves][0], recorded[moves]


def _evenly(times: Floats, recorded: Floats) -> Motion:
    """Return the rows at a fixed rate, that of the ticks, or lower where they are very many.

    Gaps are filled in with a curve.
    """
    tick_s = max(float(np.median(np.diff(times))), times[-1] * recorded.shape[1] / MOST_VALUES)
    steps = max(2, round(times[-1] / min(tick_s, LONGEST_TICK_S)))
    at = np.arange(steps + 1) * (times[-1] / steps)
    return Motion("", (), steps / times[-1], at, interpolate(at, times, recorded, "cubic"))


def _rates(wanted_hz: float | None, max_rate_hz: float) -> Iterator[float]:
    """Yield the rates to try: the one that is wanted, else round ones, low ones first."""
    if wanted_hz is not None:
        yield wanted_hz
        return
    slower = [rate for rate in SLOW_RATES_HZ if rate <= max_rate_hz] or [max_rate_hz]
    yield from [rate for rate in RATES_HZ if rate <= max_rate_hz] or [slower[0]]


def _rows(times: Floats, positions: Floats, clock: EasedClock, rate_hz: float) -> Floats:
    """Return the rows of the motion, shape (rows, columns); the last is the movement's end."""
    count = int(np.ceil(clock.lasts_s * rate_hz - 1e-3)) + 1
    places = clock.place(np.arange(count) / rate_hz)
    return interpolate(places, times, positions, "cubic")


def _deviation(times: Floats, recorded: Floats, rows: Floats, clock: EasedClock, rate_hz: float) -> Floats:
    """Return how far the curve through rows is from what was recorded at most, shape (columns,)."""
    at, due = clock.time_at(times), np.arange(len(rows)) / rate_hz
    return np.asarray(np.abs(interpolate(at, due, rows, "cubic") - recorded).max(axis=0))


def _says_of_easing(clock: EasedClock) -> list[str]:
    parts = [("begins", clock.begin_s), ("ends", clock.end_s)]
    does = [f"{verb} slower, for {lasts_s:.2g} s" for verb, lasts_s in parts if lasts_s >= NOTABLE_S]
    return [f"the motion {' and '.join(does)}, as a robot begins and ends at rest"] if does else []
