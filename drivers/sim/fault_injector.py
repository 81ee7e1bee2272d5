"""Lets faults begin and end, sums up their effects, and applies them to joints and encoders.

Some effects outlast their fault: an actuator whose m-stop was pressed, that lost its power, dropped its
torque or restarted has no torque until it is enabled again, one that was overloaded has none until the error
is cleared as well, one whose bus watchdog has tripped ignores commands until then, and one that lost its
power measures positions whole turns off.
"""

from __future__ import annotations

import heapq
import sys
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from ..base import DriverError
from .faults import (
    Clear,
    Displaced,
    FaultEffects,
    MovedByHand,
    MStop,
    Overload,
    PowerCycle,
    Reset,
    TorqueDrop,
    WatchdogTrip,
    place_of,
)
from .layout import STEPS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..base import Booleans, ErrorCounts
    from .faults import Fault
    from .plant import Plant
    from .wire import Encoder

NEVER = sys.maxsize


@dataclass(frozen=True, slots=True, order=True)
class _Change:
    """A beginning or an end; changes at the same step keep the order in which they were added."""

    step: int
    number: int
    begins: bool
    fault: Fault = field(compare=False)


class FaultSchedule:
    """The faults to come, and those that last now."""

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


FULL_TURN = 2 * np.pi
LATCHING: tuple[type[Fault], ...] = (MStop, PowerCycle, TorqueDrop, Reset, Overload, WatchdogTrip)
"""Faults that leave something behind when they are over."""


class FaultInjector:
    """The faults of one robot and what they do to it.

    `errors`: counts what actuators report of themselves. `without`, `tripped` (actuators,): actuators that
    have no torque although it may be on, and those that ignore commands.
    """

    def __init__(
        self, where: str, actuators: Sequence[str], notify: Callable[[str], None], errors: ErrorCounts
    ) -> None:
        self._where, self._actuators, self._notify = where, actuators, notify
        self.errors = errors
        self._counted = {
            **dict.fromkeys((MStop, TorqueDrop, Overload, WatchdogTrip), errors.reported),
            **dict.fromkeys((Reset, PowerCycle), errors.restarts),
        }
        self.schedule = FaultSchedule()
        self.effects = FaultEffects(len(actuators))
        self._latched = {kind: np.zeros(len(actuators), bool) for kind in LATCHING}
        self.tripped = self._latched[WatchdogTrip]
        self._note_kinds()

    def _note_kinds(self) -> None:
        effects = self.effects
        self.disturbs_wire = effects.disturbs_wire
        self.heating = bool(effects.heating_c_per_s.any())
        without = [latch for kind, latch in self._latched.items() if kind is not WatchdogTrip]
        self.without: Booleans = np.any(without, axis=0)
        self.limp, self.deaf = bool(self.without.any()), bool(self.tripped.any())
        self.active = self.disturbs_wire or self.heating or self.limp or self.deaf or effects.cut

    def apply_next_change(self, plant: Plant, encoder: Encoder) -> Fault | None:
        """Apply the schedule's next change, and return the fault that begins, if one does."""
        fault, begins = self.schedule.pop()
        if isinstance(fault, Clear):
            self.schedule.clear()
            plant.cool()
            plant.take_hand_off()
            self._notify("simulated faults are cleared")
        else:
            self._notify(f"simulated fault {'begins' if begins else 'ends'}: {fault}")
        before = self.effects
        self.effects = self._sum_up()
        encoder.turn(FULL_TURN * before.turns * (before.unpowered & ~self.effects.unpowered))
        place = place_of(self._where, fault, self._actuators)
        if begins:
            self._latch(plant, fault, place)
        self.apply(plant)
        if begins:
            self._move(plant, fault, place)
        return fault if begins else None

    def _latch(self, plant: Plant, fault: Fault, place: slice) -> None:
        """Note what of a fault outlasts it, and count it."""
        kind = type(fault)
        if (latch := self._latched.get(kind)) is not None:
            latch[place] = True
            if latch is self.tripped:
                plant.stop(latch)
        if (counts := self._counted.get(kind)) is not None:
            counts[place] += 1

    def _move(self, plant: Plant, fault: Fault, place: slice) -> None:
        """Move the joints that a fault puts elsewhere, if it does."""
        if isinstance(fault, Displaced):
            by = np.zeros(len(self._actuators))
            by[place] = fault.by
            plant.displace(by)
        elif isinstance(fault, MovedByHand):
            plant.take_in_hand(place, fault.to, round(fault.for_s * STEPS_PER_S))

    def _sum_up(self) -> FaultEffects:
        effects = FaultEffects(len(self._actuators))
        for fault in self.schedule.lasting:
            fault.add_to(effects, place_of(self._where, fault, self._actuators))
        return effects

    def apply(self, plant: Plant) -> None:
        """Set the present effects on the joints."""
        self._note_kinds()
        plant.set_faults(stuck=self.effects.stuck, limp=self.without, grip=self.effects.grip)

    def recover(self, plant: Plant) -> None:
        """Restore torque of actuators that a fault, now over, has switched off.

        Raises DriverError if an m-stop is still pressed, power still missing or an error not cleared; then
        nothing changes.
        """
        if (self.effects.stopped | self.effects.unpowered | self._latched[Overload]).any():
            raise self._error()
        for latch in self._latched.values():
            latch.fill(False)
        self.apply(plant)

    def clear(self, cleared: Booleans, *, restarts: bool) -> None:
        """Let errors of some actuators (actuators,) go; they have no torque until they are enabled again."""
        cleared = cleared & ~(self.effects.stopped | self.effects.unpowered)
        overloaded = self._latched[Overload]
        latch = self._latched[Reset if restarts else TorqueDrop]
        latch |= cleared if restarts else cleared & overloaded
        overloaded &= ~cleared
        self._note_kinds()

    @property
    def hears_halts(self) -> bool:
        """Whether a halt gets through to the actuators."""
        return not (self.effects.cut or self.effects.deaf)

    def failure(self) -> DriverError | None:
        """Return an error if some actuators do not follow commands by themselves."""
        return self._error() if self.limp or self.deaf else None

    def _error(self) -> DriverError:
        """Return the error that names the actuators that do not follow, of which there are some, and why."""
        effects, latched, no_torque = self.effects, self._latched, "there is no torque"
        reasons = (
            (
                effects.unpowered,
                "power is lost",
                no_torque,
                "check the supply, then reset and enable the robot",
            ),
            (effects.stopped, "m-stop is pressed", no_torque, "release it, then reset and enable the robot"),
            (
                latched[PowerCycle],
                "power was lost",
                no_torque,
                "check that the position is right, then reset and enable the robot",
            ),
            (
                latched[Overload],
                "reports overload",
                "it has switched its torque off",
                "remove the cause, then `motiond clear ROBOT SERVO`",
            ),
            (latched[MStop], "m-stop was pressed", no_torque, "reset and enable the robot"),
            (latched[Reset], "has restarted", no_torque, "check its power, then reset and enable the robot"),
            (
                latched[TorqueDrop],
                "its torque is off",
                "it dropped by itself",
                "find out why, then reset and enable the robot",
            ),
            (
                latched[WatchdogTrip],
                "its bus watchdog has tripped",
                "it stopped, and ignores setpoints",
                "look for what kept them from it, then reset and enable the robot",
            ),
        )
        named, problem, reason, hint = next(case for case in reasons if case[0].any())
        names = [name for name, is_named in zip(self._actuators, named, strict=True) if is_named]
        return DriverError(", ".join(names), problem, reason, hint, actuators=names)
