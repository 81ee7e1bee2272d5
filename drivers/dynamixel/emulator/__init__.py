"""An emulated bus of DYNAMIXEL servos, for tests and for trying out without hardware."""

from ...serial_bus.emulator import EmulatedPort, EmulatedWire
from .chain import EmulatedChain
from .servo import EmulatedServo

__all__ = ["EmulatedChain", "EmulatedPort", "EmulatedServo", "EmulatedWire"]
