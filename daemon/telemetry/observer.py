"""What the records of a ring add up to: the newest sample, and the timing of a second or of a goal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..clock import unix_less_monotonic
from ..ipc.ring import COLUMN, in_states, slices
from ..ipc.states import ACTIVE, STATES, State
from .contacts import ContactPeaks
from .extremes import Extremes
from .timing import Timing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from motiond.formats.arrays import Booleans, Floats, Integers

    from ..api import Subject
    from ..ipc.ring import RingReader
    from .drift import Drift


QUANTITIES = ("position", "velocity", "effort")


class Sample:
    """One record, with its parts by name. `record`: shape (width,)."""

    def __init__(self, record: Floats, joints: int) -> None:
        self._record = record
        self._slices = slices(joints)

    def scalar(self, name: str) -> float:
        """Return a scalar part, by its name in `ring.SCALARS`."""
        return float(self._record[COLUMN[name]])

    def vector(self, name: str) -> Floats:
        """Return a vector part (joints,), by its name in `ring.VECTORS`."""
        return self._record[self._slices[name]]

    @property
    def state(self) -> State:
        """The player's state in that tick."""
        return STATES[int(self.scalar("state"))]

    def payload(self, frames_per_tick: float) -> dict[str, Any]:
        """Return the sample as published: reference, feedback and their difference, in joint units.

        `frames_per_tick`: the file's frames in a row of the plan that is played.
        """
        reference = {name: self.vector(f"reference_{name}") for name in QUANTITIES}
        feedback = {name: self.vector(name) for name in QUANTITIES}
        error = {name: reference[name] - feedback[name] for name in reference}
        return {
            "stamp_s": self.scalar("deadline_s") + self.scalar("lateness_s"),
            "frame": self.scalar("frame") * frames_per_tick,
            "reference": reference,
            "feedback": feedback,
            "error": error,
        }


class Tap(Protocol):
    """Receives every record, in batches."""

    def __call__(self, records: Floats, lost: int, /) -> None:
        """Take the next records, shape (records, width), and how many were lost before them."""


