"""Ports in memory are as those of the system, and what a look for servos finds on one."""

from __future__ import annotations

import pytest

from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.scanning import scan
from motiond.drivers.serial_bus.bus import TRIES
from motiond.drivers.serial_bus.scanning import ANSWER_TIMEOUT_S
from motiond.drivers.testing.rig import Clock
from tests.drivers.dynamixel.bench import servo
from tests.drivers.serial_bus.line_contract import LineContract
from tests.drivers.serial_bus.memory_port import MemoryPort


class TestMemoryPort(LineContract):
    @pytest.fixture
    def port(self, clock: Clock) -> MemoryPort:
        return MemoryPort(EmulatedChain([servo(1)], clock), clock)


def test_all_of_a_servo_is_reported_though_it_answers_late() -> None:
    clock = Clock()
    port = MemoryPort(EmulatedChain([servo(3)], clock), clock)

    def at_once(frame: bytes) -> bytes:
        return frame

    def late(frame: bytes) -> bytes:
        port.delay_s = 0.99 * ANSWER_TIMEOUT_S
        return frame

    port.chain.faults.extend([at_once, *[late] * TRIES])
    (found,) = scan(port.path, [1_000_000], port.open)
    assert (found.position_ticks, found.hardware_error) == (2048, "")
