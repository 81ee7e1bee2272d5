"""How much a bus can carry: the time that a tick takes on the wire, and what would make it shorter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..serial_bus.bus import BITS_A_BYTE
from .chain import FULL, SHORT
from .protocol import PROTOCOL, SHORTEST, fast_answer_length

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..serial_bus.bus import Bus
    from .chain import Chain
    from .options import PortOptions

TURNAROUND_S = 250e-6
"""Two USB frames of 125 µs: one for the question, one for the answer."""
GOAL_BYTES, FOLLOWED_GOAL_BYTES = 4, 8
GOOD_LATENCY_S, GOOD_BAUD_RATE = 0.001, 1_000_000
_SPAN = 4


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answers, after goals or not. `bytes`: on the wire, in both directions."""

    bytes: int
    delay_s: float


def feedback_exchange(count: int, goal: int, feedback: int, return_delay_s: float, *, fast: bool) -> Exchange:
    """Return what a chain sends and receives in a tick. `goal`, `feedback`: bytes for each servo."""
    question = SHORTEST + _SPAN + count * (1 + goal) + SHORTEST + _SPAN + count
    if fast:
        return Exchange(question + fast_answer_length(count, feedback), return_delay_s)
    return Exchange(question + count * (PROTOCOL.status_bytes + feedback), count * return_delay_s)


def register_exchange(length: int, return_delay_s: float) -> Exchange:
    """Return what it takes to read `length` bytes of one servo."""
    return Exchange(SHORTEST + _SPAN + PROTOCOL.status_bytes + length, return_delay_s)


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


def longest_tick(
    port: PortOptions, latency_s: float, chains: Sequence[tuple[int, bool, float]], *, follow_velocity: bool
) -> Capacity:
    """Return the longest tick of a bus: with full feedback, or with short feedback and one servo's torque.

    `chains`: of each chain on the bus: how many servos it has, whether it reads fast, and its return delay in
    s.
    """
    goal = FOLLOWED_GOAL_BYTES if follow_velocity else GOAL_BYTES

    def feedback(length: int) -> list[Exchange]:
        return [feedback_exchange(count, goal, length, delay_s, fast=fast) for count, fast, delay_s in chains]

    slowest_s = max(delay_s for _, _, delay_s in chains)
    ticks = feedback(FULL), [*feedback(SHORT), register_exchange(1, slowest_s)]
    return max(
        (Capacity(port.port, port.baud_rate, latency_s, tick) for tick in ticks),
        key=lambda capacity: capacity.tick_s,
    )


def capacity_at_best(port: PortOptions, *, follow_velocity: bool) -> Capacity:
    """Return what a port can carry before its servos are known: all in one chain that reads fast at once."""
    return longest_tick(port, 0.0, [(len(port.ids), True, 0.0)], follow_velocity=follow_velocity)


def capacity_of(port: PortOptions, bus: Bus, chains: Sequence[Chain], *, follow_velocity: bool) -> Capacity:
    """Return what a bus can carry with those of the chains that are on it."""
    found = [
        (len(chain.ids), chain.can_read_fast, chain.return_delay_s) for chain in chains if chain.bus is bus
    ]
    return longest_tick(port, bus.latency_s(), found, follow_velocity=follow_velocity)


def advice(buses: Sequence[Bus], chains: Sequence[Chain]) -> Iterator[str]:
    """Yield warnings of what makes the ticks of these buses longer than they need be, with the remedy."""
    for bus in buses:
        latency_s = bus.latency_s()
        if latency_s > GOOD_LATENCY_S:
            yield (
                f"{bus.port}: its adapter keeps answers back for {latency_s * 1000:g} ms; ticks take longer; "
                "write 1 to its `latency_timer` (docs/dynamixel.md)"
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
        slow = [servo for servo in chain.servos if not servo.reads_fast]
        if slow:
            yield (
                f"{chain.bus.port}: feedback comes one by one, as {slow[0].where} ({slow[0].model.name} "
                f"firmware {slow[0].firmware}) answers no fast sync reads; look for newer firmware"
            )
