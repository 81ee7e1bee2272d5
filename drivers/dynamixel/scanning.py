"""Looks for servos on a serial port without changing them, and restarts them on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..serial_bus import scanning
from ..serial_bus.line import SerialLine
from .family import DYNAMIXEL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..serial_bus.line import Line
    from ..serial_bus.scanning import Scanned

COMMON_BAUD_RATES = (57_600, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 4_500_000, 115_200, 9_600)


def scan(
    port: str, baud_rates: Sequence[int], open_line: Callable[[str, int], Line] = SerialLine
) -> list[Scanned]:
    """Return every servo that answers on a port. Raises DriverError if the port cannot be opened.

    `baud_rates`: at all of which to look; where there are none, at the common ones until servos are found.
    """
    return scanning.scan(DYNAMIXEL, port, baud_rates, COMMON_BAUD_RATES, open_line)


def reboot(port: str, baud_rate: int, servo_ids: Sequence[int]) -> None:
    """Restart servos, which switches their torque off and clears their errors.

    Raises DriverError if the port cannot be opened, or a servo does not answer.
    """
    scanning.reboot(DYNAMIXEL, port, baud_rate, servo_ids)
