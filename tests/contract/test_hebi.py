from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("hebi", reason="hebi-py is not installed")

from motiond.drivers.hebi.driver import HebiDriver
from motiond.drivers.hebi.options import HebiOptions
from motiond.drivers.testing.contract import DriverContract
from motiond.drivers.testing.rig import ACTUATORS, LIFETIME_S, Rig
from tests.drivers.hebi.fake_hebi import FakeLookup, FakeModule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.drivers.base import Driver, Floats

OPTIONS = HebiOptions(families="Arm", command_lifetime_s=LIFETIME_S, lookup_timeout_s=0.1)


class HebiRig(Rig):
    """Modules that release, and drop out, as real ones do."""

    timeout_s = 30.0

    def __init__(self) -> None:
        super().__init__()
        self.lookup = FakeLookup([FakeModule(name) for name in ACTUATORS], self.clock)

    def make(self, actuators: Sequence[str] = ACTUATORS) -> Driver:
        return HebiDriver(actuators, OPTIONS, self.clock, lambda _: self.lookup, self.clock.sleep)

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
    def rig(self) -> Rig:
        return HebiRig()
