"""Takes noise out of a recording, and leaves what was recorded nowhere by more than a bound."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..motion import MotionError, told_exactly
from .components import need_even_rows, with_positions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...arrays import AnyArray, Floats
    from ..motion import Motion

# Of the differences that are made small: the third ones are jerk.
_ORDER = 3
# Of ln λ: how finely it is found, which changes the largest deviation by less than a hundredth; and what rest
# at an end may cost: waves that pass are then half as long, as λ goes with their sixth power.
_FINE = 0.02
_LITTLE_LESS = 6.0 * np.log(2.0)

Ends = tuple[bool, bool]


def smooth(motion: Motion, bound: ArrayLike) -> tuple[Motion, Floats]:
    """Return the motion without its noise, and how far each joint leaves what it was at most.

    Each joint is smoothed as strongly as the bound permits; both ends stay, bit for bit. It begins and ends
    at rest where the bound permits that with little less strength, as it does of one that was at rest there.
    `JointVelocity` and `JointAcceleration` become derivatives of the new positions.

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
    for joint, most in enumerate(bounds):
        positions[:, joint] = _smoothed(motion.positions[:, joint], float(most))
    deviation: Floats = np.abs(positions - motion.positions).max(axis=0)
    velocity, acceleration = replace(motion, positions=positions).derivatives()
    following = {"JointVelocity": velocity, "JointAcceleration": acceleration}
    return with_positions(motion, positions, following, "smoothed"), deviation


def _smoothed(recorded: Floats, bound: float) -> Floats:
    """Return a column, shape (frames,), as smooth as the bound permits."""
    if bound == 0 or recorded.size < 5:
        return recorded
    smoother = _Smoother(recorded)
    strength, free = smoother.strongest(bound, recorded, (-60.0, smoother.almost_a_line), (False, False))
    weaker = strength - _LITTLE_LESS
    for at_rest in ((True, True), (True, False), (False, True)):
        curve = smoother.curve(weaker, at_rest)
        if smoother.leaves(curve) <= bound:
            return smoother.strongest(bound, curve, (weaker, strength), at_rest)[1]
    return free


class _Smoother:
    """Smooths one column, shape (frames,), with any strength, the logarithm of λ."""

    def __init__(self, recorded: Floats) -> None:
        self._recorded = recorded
        self._line: Floats = np.linspace(recorded[0], recorded[-1], recorded.size)
        rest = recorded - self._line
        odd = np.concatenate([rest[:-1], -rest[:0:-1]])
        waves = np.pi * np.arange(recorded.size) / (recorded.size - 1)
        # How much of a wave is left by all differences, squared; the waves of a push on the second row.
        self._stiffness = (2.0 * np.sin(waves / 2.0)) ** (2 * _ORDER)
        self._spectrum, self._push = np.fft.rfft(odd), -2j * np.sin(waves)
        self.almost_a_line = float(np.log(1e6 / self._stiffness[1]))

    def curve(self, strength: float, at_rest: Ends) -> Floats:
        """Return the smoothed column; `at_rest`: whether its first step, and its last, are 0."""
        passed = 1.0 / (1.0 + np.exp(strength) * self._stiffness)
        curve = self._line + self._rows(self._spectrum * passed)
        if any(at_rest):
            curve[0], curve[-1] = self._recorded[0], self._recorded[-1]
            curve = _at_rest(curve, self._rows(self._push * passed), at_rest)
        curve[0], curve[-1] = self._recorded[0], self._recorded[-1]
        return curve

    def _rows(self, spectrum: AnyArray) -> Floats:
        size = self._recorded.size
        rows: Floats = np.fft.irfft(spectrum, 2 * (size - 1))[:size]
        return rows

    def leaves(self, curve: Floats) -> float:
        """Return by how much a curve leaves what was recorded at most."""
        return float(np.abs(curve - self._recorded).max())

    def strongest(
        self, bound: float, best: Floats, between: tuple[float, float], at_rest: Ends
    ) -> tuple[float, Floats]:
        """Return the highest strength between two that keeps the bound, and its curve, by bisection.

        `best`: the curve of the lower one.
        """
        weakest, strongest = between
        while strongest - weakest > _FINE:
            strength = (weakest + strongest) / 2.0
            curve = self.curve(strength, at_rest)
            if self.leaves(curve) <= bound:
                best, weakest = curve, strength
            else:
                strongest = strength
        return weakest, best


def _at_rest(curve: Floats, bent: Floats, ends: Ends) -> Floats:
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
