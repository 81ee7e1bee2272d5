"""New motions by rows: from one time to another, or backwards; and how long a motion stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..interpolation import SAME_TIME_S
from ..motion import MotionError
from .components import no_such_change

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...arrays import Floats
    from ..motion import Motion

# The sign of a value when time runs backwards. Efforts have none: gravity keeps its sign, friction does not.
_BACKWARDS = {"ZMP": 1.0, "JointVelocity": -1.0, "JointAcceleration": 1.0}


def trim(motion: Motion, start_s: float | None = None, end_s: float | None = None) -> Motion:
    """Keep the rows from one time to another, unchanged; the first one kept is then at 0 s.

    Parameters
    ----------
    start_s, end_s : float, optional
        On the scale of `times`; by default the first row and the last.

    Raises
    ------
    MotionError
        If no row lies between, or a component cannot be trimmed.
    """
    start_s = motion.times[0] if start_s is None else start_s
    end_s = motion.times[-1] if end_s is None else end_s
    kept = np.flatnonzero((motion.times >= start_s - SAME_TIME_S) & (motion.times <= end_s + SAME_TIME_S))
    if not kept.size:
        raise MotionError(
            f"{motion.name}: no row lies from {start_s:g} s to {end_s:g} s; "
            f"it has rows from {motion.times[0]:g} s to {motion.times[-1]:g} s; trim it elsewhere"
        )
    return trim_frames(motion, int(kept[0]), int(kept[-1]))


def trim_frames(motion: Motion, first: int = 0, last: int | None = None) -> Motion:
    """Keep the rows from one frame to another, both included and counted from 0; otherwise as `trim`."""
    end = motion.times.size - 1
    last = end if last is None else last
    if not 0 <= first <= last <= end:
        raise MotionError(
            f"{motion.name}: no frames {first} to {last}; it has frames 0 to {end}; trim it elsewhere"
        )
    start_s, end_s = motion.times[first], motion.times[last]

    def cut(name: str) -> tuple[Floats, Floats]:
        times, values = motion.series(name)
        if times is motion.times:
            return new_times, values[first : last + 1]
        inside = (times >= start_s - SAME_TIME_S) & (times <= end_s + SAME_TIME_S)
        if not inside.any():
            raise MotionError(
                f"{motion.name}: component '{name}' has no row from {start_s:g} s to {end_s:g} s; "
                "it has times of its own; resample the motion or drop the component first"
            )
        return np.maximum(times[inside] - start_s, 0.0), values[inside]

    new_times = _from_zero(motion, first, last)
    series = {name: cut(name) for name in motion.components}
    return motion.with_series(new_times, motion.positions[first : last + 1], series)


def reverse(motion: Motion) -> Motion:
    """Return the motion from its end to its start: x'(t) = x(first + last - t); velocities change sign.

    Raises
    ------
    MotionError
        If it is not known how a component runs backwards, as with efforts.
    """
    ends_s = motion.times[0] + motion.times[-1]

    def turned(name: str) -> tuple[Floats, Floats]:
        times, values = motion.series(name)
        sign = 1.0 if motion.is_poses(name) else _BACKWARDS.get(name)
        if sign is None:
            raise no_such_change(motion, name, "reversed", "how it runs backwards")
        return (new_times if times is motion.times else ends_s - times[::-1]), sign * values[::-1]

    new_times = motion.times if is_even(motion) else ends_s - motion.times[::-1]
    series = {name: turned(name) for name in motion.components}
    return motion.with_series(new_times, motion.positions[::-1], series)


def still_ends(motion: Motion, tolerance: ArrayLike) -> tuple[float, float]:
    """Return for how long the motion stands still at its beginning, and at its end, in s.

    A motion stands still as long as every joint is near the first row, or the last one. Of a motion that
    never moves, both are its duration.

    Parameters
    ----------
    tolerance : array_like, scalar or shape (joints,)
        How near, in rad or m.
    """
    begins = _rows_near(motion.positions, motion.positions[0], tolerance)
    ends = _rows_near(motion.positions[::-1], motion.positions[-1], tolerance)
    times = motion.times
    return float(times[begins - 1] - times[0]), float(times[-1] - times[times.size - ends])


def _rows_near(positions: Floats, place: Floats, tolerance: ArrayLike) -> int:
    """Return how many of the first rows are near a place."""
    is_near = (np.abs(positions - place) <= tolerance).all(axis=1)
    return len(is_near) if is_near.all() else int(np.argmin(is_near))


def is_even(motion: Motion) -> bool:
    """Whether the times are those of frames at the frame rate, counted from 0, bit for bit."""
    return bool(np.array_equal(motion.times, np.arange(motion.times.size) / motion.frame_rate))


def _from_zero(motion: Motion, first: int, last: int) -> Floats:
    """Return the times of some rows, the first at 0 s; at a fixed rate, bit for bit those of frames."""
    if is_even(motion):
        return motion.times[: last - first + 1]
    times: Floats = motion.times[first : last + 1] - motion.times[first]
    return times
