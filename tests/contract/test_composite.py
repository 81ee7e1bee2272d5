from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.base import ActuatorState
from motiond.drivers.composite.driver import CompositeDriver
from motiond.drivers.composite.options import CompositeOptions
from motiond.drivers.options import check
from motiond.drivers.sim.driver import SimOptions
from motiond.drivers.testing.contract import DriverContract
from motiond.drivers.testing.rig import ACTUATORS, LIFETIME_S, Rig
from tests.contract.fragile_sim import FragileSim

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from motiond.drivers.base import Driver, Floats

DIVISOR = 2


class CompositeRig(Rig):
    """Two simulated parts whose actuators are not adjacent; one has half the rate and is late."""

    timeout_s = 30.0

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._no_file = str(folder / "no folder" / "arm.npy")
        self._sims: list[FragileSim] = []

    def _make(self, actuators: Sequence[str], **of_the_second: Any) -> Driver:
        sim = {"type": "sim", "command_lifetime_s": LIFETIME_S}
        late = {"rate_divisor": DIVISOR, "latency_s": 0.004}
        parts = {
            "outer": {**sim, "actuators": list(ACTUATORS[::2])},
            "inner": {**sim, **late, "actuators": [ACTUATORS[1]], **of_the_second},
        }
        options = check("driver composite", CompositeOptions, {"parts": parts})
        return CompositeDriver(actuators, options, self.clock, self._make_part)

    def _make_part(
        self, _: str, options: Mapping[str, Any], actuators: Sequence[str], now: Callable[[], float]
    ) -> Driver:
        punctual = SimOptions(**{**options, "latency_s": 0.0})  # late feedback would have past positions
        sim = FragileSim(actuators, punctual, now)
        self._sims.append(sim)
        return sim

    def make(self, actuators: Sequence[str] = ACTUATORS) -> Driver:
        return self._make(actuators)

    def make_broken(self) -> Driver:
        return self._make(ACTUATORS, trace=self._no_file)

    def push(self, driver: Driver, position: Floats) -> None:
        assert isinstance(driver, CompositeDriver)
        for part, sim in zip(driver._parts, self._sims[-2:], strict=True):
            sim.read(ActuatorState(len(sim.actuators)))
            assert sim._plant is not None
            sim._plant._position[:] = position[part._columns]

    def position(self, driver: Driver) -> Floats:
        for _ in range(DIVISOR - 1):
            driver.read(ActuatorState(len(driver.actuators)))
        return super().position(driver)

    def silence(self, driver: Driver) -> None:  # noqa: ARG002 - of the last driver, as below
        self._sims[-1].silent = True

    def lose_bus(self, driver: Driver) -> None:  # noqa: ARG002 - the same
        self._sims[-1].lost = True

    def restore_bus(self, driver: Driver) -> None:  # noqa: ARG002 - the same
        self._sims[-1].lost = False


class TestComposite(DriverContract):
    @pytest.fixture
    def rig(self, tmp_path: Path) -> Rig:
        return CompositeRig(tmp_path)
