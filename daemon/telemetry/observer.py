"""What the records of a ring add up to: samples for telemetry, statistics of timing.

In come the records that a `RingReader` takes, out come the newest sample as a payload, and the timing of a
second or of a goal: tick rate, lateness, missed deadlines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..ipc.ring import SCALARS, slices
from ..ipc.states import ACTIVE, STATES, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..ipc.ring import RingReader

    Floats: TypeAlias = NDArray[np.float64]

COLUMN = {name: index for index, name in enumerate(SCALARS)}
_ACTIVE_NUMBERS = [STATES.index(state) for state in ACTIVE]
# A hundred bins a decade from 1 µs to 10 s: a quantile is right to 2.4 %.
_EDGES_S: Floats = np.logspace(-6, 1, 701)
_SHOWN_S = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1)


class Durations:
    """How often each duration came, in bounded memory; `max_s` is the longest."""

    def __init__(self) -> None:
        self._counts = np.zeros(len(_EDGES_S) + 1, dtype=np.int64)
        self.max_s = 0.0

    def add(self, durations_s: Floats) -> None:
        """Take in durations, shape (n,), not negative."""
        if durations_s.size:
            bins = np.searchsorted(_EDGES_S, durations_s)
            self._counts += np.bincount(bins, minlength=len(self._counts))
            self.max_s = max(self.max_s, float(durations_s.max()))

    def quantile_s(self, share: float) -> float:
        """Give the duration in seconds that `share` of them did not exceed (upper edge of its bin)."""
        index = int(np.searchsorted(np.cumsum(self._counts), share * self._counts.sum()))
        return min(self.max_s, float(_EDGES_S[min(index, len(_EDGES_S) - 1)]))

    def payload(self) -> dict[str, float]:
        """Give the quantiles as published."""
        return {
            "p50": round(self.quantile_s(0.5), 6),
            "p99": round(self.quantile_s(0.99), 6),
            "max": round(self.max_s, 6),
        }

    def histogram(self) -> dict[str, list[float] | list[int]]:
        """Give how many were no longer than each bound, and longer than the one before; at last, longer."""
        below = np.searchsorted(_EDGES_S, np.array(_SHOWN_S) * (1 - 1e-9), side="right")
        reached = np.cumsum(self._counts)[below]
        counts = np.diff(reached, prepend=0, append=self._counts.sum())
        return {"up_to_s": list(_SHOWN_S), "counts": counts.tolist()}


class Timing:
    """Lateness, jitter, time in the driver, and missed deadlines of any number of ticks, in bounded memory.

    Jitter is by how much the time between two ticks differs from the period.
    """

    def __init__(self) -> None:
        self.ticks = self.missed = self.skipped = 0
        self._lateness, self._jitter = Durations(), Durations()
        self._write, self._read = Durations(), Durations()
        self._first_s = self._last_s = self._last_lateness_s = np.nan

    def add(self, records: Floats, missed: int, skipped: int = 0) -> None:
        """Take in records (n, width), and the deadlines missed and rows skipped among them."""
        if not len(records):
            return
        lateness = records[:, COLUMN["lateness_s"]]
        self._lateness.add(lateness)
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

    def quantile_s(self, share: float) -> float:
        """Give the lateness in seconds that `share` of the ticks did not exceed."""
        return self._lateness.quantile_s(share)

    @property
    def max_lateness_s(self) -> float:
        """The greatest lateness in seconds."""
        return self._lateness.max_s

    @property
    def rate_hz(self) -> float:
        """Ticks per second between the first and the last."""
        span_s = self._last_s - self._first_s
        return (self.ticks - 1) / span_s if self.ticks > 1 and span_s > 0 else 0.0

    def payload(self) -> dict[str, Any]:
        """Give the statistics as published."""
        return {
            "ticks": self.ticks,
            "tick_rate_hz": round(self.rate_hz, 3),
            "lateness_s": self._lateness.payload(),
            "jitter_s": self._jitter.payload(),
            "write_s": self._write.payload(),
            "read_s": self._read.payload(),
            "missed_deadlines": self.missed,
            "skipped_rows": self.skipped,
            "lateness_histogram": self._lateness.histogram(),
        }


class Sample:
    """One record, with its parts by name.

    Parameters
    ----------
    record : ndarray, shape (width,)
    joints : int
    """

    def __init__(self, record: Floats, joints: int) -> None:
        self._record = record
        self._slices = slices(joints)

    def scalar(self, name: str) -> float:
        """Give a scalar part, by its name in `ring.SCALARS`."""
        return float(self._record[COLUMN[name]])

    def vector(self, name: str) -> Floats:
        """Give a vector part (joints,), by its name in `ring.VECTORS`."""
        return self._record[self._slices[name]]

    @property
    def state(self) -> State:
        """The player's state in that tick."""
        return STATES[int(self.scalar("state"))]

    def payload(self, frames_per_tick: float) -> dict[str, Any]:
        """Give the sample as published: reference, feedback and their difference, in joint units.

        Parameters
        ----------
        frames_per_tick : float
            The file's frames in a row of the plan that is played.
        """
        reference = {
            "position": self.vector("reference_position"),
            "velocity": self.vector("reference_velocity"),
            "effort": self.vector("reference_effort"),
        }
        feedback = {name: self.vector(name) for name in ("position", "velocity", "effort")}
        error = {name: reference[name] - feedback[name] for name in reference}
        return {
            "stamp_s": self.scalar("deadline_s") + self.scalar("lateness_s"),
            "frame": self.scalar("frame") * frames_per_tick,
            "reference": reference,
            "feedback": feedback,
            "error": error,
        }


class Observer:
    """Reads one ring and keeps what its records add up to.

    Parameters
    ----------
    reader : RingReader
    joints : int

    Attributes
    ----------
    sample : Sample or None
        The newest record; None before the first.
    second, goal : Timing
        Since `start_second` and since `start_goal`; the goal's holds only ticks in motion.
    """

    def __init__(self, reader: RingReader, joints: int) -> None:
        self._reader = reader
        self._joints = joints
        self._missed = self._skipped = 0.0
        self.sample: Sample | None = None
        self.second = Timing()
        self.goal = Timing()

    def start_second(self) -> None:
        """Count the ticks of `second` anew."""
        self.second = Timing()

    def start_goal(self) -> None:
        """Count the ticks of `goal` anew."""
        self.take()
        self.goal = Timing()

    def take(self) -> None:
        """Read all new records."""
        records = self._reader.take()
        if not len(records):
            return
        self.sample = Sample(records[-1], self._joints)
        missed, self._missed = _grown(self._missed, records[-1, COLUMN["missed"]])
        skipped, self._skipped = _grown(self._skipped, records[-1, COLUMN["skipped"]])
        self.second.add(records, missed, skipped)
        active = np.isin(records[:, COLUMN["state"]], _ACTIVE_NUMBERS)
        self.goal.add(records[active], missed, skipped)

    def diagnostics(self) -> dict[str, Any]:
        """Give the timing of the second that ends now, and what the driver reports of itself."""
        second = self.second.payload()
        if self.sample is None:
            return second
        return second | {
            "missed_deadlines_total": int(self.sample.scalar("missed")),
            "driver_errors": int(self.sample.scalar("errors")),
            "temperature_c": self.sample.vector("temperature_c"),
            "voltage_v": self.sample.vector("voltage_v"),
            "records_lost": self._reader.lost,
        }


def _grown(before: float, now: float) -> tuple[int, float]:
    """Give by how much a count has grown; it begins anew with each opening of the driver."""
    return int(now - before if now >= before else now), float(now)
