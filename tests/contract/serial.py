"""Servos on serial buses, of whatever maker, for the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from motiond.drivers.testing.contract import DriverContract
from motiond.drivers.testing.rig import ACTUATORS, LIFETIME_S, Rig
from tests.drivers.serial_bus.memory_port import MemoryPort

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from motiond.drivers.base import Driver, Floats
    from motiond.drivers.serial_bus.driver import SerialDriver
    from motiond.drivers.serial_bus.models import Model


class SerialRig(Rig):
    """Servos behind a port in memory; what a call waits passes on its clock.

    `driver_type`, `chain_type`, `servo_type`: of the servos' maker; subclasses have them.
    """

    timeout_s = 0.2
    driver_type: ClassVar[type[SerialDriver]]
    chain_type: ClassVar[Callable[..., Any]]
    servo_type: ClassVar[Callable[..., Any]]

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model
        self.tolerance = model.rad_per_tick / 2 + 1e-9
        self.halt_travel = model.rad_per_tick
        self.servos = [self.servo_type(number, model) for number in (1, 2, 3)]
        self.port = MemoryPort(self.chain_type(self.servos, self.clock), self.clock)

    def timer(self) -> float:
        """Return the time that calls take on the bus."""
        return self.clock()

    def make(
        self,
        actuators: Sequence[str] = ACTUATORS,
        ids: Sequence[int] = (1, 2, 3),
        options: Mapping[str, Any] | None = None,
    ) -> Driver:
        named = dict(zip(actuators or ACTUATORS, ids, strict=False))
        port = {"port": self.port.path, "baud_rate": 1_000_000, "ids": named}
        values = {"ports": [port], "command_lifetime_s": LIFETIME_S, **(options or {})}
        checked: Any = self.driver_type.Options.model_validate(values)
        return self.driver_type(actuators, checked, self.clock, self.port.open)

    def make_broken(self) -> Driver:
        return self.make(ids=(1, 2, 9))

    def advance(self, servo: Any) -> None:
        """Let a servo move up to now."""
        servo.advance(self.clock())

    def push(self, driver: Driver, position: Floats) -> None:  # noqa: ARG002 - one bench, one driver
        for servo, ticks in zip(self.servos, position / self.model.rad_per_tick, strict=True):
            self.advance(servo)
            servo.turn_to(self.model.zero_ticks + ticks)

    def silence(self, driver: Driver) -> None:  # noqa: ARG002 - the same
        for servo in self.servos:
            servo.mute = True

    def lose_bus(self, driver: Driver) -> None:  # noqa: ARG002 - the same
        self.port.close()

    def restore_bus(self, driver: Driver) -> None:  # noqa: ARG002 - the same
        self.port.plug_in()


class SerialContract(DriverContract):
    def test_a_push_is_no_trick(self, rig: SerialRig) -> None:
        """Held servos come back from a push, so that tests which push loose ones can fail."""
        driver = rig.make()
        driver.open()
        driver.enable()
        rig.play(driver, [0.0, 0.0, 0.0])
        rig.push(driver, np.array([0.5, 0.5, 0.5]))
        np.testing.assert_allclose(rig.play(driver, [np.nan] * 3), [0, 0, 0], atol=rig.tolerance)
        driver.close()
