"""Small pictures of numbers over time, in characters of a terminal, and the numbers that they show."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Floats

BLOCKS, PLAIN_BLOCKS = "▁▂▃▄▅▆▇█", "_.-~=+*#"
UNKNOWN = " "
BUCKET_S = 0.5
LENGTH = 120
GREATEST = 1e9
"""What is greater is nonsense, and would make all else flat."""


def sparkline(values: Floats, least_span: float, blocks: str = BLOCKS) -> str:
    """Return one character for each value, shape (n,); NaN is a gap.

    Values that differ by less than `least_span` are drawn as if they did by so much: noise stays small.
    """
    values = np.where(np.abs(values) < GREATEST, values, np.nan)
    known = values[np.isfinite(values)]
    if not known.size:
        return UNKNOWN * len(values)
    least = float(known.min())
    span = max(float(known.max()) - least, least_span)
    heights = (values - least) / span * (len(blocks) - 1)
    return "".join(blocks[round(float(height))] if np.isfinite(height) else UNKNOWN for height in heights)


def bars(counts: Sequence[float], blocks: str = BLOCKS) -> str:
    """Return one character for each count: a gap for none, and by its logarithm for others."""
    greatest = np.log1p(max(counts, default=0.0))
    return "".join(
        blocks[round(float(np.log1p(count) / greatest * (len(blocks) - 1)))] if count > 0 else UNKNOWN
        for count in counts
    )


class History:
    """What some series were, in steps of half a second; the latest sample of each step counts."""

    def __init__(self) -> None:
        self._steps: deque[Floats] = deque(maxlen=LENGTH)
        self._bucket: int | None = None

    def add(self, stamp_s: float, values: Floats) -> None:
        """Take a sample, shape (series,); with another number of series all starts over."""
        bucket = int(stamp_s / BUCKET_S)
        if self._steps and len(self._steps[-1]) != len(values):
            self._steps.clear()
        if bucket == self._bucket and self._steps:
            self._steps[-1] = values
        else:
            self._steps.append(values)
        self._bucket = bucket

    def of(self, series: int, length: int) -> Floats:
        """Return the newest steps of one series, shape (length,); NaN where there were none."""
        newest = list(self._steps)[-length:]
        shown = np.full(length, np.nan)
        if newest and series < len(newest[0]):
            shown[length - len(newest) :] = [step[series] for step in newest]
        return shown
