"""Emulated buses of Feetech servos for tests, and a driver on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from motiond.drivers.feetech.driver import FeetechDriver
from motiond.drivers.feetech.emulator.chain import EmulatedChain
from motiond.drivers.feetech.emulator.servo import EmulatedServo
from motiond.drivers.feetech.models import models_by_name
from tests.drivers.serial_bus.bench import SerialBench

if TYPE_CHECKING:
    from collections.abc import Mapping

    from motiond.drivers.serial_bus.driver import SerialDriver

STS3215 = models_by_name()["STS3215"]


def servo(
    servo_id: int,
    model: str = "STS3215",
    ticks: float | None = None,
    registers: Mapping[str, int] | None = None,
    **more: int,
) -> EmulatedServo:
    """Make an emulated servo."""
    return EmulatedServo(servo_id, models_by_name()[model], {**(registers or {}), **more}, ticks)


class Bench(SerialBench[EmulatedServo]):
    """One bus for each list of servos, and a driver for all of them."""

    driver_type: ClassVar[type[SerialDriver]] = FeetechDriver
    chain_type = EmulatedChain

    def wait(self, duration_s: float) -> None:
        """Let time pass; the servos notice it in steps, as when they are asked."""
        for _ in range(round(duration_s / 0.01)):
            self.clock.sleep(0.01)
            for one in self.servos:
                one.advance(self.clock())
