from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from drivers.hebi import HebiDriver, HebiOptions
from tests.contract.driver_contract import ACTUATORS, LIFETIME_S, DriverContract, Rig
from tests.contract.hebi_bench import Bench

if TYPE_CHECKING:
    from collections.abc import Sequence

    from drivers.base import Driver, Floats

pytest.importorskip("hebi", reason="hebi-py is not installed")

OPTIONS = HebiOptions(families="Arm", command_lifetime_s=LIFETIME_S)


class HebiRig(Rig):
    def make(self, actuators: Sequence[str] = ACTUATORS) -> Driver:
        return HebiDriver(actuators, OPTIONS, self.clock, lambda modules, *_: Bench(len(modules)))

    def make_broken(self) -> Driver:
        return HebiDriver(
            ACTUATORS, OPTIONS, self.clock, lambda modules, *_: Bench(len(modules), silent=True)
        )

    def push(self, driver: Driver, position: Floats) -> None:
        assert isinstance(driver, HebiDriver)
        assert isinstance(driver._group, Bench)
        driver._group.push(position)


class TestHebi(DriverContract):
    @pytest.fixture
    def rig(self) -> Rig:
        return HebiRig()
