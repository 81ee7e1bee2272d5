"""How rows of values are sampled in between: held, on lines, or on cubic curves.

`cubic` is PCHIP: F. N. Fritsch and J. Butland, "A method for constructing local monotone piecewise cubic
interpolants", SIAM J. Sci. Stat. Comput. 5(2), 1984. It is C1 and stays between the two rows around. `smooth`
is the cubic spline with zero slopes at both ends (C. de Boor, "A Practical Guide to Splines", 1978, chapter
IV). It is C2, and may pass beyond the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from ..arrays import AnyArray, Booleans, Floats, Indices

Interpolation = Literal["hold", "linear", "cubic", "smooth"]

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

    `frames`, `columns`: of the motion.
    `slack`: the part of a row by which the last may come before the last frame.
    Raises `TooManyRows` if there would be more than are ever made of such a motion.
    """
    wanted = duration_s * rate_hz
    by_frames = max(FEW_ROWS, MOST_ROWS_PER_FRAME * frames)
    most = max(FEW_TIMES * frames, min(MOST_ROWS, MOST_VALUES // max(columns, 1), by_frames))
    if not wanted <= most - 1 + slack:
        problem = f"{frames} frames over {duration_s:g} s would become {wanted:.7g} rows"
        reason = f"at most {most} are made of them, {most / rate_hz:.6g} s at {rate_hz:g} Hz"
        raise TooManyRows(f"{problem}; {reason}; check its times, which are in s")
    return int(np.ceil(wanted - slack)) + 1


def interpolate(
    at: Floats, times: Floats, values: Floats, interpolation: Interpolation, *, at_rest: bool = False
) -> Floats:
    """Sample rows of values at any times, holding the first and the last row outside.

    Parameters
    ----------
    at : ndarray, shape (m,)
    times : ndarray, shape (frames,)
        Increasing.
    values : ndarray, shape (frames, ...)
    at_rest : bool
        As for `curve`.

    Returns
    -------
    ndarray, shape (m, ...)
    """
    return curve(at, times, values, interpolation, at_rest=at_rest)[0]


def curve(
    at: Floats, times: Floats, values: Floats, interpolation: Interpolation, *, at_rest: bool = False
) -> tuple[Floats, Floats]:
    """Sample rows of values at any times as `interpolate` does, and their rates of change.

    Parameters
    ----------
    at_rest : bool
        Whether the curve begins and ends at rest. `cubic` then has zero slopes there, and `linear` is a cubic
        from rest to the line's slope in its first stretch, and the reverse in its last. `smooth` always does;
        `hold`, which steps, has no rates.

    Returns
    -------
    values, rates : ndarray, shape (m, ...)
    """
    if interpolation == "hold" or times.size == 1:
        row = np.searchsorted(times, at + SAME_TIME_S, side="right") - 1
        held = np.asarray(values[np.clip(row, 0, times.size - 1)])
        return held, np.zeros_like(held)
    if interpolation == "smooth":
        return hermite(at, times, values, spline_slopes(times, values))
    row, step = _interval(at, times)
    first, last = values[row], values[row + 1]
    if interpolation == "cubic":
        sampled, rates = hermite(at, times, values, pchip_slopes(times, values, at_rest=at_rest))
    else:
        share = (np.clip(at, times[0], times[-1]) - times[row]) / step
        rate = np.where((at >= times[0]) & (at <= times[-1]), 1.0 / step, 0.0)
        if at_rest:
            share, slope = _eased(share, row == 0, row == times.size - 2)
            rate *= slope
        share = _column(share, values)
        sampled = first * (1 - share) + last * share
        with np.errstate(over="ignore", invalid="ignore"):  # of numbers so far apart that there is no rate
            rates = (last - first) * _column(rate, values)
    # Rounding must not carry it beyond the rows, which may stand on a limit.
    np.clip(sampled, np.minimum(first, last), np.maximum(first, last), out=sampled)
    if interpolation == "linear":
        # A row comes back to the bit, also where it is -0.0.
        np.copyto(sampled, first, where=share == 0.0)
        np.copyto(sampled, last, where=share == 1.0)
    return sampled, rates


def _eased(share: Floats, begins: Booleans, ends: Booleans) -> tuple[Floats, Floats]:
    """Bend shares of a stretch, shape (m,), so that it begins or ends at rest; return their slopes too."""
    left = 1.0 - share
    kinds = [begins & ends, begins, ends]
    values = [share**2 * (3.0 - 2.0 * share), share**2 * (2.0 - share), 1.0 - left**2 * (2.0 - left)]
    slopes = [6.0 * share * left, share * (4.0 - 3.0 * share), left * (4.0 - 3.0 * left)]
    return np.select(kinds, values, share), np.select(kinds, slopes, 1.0)


def pchip_slopes(times: Floats, values: Floats, *, at_rest: bool = False) -> Floats:
    """Return the slopes at the rows with which a cubic Hermite curve keeps the shape of the data.

    Inside, the weighted harmonic mean of the two secants, or zero where they differ in sign (Fritsch and
    Butland 1984). At the ends, the three-point formula, limited to keep the shape (C. Moler, "Numerical
    Computing with MATLAB", 2004, chapter 3.6).

    Parameters
    ----------
    times : ndarray, shape (frames,)
        Increasing.
    values : ndarray, shape (frames, ...)
    at_rest : bool
        Whether the slopes at both ends are zero instead; the curve keeps the shape all the same.

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
        slopes[:] = 0.0 if at_rest else secants
        return slopes
    before, after = secants[:-1], secants[1:]
    weight_before = 2 * steps[1:] + steps[:-1]
    weight_after = steps[1:] + 2 * steps[:-1]
    same_way = before * after > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = (weight_before + weight_after) / (weight_before / before + weight_after / after)
    slopes[1:-1] = np.where(same_way, mean, 0.0)
    if at_rest:
        return slopes
    slopes[0] = _end_slope(steps[0], steps[1], secants[0], secants[1])
    slopes[-1] = _end_slope(steps[-1], steps[-2], secants[-1], secants[-2])
    return slopes


def spline_slopes(times: Floats, values: Floats, *, at_rest: bool = True) -> Floats:
    """Return the slopes at the rows with which a cubic Hermite curve is twice continuously differentiable.

    Parameters
    ----------
    times : ndarray, shape (frames,)
        Increasing.
    values : ndarray, shape (frames, ...)
    at_rest : bool
        Whether the slopes at both ends are zero; otherwise, for rows out of the middle of a curve, they are
        those of the lines there.

    Returns
    -------
    ndarray, shape (frames, ...)
    """
    slopes = np.zeros_like(values, dtype=np.float64)
    if times.size < 2:
        return slopes
    steps = _column(np.diff(times), values)
    secants = np.diff(values, axis=0) / steps
    if not at_rest:
        slopes[0], slopes[-1] = secants[0], secants[-1]
    if times.size > 2:
        around = steps[:-1] + steps[1:]
        before, after = steps[1:] / around, steps[:-1] / around
        wanted = 3.0 * (before * secants[:-1] + after * secants[1:])
        wanted[0] -= before[0] * slopes[0]
        wanted[-1] -= after[-1] * slopes[-1]
        slopes[1:-1] = _tridiagonal(before, np.full_like(before, 2.0), after, wanted)
    return slopes


def _tridiagonal(lower: Floats, diagonal: Floats, upper: Floats, wanted: Floats) -> Floats:
    """Solve lower[i] x[i-1] + diagonal[i] x[i] + upper[i] x[i+1] = wanted[i], for a dominant diagonal.

    By cyclic reduction (R. W. Hockney, J. ACM 12(1), 1965), which takes every second unknown out at once: on
    long motions, a hundred times as fast as elimination row by row. Coefficients are of shape (n, 1, ...).
    """
    count = len(diagonal)
    if count == 1:
        return np.asarray(wanted / diagonal)
    out, kept, beyond = slice(None, None, 2), slice(1, None, 2), slice(2, None, 2)
    inner = (count - 1) // 2  # of the unknowns that are kept, those with a neighbour on either side
    by_lower = lower[kept] / diagonal[out][: count // 2]
    by_upper = upper[kept][:inner] / diagonal[beyond]
    less_diagonal = diagonal[kept] - by_lower * upper[out][: count // 2]
    less_wanted = wanted[kept] - by_lower * wanted[out][: count // 2]
    less_diagonal[:inner] -= by_upper * lower[beyond]
    less_wanted[:inner] -= by_upper * wanted[beyond]
    farther = np.zeros_like(less_diagonal)
    farther[:inner] = -by_upper * upper[beyond]
    solved = np.empty_like(wanted)
    nearer = -by_lower * lower[out][: count // 2]
    solved[kept] = _tridiagonal(nearer, less_diagonal, farther, less_wanted)
    rest = wanted[out].copy()
    rest[1:] -= lower[beyond] * solved[kept][: len(rest) - 1]
    rest[: count // 2] -= upper[out][: count // 2] * solved[kept]
    solved[out] = rest / diagonal[out]
    return solved


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


def interpolate_poses(
    at: Floats, times: Floats, poses: Floats, interpolation: Interpolation, *, at_rest: bool = False
) -> Floats:
    """Interpolate poses x y z qw qx qy qz, shape (frames, parts, 7), to poses with unit quaternions."""
    signed = poses.copy()
    turned = np.sum(poses[1:, :, 3:] * poses[:-1, :, 3:], axis=-1) < 0
    # q and -q are the same orientation; the shorter arc needs neighbours in the same half of the sphere.
    signed[1:, :, 3:] *= np.where(np.cumsum(turned, axis=0) % 2, -1.0, 1.0)[..., None]
    result = interpolate(at, times, signed, interpolation, at_rest=at_rest)
    length = np.linalg.norm(result[..., 3:], axis=-1, keepdims=True)
    result[..., 3:] /= np.where(length > 0, length, 1.0)
    return result


def _column(values: AnyArray, like: Floats) -> AnyArray:
    """Return values of shape (n,) with trailing axes, so that they can multiply rows of `like`."""
    return values.reshape(values.shape + (1,) * (like.ndim - 1))
