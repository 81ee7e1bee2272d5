"""Looks for servos on a serial port without changing them, and restarts them on request."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base import DriverError
from ..serial_bus.bus import Bus
from ..serial_bus.line import SerialLine
from ..serial_bus.models import name_of
from .models import in_words, models
from .protocol import PROTOCOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..serial_bus.line import Line
    from ..serial_bus.models import Model
    from ..serial_bus.protocol import Firmware, Found

COMMON_BAUD_RATES = (57_600, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 4_500_000, 115_200, 9_600)
ANSWER_TIMEOUT_S = 0.25
"""No tick waits for it here, and a servo that has answered once is not given up for an adapter that
holds bytes back, or a computer that is busy."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """A servo and what it reports; None where its model is unknown, or it did not answer a second time.

    `position_rad`: from the servo's centre.
    """

    baud_rate: int
    servo_id: int
    model: str
    firmware: Firmware
    torque: bool | None = None
    position_ticks: int | None = None
    position_rad: float | None = None
    voltage_v: float | None = None
    temperature_c: int | None = None
    hardware_error: str | None = None


def scan(
    port: str, baud_rates: Sequence[int], open_line: Callable[[str, int], Line] = SerialLine
) -> list[Scanned]:
    """Return every servo that answers on a port. Raises DriverError if the port cannot be opened."""
    found: list[Scanned] = []
    for baud_rate in baud_rates or COMMON_BAUD_RATES:
        with opened(port, baud_rate, open_line) as bus:
            found += [_look_at(bus, one) for one in bus.ping_all()]
        if found and not baud_rates:
            break
    return found


def reboot(port: str, baud_rate: int, servo_ids: Sequence[int]) -> None:
    """Restart servos, which switches their torque off and clears their errors.

    Raises DriverError if the port cannot be opened, or a servo does not answer.
    """
    with opened(port, baud_rate) as bus:
        for servo_id in servo_ids:
            bus.reboot(servo_id)


@contextmanager
def opened(port: str, baud_rate: int, open_line: Callable[[str, int], Line] = SerialLine) -> Iterator[Bus]:
    """Have a port open as long as the context lasts; raises DriverError where it cannot be."""
    bus = Bus(port, baud_rate, ANSWER_TIMEOUT_S, PROTOCOL, open_line)
    bus.open()
    try:
        yield bus
    finally:
        bus.close()


def _look_at(bus: Bus, one: Found) -> Scanned:
    model = models().get(one.model_number)
    if model is None:
        return Scanned(bus.baud_rate, one.servo_id, name_of(one.model_number, models()), one.firmware)
    try:
        return _read(bus, one, model)
    except DriverError:
        return Scanned(bus.baud_rate, one.servo_id, model.name, one.firmware)


def _read(bus: Bus, one: Found, model: Model) -> Scanned:
    begin, end = model.table["torque_enable"].address, model.table["present_temperature"].end
    data = bus.read(one.servo_id, begin, end - begin)

    def value(name: str) -> int:
        return model.table[name].decode(data, begin)

    ticks = value("present_position")
    return Scanned(
        baud_rate=bus.baud_rate,
        servo_id=one.servo_id,
        model=model.name,
        firmware=one.firmware,
        torque=value("torque_enable") == 1,
        position_ticks=ticks,
        position_rad=(ticks - model.zero_ticks) * model.rad_per_tick,
        voltage_v=value("present_voltage") / 10,
        temperature_c=value("present_temperature"),
        hardware_error=in_words(value("hardware_error")),
    )
