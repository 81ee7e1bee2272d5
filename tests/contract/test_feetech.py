from __future__ import annotations

import pytest

from motiond.drivers.feetech.driver import FeetechDriver
from motiond.drivers.feetech.emulator.chain import EmulatedChain
from motiond.drivers.feetech.emulator.servo import EmulatedServo
from motiond.drivers.feetech.models import models_by_name
from tests.contract.serial import SerialContract, SerialRig


class FeetechRig(SerialRig):
    """They hold forever."""

    settle_s = 1.0
    lifetime_s = None
    driver_type, chain_type, servo_type = FeetechDriver, EmulatedChain, EmulatedServo


@pytest.mark.parametrize("model", ["STS3215", "SCS0009"])
class TestFeetech(SerialContract):
    @pytest.fixture
    def rig(self, model: str) -> SerialRig:
        return FeetechRig(models_by_name()[model])
