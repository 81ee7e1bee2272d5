"""Feetech servos in daisy chains on one or several ports.

In each tick every bus gets one sync write with all goals, and is asked for the feedback of all servos: by one
sync read, or one by one. The servos have no watchdog: without setpoints they hold their last goals, so
`write` checks the lifetime by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from ..base import DriverError
from ..serial_bus.chain import Block
from ..serial_bus.driver import SerialDriver
from ..serial_bus.restarting import refuse_held_places, wait_for_boot
from ..serial_bus.setup import by_register, raise_all, write_all
from ..serial_bus.units import Units, units_of
from .calibration import calibrated, with_calibration
from .capacity import capacity_at_best, capacity_of
from .chain import FeetechChain
from .family import FEETECH
from .limits import FeetechLimits
from .options import FeetechOptions
from .setup import (
    clear_errors,
    find_units,
    lock,
    refuse_echo,
    refused,
    settings,
    unlocked,
    wishes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..base import DriverOptions
    from ..serial_bus.bus import Bus
    from ..serial_bus.capacity import Capacity
    from ..serial_bus.chain import Chain, Servo
    from ..serial_bus.family import Family
    from ..serial_bus.options import Place, SerialPortOptions
    from ..serial_bus.setup import Wish
    from .calibration import Calibrated

_FEEDBACK = {
    "position": "present_position",
    "velocity": "present_velocity",
    "voltage_v": "present_voltage",
    "temperature_c": "present_temperature",
}


class FeetechDriver(SerialDriver):
    """Serial servos on one or several ports."""

    Options: ClassVar[type[DriverOptions]] = FeetechOptions
    family: ClassVar[Family] = FEETECH
    released: ClassVar[str] = "the servos hold their last goals"
    options: FeetechOptions
    _calibration: Mapping[str, Calibrated]
    _set: FeetechOptions
    """The options with the calibration."""

    def rehearse(self) -> tuple[str, ...]:
        """Read the calibration as `open` does."""
        calibrated(self.options, self._places)
        return super().rehearse()

    def _connect(self) -> None:
        self._calibration = calibrated(self.options, self._places)
        self._set = with_calibration(self.options, self._calibration)
        super()._connect()

    # -- what these servos differ in ------------------------------------------------------------------------

    def _find_servos(self) -> list[Servo]:
        for bus in self._buses:
            refuse_echo(bus)
        return [replace(servo, model=find_units(servo)) for servo in super()._find_servos()]

    def _make_limits(self) -> FeetechLimits:
        return FeetechLimits(self.options, self.actuators, self.family)

    def _make_chain(self, bus: Bus, servos: Sequence[Servo]) -> Chain:
        table = servos[0].model.table
        # Where no current is measured, the load stands in its place, and has no unit.
        effort = "present_current" if "present_current" in table else "present_load"
        block = Block(table, {**_FEEDBACK, "effort": effort})
        return FeetechChain(bus, servos, block, block)

    def _make_units(self) -> Units:
        return units_of([servo.model for servo in self._servos], self.actuators, self._set, self.family)

    def _capacity_at_best(self, port: SerialPortOptions) -> Capacity:
        return capacity_at_best(port)

    def _capacity_of(self, port: SerialPortOptions, bus: Bus) -> Capacity:
        return capacity_of(port, bus, self._chains)

    def _begin(self, chain: Chain) -> None:
        """Say whose lasting settings are not locked; `_settings` locks them."""
        for servo, is_locked in zip(chain.servos, chain.get("lock"), strict=True):
            if not is_locked:
                state = "were not locked, as where setting them was cut short; they are now"
                self.notices.append(f"{servo.where}: its lasting settings {state}")

    def _refused(self, chain: Chain) -> Iterable[DriverError]:
        return refused(chain, self.options, self._calibration)

    def _wishes(self, chain: Chain) -> Iterable[Wish]:
        return wishes(chain, self._set, self._calibration)

    def _write_lasting(self, chain: Chain, wishes: Sequence[Wish]) -> None:
        """Write them while they are not locked, so that they last."""
        with unlocked(chain, {wish.servo.servo_id for wish in wishes}):
            write_all(chain, by_register(wishes))

    def _settings(self, chain: Chain) -> Mapping[str, Mapping[int, int]]:
        return settings(chain, self._set)

    # -- errors ---------------------------------------------------------------------------------------------

    def reboot(self, actuators: Sequence[str]) -> None:
        """Restart servos, and wait until they answer again; torque is off then.

        A servo that restarts locks its lasting settings, which shows that it did.

        Raises DriverError if one of them holds, so that it would drop, unless it does not know where it is
        (then none is restarted), does not answer, or has firmware that does not know the instruction.
        """
        places = self._places_of(actuators)
        with self._reached(places) as bus_of:
            refuse_held_places(places, bus_of, self.family, is_open=bool(self._buses))
            self._feedback.note_restart(place.index for place in places)
            for place in places:
                lock(place, bus_of[place.bus], 0)
                bus_of[place.bus].send(self.family.protocol.reboot(place.servo_id))
            wait_for_boot(places, bus_of)
            same = [place for place in places if lock(place, bus_of[place.bus], 1) == 0]
            raise_all([_not_restarted(place, bus_of[place.bus]) for place in same])

    def refuse_clear(self, actuators: Sequence[str]) -> None:
        """Refuse none."""

    def clear(self, actuators: Sequence[str]) -> None:
        """End errors that servos keep; one that holds, as after an overload, holds where it is.

        Raises DriverError if servos do not answer, or keep their errors; with all of them.
        """
        places = self._places_of(actuators)
        with self._reached(places) as bus_of:
            for index, goal in clear_errors(places, bus_of).items():
                self._goal[index] = goal


def _not_restarted(place: Place, bus: Bus) -> DriverError:
    reason, hint = "its firmware does not know the instruction", "switch its power off and on"
    return DriverError(place.where(bus), "did not restart", reason, hint)
