"""Looks for actuators without moving any: HEBI modules on the network, servos on serial ports.

A serial port is opened for this program alone, so one that a daemon drives is left in peace.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from motiond.drivers.base import DriverError
from motiond.drivers.dynamixel.line import import_serial
from motiond.drivers.dynamixel.models import models_by_name
from motiond.drivers.dynamixel.scan import scan
from motiond.drivers.hebi.lookup import LOOKUP_POLL_S, open_lookup, present

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LOOK_S = 2.0
"""So long HEBI modules may take to be heard; they tell of themselves several times a second."""
BY_ID = Path("/dev/serial/by-id")
LIKELY_MAKERS = frozenset({0x0403, 0x2F5D})
"""USB vendors of the adapters of DYNAMIXEL servos: FTDI, ROBOTIS."""


@dataclass(frozen=True, slots=True)
class HebiModule:
    """A HEBI module that was heard on the network."""

    family: str
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Servo:
    """A servo that answered on a serial port.

    Attributes
    ----------
    model : str or None
        None where motiond does not know it.
    """

    port: str
    baud_rate: int
    servo_id: int
    model: str | None

    def __str__(self) -> str:
        return str(self.servo_id)


Actuator = HebiModule | Servo


@dataclass(frozen=True, slots=True)
class Port:
    """A serial port at USB.

    Attributes
    ----------
    path : str
        One that lasts where the system has such.
    is_likely : bool
        Whether its adapter is of a maker whom servos are sold with: a ping to another device may disturb it.
    """

    path: str
    is_likely: bool


@dataclass(frozen=True, slots=True)
class Found:
    """What answered.

    Attributes
    ----------
    modules : tuple of HebiModule
        In the order of family and name.
    servos : tuple of Servo
        In the order of the ports, and of the ids on each.
    notes : tuple of str
        What could not be looked at, and why.
    """

    modules: tuple[HebiModule, ...] = ()
    servos: tuple[Servo, ...] = ()
    notes: tuple[str, ...] = ()

    def of(self, driver: str) -> tuple[Actuator, ...]:
        """Return the actuators that a driver can move."""
        return self.modules if driver == "hebi" else self.servos if driver == "dynamixel" else ()


def serial_ports(by_id: Path = BY_ID) -> list[Port]:
    """Return the serial ports at USB.

    Raises
    ------
    DriverConfigError
        If pyserial is not installed.
    """
    import_serial()
    from serial.tools.list_ports import comports  # noqa: PLC0415 - optional

    links = sorted(by_id.iterdir()) if by_id.is_dir() else []
    lasting = {str(link.resolve()): str(link) for link in links}
    return [
        Port(lasting.get(str(Path(port.device).resolve()), port.device), port.vid in LIKELY_MAKERS)
        for port in sorted(comports(), key=lambda one: str(one.device))
        if port.vid is not None
    ]


def find_servos(ports: Sequence[str], baud_rate: int | None, tell: Callable[[str], object]) -> Found:
    """Ping all servos on serial ports.

    Parameters
    ----------
    baud_rate : int or None
        None tries the common ones on each port, up to the first at which servos answer.
    tell : callable
        Gets a line before each port, as one takes seconds.
    """
    servos: list[Servo] = []
    notes: list[str] = []
    known = models_by_name()
    for port in dict.fromkeys(ports):
        tell(f"looking for servos on {port}")
        try:
            answered = scan(port, () if baud_rate is None else (baud_rate,))
        except DriverError as error:
            notes.append(str(error))
            continue
        servos += [
            Servo(port, one.baud_rate, one.servo_id, one.model if one.model in known else None)
            for one in answered
        ]
    return Found(servos=tuple(servos), notes=tuple(notes))


def find_modules(tell: Callable[[str], object]) -> Found:
    """Listen for HEBI modules on all network interfaces."""
    try:
        lookup = open_lookup(())
    except DriverError as error:
        return Found(notes=(str(error),))
    tell(f"looking for HEBI modules, {LOOK_S:g} s")
    until_s = time.monotonic() + LOOK_S
    while time.monotonic() < until_s:
        time.sleep(LOOKUP_POLL_S)
    heard = present(lookup)
    notes = [
        f"driver hebi: {count} modules are called {one}; any of them could be meant; "
        "rename all but one with HEBI Scope"
        for one, count in heard.items()
        if count > 1
    ]
    modules = sorted((one.family, one.name) for one, count in heard.items() if count == 1)
    return Found(modules=tuple(HebiModule(*one) for one in modules), notes=tuple(notes))
