"""The driver on ports in memory, for robots whose stream processes run on virtual time."""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING, ClassVar

from motiond.drivers.dynamixel.driver import DynamixelDriver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from motiond.drivers.dynamixel.options import DynamixelOptions
    from tests.drivers.dynamixel.memory_port import MemoryLine, MemoryPort


class MemoryDynamixel(DynamixelDriver):
    """Opens the ports of `ports`; what it waits passes on the clock of its stream.

    `ports`: of the machine, by path.
    """

    ports: ClassVar[dict[str, MemoryPort]] = {}

    def __init__(
        self, actuators: Sequence[str], options: DynamixelOptions, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(actuators, options, now, self._open_in_memory)

    def _open_in_memory(self, path: str, baud_rate: int) -> MemoryLine:
        if path not in self.ports:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        line = self.ports[path].open(path, baud_rate)
        line.now, line.sleep = self.now, time.sleep
        return line
