"""How rows of values are sampled in between: held, on lines, or on a cubic curve that keeps their shape.

The cubic curve is PCHIP: F. N. Fritsch and J. Butland, "A method for constructing local monotone piecewise
cubic interpolants", SIAM J. Sci. Stat. Comput. 5(2), 1984. It is C1 and stays between the two rows around.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from ..arrays import AnyArray, Floats, Indices

Interpolation = Literal["hold", "linear", "cubic"]

# Two times nearer than this are the same: sums of periods differ in their last bits.
SAME_TIME_S = 1e-9


# How many rows may be made of frames, as a single far time would otherwise ask for any amount of memory: a
# few times as many as there are frames, or as many as these bounds allow.
FEW_TIMES = 4
MOST_ROWS, MOST_VALUES = 1_000_000, 8_000_000
MOST_ROWS_PER_FRAME, FEW_ROWS = 500, 120_000


class TooManyRows(ValueError):
    """More rows than are made of so few frames; `str()` says how many, and how many could be."""


def rows_between(duration_s: float, rate_hz: float, *, frames: int, columns: int, slack: float) -> int:
    """Return how many rows, 1 / rate apart, it takes from a motion's first frame to its last.

    Parameters
    ----------
    frames, columns : int
        Of the motion.
    slack : float
        The part of a row by which the last may come before the last frame.

    Raises
    ------
    TooManyRows
        If there would be more than are ever made of such a motion.
    """
    wanted = duration_s * rate_hz
    by_frames = max(FEW_ROWS, MOST_ROWS_PER_FRAME * frames)
    most = max(FEW_TIMES * frames, min(MOST_ROWS, MOST_VALUES // max(columns, 1), by_frames))
    if not wanted <= most - 1 + slack:
        what = f"{frames} frames over {duration_s:g} s would become {wanted:.7g} rows"
        why = f"at most {most} are made of them, {most / rate_hz:.6g} s at {rate_hz:g} Hz"
        raise TooManyRows(f"{what}; {why}; check its times, which are in s")
    return int(np.ceil(wanted - slack)) + 1


def interpolate(at: Floats, times: Floats, values: Floats, interpolation: Interpolation) -> Floats:
    """Sample rows of values at any times, holding the first and the last row outside.

    Parameters
    ----------
    at : ndarray, shape (m,)
    times : ndarray, shape (frames,)
        Increasing.
    values : ndarray, shape (frames, ...)

    Returns
    -------
    ndarray, shape (m, ...)
    """
    if interpolation == "hold" or times.size == 1:
        row = np.searchsorted(times, at + SAME_TIME_S, side="right") - 1
        return np.asarray(values[np.clip(row, 0, times.size - 1)])
    if interpolation == "cubic":
        return hermite(at, times, values, pchip_slopes(times, values))[0]
    row, step = _interval(at, times)
    share = _column((np.clip(at, times[0], times[-1]) - times[row]) / step, values)
    first, last = values[row], values[row + 1]
    sampled: Floats = first * (1 - share) + last * share
    # A row comes back to the bit, also where it is -0.0.
    np.copyto(sampled, first, where=share == 0.0)
    np.copyto(sampled, last, where=share == 1.0)
    return sampled


def pchip_slopes(times: Floats, values: Floats) -> Floats:
    """Return the slopes at the rows with which a cubic Hermite curve keeps the shape of the data.

    Inside, the weighted harmonic mean of the two secants, or zero where they differ in sign (Fritsch and
    Butland 1984). At the ends, the three-point formula, limited to keep the shape (C. Moler, "Numerical
    Computing with MATLAB", 2004, chapter 3.6).

    Parameters
    ----------
    times : ndarray, shape (frames,)
        Increasing.
    values : ndarray, shape (frames, ...)

    Returns
    -------
    ndarray, shape (frames, ...)
    """
    slopes = np.zeros_like(values, dtype=np.float64)
    if times.size < 2:
        return slopes
    steps = _column(np.diff(times), values)
    secants = np.diff(values, axis=0) / steps
    if times.size == 2:
        slopes[:] = secants
        return slopes
    before, after = secants[:-1], secants[1:]
    weight_before = 2 * steps[1:] + steps[:-1]
    weight_after = steps[1:] + 2 * steps[:-1]
    same_way = before * after > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = (weight_before + weight_after) / (weight_before / before + weight_after / after)
    slopes[1:-1] = np.where(same_way, mean, 0.0)
    slopes[0] = _end_slope(steps[0], steps[1], secants[0], secants[1])
    slopes[-1] = _end_slope(steps[-1], steps[-2], secants[-1], secants[-2])
    return slopes


def hermite(at: Floats, times: Floats, values: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Evaluate the cubic Hermite curve through rows with given slopes, and its derivative.

    Parameters
    ----------
    at : ndarray, shape (m,)
        Outside the rows the curve rests at the first or the last.
    times : ndarray, shape (frames,)
        Increasing, at least two.
    values, slopes : ndarray, shape (frames, ...)

    Returns
    -------
    values, rates : ndarray, shape (m, ...)
    """
    row, step = _interval(at, times)
    inside = _column((at >= times[0]) & (at <= times[-1]), values)
    s = _column((np.clip(at, times[0], times[-1]) - times[row]) / step, values)
    step = _column(step, values)
    first, last = values[row], values[row + 1]
    slope_first, slope_last = slopes[row], slopes[row + 1]
    towards = s * s * (3 - 2 * s)
    position = (
        first * (1 - towards)
        + last * towards
        + step * (s * (1 - s)) * ((1 - s) * slope_first - s * slope_last)
    )
    rate = (
        6 * s * (1 - s) * (last - first) / step
        + (1 - s) * (1 - 3 * s) * slope_first
        + s * (3 * s - 2) * slope_last
    )
    return position, np.where(inside, rate, 0.0)


def _interval(at: Floats, times: Floats) -> tuple[Indices, Floats]:
    """Return the row before each time and the time from it to the next row."""
    row = np.clip(np.searchsorted(times, at, side="right") - 1, 0, times.size - 2)
    return row, times[row + 1] - times[row]


def _end_slope(near: Floats, far: Floats, secant: Floats, next_secant: Floats) -> Floats:
    slope = ((2 * near + far) * secant - near * next_secant) / (near + far)
    slope = np.where(np.sign(slope) == np.sign(secant), slope, 0.0)
    too_steep = (np.sign(secant) != np.sign(next_secant)) & (np.abs(slope) > 3 * np.abs(secant))
    return np.where(too_steep, 3 * secant, slope)


def interpolate_poses(at: Floats, times: Floats, poses: Floats, interpolation: Interpolation) -> Floats:
    """Interpolate poses x y z qw qx qy qz, shape (frames, parts, 7), to poses with unit quaternions."""
    signed = poses.copy()
    turned = np.sum(poses[1:, :, 3:] * poses[:-1, :, 3:], axis=-1) < 0
    # q and -q are the same orientation; the shorter arc needs neighbours in the same half of the sphere.
    signed[1:, :, 3:] *= np.where(np.cumsum(turned, axis=0) % 2, -1.0, 1.0)[..., None]
    result = interpolate(at, times, signed, interpolation)
    length = np.linalg.norm(result[..., 3:], axis=-1, keepdims=True)
    result[..., 3:] /= np.where(length > 0, length, 1.0)
    return result


def _column(values: AnyArray, like: Floats) -> AnyArray:
    """Return values of shape (n,) with trailing axes, so that they can multiply rows of `like`."""
    return values.reshape(values.shape + (1,) * (like.ndim - 1))
