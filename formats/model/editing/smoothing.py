"""Takes noise out of a recording, and leaves what was recorded nowhere by more than a bound."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..motion import MotionError, told_exactly
from .components import need_even_rows, with_positions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...arrays import Booleans, Floats
    from ..motion import Motion

# Of the differences that are made small: the third ones are jerk.
_ORDER = 3
# Each halves the range of the strength; more of them change the largest deviation by less than a hundredth.
_HALVINGS = 14
# A joint is at rest at an end if it stays within its bound there for so long, or if so many steps are no more
# than this share of its largest one.
_REST_S = 0.1
_FIRST_STEPS, _SLOW = 2, 0.01


def smooth(motion: Motion, bound: ArrayLike) -> tuple[Motion, Floats]:
    """Return the motion without its noise, and how far each joint leaves what it was at most.

    Each joint is smoothed as strongly as the bound permits; both ends stay, bit for bit. One that begins or
    ends at rest, within its bound for 0.1 s or by steps that are hardly any, still does. `JointVelocity` and
    `JointAcceleration` become derivatives of the new positions.

    Parameters
    ----------
    motion : Motion
        With rows at a fixed rate.
    bound : array_like, scalar or shape (joints,)
        By how much a row may leave what was recorded, in rad or m; 0 leaves a joint as it is.

    Returns
    -------
    Motion
    deviation : ndarray, shape (joints,)
        In rad or m, nowhere above the bound.

    Raises
    ------
    MotionError
        If the rows do not lie evenly, the bound is not 0 or more, or a component cannot follow.

    Notes
    -----
    The curve z of recorded rows y makes Σ (z - y)² + λ Σ (Δ³z)² least (E. T. Whittaker, "On a new method of
    graduation", Proc. Edinburgh Math. Soc. 41, 1922), with the largest λ, found by bisection, that keeps
    |z - y| within the bound. Differences are diagonal in frequency, so that each λ is one transform (D.
    Garcia, "Robust smoothing of gridded data in one and higher dimensions with missing values", Comput.
    Statist. Data Anal. 54(4), 2010): here the sine transform of what remains beside the line from the first
    row to the last, as this keeps both ends. Rest at an end is a constraint: the first step is 0, by a
    Lagrange multiplier on the second row.
    """
    joints = motion.positions.shape[1]
    bounds = np.broadcast_to(np.asarray(bound, dtype=np.float64), (joints,))
    for most in bounds:
        if not 0 <= most < np.inf:
            reason = "a bound is a finite number, 0 or more"
            raise MotionError(f"{motion.name}: the bound is {told_exactly(most)}; {reason}; correct it")
    need_even_rows(motion, "smoothed")
    positions = motion.positions.copy()
    at_rest = np.stack(
        [_is_at_rest(rows, bounds, motion.frame_rate) for rows in (positions, positions[::-1])]
    )
    for joint, most in enumerate(bounds):
        positions[:, joint] = _smoothed(motion.positions[:, joint], float(most), at_rest[:, joint])
    deviation: Floats = np.abs(positions - motion.positions).max(axis=0)
    velocity, acceleration = replace(motion, positions=positions).derivatives()
    following = {"JointVelocity": velocity, "JointAcceleration": acceleration}
    return with_positions(motion, positions, following, "smoothed"), deviation


def _is_at_rest(positions: Floats, bounds: Floats, rate_hz: float) -> Booleans:
    """Return which joints begin at rest: within the bound, as noise is, or by their first steps."""
    first = positions[: max(round(_REST_S * rate_hz), 2) + 1]
    stays: Booleans = (np.abs(first - first[0]) <= bounds).all(axis=0)
    steps = np.abs(np.diff(positions, axis=0))
    slow: Booleans = (steps[:_FIRST_STEPS] <= _SLOW * steps.max(axis=0, initial=0.0)).all(axis=0)
    return stays | slow


def _smoothed(recorded: Floats, bound: float, at_rest: Booleans) -> Floats:
    """Return a column, shape (frames,), as smooth as the bound permits.

    `at_rest`: shape (2,), whether its first step, and its last, are to be 0.
    """
    if bound == 0 or recorded.size < 5:
        return recorded
    line: Floats = np.linspace(recorded[0], recorded[-1], recorded.size)
    rest = recorded - line
    odd = np.concatenate([rest[:-1], -rest[:0:-1]])
    waves = np.pi * np.arange(recorded.size) / (recorded.size - 1)
    # How much of a wave is left by all differences, squared; and the waves of a push on the second row.
    stiffness = (2.0 * np.sin(waves / 2.0)) ** (2 * _ORDER)
    spectrum, push = np.fft.rfft(odd), -2j * np.sin(waves)
    weakest, strongest = -60.0, np.log(1e6 / stiffness[1])
    best = recorded
    for _ in range(_HALVINGS):
        strength = (weakest + strongest) / 2.0
        passed = 1.0 / (1.0 + np.exp(strength) * stiffness)
        curve = line + np.fft.irfft(spectrum * passed, odd.size)[: recorded.size]
        curve[0], curve[-1] = recorded[0], recorded[-1]
        if at_rest.any():
            curve = _at_rest(curve, np.fft.irfft(push * passed, odd.size)[: recorded.size], at_rest)
        if np.abs(curve - recorded).max() <= bound:
            best, weakest = curve, strength
        else:
            strongest = strength
    return best


def _at_rest(curve: Floats, bent: Floats, ends: Booleans) -> Floats:
    """Push the second row, or the last but one, or both, until the first step, or the last, is 0.

    `bent`: shape (frames,), what a push of 1 on the second row does.
    """
    columns = [push for push, is_wanted in zip((bent, bent[::-1]), ends, strict=True) if is_wanted]
    rows = [row for row, is_wanted in zip((1, -2), ends, strict=True) if is_wanted]
    gaps = [
        curve[end] - curve[row]
        for row, end, is_wanted in zip((1, -2), (0, -1), ends, strict=True)
        if is_wanted
    ]
    pushes = np.linalg.solve([[push[row] for push in columns] for row in rows], gaps)
    result: Floats = curve + pushes @ np.array(columns)
    result[0], result[-1] = curve[0], curve[-1]
    return result
