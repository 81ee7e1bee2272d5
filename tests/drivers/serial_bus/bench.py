"""Emulated buses for tests: ports that keep their names, and a driver on them."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from motiond.drivers.base import ActuatorCommand, ActuatorState
from motiond.drivers.testing.rig import Clock
from tests.drivers.serial_bus.memory_port import MemoryPort

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from motiond.drivers.base import Floats
    from motiond.drivers.serial_bus.driver import SerialDriver
    from motiond.drivers.serial_bus.emulator import EmulatedBus
    from tests.drivers.serial_bus.memory_port import MemoryLine


class Numbered(Protocol):
    """An emulated servo of any maker."""

    @property
    def servo_id(self) -> int:
        """Its number on the bus."""


SomeServo = TypeVar("SomeServo", bound=Numbered)
NAMES = ("base", "shoulder", "elbow")


def deaf_to(one: Any, register: str) -> None:
    """Let a servo lose each write of a register."""
    write, lost = one.write, one.table[register].address
    vars(one)["write"] = lambda address, data: None if address == lost else write(address, data)


class SerialBench(Generic[SomeServo]):
    """One bus for each list of servos, and a driver for all of them.

    `driver_type`, `chain_type`: of the servos' maker; subclasses have them.

    The clock stands still but for `wait`, `play` and what the driver waits for answers; the actuators are
    named in the order of the servos.
    """

    driver_type: ClassVar[type[SerialDriver]]
    chain_type: ClassVar[type[EmulatedBus[Any]]]

    def __init__(self, *buses: list[SomeServo], **options: Any) -> None:
        self.clock = Clock()
        self.chains = [self.chain_type(list(servos), self.clock) for servos in buses]
        self.ports = [
            MemoryPort(chain, self.clock, f"/dev/ttyMEM{number}") for number, chain in enumerate(self.chains)
        ]
        self.servos = [one for servos in buses for one in servos]
        self.names = [*NAMES, *(f"joint{number}" for number in range(4, 99))][: len(self.servos)]
        self.driver = self.driver_type(self.names, self._options(options), self.clock, self.open_line)

    def _options(self, options: Mapping[str, Any]) -> Any:
        names = iter(self.names)
        ports = [
            {
                "port": port.path,
                "baud_rate": 1_000_000,
                "ids": {next(names): one.servo_id for one in chain.servos},
            }
            for port, chain in zip(self.ports, self.chains, strict=True)
        ]
        return self.driver_type.Options.model_validate({"ports": ports, **options})

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
        """Let time pass."""
        self.clock.sleep(duration_s)

    def read(self) -> ActuatorState:
        """Return the feedback of one read."""
        state = ActuatorState(len(self.names))
        self.driver.read(state)
        return state

    def play(
        self, position: Sequence[float] | Floats, ticks: int = 1, velocity: float | None = None
    ) -> ActuatorState:
        """Write and read in each of `ticks` ticks of 10 ms; return the last feedback."""
        command = ActuatorCommand(len(self.names))
        command.position[:] = position
        if velocity is not None:
            command.velocity[:] = velocity
        state = self.read()
        for _ in range(ticks):
            self.driver.write(command)
            self.driver.read(state)
            self.clock.sleep(0.01)
        return state
