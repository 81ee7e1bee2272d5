from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.drivers.base import CommunicationLost
from motiond.drivers.dynamixel.driver import DynamixelDriver
from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.emulator.pty import EmulatedPort
from motiond.drivers.dynamixel.emulator.servo import EmulatedServo
from motiond.drivers.dynamixel.models import models_by_name
from motiond.drivers.dynamixel.options import DynamixelOptions
from motiond.drivers.testing.contract import DriverContract
from motiond.drivers.testing.rig import ACTUATORS, LIFETIME_S, Rig

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from motiond.drivers.base import Driver, Floats

MODEL = models_by_name()["XM430-W350"]


class DynamixelRig(Rig):
    """Servos behind a pseudo-terminal that keeps its name when it is plugged in again."""

    tolerance = MODEL.rad_per_tick / 2
    halt_travel = MODEL.rad_per_tick
    timeout_s = 7.5

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._path = folder / "ttyUSB0"
        servos = [EmulatedServo(number, MODEL) for number in range(1, len(ACTUATORS) + 1)]
        self.chain = EmulatedChain(servos, self.clock)
        self._driver: DynamixelDriver | None = None
        self._plug_in()

    def _plug_in(self) -> None:
        self.port = EmulatedPort(self.chain)
        self._path.unlink(missing_ok=True)
        self._path.symlink_to(self.port.path)

    def _options(self, ids: dict[str, int]) -> DynamixelOptions:
        port = {"port": str(self._path), "baud_rate": 1_000_000, "ids": ids}
        return DynamixelOptions.model_validate(
            {"ports": [port], "command_lifetime_s": LIFETIME_S, "answer_timeout_s": 0.5}
        )

    def make(self, actuators: Sequence[str] = ACTUATORS) -> Driver:
        ids = {name: number for number, name in enumerate(actuators or ACTUATORS, start=1)}
        self._driver = DynamixelDriver(actuators, self._options(ids), self.clock)
        return self._driver

    def wait(self, duration_s: float) -> None:
        """Wait until what was sent has arrived, as the clock does not wait for frames."""
        if self._driver is not None and self._driver._buses and not self.chain.servos[0].mute:
            with suppress(CommunicationLost):
                self._driver._buses[0].ping(1)
        super().wait(duration_s)

    def make_broken(self) -> Driver:
        return DynamixelDriver(ACTUATORS, self._options({"base": 1, "shoulder": 2, "elbow": 9}), self.clock)

    def push(self, driver: Driver, position: Floats) -> None:  # noqa: ARG002 - one bench, one driver
        with self.port.lock:
            for servo, ticks in zip(self.chain.servos, position / MODEL.rad_per_tick, strict=True):
                servo.hear(self.clock())
                servo.turn_to(MODEL.zero_ticks + ticks)

    def silence(self, driver: Driver) -> None:  # noqa: ARG002 - one bench, one driver
        for servo in self.chain.servos:
            servo.mute = True

    def lose_bus(self, driver: Driver) -> None:  # noqa: ARG002 - one bench, one driver
        self.port.close()
        self._path.unlink()

    def restore_bus(self, driver: Driver) -> None:  # noqa: ARG002 - one bench, one driver
        self._plug_in()


class TestDynamixel(DriverContract):
    @pytest.fixture
    def rig(self, tmp_path: Path) -> Iterator[Rig]:
        rig = DynamixelRig(tmp_path)
        yield rig
        rig.port.close()

    def test_a_push_is_no_trick(self, rig: DynamixelRig) -> None:
        """Held servos come back from a push, so that tests which push loose ones can fail."""
        driver = rig.make()
        driver.open()
        driver.enable()
        rig.play(driver, [0.0, 0.0, 0.0])
        rig.push(driver, np.array([0.5, 0.5, 0.5]))
        np.testing.assert_allclose(rig.play(driver, [np.nan] * 3), [0, 0, 0], atol=rig.tolerance)
        driver.close()
