"""Holds setpoints back, so that parts of unlike latency act on the same setpoint at the same time.

Each tick yields the setpoint of `delay` ticks ago, interpolated between two:

    out(n) = (1 - f) x(n - k) + f x(n - k - 1),  delay = k + f, k whole, 0 <= f < 1

As it lies between two that were planned, it keeps every limit that they keep; where f = 0 it is the planned
setpoint bit for bit. Where only one of the two commands a quantity, the older one is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..base import Floats

NEARLY_WHOLE = 1e-6
"""In ticks: rounding of periods and latencies written in decimals must not cause interpolation."""


class SetpointDelay:
    """The setpoints on their way to one part, newest first."""

    def __init__(self, count: int) -> None:
        self.holds_back = False
        self._rows: Floats = np.full((1, 3, count), np.nan)
        self._unset = np.empty((3, count), bool)
        self._newest = 0
        self._whole = 0
        self._fraction = 0.0

    def set_delay(self, ticks: float) -> None:
        """Set the delay in ticks; setpoints on their way are kept."""
        self._whole = int(ticks + NEARLY_WHOLE)
        self._fraction = max(0.0, ticks - self._whole)
        if self._fraction < NEARLY_WHOLE:
            self._fraction = 0.0
        self.holds_back = self._whole > 0 or self._fraction > 0.0
        depth = len(self._rows)
        ages = np.minimum(np.arange(self._whole + 2), depth - 1)
        self._rows = self._rows[(self._newest - ages) % depth][::-1].copy()
        self._newest = len(self._rows) - 1

    def forget(self) -> None:
        """Drop all setpoints on their way."""
        self._rows.fill(np.nan)

    def put(self, values: Floats) -> None:
        """Store a tick's setpoint (3, actuators)."""
        self._newest = (self._newest + 1) % len(self._rows)
        self._rows[self._newest] = values

    def take(self, out: Floats) -> None:
        """Write the setpoint that is due now into `out` (3, actuators)."""
        depth = len(self._rows)
        newer = self._rows[(self._newest - self._whole) % depth]
        if self._fraction == 0.0:
            out[:] = newer
            return
        older = self._rows[(self._newest - self._whole - 1) % depth]
        np.subtract(older, newer, out)
        np.multiply(out, self._fraction, out)
        np.add(out, newer, out)
        np.isnan(out, self._unset)
        np.copyto(out, older, where=self._unset)
