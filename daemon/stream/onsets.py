"""Which joints fail a check: each is reported once, when it begins, and when it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from motiond.formats.arrays import Booleans

CALM_S = 1.0
"""A check that has failed passes again once it is well for so long: what flickers is one failure."""


class Onsets:
    """The joints, or actuators, that fail one check.

    Parameters
    ----------
    count : int

    Attributes
    ----------
    any : bool
        Whether any fails.
    """

    def __init__(self, count: int) -> None:
        self._failing: Booleans = np.zeros(count, dtype=bool)
        self._well_since = np.full(count, np.inf)
        self.any = False

    def clear(self) -> None:
        """Forget what has failed."""
        self._failing.fill(False)
        self.any = False

    def begin(self, bad: Booleans) -> bool:
        """Note which fail now, shape (count,); return whether one of them did not before."""
        is_new = bool((bad & ~self._failing).any())
        self._failing |= bad
        self._well_since[bad] = np.inf
        self.any = True
        return is_new

    def end(self, well: Booleans, now_s: float) -> bool:
        """Note which are well by some margin, shape (count,); return whether all that failed are over it."""
        np.minimum(self._well_since, now_s, out=self._well_since, where=self._failing & well)
        self._well_since[~well] = np.inf
        self._failing &= now_s - self._well_since < CALM_S
        if self.any and not self._failing.any():
            self.any = False
            return True
        return False
