from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("hebi", reason="hebi-py is not installed")

from motiond.drivers.hebi.driver import HebiDriver
from motiond.drivers.hebi.lookup import import_hebi
from motiond.drivers.hebi.options import HebiOptions
from motiond.drivers.testing.contract import DriverContract
from motiond.drivers.testing.rig import ACTUATORS, LIFETIME_S, Rig
from tests.drivers.hebi.fake_hebi import EFFORT_CONTROL, FakeLookup, FakeModule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from motiond.drivers.base import Driver, Floats

HRDF = """<robot version="1.6.0">
  <actuator type="X8-9" tag="base"/>
  <bracket type="X5HeavyRightOutside"/>
  <actuator type="X8-16" tag="shoulder"/>
  <link type="X5" extension="0.3" twist="pi"/>
  <actuator type="X5-9" tag="elbow"/>
  <link type="X5" extension="0.3" twist="0"/>
</robot>
"""
OPTIONS = HebiOptions(families="Arm", command_lifetime_s=LIFETIME_S, lookup_timeout_s=0.1)


class HebiRig(Rig):
    """Modules that release, and drop out, as real ones do."""

    timeout_s = 30.0

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.lookup = FakeLookup([FakeModule(name) for name in ACTUATORS], self.clock)

    def make(self, actuators: Sequence[str] = ACTUATORS) -> Driver:
        return HebiDriver(actuators, OPTIONS, self.clock, lambda _: self.lookup, self.clock.sleep)

    def make_guided(self) -> Driver:
        hrdf = self._folder / "arm.hrdf"
        hrdf.write_text(HRDF)
        options = OPTIONS.model_copy(
            update={"hrdf": hrdf, "gravity_compensation": True, "base_orientation": (1.0, 0.0, 0.0, 0.0)}
        )
        for module in self.lookup.modules.values():
            module.settings = dict(EFFORT_CONTROL)
        return HebiDriver(ACTUATORS, options, self.clock, lambda _: self.lookup, self.clock.sleep)

    def make_heavy(self) -> Driver:
        driver = self.make_guided()
        model = import_hebi().robot_model.import_from_hrdf(str(self._folder / "arm.hrdf"))
        self.lookup.of_groups["weigh"] = lambda position: model.get_grav_comp_efforts(
            position, np.array([0.0, 0.0, -9.80665])
        )
        return driver

    def make_broken(self) -> Driver:
        self.lookup["elbow"].mute = True
        return self.make()

    def _set(self, name: str, value: bool) -> None:  # noqa: FBT001 - as `setattr`
        for module in self.lookup.modules.values():
            setattr(module, name, value)

    def push(self, driver: Driver, position: Floats) -> None:  # noqa: ARG002 - one network, one driver
        for name, where in zip(ACTUATORS, position, strict=True):
            self.lookup[name].position = float(where)

    def silence(self, driver: Driver) -> None:  # noqa: ARG002 - the same
        self._set("mute", True)

    def lose_bus(self, driver: Driver) -> None:  # noqa: ARG002 - the same
        self._set("lost", True)

    def restore_bus(self, driver: Driver) -> None:  # noqa: ARG002 - the same
        self._set("lost", False)


class TestHebi(DriverContract):
    @pytest.fixture
    def rig(self, tmp_path: Path) -> Rig:
        return HebiRig(tmp_path)
