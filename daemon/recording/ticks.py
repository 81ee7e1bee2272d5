"""Records of the ring to messages: phases, gaps and timing; joint states are packed whole batches at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats.io import JointStates, Topic

from ..ipc.ring import COLUMN, contacts_of, named_contacts, slices
from ..ipc.states import STATES
from .channels import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from motiond.formats.arrays import Floats, Integers

NS = 1_000_000_000
OVERFLOWED = "the daemon came too late to read them"
RESTARTED = "the stream process was restarted"
_WHAT = [COLUMN[name] for name in ("state", "torque", "goal", "loop", "beside")]
_FEEDBACK = ("position", "velocity", "effort")


class Ticks:
    """The ticks of one file, as messages.

    `joints`: their names. `unix_less_monotonic_s`: what is added to the times of records. `bodies`: what can
    touch, by the numbers in contacts.

    - `count`: ticks so far
    - `gaps`: gaps so far
    - `first`: the number of the first tick; None before it
    """

    def __init__(
        self, joints: Sequence[str], unix_less_monotonic_s: float, bodies: Sequence[str] = ()
    ) -> None:
        self._unix_less_monotonic_ns = round(unix_less_monotonic_s * NS)
        self._states = JointStates(joints)
        self._parts = slices(len(joints))
        self._joints, self._bodies, self._touched = len(joints), bodies, False
        self._last: Floats | None = None
        self._expected: int | None = None
        self.count = self.gaps = 0
        self.first: int | None = None

    def stamps(self, records: Floats) -> Integers:
        """Return what the setpoints of records (n, width) are for, in Unix ns."""
        times: Integers = np.rint(records[:, COLUMN["setpoint_s"]] * NS).astype(np.int64)
        return times + self._unix_less_monotonic_ns

    def feedback(self, records: Floats, stamps: Integers) -> NDArray[np.uint8]:
        """Return JointStates of what was measured, shape (n, bytes)."""
        return self._states.packed(stamps, *(records[:, self._parts[name]] for name in _FEEDBACK))

    def reference(self, records: Floats, stamps: Integers) -> NDArray[np.uint8]:
        """Return JointStates of what was commanded, shape (n, bytes)."""
        parts = (records[:, self._parts[f"reference_{name}"]] for name in _FEEDBACK)
        return self._states.packed(stamps, *parts)

    def positions(self, records: Floats) -> tuple[Floats, Floats]:
        """Return what was measured and what was commanded, each of shape (n, joints)."""
        return records[:, self._parts["position"]], records[:, self._parts["reference_position"]]

    def gap(self, first_tick: int, ticks: int, reason: str, stamp_ns: int) -> Message:
        """Return a gap; the next tick is expected behind it."""
        self._expected = first_tick + ticks
        self.gaps += 1
        return Message(Topic.GAP, stamp_ns, {"first_tick": first_tick, "ticks": ticks, "reason": reason})

    def about(self, records: Floats, following: Floats | None) -> Iterator[Message]:
        """Return what else is to be said of records (n, width), of which there is one at least.

        `following`: the record behind them, shape (width,); None where none came.
        """
        stamps = self.stamps(records)
        yield from self._gaps(records, stamps)
        yield from self._phases(records, stamps, following)
        yield from self._contacts(records, stamps)
        yield self._timing(records, int(stamps[-1]))
        self._last = records[-1].copy()
        self.count += len(records)

    def _gaps(self, records: Floats, stamps: Integers) -> Iterator[Message]:
        numbers = records[:, COLUMN["sequence"]].astype(np.int64)
        if self.first is None:
            self.first = int(numbers[0])
            self._expected = self.first if self._expected is None else self._expected
        expected = np.concatenate([[self._expected], numbers[:-1] + 1])
        for place in np.flatnonzero(numbers != expected):
            due, number, stamp = int(expected[place]), int(numbers[place]), int(stamps[place])
            yield (
                self.gap(due, number - due, OVERFLOWED, stamp)
                if number > due
                else self.gap(due, 0, RESTARTED, stamp)
            )
        self._expected = int(numbers[-1]) + 1

    def _phases(self, records: Floats, stamps: Integers, following: Floats | None) -> Iterator[Message]:
        what = records[:, _WHAT]
        before = np.full(len(_WHAT), np.nan) if self._last is None else self._last[_WHAT]
        changed = (what != np.vstack([before, what[:-1]])).any(axis=1)
        for place in np.flatnonzero(changed):
            state, torque, goal, loop, beside = what[place]
            moved = float(records[place, COLUMN["moved"]])
            phase = {
                "tick": int(records[place, COLUMN["sequence"]]),
                "state": STATES[int(state)],
                "torque": bool(torque),
                "goal": int(goal),
                "loop": int(loop),
                "frame": float(records[place, COLUMN["frame"]]),
                "period_s": self._period_s(records, int(place), following),
                "moved": None if math.isnan(moved) else moved,
                "beside": bool(beside),
            }
            yield Message(Topic.PHASE, int(stamps[place]), phase)

    def _contacts(self, records: Floats, stamps: Integers) -> Iterator[Message]:
        """Yield what touches, of each tick in which anything does, and of the first in which nothing does."""
        contacts = contacts_of(records, self._joints)
        touching = np.isfinite(contacts[..., 0])
        touched = touching.any(axis=1)
        for place in np.flatnonzero(touched | np.append(self._touched, touched[:-1])):
            named = named_contacts(contacts[place][touching[place]], self._bodies)
            number = int(records[place, COLUMN["sequence"]])
            yield Message(Topic.CONTACTS, int(stamps[place]), {"tick": number, "contacts": named})
        self._touched = bool(touched[-1])

    def _period_s(self, records: Floats, place: int, following: Floats | None) -> float | None:
        """Return the time from a tick to the next that was due, to the nanosecond."""
        after = records[place + 1] if place + 1 < len(records) else following
        if after is None:
            return None
        missed = _growth(np.array([records[place], after]), "missed")
        setpoint = COLUMN["setpoint_s"]
        return round(float(after[setpoint] - records[place, setpoint]) / (1 + missed), 9)

    def _timing(self, records: Floats, stamp_ns: int) -> Message:
        p50, p99, most = np.quantile(records[:, COLUMN["lateness_s"]], (0.5, 0.99, 1.0)).round(6).tolist()
        grown = records if self._last is None else np.vstack([self._last, records])
        timing = {
            "ticks": len(records),
            "lateness_s": {"p50": p50, "p99": p99, "max": most},
            "missed": _growth(grown, "missed"),
            "skipped": _growth(grown, "skipped"),
        }
        return Message(Topic.TIMING, stamp_ns, timing)


def _growth(records: Floats, name: str) -> int:
    """Return by how much a count grows; it begins again with each opening of the driver."""
    counts = records[:, COLUMN[name]]
    steps = np.diff(counts)
    return int(np.where(steps < 0, counts[1:], steps).sum())
