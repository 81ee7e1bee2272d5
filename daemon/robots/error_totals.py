"""Adds up what goes wrong with a robot's servos, from the daemon's start on, and says so now and then."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.drivers import ErrorCounts
from motiond.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..api import ServoErrors
    from ..joints import JointMap

EVENT_EVERY_S = 600.0
"""A bus that loses an answer in a hundred does so all day."""
WORDS = {
    "missed": ("answer missed", "answers missed"),
    "damaged": ("of them damaged", "of them damaged"),
    "reported": ("error reported", "errors reported"),
    "restarts": ("restart", "restarts"),
}


class ErrorTotals:
    """What has gone wrong with each of a robot's servos.

    - `joint_map`: its joints and actuators
    - `report`: publishes an event
    """

    def __init__(self, joint_map: JointMap, report: Callable[[dict[str, Any]], None]) -> None:
        self._actuators = joint_map.actuators
        self._columns = [joint_map.actuators.index(joint_map.actuator_of(name)) for name in joint_map.joints]
        self._report = report
        self._totals, self._counted, self._told = np.zeros(
            (3, len(ErrorCounts.NAMES), len(self._actuators)), np.int64
        )
        self._pid: int | None = None
        self._next_event_s = -math.inf

    def take(self, counts: Sequence[Sequence[int]], pid: int | None) -> None:
        """Take what the driver of a stream process has counted since it was made."""
        if pid != self._pid:
            self._pid = pid
            self._counted[:] = 0
        self._totals += counts - self._counted
        self._counted[:] = counts

    def payload(self) -> ServoErrors:
        """Return how often each has happened since the daemon's start, by joint."""
        missed, damaged, reported, restarts = self._totals[:, self._columns].tolist()
        return {"missed": missed, "damaged": damaged, "reported": reported, "restarts": restarts}

    def tell(self, now_s: float) -> None:
        """Publish an event of what is new, but no more often than every `EVENT_EVERY_S`."""
        if now_s < self._next_event_s or (self._totals == self._told).all():
            return
        grown = self._totals - self._told
        self._told[:] = self._totals
        self._next_event_s = now_s + EVENT_EVERY_S
        errors = {
            name: {kind: count for kind, count in zip(ErrorCounts.NAMES, counts, strict=True) if count}
            for name, counts in zip(self._actuators, grown.T.tolist(), strict=True)
            if any(counts)
        }
        found = listed([f"{name} ({_in_words(counts)})" for name, counts in errors.items()])
        more = f"what follows is counted, and reported in {EVENT_EVERY_S / 60:.0f} min"
        message = f"servo errors: {found}; check cables and power; {more}"
        self._report({"kind": "servo_errors", "message": message, "details": {"errors": errors}})


def _in_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {WORDS[kind][count != 1]}" for kind, count in counts.items())
