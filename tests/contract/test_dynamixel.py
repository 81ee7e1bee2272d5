from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.dynamixel.driver import DynamixelDriver
from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.emulator.servo import EmulatedServo
from motiond.drivers.dynamixel.models import models_by_name
from motiond.drivers.testing.rig import ACTUATORS
from tests.contract.serial import SerialContract, SerialRig

if TYPE_CHECKING:
    from motiond.drivers.base import Driver

CONSTANT = 1.8
MODEL = models_by_name()["XM430-W350"]


class DynamixelRig(SerialRig):
    driver_type, chain_type, servo_type = DynamixelDriver, EmulatedChain, EmulatedServo

    def _make_carrying(self, mass: float) -> Driver:
        bodies = [
            {"actuator": name, "axis": [0, 1, 0], "mass": mass, "com": [0.2, 0, 0]} for name in ACTUATORS
        ]
        return self.make(options={"torque_constant_nm_per_a": CONSTANT, "gravity": {"bodies": bodies}})

    def make_guided(self) -> Driver:
        return self._make_carrying(1e-9)

    def make_heavy(self) -> Driver:
        assert MODEL.current_unit_a is not None
        unit_nm = CONSTANT * MODEL.current_unit_a
        for servo in self.servos:
            servo.weigh = lambda ticks: (
                -0.2 * 9.80665 / unit_nm * math.cos((ticks - MODEL.zero_ticks) * MODEL.rad_per_tick)
            )
        return self._make_carrying(1.0)

    def advance(self, servo: Any) -> None:
        """Let a servo move up to now; the push is seen as a packet, so that its watchdog does not trip."""
        servo.receive(self.clock())


class TestDynamixel(SerialContract):
    @pytest.fixture
    def rig(self) -> SerialRig:
        return DynamixelRig(MODEL)
