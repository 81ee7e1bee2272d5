"""Takes noise out of a recording, and leaves what was recorded nowhere by more than a bound."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..motion import MotionError, told_exactly
from .components import need_even_rows, with_positions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...arrays import Floats
    from ..motion import Motion

# Of the differences that are made small: the third ones are jerk.
_ORDER = 3
# Each halves the range of the strength; more of them change the largest deviation by less than a hundredth.
_HALVINGS = 14


def smooth(motion: Motion, bound: ArrayLike) -> tuple[Motion, Floats]:
    """Return the motion without its noise, and how far each joint leaves what it was at most.

    Each joint is smoothed as strongly as the bound permits; both ends stay, bit for bit. `JointVelocity` and
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
    row to the last, as this keeps both ends.
    """
    joints = motion.positions.shape[1]
    bounds = np.broadcast_to(np.asarray(bound, dtype=np.float64), (joints,))
    for most in bounds:
        if not 0 <= most < np.inf:
            reason = "a bound is a finite number, 0 or more"
            raise MotionError(f"{motion.name}: the bound is {told_exactly(most)}; {reason}; correct it")
    need_even_rows(motion, "smoothed")
    positions = motion.positions.copy()
    for joint, most in enumerate(bounds):
        positions[:, joint] = _smoothed(motion.positions[:, joint], float(most))
    deviation: Floats = np.abs(positions - motion.positions).max(axis=0)
    velocity, acceleration = replace(motion, positions=positions).derivatives()
    following = {"JointVelocity": velocity, "JointAcceleration": acceleration}
    return with_positions(motion, positions, following, "smoothed"), deviation


def _smoothed(recorded: Floats, bound: float) -> Floats:
    """Return a column, shape (frames,), as smooth as the bound permits."""
    line: Floats = np.linspace(recorded[0], recorded[-1], recorded.size)
    line[-1] = recorded[-1]
    rest = recorded - line
    if bound == 0 or recorded.size < 3:
        return recorded
    if np.abs(rest).max() <= bound:
        return line
    odd = np.concatenate([rest[:-1], -rest[:0:-1]])
    spectrum = np.fft.rfft(odd)
    # How much of a wave is left by one difference, and then by all of them, squared.
    by_one = 2.0 * np.sin(np.pi * np.arange(spectrum.size) / odd.size)
    by_all = by_one ** (2 * _ORDER)
    weakest, strongest = -60.0, np.log(1e6 / by_all[1])
    best = recorded
    for _ in range(_HALVINGS):
        strength = (weakest + strongest) / 2.0
        waves = np.fft.irfft(spectrum / (1.0 + np.exp(strength) * by_all), odd.size)
        curve = line + waves[: recorded.size]
        curve[0], curve[-1] = recorded[0], recorded[-1]
        if np.abs(curve - recorded).max() <= bound:
            best, weakest = curve, strength
        else:
            strongest = strength
    return best
