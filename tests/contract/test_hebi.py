from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from drivers.hebi import HebiDriver
from drivers.hebi_setup import HebiOptions
from tests.contract.driver_contract import ACTUATORS, LIFETIME_S, DriverContract, Rig
from tests.contract.hebi_bench import Bench

if TYPE_CHECKING:
    from collections.abc import Sequence

    from drivers.base import Driver, Floats

pytest.importorskip("hebi", reason="hebi-py is not installed")

OPTIONS = HebiOptions(families="Arm", command_lifetime_s=LIFETIME_S, lookup_timeout_s=0.1)


class ImitationRig(Rig):
    """The vendor's imitation group; it stays when the driver closes, as modules do."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench(ACTUATORS)

    def make(self, actuators: Sequence[str] = ACTUATORS) -> Driver:
        return HebiDriver(actuators, OPTIONS, self.clock, lambda _: self.bench)

    def make_broken(self) -> Driver:
        self.bench.silent = True
        return self.make()

    def push(self, driver: Driver, position: Floats) -> None:
        del driver
        self.bench.push(position)

    def silence(self, driver: Driver) -> None:
        del driver
        self.bench.silent = True

    def lose_bus(self, driver: Driver) -> None:
        self.silence(driver)
        self.bench.entrylist.clear()

    def restore_bus(self, driver: Driver) -> None:
        del driver
        self.bench = Bench(ACTUATORS)


class TestHebiImitation(DriverContract):
    @pytest.fixture
    def rig(self) -> Rig:
        return ImitationRig()
