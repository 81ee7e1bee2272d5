"""How much a bus of DYNAMIXEL servos can carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..serial_bus import capacity
from ..serial_bus.capacity import Capacity, Exchange, register_exchange
from .chain import FULL, SHORT, reads_fast
from .protocol import PROTOCOL, encode_sync_read, encode_sync_write, fast_answer_length

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..serial_bus.bus import Bus
    from ..serial_bus.options import SerialPortOptions
    from .chain import DynamixelChain

GOAL_BYTES, FOLLOWED_GOAL_BYTES = 4, 8


def feedback_exchange(count: int, goal: int, feedback: int, return_delay_s: float, *, fast: bool) -> Exchange:
    """Return what a chain sends and receives in a tick. `goal`, `feedback`: bytes for each servo."""
    if not fast:
        return capacity.feedback_exchange(PROTOCOL, count, goal, feedback, return_delay_s)
    ids = range(count)
    questions = encode_sync_write(0, dict.fromkeys(ids, bytes(goal))), encode_sync_read(ids, 0, feedback)
    return Exchange(sum(map(len, questions)) + fast_answer_length(count, feedback), return_delay_s)


def longest_tick(
    port: SerialPortOptions,
    latency_s: float,
    chains: Sequence[tuple[int, bool, float]],
    *,
    follow_velocity: bool,
) -> Capacity:
    """Return the longest tick of a bus: with full feedback, or with short feedback and one servo's torque.

    `chains`: of each chain on the bus: how many servos it has, whether it reads fast, and its return delay in
    s.
    """
    goal = FOLLOWED_GOAL_BYTES if follow_velocity else GOAL_BYTES

    def feedback(length: int) -> list[Exchange]:
        return [feedback_exchange(count, goal, length, delay_s, fast=fast) for count, fast, delay_s in chains]

    slowest_s = max(delay_s for _, _, delay_s in chains)
    ticks = feedback(FULL), [*feedback(SHORT), register_exchange(PROTOCOL, 1, slowest_s)]
    return max(
        (Capacity(port.port, port.baud_rate, latency_s, tick) for tick in ticks),
        key=lambda capacity: capacity.tick_s,
    )


def capacity_at_best(port: SerialPortOptions, *, follow_velocity: bool) -> Capacity:
    """Return what a port can carry before its servos are known: all in one chain that reads fast at once."""
    return longest_tick(port, 0.0, [(len(port.ids), True, 0.0)], follow_velocity=follow_velocity)


def capacity_of(
    port: SerialPortOptions, bus: Bus, chains: Sequence[DynamixelChain], *, follow_velocity: bool
) -> Capacity:
    """Return what a bus can carry with those of the chains that are on it."""
    found = [
        (len(chain.ids), chain.can_read_fast, chain.return_delay_s) for chain in chains if chain.bus is bus
    ]
    return longest_tick(port, bus.latency_s(), found, follow_velocity=follow_velocity)


def advice(buses: Sequence[Bus], chains: Sequence[DynamixelChain], page: str) -> Iterator[str]:
    """Yield warnings of what makes the ticks of these buses longer than they need be, with the remedy."""
    yield from capacity.advice(buses, chains, page)
    for chain in chains:
        slow = [servo for servo in chain.servos if not reads_fast(servo)]
        if slow:
            yield (
                f"{chain.bus.port}: feedback comes one by one, as {slow[0].where} ({slow[0].model.name} "
                f"firmware {slow[0].firmware}) answers no fast sync reads; look for newer firmware"
            )
