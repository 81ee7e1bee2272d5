"""How much a bus can carry: the time that a tick takes on the wire, and the rate that follows.

In come the numbers of bytes, the baud rate and the delays, out comes the arithmetic, also in words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .bus import BITS_A_BYTE, STATUS_LENGTH
from .protocol import SHORTEST, fast_answer_length

if TYPE_CHECKING:
    from collections.abc import Sequence

TURNAROUND_S = 250e-6
"""Two USB frames of 125 µs: one for the question, one for the answer."""
_SPAN = 4


@dataclass(frozen=True, slots=True)
class Exchange:
    """Goals or nothing out, a question out, answers in.

    Attributes
    ----------
    bytes : int
        On the wire, all together.
    delay_s : float
        How long the servos hesitate before they answer.
    """

    bytes: int
    delay_s: float


def feedback_exchange(count: int, goal: int, feedback: int, return_delay_s: float, *, fast: bool) -> Exchange:
    """Tell what a chain says and hears in a tick, by the number of servos and the bytes for each."""
    said = SHORTEST + _SPAN + count * (1 + goal) + SHORTEST + _SPAN + count
    if fast:
        return Exchange(said + fast_answer_length(count, feedback), return_delay_s)
    return Exchange(said + count * (STATUS_LENGTH + feedback), count * return_delay_s)


def register_exchange(length: int, return_delay_s: float) -> Exchange:
    """Tell what it takes to read `length` bytes of one servo."""
    return Exchange(SHORTEST + _SPAN + STATUS_LENGTH + length, return_delay_s)


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a tick takes on one bus."""

    port: str
    baud_rate: int
    latency_s: float
    exchanges: Sequence[Exchange]

    @property
    def bytes(self) -> int:
        """All bytes on the wire in a tick."""
        return sum(exchange.bytes for exchange in self.exchanges)

    @property
    def wire_s(self) -> float:
        """The time that they take."""
        return self.bytes * BITS_A_BYTE / self.baud_rate

    @property
    def delay_s(self) -> float:
        """The time for which servos hesitate."""
        return sum(exchange.delay_s for exchange in self.exchanges)

    @property
    def adapter_s(self) -> float:
        """The time that the adapter adds."""
        return len(self.exchanges) * (self.latency_s + TURNAROUND_S)

    @property
    def tick_s(self) -> float:
        """The shortest period."""
        return self.wire_s + self.delay_s + self.adapter_s

    def __str__(self) -> str:
        return (
            f"{self.port} needs {self.tick_s * 1000:.2f} ms a tick: {self.bytes} bytes at {self.baud_rate} "
            f"baud take {self.wire_s * 1000:.2f} ms, return delays {self.delay_s * 1000:.2f} ms, "
            f"the adapter {self.adapter_s * 1000:.2f} ms"
        )
