"""DYNAMIXEL servos on a serial bus, Protocol 2.0."""
