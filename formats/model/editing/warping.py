"""The same path in another time: at another speed, or from rest to rest.

Rows of the new motion lie on the curve through the rows of the old one, at the same rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..interpolation import TooManyRows, interpolate, interpolate_poses, rows_between
from ..motion import SAME_SPACING, MotionError, told_exactly
from .components import is_of_joints, no_such_change

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...arrays import Booleans, Floats
    from ..interpolation import Interpolation
    from ..motion import Motion

EASE_ACCELERATION = 2.0
"""In rad/s² or m/s²: what `ease` adds to a motion's own accelerations unless asked for another value."""
# The steepest slope of 3u² - 2u³, by which a speed goes from 0 to 1.
_STEEPEST = 1.5


@dataclass(frozen=True, slots=True)
class _Warp:
    """Where on the old motion's time each new row lies.

    Attributes
    ----------
    times, at : ndarray, shape (frames,)
        Of the new rows, in s, on the new scale and on the old one.
    rate, change : ndarray, shape (frames,)
        The first and the second derivative of `at` by `times`.
    """

    times: Floats
    at: Floats
    rate: Floats
    change: Floats


def retime(motion: Motion, speed: float, interpolation: Interpolation = "cubic") -> Motion:
    """Return the motion at another speed: at 0.8 it takes 1.25 times as long, at 2 half as long.

    Rows at a fixed rate keep it. As the last row stays, such a motion becomes slower than asked by less than
    a row. Rows that lie unevenly keep their positions, and get other times.

    Raises
    ------
    MotionError
        If the speed is no finite number above 0, there would be too many rows or less than one row's time of
        motion, or a component cannot follow.
    """
    if not 0 < speed < math.inf:
        reason = "a speed is a finite number above 0"
        raise MotionError(f"{motion.name}: the speed is {told_exactly(speed)}; {reason}; correct it")
    if speed == 1 or motion.times.size < 2:
        return motion
    start_s, duration_s = motion.times[0], motion.duration_s
    if motion.is_uniform:
        count = _rows_of(motion, duration_s / speed)
        _refuse_too_short(motion, speed)
        times = start_s + np.arange(count) / motion.frame_rate
        at = np.linspace(start_s, motion.times[-1], count)
    else:
        times, at = start_s + (motion.times - start_s) / speed, motion.times
    rate = np.full(at.shape, duration_s / (times[-1] - start_s))
    return _warped(motion, _Warp(times, at, rate, np.zeros_like(at)), interpolation, "retimed")


def ease(
    motion: Motion, acceleration: ArrayLike = EASE_ACCELERATION, interpolation: Interpolation = "cubic"
) -> Motion:
    """Return the motion from rest to rest, on the same path: time begins slowly, and ends slowly.

    The speed goes from 0 to 1 by 3u² - 2u³ over as many rows as the fastest joint there needs, and back at
    the end; between, rows stay bit for bit. A motion that is too short for that does not reach its speed. An
    end that is at rest stays as it is: one from which each joint speeds up step by step, or a row of this
    acceleration brings it to its velocity. Time-specified frames are played from rest to rest anyway, and
    stay as well.

    Parameters
    ----------
    acceleration : array_like, scalar or shape (joints,)
        What may be added to the motion's own accelerations, in rad/s² or m/s².

    Raises
    ------
    MotionError
        If the acceleration is no finite number above 0, there would be too many rows, or a component cannot
        follow.
    """
    allowed = np.asarray(acceleration, dtype=np.float64)
    if not ((allowed > 0) & (allowed < np.inf)).all():
        worst = float(np.min(allowed)) if np.isfinite(allowed).all() else math.inf
        reason = "it is a finite number above 0"
        raise MotionError(f"{motion.name}: the acceleration is {told_exactly(worst)}; {reason}; correct it")
    if not motion.is_uniform or motion.times.size < 2:
        return motion
    edge_order: Literal[1, 2] = 2 if motion.times.size > 2 else 1
    velocity = np.gradient(motion.positions, motion.times, axis=0, edge_order=edge_order)
    needed = np.abs(velocity) / allowed * (_STEEPEST * motion.frame_rate)
    begin, end = (
        _rows_to_ease(rows, needed[::turn])
        for turn, rows in ((1, motion.positions), (-1, motion.positions[::-1]))
    )
    if not begin and not end:
        return motion
    return _warped(motion, _eased(motion, begin, end), interpolation, "eased")


