from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.drivers.dynamixel.driver import DynamixelDriver
from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.emulator.servo import EmulatedServo
from motiond.drivers.dynamixel.models import models_by_name
from motiond.drivers.dynamixel.options import DynamixelOptions
from motiond.drivers.testing.contract import DriverContract
from motiond.drivers.testing.rig import ACTUATORS, LIFETIME_S, Rig
from tests.drivers.serial_bus.memory_port import MemoryPort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.drivers.base import Driver, Floats

CONSTANT = 1.8
MODEL = models_by_name()["XM430-W350"]


class DynamixelRig(Rig):
    """Servos behind a port in memory; what a call waits passes on its clock."""

    tolerance = MODEL.rad_per_tick / 2
    halt_travel = MODEL.rad_per_tick
    timeout_s = 0.2

    def __init__(self) -> None:
        super().__init__()
        self.chain = EmulatedChain([EmulatedServo(number, MODEL) for number in (1, 2, 3)], self.clock)
        self.port = MemoryPort(self.chain, self.clock)

    def timer(self) -> float:
        """Return the time that calls take on the bus."""
        return self.clock()

    def make(self, actuators: Sequence[str] = ACTUATORS, ids: Sequence[int] = (1, 2, 3)) -> Driver:
        named = dict(zip(actuators or ACTUATORS, ids, strict=False))
        port = {"port": self.port.path, "baud_rate": 1_000_000, "ids": named}
        options = DynamixelOptions.model_validate({"ports": [port], "command_lifetime_s": LIFETIME_S})
        return DynamixelDriver(actuators, options, self.clock, self.port.open)

    def _make_carrying(self, mass: float) -> Driver:
        bodies = [
            {"actuator": name, "axis": [0, 1, 0], "mass": mass, "com": [0.2, 0, 0]} for name in ACTUATORS
        ]
        port = {
            "port": self.port.path,
            "baud_rate": 1_000_000,
            "ids": dict(zip(ACTUATORS, (1, 2, 3), strict=True)),
        }
        options = {
            "ports": [port],
            "command_lifetime_s": LIFETIME_S,
            "torque_constant_nm_per_a": CONSTANT,
            "gravity": {"bodies": bodies},
        }
        return DynamixelDriver(
            ACTUATORS, DynamixelOptions.model_validate(options), self.clock, self.port.open
        )

    def make_guided(self) -> Driver:
        return self._make_carrying(1e-9)

    def make_heavy(self) -> Driver:
        assert MODEL.current_unit_a is not None
        unit_nm = CONSTANT * MODEL.current_unit_a
        for servo in self.chain.servos:
            servo.weigh = lambda ticks: (
                -0.2 * 9.80665 / unit_nm * math.cos((ticks - MODEL.zero_ticks) * MODEL.rad_per_tick)
            )
        return self._make_carrying(1.0)

    def make_broken(self) -> Driver:
        return self.make(ids=(1, 2, 9))

    def push(self, driver: Driver, position: Floats) -> None:  # noqa: ARG002 - one bench, one driver
        for servo, ticks in zip(self.chain.servos, position / MODEL.rad_per_tick, strict=True):
            servo.receive(self.clock())
            servo.turn_to(MODEL.zero_ticks + ticks)

    def silence(self, driver: Driver) -> None:  # noqa: ARG002 - one bench, one driver
        for servo in self.chain.servos:
            servo.mute = True

    def lose_bus(self, driver: Driver) -> None:  # noqa: ARG002 - one bench, one driver
        self.port.close()

    def restore_bus(self, driver: Driver) -> None:  # noqa: ARG002 - one bench, one driver
        self.port.plug_in()


class TestDynamixel(DriverContract):
    @pytest.fixture
    def rig(self) -> Rig:
        return DynamixelRig()

    def test_a_push_is_no_trick(self, rig: DynamixelRig) -> None:
        """Held servos come back from a push, so that tests which push loose ones can fail."""
        driver = rig.make()
        driver.open()
        driver.enable()
        rig.play(driver, [0.0, 0.0, 0.0])
        rig.push(driver, np.array([0.5, 0.5, 0.5]))
        np.testing.assert_allclose(rig.play(driver, [np.nan] * 3), [0, 0, 0], atol=rig.tolerance)
        driver.close()