class Observer:
    """Reads one ring and keeps what its records add up to.

    `unix_less_monotonic`: reads the difference of the machine's two clocks, in s.
    `sample`: the newest record; None before the first.
    `bodies`: the names of what can touch, by their numbers; empty until they are known.
    `second`, `goal`: since `start_second` and since `start_goal`; the goal's holds only ticks in motion.
    `extremes`: of the goal.
    `drift`: of the goal; None where its start is not appointed.
    `beside`: timing and extremes of each goal that plays beside it, by its id.
    `keep_every_s`: on virtual time, which may run far ahead between two readings: how far apart, by that
    time, the samples in motion are that `take_kept` returns.
    `is_keeping`: whether the newest record is one of those of which some are kept.
    `tap`: gets every record that is read.
    """

    def __init__(
        self,
        reader: RingReader,
        joints: int,
        unix_less_monotonic: Callable[[], float] = unix_less_monotonic,
        keep_every_s: float | None = None,
        tap: Tap | None = None,
    ) -> None:
        self._reader = reader
        self._tap, self._lost = tap, 0
        self._joints = joints
        self._unix_less_monotonic = unix_less_monotonic
        self._keep_every_s, self._frames_per_tick = keep_every_s, 1.0
        self._kept: list[dict[str, Any]] = []
        self.is_keeping = False
        self._last_kept = -1.0
        self._missed = self._skipped = 0.0
        self.sample: Sample | None = None
        self.bodies: Sequence[str] = ()
        subjects: tuple[Subject, ...] = ("telemetry", "samples") if reader.contact_slots else ()
        self._contacts = {subject: ContactPeaks(joints) for subject in subjects}
        self.second = Timing()
        self.goal = Timing()
        self.extremes = Extremes(joints)
        self.drift: Drift | None = None
        self.beside: dict[str, tuple[Timing, Extremes]] = {}

    def start_second(self) -> None:
        """Begin `second` again."""
        self.second = Timing()

    def start_goal(self, drift: Drift | None = None, frames_per_tick: float = 1.0) -> None:
        """Begin `goal`, `extremes` and `drift` again; `frames_per_tick` is of the samples that are kept."""
        self.take()
        self.goal, self.drift, self._frames_per_tick = Timing(), drift, frames_per_tick
        self.extremes = Extremes(self._joints)

    def start_beside(self, goal_id: str, driven: Booleans) -> None:
        """Begin anew with a goal that plays beside others; `driven` (joints,): the joints that it moves."""
        self.take()
        self.beside[goal_id] = Timing(), Extremes(self._joints, driven)

    def take(self) -> None:
        """Read all new records."""
        records = self._reader.take()
        if not len(records):
            return
        if self._tap is not None:
            lost, self._lost = self._reader.lost - self._lost, self._reader.lost
            self._tap(records, lost)
        self.sample = Sample(records[-1], self._joints)
        missed, self._missed = _grown(self._missed, records[-1, COLUMN["missed"]])
        skipped, self._skipped = _grown(self._skipped, records[-1, COLUMN["skipped"]])
        self.second.add(records, missed, skipped)
        active = in_states(records, ACTIVE)
        self.goal.add(records[active], missed, skipped)
        self.extremes.add(records)
        for timing, extremes in self.beside.values():
            timing.add(records, missed, skipped)
            extremes.add(records)
        if self.drift is not None:
            self.drift.add(records, self._unix_less_monotonic())
        taken = 0
        self.is_keeping = self._keep_every_s is not None and bool(active[-1])
        if self._keep_every_s is not None:
            taken = self._keep(records, np.flatnonzero(active), self._keep_every_s)
        for subject, peaks in self._contacts.items():
            peaks.add(records[taken:] if subject == "telemetry" else records)

    def payload(self, subject: Subject, frames_per_tick: float) -> dict[str, Any]:
        """Return the newest sample as published, with what has touched since the last one on a subject.

        `frames_per_tick`: as of `Sample.payload`.
        """
        return self._payload(self.sample, subject, frames_per_tick) if self.sample else {}

    def _payload(self, sample: Sample, subject: Subject, frames_per_tick: float) -> dict[str, Any]:
        payload = sample.payload(frames_per_tick)
        if subject in self._contacts:
            payload["contacts"] = self._contacts[subject].take(self.bodies)
        return payload

    def pass_over(self, subject: Subject) -> None:
        """Forget what has touched: nobody wanted the sample."""
        if subject in self._contacts:
            self._contacts[subject].take(self.bodies)

    def _keep(self, records: Floats, active: Integers, every_s: float) -> int:
        """Keep the samples that are due, and return how many records are in them, be it by their contacts.

        `active`: which records were in motion.
        """
        numbers = np.floor(records[active, COLUMN["deadline_s"]] / every_s + 1e-6)
        due = np.diff(numbers, prepend=self._last_kept) != 0.0
        self._last_kept = numbers[-1] if len(numbers) else self._last_kept
        taken, peaks = 0, self._contacts.get("telemetry")
        for place in active[due]:
            if peaks is not None:
                peaks.add(records[taken : place + 1])
            taken = place + 1
            sample = Sample(records[place], self._joints)
            self._kept.append(self._payload(sample, "telemetry", self._frames_per_tick))
        return taken

    def take_kept(self) -> list[dict[str, Any]]:
        """Return the samples that were kept since the last time, as published."""
        kept, self._kept = self._kept, []
        return kept

    def diagnostics(self) -> dict[str, Any]:
        """Return the timing of the second that ends now, and what the driver reports of itself."""
        second: dict[str, Any] = {**self.second.payload()}
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
    """Return by how much a count has grown; it begins again with each opening of the driver."""
    return int(now - before if now >= before else now), float(now)
