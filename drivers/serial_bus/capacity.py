"""How much a bus can carry: the time that a tick takes on the wire, and what would make it shorter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .bus import BITS_A_BYTE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .bus import Bus
    from .chain import Chain
    from .protocol import ServoProtocol

TURNAROUND_S = 250e-6
"""Two USB frames of 125 µs: one for the question, one for the answer."""
GOOD_LATENCY_S, GOOD_BAUD_RATE = 0.001, 1_000_000


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answers, after goals or not. `bytes`: on the wire, in both directions."""

    bytes: int
    delay_s: float


def feedback_exchange(
    protocol: ServoProtocol, count: int, goal: int, feedback: int, return_delay_s: float
) -> Exchange:
    """Return what a chain sends and receives in a tick. `goal`, `feedback`: bytes for each servo."""
    ids = range(count)
    questions = protocol.sync_write(0, dict.fromkeys(ids, bytes(goal))), protocol.sync_read(ids, 0, feedback)
    answers = count * (protocol.status_bytes + feedback)
    return Exchange(sum(map(len, questions)) + answers, count * return_delay_s)


def register_exchange(protocol: ServoProtocol, length: int, return_delay_s: float) -> Exchange:
    """Return what it takes to read `length` bytes of one servo."""
    return Exchange(len(protocol.read(0, 0, length)) + protocol.status_bytes + length, return_delay_s)


@dataclass(frozen=True, slots=True)
class Capacity:
    """How long a tick takes on one bus."""

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
        """The time that these bytes take."""
        return self.bytes * BITS_A_BYTE / self.baud_rate

    @property
    def delay_s(self) -> float:
        """The time for which servos wait before they answer."""
        return sum(exchange.delay_s for exchange in self.exchanges)

    @property
    def adapter_s(self) -> float:
        """The time that the adapter adds."""
        return len(self.exchanges) * (self.latency_s + TURNAROUND_S)

    @property
    def tick_s(self) -> float:
        """The shortest tick period."""
        return self.wire_s + self.delay_s + self.adapter_s

    def __str__(self) -> str:
        return (
            f"{self.port} needs {self.tick_s * 1000:.2f} ms a tick: {self.bytes} bytes at {self.baud_rate} "
            f"baud take {self.wire_s * 1000:.2f} ms, return delays {self.delay_s * 1000:.2f} ms, "
            f"the adapter {self.adapter_s * 1000:.2f} ms"
        )


def advice(buses: Sequence[Bus], chains: Sequence[Chain], page: str) -> Iterator[str]:
    """Yield warnings of what makes the ticks of these buses longer than they need be, with the remedy."""
    for bus in buses:
        latency_s = bus.latency_s()
        if latency_s > GOOD_LATENCY_S:
            yield (
                f"{bus.port}: its adapter keeps answers back for {latency_s * 1000:g} ms; ticks take longer; "
                f"write 1 to its `latency_timer` ({page})"
            )
        if bus.baud_rate < GOOD_BAUD_RATE:
            yield (
                f"{bus.port}: {bus.baud_rate} baud is slow; ticks take longer; "
                f"set the servos and `baud_rate` to {GOOD_BAUD_RATE} or more"
            )
    for chain in chains:
        if chain.return_delay_s > 0:
            yield (
                f"{chain.bus.port}: servos wait up to {chain.return_delay_s * 1e6:g} µs before they answer; "
                "ticks take longer; set `return_delay_us: 0`"
            )
