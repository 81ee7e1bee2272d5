"""Statistics of timing in bounded memory: tick rate, lateness, time in the driver, missed deadlines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ipc.ring import COLUMN

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

    from ..api import LatenessHistogram, Spread, TickTiming


# A hundred bins a decade from 1 µs to 10 s: a quantile is right to 2.4 %.
_EDGES_S: Floats = np.logspace(-6, 1, 701)
_SHOWN_S = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1)


class Durations:
    """How often each duration came, in bounded memory; `max_s` is the longest, `sum_s` that of all."""

    def __init__(self) -> None:
        self._counts = np.zeros(len(_EDGES_S) + 1, dtype=np.int64)
        self.max_s = self.sum_s = 0.0

    def add(self, durations_s: Floats) -> None:
        """Add durations, shape (n,), not negative."""
        if durations_s.size:
            bins = np.searchsorted(_EDGES_S, durations_s)
            self._counts += np.bincount(bins, minlength=len(self._counts))
            self.max_s = max(self.max_s, float(durations_s.max()))
            self.sum_s += float(durations_s.sum())

    def quantile_s(self, share: float) -> float:
        """Return the duration in seconds that `share` of them did not exceed (upper edge of its bin)."""
        index = int(np.searchsorted(np.cumsum(self._counts), share * self._counts.sum()))
        return min(self.max_s, float(_EDGES_S[min(index, len(_EDGES_S) - 1)]))

    def payload(self) -> Spread:
        """Return the quantiles as published, JSON-ready."""
        return {
            "p50": round(self.quantile_s(0.5), 6),
            "p99": round(self.quantile_s(0.99), 6),
            "max": round(self.max_s, 6),
        }

    def histogram(self) -> LatenessHistogram:
        """Return how many were no longer than each bound, and longer than the one before; at last, longer.

        Their sum comes with it.
        """
        below = np.searchsorted(_EDGES_S, np.array(_SHOWN_S) * (1 - 1e-9), side="right")
        reached = np.cumsum(self._counts)[below]
        counts = np.diff(reached, prepend=0, append=self._counts.sum())
        return {"up_to_s": list(_SHOWN_S), "counts": counts.tolist(), "sum_s": round(self.sum_s, 6)}


class Timing:
    """Lateness, jitter, time in the driver, and missed deadlines of any number of ticks, in bounded memory.

    Jitter is by how much the time between two ticks differs from the period.
    """

    def __init__(self) -> None:
        self.ticks = self.missed = self.skipped = 0
        self.lateness, self._jitter = Durations(), Durations()
        self._write, self._read = Durations(), Durations()
        self._first_s = self._last_s = self._last_lateness_s = np.nan

    def add(self, records: Floats, missed: int, skipped: int = 0) -> None:
        """Add records (n, width), and the deadlines missed and rows skipped among them."""
        if not len(records):
            return
        lateness = records[:, COLUMN["lateness_s"]]
        self.lateness.add(lateness)
        jitter = np.abs(np.diff(lateness, prepend=self._last_lateness_s))
        self._jitter.add(jitter[~np.isnan(jitter)])
        self._write.add(records[:, COLUMN["write_s"]])
        self._read.add(records[:, COLUMN["read_s"]])
        self.ticks += len(records)
        self.missed += missed
        self.skipped += skipped
        deadlines = records[:, COLUMN["deadline_s"]]
        self._first_s = deadlines[0] if np.isnan(self._first_s) else self._first_s
        self._last_s, self._last_lateness_s = deadlines[-1], lateness[-1]

    @property
    def rate_hz(self) -> float:
        """Ticks per second between the first and the last."""
        span_s = self._last_s - self._first_s
        return (self.ticks - 1) / span_s if self.ticks > 1 and span_s > 0 else 0.0

    def payload(self) -> TickTiming:
        """Return the statistics as published, JSON-ready."""
        return {
            "ticks": self.ticks,
            "tick_rate_hz": round(self.rate_hz, 3),
            "lateness_s": self.lateness.payload(),
            "jitter_s": self._jitter.payload(),
            "write_s": self._write.payload(),
            "read_s": self._read.payload(),
            "missed_deadlines": self.missed,
            "skipped_rows": self.skipped,
            "lateness_histogram": self.lateness.histogram(),
        }
