"""How much a bus of Feetech servos can carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..serial_bus.capacity import Capacity, Exchange, feedback_exchange, register_exchange
from .protocol import PROTOCOL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..serial_bus.bus import Bus
    from ..serial_bus.chain import Chain
    from ..serial_bus.options import SerialPortOptions

GOAL_BYTES, FEEDBACK_BYTES = 2, 15


def capacity_at_best(port: SerialPortOptions) -> Capacity:
    """Return what a port can carry before its servos are known: all in one chain that knows sync reads."""
    feedback = feedback_exchange(PROTOCOL, len(port.ids), GOAL_BYTES, FEEDBACK_BYTES, 0.0)
    return Capacity(port.port, port.baud_rate, 0.0, [feedback, register_exchange(PROTOCOL, 1, 0.0)])


def capacity_of(port: SerialPortOptions, bus: Bus, chains: Sequence[Chain]) -> Capacity:
    """Return what a bus can carry with those of the chains that are on it, and one servo's torque."""
    exchanges = [exchange for chain in chains if chain.bus is bus for exchange in _of_chain(chain)]
    slowest_s = max(chain.return_delay_s for chain in chains if chain.bus is bus)
    torque = register_exchange(PROTOCOL, 1, slowest_s)
    return Capacity(port.port, port.baud_rate, bus.latency_s(), [*exchanges, torque])


def _of_chain(chain: Chain) -> Iterator[Exchange]:
    count, length = len(chain.ids), chain.blocks[True].length
    if chain.table.sync_read:
        yield feedback_exchange(PROTOCOL, count, GOAL_BYTES, length, chain.return_delay_s)
        return
    goals = PROTOCOL.sync_write(0, dict.fromkeys(chain.ids, bytes(GOAL_BYTES)))
    first, *others = [register_exchange(PROTOCOL, length, chain.return_delay_s)] * count
    yield Exchange(first.bytes + len(goals), first.delay_s)
    yield from others
