"""The driver of Feetech servos on ports in memory."""

from __future__ import annotations

from motiond.drivers.feetech.driver import FeetechDriver
from tests.drivers.serial_bus.memory_driver import InMemory


class MemoryFeetech(InMemory, FeetechDriver):
    """Opens the ports of `InMemory.ports`."""
