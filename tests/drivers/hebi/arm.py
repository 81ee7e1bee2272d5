"""An arm of fake modules, its driver, and what the loop does with it in each tick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.base import ActuatorCommand, ActuatorState, DriverError
from motiond.drivers.hebi.driver import HebiDriver
from motiond.drivers.hebi.options import HebiOptions
from tests.drivers.hebi.fake_hebi import FakeLookup, FakeModule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from motiond.drivers.base import Floats
    from motiond.drivers.testing.rig import Clock

PAIR = ("base", "elbow")
TICK_S = 0.01
NAN = float("nan")


class Arm:
    """A driver that is not open yet; without `modules`, of two modules at 0.

    `actuators`: their names where they are not those of the modules. `of_groups`: as of `FakeLookup`.
    """

    def __init__(
        self,
        clock: Clock,
        modules: Sequence[FakeModule] = (),
        actuators: Sequence[str] = (),
        of_groups: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.clock = clock
        self.modules = modules or [FakeModule(name) for name in PAIR]
        self.base, self.elbow = self.modules[:2]
        self.lookup = FakeLookup(self.modules, clock, **(of_groups or {}))
        names = actuators or [module.name for module in self.modules]
        families = {} if "config" in options else {"families": "Arm"}
        checked = HebiOptions.model_validate(families | options)
        self.driver = HebiDriver(names, checked, clock, lambda _: self.lookup, clock.sleep)
        self.command, self.state = ActuatorCommand(len(names)), ActuatorState(len(names))

    def open(self) -> Self:
        self.driver.open()
        return self

    def hold(self) -> Self:
        self.driver.open()
        self.driver.set_period(TICK_S)
        self.driver.enable()
        return self

    @property
    def positions(self) -> list[float]:
        return [module.position for module in self.modules]

    def efforts(self) -> Floats:
        """Return the efforts that the actuators were sent last."""
        count = len(self.command.position)
        return np.array([module.goal[2] for module in self.modules[:count]])

    def write(self, position: Any = NAN, velocity: Any = NAN, effort: Any = NAN) -> None:
        command = self.command
        command.position[:], command.velocity[:], command.effort[:] = position, velocity, effort
        self.driver.write(command)

    def assert_sent(self, position: Any = NAN, velocity: Any = NAN, effort: Any = NAN) -> None:
        """Compare with the last command that the modules have received."""
        fields = [np.broadcast_to(each, len(self.modules)) for each in (position, velocity, effort)]
        np.testing.assert_allclose(np.transpose([one.goal for one in self.modules]), fields, rtol=1e-6)

    def tick(self, act: Callable[[], None] | None = None) -> None:
        (act or (lambda: self.driver.write(self.command)))()
        self.clock.now_s += TICK_S
        self.driver.read(self.state)

    def play(self, position: float, ticks: int = 30) -> None:
        self.command.position.fill(position)
        for _ in range(ticks):
            self.tick()

    def halt(self, ticks: int = 100) -> None:
        """Tick as the loop does after a fault: halt, even if reading fails."""
        for _ in range(ticks):
            try:
                self.tick(self.driver.halt)
            except DriverError:
                continue

    def fails(self, kind: type[DriverError], ticks: int = 200) -> str:
        for _ in range(ticks):
            try:
                self.tick()
            except kind as error:
                return str(error)
        pytest.fail(f"nothing was raised in {ticks} ticks")
