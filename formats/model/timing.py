"""The times of rows, and the rate that they show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .motion import FASTEST_FRAME_RATE, SAME_SPACING

if TYPE_CHECKING:
    from ..arrays import Floats

# Of a motion of one row, which shows none.
DEFAULT_RATE_HZ = 100.0


def frames_at(times: Floats) -> tuple[Floats, float]:
    """Return the times of rows, and their rate in rows/s.

    Rows that lie evenly have an exact rate where it is recognisable: a whole number, or a period of whole
    milliseconds or microseconds. They then get the times of frames at that rate. Others keep their times, and
    their rate is the mean.

    Parameters
    ----------
    times : ndarray, shape (rows,)
        In s, increasing.
    """
    if times.size < 2:
        return times, DEFAULT_RATE_HZ
    mean = float(times.size - 1) / float(times[-1] - times[0])
    if mean <= FASTEST_FRAME_RATE:
        for rate in _near(mean):
            frames = times[0] + np.arange(times.size) / rate
            if np.all(np.abs(times - frames) * rate < SAME_SPACING):
                return frames, rate
    return times, mean


def _near(rate: float) -> list[float]:
    """Return the rates that people choose which are nearest to one."""
    rates = [float(round(rate)), *(unit / max(1, round(unit / rate)) for unit in (1e3, 1e6))]
    return [one for one in rates if one]
