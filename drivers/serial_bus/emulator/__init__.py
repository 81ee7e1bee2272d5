"""Emulated buses of servos: what the servos of all makers share."""

from .bus import EmulatedBus, Reply
from .pty import EmulatedPort, EmulatedWire

__all__ = ["EmulatedBus", "EmulatedPort", "EmulatedWire", "Reply"]
