"""The encoders of simulated actuators: from where joints are to where they are measured to be.

In come true positions, out come measured ones: off by whole turns and by a constant, noisy and rounded. The
noise is seeded: the same seed and calls give the same feedback.
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
        Added to what is measured, though not to commands.
    noise : ndarray, shape (actuators,)
        Standard deviation.
    resolution : ndarray, shape (actuators,)
        What positions are rounded to; 0 where they are not.
    seed : int
        Of the noise.

    Attributes
    ----------
    turned : ndarray, shape (actuators,)
        How far zero has moved, for measured and for commanded positions alike.
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
        """Move zero, as an encoder does that has forgotten its turns; `by` (actuators,) in rad."""
        self.turned += by
        self._note_shift()

    def measure(self, position: Floats) -> None:
        """Turn true positions (actuators,) into measured ones, in place."""
        if self._shifted:
            np.add(position, self._shift, position)
        if self._noisy:
            self._random.standard_normal(out=self._scratch)
            np.multiply(self._scratch, self._noise, self._scratch)
            np.add(position, self._scratch, position)
        if self._rounds:
            self._round(position)

    def nearest(self, position: Floats) -> Floats:
        """Give the true positions at which actuators at `position` take themselves to be: (actuators,)."""
        if not self._rounds:
            return position
        measured = position + self.turned
        self._round(measured)
        return measured - self.turned

    def _round(self, position: Floats) -> None:
        np.divide(position, self._resolution, position, where=self._coarse)
        np.rint(position, position, where=self._coarse)
        np.multiply(position, self._resolution, position, where=self._coarse)
