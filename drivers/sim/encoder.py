"""The encoders of simulated actuators: turn true positions into measured ones.

Measured positions are off by whole turns and by a constant, noisy and rounded. The noise is seeded: the same
seed and calls return the same feedback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..base import Floats


class Encoder:
    """Measures positions.

    Parameters
    ----------
    offset : ndarray, shape (actuators,)
        Added to measured positions, not to commands; in rad or m.
    noise : ndarray, shape (actuators,)
        Standard deviation, in rad or m.
    resolution : ndarray, shape (actuators,)
        What positions are rounded to, in rad or m; 0 where they are not.
    seed : int
        Of the noise.

    Attributes
    ----------
    turned : ndarray, shape (actuators,)
        How far zero has moved, for measured and commanded positions alike.
    perfect : bool
        Whether measured positions are the true ones.
    """

    def __init__(self, offset: Floats, noise: Floats, resolution: Floats, seed: int) -> None:
        self.turned = np.zeros_like(offset)
        self._offset, self._noise, self._resolution = offset, noise, resolution
        self._random = np.random.default_rng(seed)
        self._noisy, self._coarse = bool(noise.any()), resolution > 0
        self._rounds = bool(self._coarse.any())
        self._scratch = np.empty_like(offset)
        self._note_shift()

    def _note_shift(self) -> None:
        self._shift = self._offset + self.turned
        self._shifted = bool(self._shift.any())
        self.is_turned = bool(self.turned.any())
        self.perfect = not (self._noisy or self._rounds or self._shifted)

    def turn(self, by: Floats) -> None:
        """Move zero `by` (actuators,) rad, as an encoder does that has lost count of its turns."""
        self.turned += by
        self._note_shift()

    def measure(self, position: Floats) -> None:
        """Replace true positions (actuators,) by measured ones, in place."""
        if self._shifted:
            np.add(position, self._shift, position)
        if self._noisy:
            self._random.standard_normal(out=self._scratch)
            np.multiply(self._scratch, self._noise, self._scratch)
            np.add(position, self._scratch, position)
        if self._rounds:
            self._round(position)

    def nearest(self, position: Floats) -> Floats:
        """Return the true positions that actuators at `position` assume for themselves: (actuators,)."""
        if not self._rounds:
            return position
        measured = position + self.turned
        self._round(measured)
        return measured - self.turned

    def _round(self, position: Floats) -> None:
        np.divide(position, self._resolution, position, where=self._coarse)
        np.rint(position, position, where=self._coarse)
        np.multiply(position, self._resolution, position, where=self._coarse)
