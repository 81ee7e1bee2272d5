"""Emulated buses of DYNAMIXEL servos for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from motiond.drivers.dynamixel.driver import DynamixelDriver
from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.emulator.servo import EmulatedServo
from motiond.drivers.dynamixel.models import models_by_name
from tests.drivers.serial_bus.bench import SerialBench

if TYPE_CHECKING:
    from collections.abc import Mapping

    from motiond.drivers.serial_bus.driver import SerialDriver

XM430 = models_by_name()["XM430-W350"]
FACTORY = {"return_delay": 0}


def servo(
    servo_id: int,
    model: str = "XM430-W350",
    ticks: float | None = None,
    registers: Mapping[str, int] | None = None,
    **more: int,
) -> EmulatedServo:
    """Make an emulated servo that answers without delay."""
    return EmulatedServo(servo_id, models_by_name()[model], {**FACTORY, **(registers or {}), **more}, ticks)


class Bench(SerialBench[EmulatedServo]):
    """One bus for each list of servos, and a driver for all of them."""

    driver_type: ClassVar[type[SerialDriver]] = DynamixelDriver
    chain_type = EmulatedChain
