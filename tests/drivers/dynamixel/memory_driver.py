"""The driver of DYNAMIXEL servos on ports in memory."""

from __future__ import annotations

from motiond.drivers.dynamixel.driver import DynamixelDriver
from tests.drivers.serial_bus.memory_driver import InMemory


class MemoryDynamixel(InMemory, DynamixelDriver):
    """Opens the ports of `InMemory.ports`."""
