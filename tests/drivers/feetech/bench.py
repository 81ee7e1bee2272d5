"""Emulated buses of Feetech servos for tests, and a driver on them."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from motiond.drivers.base import ActuatorCommand, ActuatorState
from motiond.drivers.feetech.driver import FeetechDriver
from motiond.drivers.feetech.emulator.chain import EmulatedChain
from motiond.drivers.feetech.emulator.servo import EmulatedServo
from motiond.drivers.feetech.models import models_by_name
from motiond.drivers.feetech.options import FeetechOptions
from motiond.drivers.testing.rig import Clock
from tests.drivers.dynamixel.memory_port import MemoryPort

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from motiond.drivers.base import Floats
    from tests.drivers.dynamixel.memory_port import MemoryLine

STS3215 = models_by_name()["STS3215"]
NAMES = ("base", "shoulder", "elbow")


def servo(
    servo_id: int,
    model: str = "STS3215",
    ticks: float | None = None,
    registers: Mapping[str, int] | None = None,
    **more: int,
) -> EmulatedServo:
    """Make an emulated servo."""
    return EmulatedServo(servo_id, models_by_name()[model], {**(registers or {}), **more}, ticks)


class Bench:
    """One bus for each list of servos, and a driver for all of them.

    The clock stands still but for `wait`, `play` and what the driver waits for answers; the actuators are
    named in the order of the servos.
    """

    def __init__(self, *buses: list[EmulatedServo], **options: Any) -> None:
        self.clock = Clock()
        self.chains: list[Any] = [EmulatedChain(list(servos), self.clock) for servos in buses]
        self.ports = [
            MemoryPort(chain, self.clock, f"/dev/ttyMEM{number}") for number, chain in enumerate(self.chains)
        ]
        self.servos = [one for servos in buses for one in servos]
        self.names = [*NAMES, *(f"joint{number}" for number in range(4, 99))][: len(self.servos)]
        self.driver = FeetechDriver(self.names, self._options(options), self.clock, self.open_line)

    def _options(self, options: Mapping[str, Any]) -> FeetechOptions:
        names = iter(self.names)
        ports = [
            {"port": port.path, "ids": {next(names): one.servo_id for one in chain.servos}}
            for port, chain in zip(self.ports, self.chains, strict=True)
        ]
        return FeetechOptions.model_validate({"ports": ports, **options})

    def open_line(self, path: str, baud_rate: int) -> MemoryLine:
        """Open one of the ports."""
        for port in self.ports:
            if port.path == path:
                return port.open(path, baud_rate)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.close()

    def hold(self) -> Self:
        """Open the driver, and switch torque on."""
        self.driver.open()
        self.driver.enable()
        return self

    def where(self, index: int) -> str:
        """Return a servo's name as in messages."""
        bus = next(number for number, chain in enumerate(self.chains) if self.servos[index] in chain.servos)
        return f"{self.ports[bus].path} servo {self.servos[index].servo_id} ({self.names[index]})"

    def wait(self, duration_s: float) -> None:
        """Let time pass; the servos notice it in steps, as when they are asked."""
        for _ in range(round(duration_s / 0.01)):
            self.clock.sleep(0.01)
            for one in self.servos:
                one.advance(self.clock())

    def read(self) -> ActuatorState:
        """Return the feedback of one read."""
        state = ActuatorState(len(self.names))
        self.driver.read(state)
        return state

    def play(self, position: Sequence[float] | Floats, ticks: int = 1) -> ActuatorState:
        """Write and read in each of `ticks` ticks of 10 ms; return the last feedback."""
        command = ActuatorCommand(len(self.names))
        command.position[:] = position
        state = self.read()
        for _ in range(ticks):
            self.driver.write(command)
            self.driver.read(state)
            self.clock.sleep(0.01)
        return state
