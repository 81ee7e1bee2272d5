"""Simulated actuators on a bus that a test can cut."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from motiond.drivers.base import CommunicationLost, DriverTimeout
from motiond.drivers.sim.driver import WHERE, SimDriver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from motiond.drivers.base import ActuatorCommand, ActuatorState
    from motiond.drivers.sim.driver import SimOptions


class FragileSim(SimDriver):
    """A `sim` with a bus.

    `lost`, `silent`: whether the bus is gone, and whether nothing answers on it. `calls`: the calls that it
    got. `sent`: the positions that were written, oldest first.
    """

    def __init__(
        self, actuators: Sequence[str], options: SimOptions, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(actuators, options, now)
        self.lost = self.silent = False
        self.calls: list[str] = []
        self.sent: list[list[float]] = []

    def _try_bus(self, call: str) -> None:
        self.calls.append(call)
        if self.lost:
            raise CommunicationLost(WHERE, "the bus is gone", "", "check the cable")
        if self.silent:
            raise DriverTimeout(WHERE, "no answer")

    def open(self) -> None:
        self._try_bus("open")
        super().open()

    def read(self, state: ActuatorState) -> None:
        self._try_bus("read")
        super().read(state)

    def write(self, command: ActuatorCommand) -> None:
        self._try_bus("write")
        self.sent.append(command.position.tolist())
        super().write(command)

    def enable(self) -> None:
        self._try_bus("enable")
        super().enable()

    def disable(self) -> None:
        self._try_bus("disable")
        super().disable()

    def halt(self) -> None:
        self._try_bus("halt")
        super().halt()
