"""Restarts servos: those that are found with an error, or on request, with a driver that is open or not."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from ..base import DriverError
from .scanning import opened
from .setup import SWITCH_OFF, failures, raise_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .bus import Bus
    from .chain import Chain
    from .family import Family
    from .line import Line
    from .options import Place, SerialOptions

BOOT_S = 0.5
STILL_BOOTING_TRIES = 5


def reboot_failed(chain: Chain, family: Family) -> Iterator[str]:
    """Restart the servos that have a hardware error, yield a notice of each, and wait until they are back."""
    broken = failures(chain, family)
    for servo, bits in broken:
        chain.bus.reboot(servo.servo_id)
        yield f"{servo.where}: restarted, because it reported {family.in_words(bits)}"
    if broken:
        chain.bus.sleep(BOOT_S)


@contextmanager
def reached(
    places: Sequence[Place],
    options: SerialOptions,
    buses: Sequence[Bus],
    open_line: Callable[[str, int], Line],
    family: Family,
) -> Iterator[Mapping[int, Bus]]:
    """Have the buses of some servos by number; where none are open, as long as the context lasts.

    Raises DriverError if a port cannot be opened.
    """
    with ExitStack() as stack:
        ports = {number: options.ports[number] for number in {place.bus for place in places}}
        yield {
            number: buses[number]
            if buses
            else stack.enter_context(opened(family.protocol, one.port, one.baud_rate, open_line))
            for number, one in ports.items()
        }


def restart(places: Sequence[Place], bus_of: Mapping[int, Bus]) -> None:
    """Restart servos, and wait until they answer again. `bus_of`: as of `reached`.

    Raises DriverError with all that do not answer.
    """
    for place in places:
        bus_of[place.bus].reboot(place.servo_id)
    wait_for_boot(places, bus_of)


def refuse_held_places(
    places: Sequence[Place], bus_of: Mapping[int, Bus], family: Family, *, is_open: bool
) -> None:
    """Raise DriverError with all servos that hold, so that they would drop, or that do not answer.

    One with an error that lets no driver open may be restarted all the same: nothing else releases it.
    `is_open`: whether the driver is, so that the robot can be disabled.
    """
    problems = (_hindrance(one, bus_of[one.bus], family, is_open=is_open) for one in places)
    raise_all([problem for problem in problems if problem is not None])


def wait_for_boot(places: Sequence[Place], bus_of: Mapping[int, Bus]) -> None:
    """Wait until servos that restart answer again. Raises DriverError with all that do not."""
    for bus in list(bus_of.values())[:1]:
        bus.sleep(BOOT_S)
    silent = [one for one in places if not bus_of[one.bus].is_there(one.servo_id, STILL_BOOTING_TRIES)]
    raise_all([silent_at(one, bus_of[one.bus]) for one in silent])


def _hindrance(place: Place, bus: Bus, family: Family, *, is_open: bool) -> DriverError | None:
    """Return why a servo is not to be restarted."""
    found = bus.ping(place.servo_id)
    if found is None:
        return silent_at(place, bus)
    model = family.models().get(found.model_number)
    if model is None:
        return None
    servo = place.servo(bus, model, found.firmware)
    errors = servo.read(family.error_register)
    if not servo.read("torque_enable") or errors & family.fatal:
        return None
    hint = "support it, reset and disable the robot, then restart it" if is_open else SWITCH_OFF
    if family.clears and errors & servo.read(family.shutdown_register):
        hint = f"`motiond clear ROBOT {place.actuator}` ends its error while it holds"
    return DriverError(servo.where, "its torque is on", "a restart would let it drop", hint)


def silent_at(place: Place, bus: Bus) -> DriverError:
    """Return the error of a servo that does not answer."""
    return DriverError(place.where(bus), "no answer", "", "check its cable, power and id")
