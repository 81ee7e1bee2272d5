"""An emulated bus, whose answers may be lost or garbled on request.

It knows no port and no thread: `pty` puts a bus behind a pseudo-terminal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SomeServo = TypeVar("SomeServo")
RETURN_DELAY_UNIT_S = 2e-6


@dataclass(frozen=True, slots=True)
class Reply:
    """What comes back, and how long the servos wait before it."""

    frame: bytes
    delay_s: float


@dataclass(slots=True)
class EmulatedBus(ABC, Generic[SomeServo]):
    """Servos that share a bus; a subclass knows what they answer.

    `now`: returns the monotonic time, in s. `faults`: what becomes of the next replies.
    """

    servos: list[SomeServo]
    now: Callable[[], float]
    faults: deque[Callable[[bytes], bytes]] = field(default_factory=deque)

    @abstractmethod
    def answer(self, received: bytearray) -> Iterator[Reply]:
        """Take packets out of what was received, and yield what servos answer."""

    def lose_next(self, count: int = 1) -> None:
        """Lose the next `count` replies."""
        self.faults.extend([lambda _: b""] * count)

    def garble_next(self, count: int = 1) -> None:
        """Invert a bit in each of the next `count` replies."""
        self.faults.extend([_invert_a_bit] * count)

    def feed(self, received: bytearray) -> Iterator[Reply]:
        """Take packets out of what was received, and yield what arrives of the answers."""
        for reply in self.answer(received):
            if self.faults:
                yield Reply(self.faults.popleft()(reply.frame), reply.delay_s)
            else:
                yield reply


def together(frames: Iterable[bytes]) -> bytes:
    """Return what is on a line that each of those who answer at once pulls low."""
    return reduce(lambda one, other: bytes(map(and_, one, other)), frames)


def _invert_a_bit(frame: bytes) -> bytes:
    return frame[:-1] + bytes([frame[-1] ^ 0x10])
