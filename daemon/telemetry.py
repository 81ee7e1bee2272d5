"""What the records of a ring add up to: samples for telemetry, statistics of timing.

In come the records that a `RingReader` takes, out come the newest sample as a payload, and the timing of a
second or of a goal: tick rate, lateness, missed deadlines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from daemon.player import ACTIVE, STATES, State
from daemon.ring import SCALARS, slices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from daemon.ring import RingReader

    Floats: TypeAlias = NDArray[np.float64]

COLUMN = {name: index for index, name in enumerate(SCALARS)}
_ACTIVE_NUMBERS = [STATES.index(state) for state in ACTIVE]
# A hundred bins a decade from 1 µs to 10 s: a quantile is right to 2.4 %.
_EDGES_S: Floats = np.logspace(-6, 1, 701)


class Timing:
    """Lateness and missed deadlines of any number of ticks, in bounded memory."""

    def __init__(self) -> None:
        self.ticks = 0
        self.max_s = 0.0
        self.missed = 0
        self._counts = np.zeros(len(_EDGES_S) + 1, dtype=np.int64)
        self._first_s = self._last_s = np.nan

    def add(self, records: Floats, missed: int) -> None:
        """Take in records (n, width) and the deadlines missed among them."""
        if not len(records):
            return
        lateness = records[:, COLUMN["lateness_s"]]
        self._counts += np.bincount(np.searchsorted(_EDGES_S, lateness), minlength=len(self._counts))
        self.ticks += len(records)
        self.missed += missed
        self.max_s = max(self.max_s, float(lateness.max()))
        deadlines = records[:, COLUMN["deadline_s"]]
        self._first_s = deadlines[0] if np.isnan(self._first_s) else self._first_s
        self._last_s = deadlines[-1]

    def quantile_s(self, share: float) -> float:
        """Give the lateness in seconds that `share` of the ticks did not exceed (upper edge of its bin)."""
        if not self.ticks:
            return 0.0
        index = int(np.searchsorted(np.cumsum(self._counts), share * self.ticks))
        return min(self.max_s, float(_EDGES_S[min(index, len(_EDGES_S) - 1)]))

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
            "lateness_s": {
                "p50": round(self.quantile_s(0.5), 6),
                "p99": round(self.quantile_s(0.99), 6),
                "max": round(self.max_s, 6),
            },
            "missed_deadlines": self.missed,
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
        self._missed = 0.0
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
        total = float(records[-1, COLUMN["missed"]])
        missed, self._missed = int(total - self._missed), total
        self.second.add(records, missed)
        active = np.isin(records[:, COLUMN["state"]], _ACTIVE_NUMBERS)
        self.goal.add(records[active], missed)

    def diagnostics(self) -> dict[str, Any]:
        """Give the timing of the second that ends now, and what the driver reports of itself."""
        second = self.second.payload()
        if self.sample is None:
            return second
        return second | {
            "missed_deadlines_total": int(self.sample.scalar("missed")),
            "driver_errors": int(self.sample.scalar("errors")),
            "write_s": self.sample.scalar("write_s"),
            "read_s": self.sample.scalar("read_s"),
            "temperature_c": self.sample.vector("temperature_c"),
            "voltage_v": self.sample.vector("voltage_v"),
            "records_lost": self._reader.lost,
        }
