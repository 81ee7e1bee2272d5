from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.drivers.feetech.driver import FeetechDriver
from motiond.drivers.feetech.emulator.chain import EmulatedChain
from motiond.drivers.feetech.emulator.servo import EmulatedServo
from motiond.drivers.feetech.models import models_by_name
from motiond.drivers.feetech.options import FeetechOptions
from motiond.drivers.testing.contract import DriverContract
from motiond.drivers.testing.rig import ACTUATORS, LIFETIME_S, Rig
from tests.drivers.serial_bus.memory_port import MemoryPort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.drivers.base import Driver, Floats


class FeetechRig(Rig):
    """Servos behind a port in memory; what a call waits passes on its clock. They hold forever."""

    timeout_s = 0.2
    settle_s = 1.0
    lifetime_s = None

    def __init__(self, model: str) -> None:
        super().__init__()
        self.model = models_by_name()[model]
        self.tolerance = self.model.rad_per_tick / 2 + 1e-9
        self.halt_travel = self.model.rad_per_tick
        servos = [EmulatedServo(number, self.model) for number in (1, 2, 3)]
        self.chain = EmulatedChain(servos, self.clock)
        self.port = MemoryPort(self.chain, self.clock)

    def timer(self) -> float:
        """Return the time that calls take on the bus."""
        return self.clock()

    def make(self, actuators: Sequence[str] = ACTUATORS, ids: Sequence[int] = (1, 2, 3)) -> Driver:
        port = {"port": self.port.path, "ids": dict(zip(actuators or ACTUATORS, ids, strict=False))}
        options = FeetechOptions.model_validate({"ports": [port], "command_lifetime_s": LIFETIME_S})
        return FeetechDriver(actuators, options, self.clock, self.port.open)

    def make_broken(self) -> Driver:
        return self.make(ids=(1, 2, 9))

    def push(self, driver: Driver, position: Floats) -> None:  # noqa: ARG002 - one bench, one driver
        for servo, ticks in zip(self.chain.servos, position / self.model.rad_per_tick, strict=True):
            servo.advance(self.clock())
            servo.turn_to(self.model.zero_ticks + ticks)

    def silence(self, driver: Driver) -> None:  # noqa: ARG002 - the same
        for servo in self.chain.servos:
            servo.mute = True

    def lose_bus(self, driver: Driver) -> None:  # noqa: ARG002 - the same
        self.port.close()

    def restore_bus(self, driver: Driver) -> None:  # noqa: ARG002 - the same
        self.port.plug_in()


@pytest.mark.parametrize("model", ["STS3215", "SCS0009"])
class TestFeetech(DriverContract):
    @pytest.fixture
    def rig(self, model: str) -> Rig:
        return FeetechRig(model)

    def test_a_push_is_no_trick(self, rig: FeetechRig) -> None:
        """Held servos come back from a push, so that tests which push loose ones can fail."""
        driver = rig.make()
        driver.open()
        driver.enable()
        rig.play(driver, [0.0, 0.0, 0.0])
        rig.push(driver, np.array([0.5, 0.5, 0.5]))
        np.testing.assert_allclose(rig.play(driver, [np.nan] * 3), [0, 0, 0], atol=rig.tolerance)
        driver.close()
