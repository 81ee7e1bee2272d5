"""Servos of one maker take what is sent to look for the other's for noise, and are found after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers import dynamixel, feetech
from motiond.drivers.dynamixel import emulator as of_dynamixel
from motiond.drivers.feetech import emulator as of_feetech
from tests.drivers.serial_bus.memory_port import MemoryPort

if TYPE_CHECKING:
    from motiond.drivers.testing.rig import Clock

MODELS = {
    "dynamixel": ("XM430-W350", "PH54-200-S500"),
    "feetech": ("STS3215", "SCS0009"),
}
DRIVERS: dict[str, Any] = {"dynamixel": dynamixel, "feetech": feetech}
EMULATORS: dict[str, Any] = {"dynamixel": of_dynamixel, "feetech": of_feetech}


@pytest.mark.parametrize(("mine", "other"), [("dynamixel", "feetech"), ("feetech", "dynamixel")])
def test_a_look_for_the_others_servos_finds_none_and_changes_nothing(
    clock: Clock, mine: str, other: str
) -> None:
    known = DRIVERS[mine].models_by_name()
    numbered = [*enumerate(MODELS[mine], 1), (253 if mine == "feetech" else 252, MODELS[mine][0])]
    servos = [EMULATORS[mine].EmulatedServo(number, known[model]) for number, model in numbered]
    port = MemoryPort(EMULATORS[mine].EmulatedChain(servos, clock), clock)
    before = [bytes(servo.memory) for servo in servos]
    assert DRIVERS[other].scan(port.path, (1_000_000,), port.open) == []
    assert [bytes(servo.memory) for servo in servos] == before
    found = DRIVERS[mine].scan(port.path, (1_000_000,), port.open)
    assert [one.servo_id for one in found] == [number for number, _ in numbered]
