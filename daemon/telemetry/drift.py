"""How far the ticks of a motion were from their appointed times, by Unix time, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ipc.ring import COLUMN
from .timing import Durations

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

    from ..api import GoalDrift


class Drift:
    """How far the ticks of one motion were from their appointed times.

    The first row is appointed for `start_at`, and what comes so many ticks after it so many periods later.
    A tick counts where its record says how far the motion has `moved`.

    `start_at`: unix time in s.
    `rate_hz`: ticks per second.
    """

    def __init__(self, start_at: float, rate_hz: float) -> None:
        self._start_at = start_at
        self._rate_hz = rate_hz
        self._distances = Durations()
        self._first_s = self._last_s = np.nan

    def add(self, records: Floats, unix_less_monotonic_s: float) -> None:
        """Add records (n, width), and what is to be added to their monotonic times to have Unix time."""
        moved = records[:, COLUMN["moved"]]
        counted = moved >= 0.0  # NaN is not
        if not counted.any():
            return
        ticks = records[counted]
        began_s = ticks[:, COLUMN["deadline_s"]] + ticks[:, COLUMN["lateness_s"]]
        # The large numbers are subtracted first: what is left keeps its microseconds.
        since_start_s = began_s - (self._start_at - unix_less_monotonic_s)
        drift_s = since_start_s - moved[counted] / self._rate_hz
        self._distances.add(np.abs(drift_s))
        self._first_s = drift_s[0] if np.isnan(self._first_s) else self._first_s
        self._last_s = drift_s[-1]

    def payload(self) -> GoalDrift | None:
        """Return it as published, in s: `first` and `last` have a sign; None without a tick."""
        if np.isnan(self._last_s):
            return None
        return {
            **self._distances.payload(),
            "first": round(float(self._first_s), 6),
            "last": round(float(self._last_s), 6),
        }
