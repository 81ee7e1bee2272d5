"""The stops of simulated joints: no joint passes one from inside, whatever pushes it.

A joint that a fault or an option has put beyond a stop goes no further out than it was put; once it is back
in its range, it stays there. A joint rests at a stop without a bounce.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .layout import Row

if TYPE_CHECKING:
    from ..base import Floats


class Stops:
    """The stops of all joints of one plant; made again when they change.

    Parameters
    ----------
    rows : ndarray, shape (rows, actuators)
        The block of the plant, used in place.

    Attributes
    ----------
    exist : bool
        Whether there is any.
    """

    def __init__(self, rows: Floats) -> None:
        self._lower, self._upper = rows[Row.LOWER_STOP], rows[Row.UPPER_STOP]
        self._position, self._velocity = rows[Row.POSITION], rows[Row.VELOCITY]
        self.exist = bool(np.isfinite(rows[[Row.LOWER_STOP, Row.UPPER_STOP]]).any())
        self._lowest, self._highest, self._between = np.empty((3, rows.shape[1]))
        self.displace()

    def displace(self) -> None:
        """Accept where the joints have been put, beyond a stop or not."""
        np.minimum(self._lower, self._position, self._lowest)
        np.maximum(self._upper, self._position, self._highest)
        self._any_beyond = True
        self.look()

    def look(self) -> None:
        """Let the stops hold again for joints that have come back."""
        if self._any_beyond:
            np.copyto(self._lowest, self._lower, where=self._position >= self._lower)
            np.copyto(self._highest, self._upper, where=self._position <= self._upper)
            outside = (self._lowest < self._lower) | (self._highest > self._upper)
            self._any_beyond = bool(outside.any())

    def bound(self, positions: Floats) -> None:
        """Bring positions (actuators,) between the stops, in place."""
        np.maximum(positions, self._lowest, positions)
        np.minimum(positions, self._highest, positions)

    def are_passed(self) -> bool:
        """Return whether a joint is where its stops do not let it be."""
        self._between[:] = self._position
        self.bound(self._between)
        return bool(self._between.tobytes() != self._position.tobytes())

    def hold(self) -> None:
        """Bring joints that have passed a stop back to it, at rest."""
        self._between[:] = self._position
        self.bound(self._position)
        self._velocity[self._between != self._position] = 0.0
        self.look()
