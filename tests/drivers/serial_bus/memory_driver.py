"""Drivers on ports in memory, for robots whose stream processes run on virtual time."""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING, Any, ClassVar

from motiond.drivers.serial_bus.driver import SerialDriver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.drivers.serial_bus.memory_port import MemoryLine, MemoryPort


class InMemory(SerialDriver):
    """Opens the ports of `ports`; what it waits passes on the clock of its stream.

    `ports`: of the machine, by path.
    """

    ports: ClassVar[dict[str, MemoryPort]] = {}

    def __init__(
        self, actuators: Sequence[str], options: Any, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(actuators, options, now, self._open_in_memory)

    def _open_in_memory(self, path: str, baud_rate: int) -> MemoryLine:
        if path not in self.ports:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        line = self.ports[path].open(path, baud_rate)
        line.now, line.sleep = self.now, time.sleep
        return line
