"""Which markers the place on a motion passes, in either direction, each once in each pass."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class MarkerCursor:
    """The place up to which markers have been told.

    Parameters
    ----------
    markers : sequence of float
        In rows of the plan, ascending.
    """

    def __init__(self, markers: Sequence[float] = ()) -> None:
        self.markers = markers
        self._row = math.nan

    def restart(self) -> None:
        """Take the next row for the first of a pass: markers on it are passed too."""
        self._row = math.nan

    def advance(self, begin: float, row: float, direction: int) -> range:
        """Return the numbers of the markers up to a row, in the order in which they are passed.

        Parameters
        ----------
        begin : float
            The row at which the pass begins.
        direction : int
            1 forwards, -1 backwards.
        """
        markers, fresh = self.markers, math.isnan(self._row)
        begin = begin if fresh else self._row
        self._row = row
        if direction > 0:
            first = (bisect_left if fresh else bisect_right)(markers, begin)
            return range(first, bisect_right(markers, row))
        end = (bisect_right if fresh else bisect_left)(markers, begin)
        return range(end - 1, bisect_left(markers, row) - 1, -1)
