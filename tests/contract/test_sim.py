from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from motiond.drivers.registry import make_driver
from motiond.drivers.sim.driver import SimDriver
from motiond.drivers.testing.contract import DriverContract
from motiond.drivers.testing.rig import ACTUATORS, LIFETIME_S, Rig

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from motiond.drivers.base import Driver, Floats


class SimRig(Rig):
    timeout_s = 30.0

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def make(self, actuators: Sequence[str] = ACTUATORS) -> Driver:
        return make_driver("sim", {"command_lifetime_s": LIFETIME_S}, actuators, self.clock)

    def make_heavy(self) -> Driver:
        bodies = [
            {"actuator": name, "axis": [0, 1, 0], "mass": 2.0, "com": [0.3, 0, 0]} for name in ACTUATORS
        ]
        options = {"command_lifetime_s": LIFETIME_S, "gravity": {"bodies": bodies}}
        return make_driver("sim", options, ACTUATORS, self.clock)

    def make_broken(self) -> Driver:
        options = {"plant": self._folder / "arm.plant", "trace": self._folder / "no folder" / "arm.npy"}
        return make_driver("sim", options, ACTUATORS, self.clock)

    def push(self, driver: Driver, position: Floats) -> None:
        assert isinstance(driver, SimDriver)
        assert driver._plant is not None
        self.position(driver)  # moves the plant up to the present first
        driver._plant._position[:] = position

    def silence(self, driver: Driver) -> None:
        self.lose_bus(driver)

    def lose_bus(self, driver: Driver) -> None:
        driver.inject({"fault": "bus_lost"})

    def restore_bus(self, driver: Driver) -> None:
        driver.inject({"fault": "clear"})


class TestSim(DriverContract):
    @pytest.fixture
    def rig(self, tmp_path: Path) -> Rig:
        return SimRig(tmp_path)
