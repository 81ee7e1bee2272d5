"""Looks for servos on a serial port without changing them, restarts them, and gives one another id."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..base import DriverError, DriverTimeout
from ..serial_bus import scanning
from ..serial_bus.line import SerialLine
from ..serial_bus.scanning import DAMAGED, opened
from .family import FEETECH
from .models import models
from .protocol import HIGHEST_ID, PROTOCOL
from .setup import refuse_echo

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..serial_bus.bus import Bus
    from ..serial_bus.line import Line
    from ..serial_bus.models import Table

COMMON_BAUD_RATES = (1_000_000, 500_000, 115_200, 250_000, 128_000, 57_600, 38_400)
LOOKS = 10
"""So many answers that differ from servo to servo must be sound for it to be one servo that answers."""
SAVED_S = 0.02
"""How long a servo may take to save an id."""
scan = partial(scanning.scan, FEETECH, COMMON_BAUD_RATES, refuse=refuse_echo)
reboot = partial(scanning.reboot, FEETECH)


def refuse_id(
    port: str, baud_rate: int, old: int, new: int, open_line: Callable[[str, int], Line] = SerialLine
) -> None:
    """Raise as `set_id` does before it changes anything."""
    with opened(PROTOCOL, port, baud_rate, open_line) as bus:
        _table_of(bus, old, new)


def set_id(
    port: str, baud_rate: int, old: int, new: int, open_line: Callable[[str, int], Line] = SerialLine
) -> None:
    """Give a servo another id, which lasts.

    Raises DriverTimeout if no servo answers at `old`. Raises DriverError if the port cannot be opened,
    several answer at `old`, one answers at `new`, its torque is on, or it does not answer at `new`
    afterwards.
    """
    with opened(PROTOCOL, port, baud_rate, open_line) as bus:
        _write_id(bus, _table_of(bus, old, new), old, new)
        if not bus.is_there(new) or bus.is_there(old):
            where = f"{port} servo {old}"
            raise DriverError(where, f"does not answer as {new}", "", "look for it with `motiond scan`")


def _table_of(bus: Bus, old: int, new: int) -> Table:
    """Return the table of a servo that can have another id; raise where it cannot."""
    where = f"{bus.port} servo {old}"
    if not 0 <= new <= HIGHEST_ID or new == old:
        hint = f"choose another one, from 0 to {HIGHEST_ID}"
        raise DriverError(where, f"cannot have the id {new}", "", hint)
    refuse_echo(bus)
    table = _only_servo(bus, where, old)
    if bus.is_there(new):
        reason = "two servos with one id are not understood"
        raise DriverError(where, f"another servo has the id {new}", reason, "choose a free one")
    torque = table["torque_enable"]
    if bus.read(old, torque.address, torque.size) != torque.encode(0):
        raise DriverError(
            where,
            "its torque is on",
            "",
            f"support it, restart it by `--protocol feetech --reboot {old}`, then set the id",
        )
    return table


def _only_servo(bus: Bus, where: str, servo_id: int) -> Table:
    """Return the table of the servo with an id; raise where several have it, as their answers are damaged."""
    if not bus.is_there(servo_id):
        raise DriverTimeout(where, "no answer", "", "check its cable, power, id and baud rate")
    found = bus.ping(servo_id, 1)
    model = models().get(found.model_number) if found else None
    if found is not None and model is None:
        raise DriverError(
            where, f"is of an unknown model, {found.model_number}", f"{FEETECH.page} lists the known ones"
        )
    if model is not None:
        begin, end = model.table["present_position"].address, model.table["present_temperature"].end
        if all(bus.glance(servo_id, begin, end - begin) is not None for _ in range(LOOKS)):
            return model.table
    raise DriverError(where, *DAMAGED, "connect one of them alone")


def _write_id(bus: Bus, table: Table, old: int, new: int) -> None:
    """Write the id while lasting settings are unlocked, without an answer: by which id is not known."""
    lock, number = table["lock"], table["id"]
    bus.write(old, lock.address, lock.encode(0))
    try:
        bus.sync_write(number.address, {old: number.encode(new)})
        bus.sleep(SAVED_S)
    finally:  # also where somebody stops the program
        there = new if bus.is_there(new) else old
        bus.write(there, lock.address, lock.encode(1))
