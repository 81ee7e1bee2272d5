"""Looks for servos on a serial port without changing them, and restarts them on request."""

from functools import partial

from ..serial_bus import scanning
from .family import DYNAMIXEL

COMMON_BAUD_RATES = (57_600, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 4_500_000, 115_200, 9_600)
scan = partial(scanning.scan, DYNAMIXEL, COMMON_BAUD_RATES)
reboot = partial(scanning.reboot, DYNAMIXEL)
