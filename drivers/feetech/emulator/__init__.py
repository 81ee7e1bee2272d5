"""An emulated bus of Feetech servos, for tests and for trying out without hardware."""

from .chain import EmulatedChain
from .servo import EmulatedServo

__all__ = ["EmulatedChain", "EmulatedServo"]
