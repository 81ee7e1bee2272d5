"""An emulated bus of DYNAMIXEL servos, for tests and for trying out without hardware.

chain  what servos on one bus answer, byte for byte
servo  one servo: its control table and its motor
pty    a bus behind a pseudo-terminal
"""

from .chain import EmulatedChain
from .pty import EmulatedPort, EmulatedWire
from .servo import EmulatedServo

__all__ = ["EmulatedChain", "EmulatedPort", "EmulatedServo", "EmulatedWire"]
