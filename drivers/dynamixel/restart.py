"""Restarts servos that have shut down, whether the driver has their ports open or not."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..base import DriverError
from .models import models
from .scan import opened
from .setup import BOOT_S, raise_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .bus import Bus
    from .line import Line
    from .options import DynamixelOptions, Place

STILL_BOOTING_TRIES = 5


def restart(
    places: Sequence[Place],
    options: DynamixelOptions,
    buses: Sequence[Bus],
    open_line: Callable[[str, int], Line],
) -> None:
    """Restart servos, and wait until they answer again.

    Parameters
    ----------
    places : sequence of Place
        Which.
    buses : sequence of Bus
        Those that are open, in the order of the options' ports; empty where none is.
    open_line : callable
        Opens the ports where none is open.

    Raises
    ------
    DriverError
        If a port cannot be opened, a servo holds, so that it would drop (then none is restarted), or does not
        answer.
    """
    with ExitStack() as stack:
        used = {place.bus for place in places}
        ports = {number: options.ports[number] for number in used}
        bus_of = {
            number: buses[number]
            if buses
            else stack.enter_context(opened(one.port, one.baud_rate, open_line))
            for number, one in ports.items()
        }
        raise_all([problem for one in places if (problem := _hindrance(one, bus_of[one.bus])) is not None])
        for place in places:
            bus_of[place.bus].reboot(place.servo_id)
        for bus in list(bus_of.values())[:1]:
            bus.sleep(BOOT_S)
        raise_all([_silent(one, bus_of[one.bus]) for one in places if not _answers(one, bus_of[one.bus])])


def _hindrance(place: Place, bus: Bus) -> DriverError | None:
    """Return why a servo is not to be restarted."""
    found = bus.ping(place.servo_id)
    if found is None:
        return _silent(place, bus)
    model = models().get(found.model_number)
    if model is None:
        return None
    torque = model.table["torque_enable"]
    if not torque.decode(bus.read(place.servo_id, torque.address, torque.size), torque.address):
        return None
    hint = "support it, reset and disable the robot, then restart it"
    return DriverError(_where(place, bus), "its torque is on", "a restart would let it drop", hint)


def _answers(place: Place, bus: Bus) -> bool:
    return bus.ping(place.servo_id, STILL_BOOTING_TRIES) is not None


def _silent(place: Place, bus: Bus) -> DriverError:
    return DriverError(_where(place, bus), "no answer", "", "check its cable, power and id")


def _where(place: Place, bus: Bus) -> str:
    return f"{bus.port} servo {place.servo_id} ({place.actuator})"