def _rows_to_ease(positions: Floats, needed: Floats) -> float:
    """Return how many rows from an end on pass while the speed changes; 0 where it is at rest.

    `needed`: shape (frames, joints), how many rows' time the speed must take to change at the velocity there.
    """
    if needed[0, ~_begins_at_rest(positions)].max(initial=0.0) <= 2:
        return 0
    needed = needed.max(axis=1)
    # In that time half as many rows pass, with their velocities.
    half = np.maximum.accumulate(needed) / 2.0
    enough = np.flatnonzero(half <= np.arange(half.size))
    return float(enough[0]) if enough.size else float(half[-1])


def _begins_at_rest(positions: Floats) -> Booleans:
    """Return which joints begin at rest, as their first steps grow: of a constant acceleration by 1, 3, 5."""
    if len(positions) < 4:
        return np.zeros(positions.shape[1], dtype=bool)
    first, second, third = np.abs(np.diff(positions[:4], axis=0))
    at_rest: Booleans = (first <= 0.4 * second) & (second <= 0.7 * third)
    return at_rest


def _eased(motion: Motion, begin: float, end: float) -> _Warp:
    """Return the time of a motion on which it speeds up and slows down within so many rows."""
    steps, step_s = motion.times.size - 1, 1.0 / motion.frame_rate
    speed = min(1.0, math.sqrt(steps / (begin + end)))
    if is_short := speed < 1:
        begin, end = steps * begin / (begin + end), steps * end / (begin + end)
    count = _rows_of(motion, (steps - begin - end + 2 * (begin + end) / speed) * step_s)
    if is_short:
        speed = 2 * steps / (count - 1)
    up, down = 2 * begin / speed, 2 * end / speed  # rows' time
    number = np.arange(count, dtype=np.float64)
    left = number[::-1]
    at, rate, change = begin + speed * (number - up), np.full(count, speed), np.zeros(count)
    for rows, lasts, forward in ((number, up, True), (left, down, False)):
        inside = rows < lasts
        u = rows[inside] / lasts
        passed = speed * lasts * (u**3 - u**4 / 2.0)
        at[inside] = passed if forward else steps - passed
        rate[inside] = speed * u * u * (3.0 - 2.0 * u)
        change[inside] = speed * 6.0 * u * (1.0 - u) / lasts * (1.0 if forward else -1.0)
    at_s = motion.times[0] + at * step_s
    if not is_short:
        at_s[(number >= up) & (left >= down)] = motion.times[int(begin) : motion.times.size - int(end)]
    at_s[0], at_s[-1] = motion.times[0], motion.times[-1]
    return _Warp(motion.times[0] + number * step_s, at_s, rate, change / step_s)


def _refuse_too_short(motion: Motion, speed: float) -> None:
    """Refuse a speed at which a motion at a fixed rate lasts for less than the time between two rows."""
    fastest = motion.duration_s * motion.frame_rate
    if speed > fastest + SAME_SPACING:
        problem = f"at {speed:g} times its speed it lasts {motion.duration_s / speed:.3g} s"
        reason = f"there is a row each {1 / motion.frame_rate:g} s"
        hint = f"choose at most {fastest:.6g}, or resample it at a higher rate first"
        raise MotionError(f"{motion.name}: {problem}; {reason}; {hint}")


def _rows_of(motion: Motion, duration_s: float) -> int:
    columns = motion.positions.shape[1]
    try:
        return rows_between(
            duration_s, motion.frame_rate, frames=motion.times.size, columns=columns, slack=SAME_SPACING
        )
    except TooManyRows as error:
        raise MotionError(f"{motion.name}: {error}") from error


def _warped(motion: Motion, warp: _Warp, interpolation: Interpolation, done: str) -> Motion:
    rate, change = warp.rate[:, None], warp.change[:, None]

    def sampled(name: str) -> tuple[Floats, Floats]:
        times, values = motion.series(name)
        if motion.is_poses(name):
            return warp.times, interpolate_poses(warp.at, times, values, interpolation)
        result = interpolate(warp.at, times, values, interpolation)
        if name == "JointVelocity":
            return warp.times, result * rate
        if name == "JointAcceleration" and is_of_joints(motion, name):
            velocity = interpolate(warp.at, motion.times, motion.derivatives()[0], interpolation)
            acceleration: Floats = result * np.square(rate) + velocity * change
            return warp.times, acceleration
        if name == "ZMP":
            return warp.times, result
        raise no_such_change(motion, name, done, "how it changes with speed")

    series = {name: sampled(name) for name in motion.components}
    positions = interpolate(warp.at, motion.times, motion.positions, interpolation)
    return motion.with_series(warp.times, positions, series)
