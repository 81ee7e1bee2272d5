"""An emulated bus of DYNAMIXEL servos, for tests and for trying out without hardware."""

from .chain import EmulatedChain
from .pty import EmulatedPort, EmulatedWire
from .servo import EmulatedServo

__all__ = ["EmulatedChain", "EmulatedPort", "EmulatedServo", "EmulatedWire"]
