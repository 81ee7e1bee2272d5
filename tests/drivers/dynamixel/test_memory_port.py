"""A port in memory is as a port of the system; tests/system/drivers holds a pseudo-terminal to the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from tests.drivers.dynamixel.bench import servo
from tests.drivers.dynamixel.line_contract import LineContract
from tests.drivers.dynamixel.memory_port import MemoryPort

if TYPE_CHECKING:
    from motiond.drivers.testing.rig import Clock


class TestMemoryPort(LineContract):
    @pytest.fixture
    def port(self, clock: Clock) -> MemoryPort:
        return MemoryPort(EmulatedChain([servo(1)], clock), clock)
