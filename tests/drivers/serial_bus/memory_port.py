"""Serial ports in memory: emulated servos answer in the same process, on a clock that waiting moves.

`line_contract` holds them to a pseudo-terminal's behaviour.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.drivers.serial_bus.emulator import EmulatedBus
    from motiond.drivers.serial_bus.line import Line
    from motiond.drivers.testing.rig import Clock


class MemoryPort:
    """One port, and the servos behind it.

    `path`: name by which a program opens it. `chain`: the servos. `delay_s`: how long an answer is on its
    way. `is_plugged_in`: whether the port is there. `line`: of the program that has it open.
    """

    def __init__(self, chain: EmulatedBus[Any], clock: Clock, path: str = "/dev/ttyMEM0") -> None:
        self.chain = chain
        self.clock = clock
        self.path = path
        self.delay_s = 0.0
        self.is_plugged_in = True
        self.line: MemoryLine | None = None

    def open(self, path: str, _baud_rate: int) -> MemoryLine:
        """Open it for one program alone."""
        if path != self.path or not self.is_plugged_in:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if self.line is not None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        self.line = MemoryLine(self)
        return self.line

    def close(self) -> None:
        """Pull its cable."""
        self.is_plugged_in, self.line = False, None

    def until_answered(self, _line: Line) -> None:
        """Nothing is on its way."""

    def plug_in(self) -> None:
        """Put the cable back: whoever had the port open must open it again."""
        self.is_plugged_in = True


class MemoryLine:
    """A program's end of a port; see `motiond.drivers.serial_bus.line.Line`."""

    def __init__(self, port: MemoryPort) -> None:
        self._port = port
        self.now: Callable[[], float] = port.clock
        self.sleep: Callable[[float], None] = port.clock.sleep
        self._sent = bytearray()
        self._answers: deque[tuple[float, bytes]] = deque()

    def _refuse_gone(self) -> None:
        if self._port.line is not self:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def write(self, frame: bytes | bytearray) -> int:
        """Let the servos act at once; their answers are on their way."""
        self._refuse_gone()
        self._sent += frame
        for reply in self._port.chain.feed(self._sent):
            if reply.frame:
                self._answers.append((self.now() + self._port.delay_s, reply.frame))
        return len(frame)

    def read(self, deadline_s: float, awake_s: float = 0.0) -> bytes:  # noqa: ARG002 - nothing sleeps
        """Return the next answer, or let time pass until the deadline."""
        self._refuse_gone()
        due_s = self._answers[0][0] if self._answers else float("inf")
        self.sleep(max(0.0, min(due_s, deadline_s) - self.now()))
        return self._answers.popleft()[1] if due_s <= self.now() else b""

    def discard(self) -> None:
        """Drop the answers that have come."""
        self._refuse_gone()
        while self._answers and self._answers[0][0] <= self.now():
            self._answers.popleft()

    def close(self) -> None:
        """Let another program have the port."""
        if self._port.line is self:
            self._port.line = None
