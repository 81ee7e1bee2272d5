"""An emulated bus of DYNAMIXEL servos, behind a pseudo-terminal."""
