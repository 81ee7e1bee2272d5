"""Emulated buses of servos: what the servos of all makers share."""

from .bus import RETURN_DELAY_UNIT_S, EmulatedBus, Reply, together
from .motor import approach
from .pty import EmulatedPort, EmulatedWire

__all__ = [
    "RETURN_DELAY_UNIT_S",
    "EmulatedBus",
    "EmulatedPort",
    "EmulatedWire",
    "Reply",
    "approach",
    "together",
]
