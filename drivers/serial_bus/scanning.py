"""Looks for servos on a serial port without changing them, and restarts them on request."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base import DriverError
from .bus import Bus
from .line import SerialLine
from .models import name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .family import Family
    from .line import Line
    from .models import Model
    from .protocol import Firmware, Found, ServoProtocol

ANSWER_TIMEOUT_S = 0.25
"""No tick waits for it here, and a servo that has answered once is not given up for an adapter that
holds bytes back, or a computer that is busy."""
DAMAGED = ("its answers are damaged", "several servos may have this id")
"""Problem and reason."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """A servo and what it reports; None where its model is unknown, or it did not answer a second time.

    `position_rad`: from the servo's centre. `locked`: whether its lasting settings are, where it can lock
    them. `problem`: what keeps it from being understood.
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
    locked: bool | None = None
    problem: str | None = None


def scan(
    family: Family,
    common_baud_rates: Sequence[int],
    port: str,
    baud_rates: Sequence[int],
    open_line: Callable[[str, int], Line] = SerialLine,
    *,
    refuse: Callable[[Bus], None] = lambda _: None,
) -> list[Scanned]:
    """Return every servo that answers on a port. Raises DriverError if the port cannot be opened.

    `baud_rates`: at all of which to look; where there are none, at the common ones until servos are found.
    `refuse`: raises DriverError where a bus cannot be looked at.
    """
    found: list[Scanned] = []
    for baud_rate in baud_rates or common_baud_rates:
        with opened(family.protocol, port, baud_rate, open_line) as bus:
            refuse(bus)
            there = bus.ping_all()
            damaged = [Scanned(baud_rate, one, "", "", problem="; ".join(DAMAGED)) for one in bus.damaged_ids]
            found += sorted(
                [*(_look_at(bus, one, family) for one in there), *damaged], key=lambda one: one.servo_id
            )
        if found and not baud_rates:
            break
    return found


def reboot(
    family: Family,
    port: str,
    baud_rate: int,
    servo_ids: Sequence[int],
    open_line: Callable[[str, int], Line] = SerialLine,
) -> None:
    """Restart servos, which switches their torque off and clears their errors.

    Raises DriverError if the port cannot be opened, or a servo does not answer.
    """
    with opened(family.protocol, port, baud_rate, open_line) as bus:
        for servo_id in servo_ids:
            bus.reboot(servo_id)


@contextmanager
def opened(
    protocol: ServoProtocol, port: str, baud_rate: int, open_line: Callable[[str, int], Line] = SerialLine
) -> Iterator[Bus]:
    """Have a port open as long as the context lasts; raises DriverError where it cannot be."""
    bus = Bus(port, baud_rate, ANSWER_TIMEOUT_S, protocol, open_line)
    bus.open()
    try:
        yield bus
    finally:
        bus.close()


def _look_at(bus: Bus, one: Found, family: Family) -> Scanned:
    model = family.models().get(one.model_number)
    if model is None:
        name = name_of(one.model_number, family.models())
        return Scanned(bus.baud_rate, one.servo_id, name, one.firmware)
    try:
        return _read(bus, one, model, family)
    except DriverError:
        problem = "; ".join(DAMAGED) if bus.heard_from(one.servo_id) else None
        return Scanned(bus.baud_rate, one.servo_id, model.name, one.firmware, problem=problem)


def _read(bus: Bus, one: Found, model: Model, family: Family) -> Scanned:
    presents = ("position", "voltage", "temperature")
    names = ("torque_enable", family.error_register, *(f"present_{name}" for name in presents))
    items = [model.table[name] for name in names]
    lock = model.table.items.get("lock")
    begin = min(item.address for item in items)
    data = bus.read(one.servo_id, begin, max(item.end for item in items) - begin)
    torque, error, ticks, voltage, temperature = (item.decode(data, begin) for item in items)
    return Scanned(
        baud_rate=bus.baud_rate,
        servo_id=one.servo_id,
        model=model.name,
        firmware=one.firmware,
        torque=torque == 1,
        position_ticks=ticks,
        position_rad=(ticks - model.zero_ticks) * model.rad_per_tick,
        voltage_v=voltage / 10,
        temperature_c=temperature,
        hardware_error=family.in_words(error),
        locked=lock.decode(data, begin) != 0 if lock else None,
    )
