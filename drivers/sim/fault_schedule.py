"""When the faults of simulated actuators begin and end, in steps of the plant's grid."""

from __future__ import annotations

import heapq
import sys
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from .layout import STEPS_PER_S

if TYPE_CHECKING:
    from .faults import Fault

NEVER = sys.maxsize


@dataclass(frozen=True, slots=True, order=True)
class _Change:
    """A beginning or an end; changes at the same step keep the order in which they were added."""

    step: int
    number: int
    begins: bool
    fault: Fault = field(compare=False)


class FaultSchedule:
    """The faults to come, and those that last now.

    Attributes
    ----------
    next_step : int
        At which the next fault begins or ends; `NEVER` if none does.
    """

    def __init__(self) -> None:
        self.next_step = NEVER
        self._numbers = count()
        self._changes: list[_Change] = []
        self._lasting: dict[int, Fault] = {}

    @property
    def lasting(self) -> tuple[Fault, ...]:
        """The faults that have begun and not ended, in the order in which they began."""
        return tuple(self._lasting.values())

    def add(self, fault: Fault, step: int) -> None:
        """Schedule a fault to begin `at_s` after `step`, and to end `for_s` later."""
        begins, number = step + round(fault.at_s * STEPS_PER_S), next(self._numbers)
        heapq.heappush(self._changes, _Change(begins, number, True, fault))
        if fault.for_s is not None:
            ends = begins + max(1, round(fault.for_s * STEPS_PER_S))
            heapq.heappush(self._changes, _Change(ends, number, False, fault))
        self._look_ahead()

    def pop(self) -> tuple[Fault, bool]:
        """Remove the next change, and return its fault and whether that begins."""
        change = heapq.heappop(self._changes)
        if change.begins:
            self._lasting[change.number] = change.fault
        else:
            del self._lasting[change.number]
        self._look_ahead()
        return change.fault, change.begins

    def clear(self) -> None:
        """End every fault that has begun; faults still to come stay scheduled."""
        self._changes = [change for change in self._changes if change.number not in self._lasting]
        heapq.heapify(self._changes)
        self._lasting.clear()
        self._look_ahead()

    def _look_ahead(self) -> None:
        self.next_step = self._changes[0].step if self._changes else NEVER
