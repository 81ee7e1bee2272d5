"""The times of rows, and the rate that they show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .motion import FASTEST_FRAME_RATE, SAME_SPACING

if TYPE_CHECKING:
    from ..arrays import Floats

NS = 1_000_000_000
# Rows may be stamped with Unix time; beyond this, doubles no longer distinguish milliseconds.
LATEST_S = 1e12
# Of way-points, and of a motion of one row, which shows none.
DEFAULT_RATE_HZ = 100.0
# Rows further apart than any recording has them.
SLOWEST_ROWS_HZ = 10.0
# Texts round times to so many decimals at most; a step of them is no more than this part of a row.
MOST_DECIMALS, COARSEST = 4, 0.35
_NO_ROUNDING = 1e-3


def frames_at(times: Floats, slowest_hz: float = SLOWEST_ROWS_HZ) -> tuple[Floats, float]:
    """Return the times of rows, and their rate in rows/s.

    Rows that lie evenly have an exact rate where it is recognisable: a whole number, or a period of whole
    milliseconds or microseconds, or the very rate that they are frames of. They then get the times of frames
    at that rate. Others keep their times, and their rate is the mean.

    Rows that lie further apart are way-points, between which a motion is interpolated also where they lie
    evenly: one each second is no row that joints could jump to. They keep their times.

    Parameters
    ----------
    times : ndarray, shape (rows,)
        In s, increasing.
    slowest_hz : float
        Below this rate, rows are way-points; `DEFAULT_RATE_HZ` where a file says that it has such.
    """
    if times.size < 2:
        return times, DEFAULT_RATE_HZ
    frames, rate = _recognised(times)
    return (frames, rate) if rate >= slowest_hz else (times, DEFAULT_RATE_HZ)


def _recognised(times: Floats) -> tuple[Floats, float]:
    mean = float(times.size - 1) / float(times[-1] - times[0])
    if mean <= FASTEST_FRAME_RATE:
        counted = np.arange(times.size)
        for rate in (*_near(mean), mean, float(np.nextafter(mean, 0)), float(np.nextafter(mean, np.inf))):
            if np.array_equal(times, counted / rate):
                return times, rate
        for rate in _near(mean):
            frames = times[0] + counted / rate
            if np.all(np.abs(times - frames) * rate < SAME_SPACING):
                return frames, rate
    return times, mean


def unrounded(times: Floats) -> tuple[Floats, float]:
    """Return the times of rows and their rate as `frames_at`, of times that a text has with few decimals.

    Those of rows that lie evenly before they were rounded lose the rounding: 0, 0.033, 0.067, 0.1 are of
    frames at 30 per second.
    """
    found, rate = frames_at(times)
    if times.size < 3 or np.all(np.abs(np.diff(found) * rate - 1) < SAME_SPACING):
        return found, rate
    step = _step_of(times)
    for whole in (float(round(rate)), float(round(rate, 2))):
        if 0 < step * whole <= COARSEST:
            frames = times[0] + np.arange(times.size) / whole
            if np.ptp(times - frames) <= step * (1 + _NO_ROUNDING):
                return frames, whole
    return found, rate


def _near(rate: float) -> list[float]:
    """Return the rates that people choose which are nearest to one."""
    rates = [float(round(rate)), *(unit / max(1, round(unit / rate)) for unit in (1e3, 1e6))]
    return [one for one in rates if one]


def _step_of(times: Floats) -> float:
    """Return the decimal step that all times are whole numbers of, 0 where there is none."""
    for decimals in range(MOST_DECIMALS + 1):
        steps = times * 10.0**decimals
        if np.abs(steps - np.rint(steps)).max() < _NO_ROUNDING:
            return 10.0**-decimals
    return 0.0
