from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


class PhysicalRig(SimRig):
    """Three beams, one beside the other, in MuJoCo; the friction of their gears holds their weight."""

    def __init__(self, folder: Path, down: float) -> None:
        super().__init__(folder)
        self._down = down
        self.tolerance = self.halt_travel = 3e-3 if down else 1e-6
        self._friction = 8.0 if down else 0.0

    def _make(self, down: float, actuators: Sequence[str], **options: Any) -> Driver:
        beams = "".join(
            f"""<body pos="0 {place} 0"><joint name="{name}" axis="0 1 0"/>
            <geom size="0.01" mass="2" pos="0.3 0 0" contype="0" conaffinity="0"/></body>"""
            for place, name in enumerate(actuators)
        )
        mjcf = f"<mujoco><worldbody>{beams}</worldbody></mujoco>"
        joints = [{"actuator": name, "joint": name} for name in dict.fromkeys(actuators)]
        world = {"mjcf": mjcf, "joints": joints}
        gravity = {"acceleration": [0, 0, -down]}
        lasting = {"command_lifetime_s": LIFETIME_S}
        return make_driver(
            "sim", lasting | {"physics": world, "gravity": gravity} | options, actuators, self.clock
        )

    def make(self, actuators: Sequence[str] = ACTUATORS) -> Driver:
        return self._make(self._down, actuators, coulomb_friction=self._friction)

    def make_heavy(self) -> Driver:
        return self._make(9.81, ACTUATORS)

    def make_broken(self) -> Driver:
        return self._make(self._down, ACTUATORS, trace=self._folder / "no folder" / "arm.npy")


class TestSim(DriverContract):
    @pytest.fixture
    def rig(self, tmp_path: Path) -> Rig:
        return SimRig(tmp_path)


class TestSimInAWorldWithoutGravity(DriverContract):
    @pytest.fixture
    def rig(self, tmp_path: Path) -> Rig:
        return PhysicalRig(tmp_path, down=0.0)


class TestSimInAWorldWithGravity(DriverContract):
    @pytest.fixture
    def rig(self, tmp_path: Path) -> Rig:
        return PhysicalRig(tmp_path, down=9.81)
