"""What waits for one client: bounded, and fair to its publishers.

Each publisher has a lane of its own for QoS 0 and one for the rest, and lanes take turns: what one client
floods does not delay another's stop, and where there is no room it is the flood that is dropped. Order is
kept for each publisher, topic and QoS, as the standard wants it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, NamedTuple

from .limits import SMALL_BYTES

if TYPE_CHECKING:
    from .limits import Limits, Memory
    from .packets import Message


class Waiting(NamedTuple):
    """A message that waits, with the QoS and the flag that it is sent with."""

    message: Message
    qos: int
    retain: bool


Lanes = OrderedDict[str, deque[Waiting]]


class Outbox:
    """Messages that wait for one client.

    Parameters
    ----------
    memory : Memory
        That of the whole broker.

    Attributes
    ----------
    dropped : int
        Messages for which there was no room.
    """

    def __init__(self, limits: Limits, memory: Memory) -> None:
        self._limits = limits
        self._memory = memory
        self._unsure: Lanes = OrderedDict()  # of QoS 0
        self._sure: Lanes = OrderedDict()
        self._sure_is_next = True
        self._count = 0
        self._bytes = 0
        self.dropped = 0

    def __len__(self) -> int:
        return self._count

    def has(self, qos: int) -> bool:
        """Whether a message of such a QoS would have to wait behind others."""
        return bool(self._sure if qos else self._unsure)

    def put(self, publisher: str, waiting: Waiting) -> bool:
        """Let a message wait; return whether one was dropped, it or another."""
        dropped = 0
        while not self._has_room(waiting.message.size):
            dropped += 1
            victims = self._unsure or self._sure
            longest = max(victims, key=lambda name: len(victims[name]))
            lanes = self._sure if waiting.qos else self._unsure
            own = len(lanes.get(publisher, ()))
            if (waiting.qos == 0 and not self._unsure) or (victims is lanes and own >= len(victims[longest])):
                break  # the newest of the longest lane is this one
            self._forget(self._drop_last(victims, longest))
        else:
            lanes = self._sure if waiting.qos else self._unsure
            lanes.setdefault(publisher, deque()).append(waiting)
            self._count += 1
            self._bytes += waiting.message.size
            self._memory.held += waiting.message.size
        self.dropped += dropped
        return dropped > 0

    def take(self, *, sure: bool) -> Waiting | None:
        """Take the next message; one of QoS 1 or 2 only where `sure` says that it may be sent."""
        self._sure_is_next = not self._sure_is_next
        first, second = (self._unsure, self._sure) if self._sure_is_next else (self._sure, self._unsure)
        for lanes in (first, second):
            if lanes and (sure or lanes is self._unsure):
                return self._take_first(lanes)
        return None

    def clear(self, *, sure: bool = True) -> None:
        """Forget what waits; without `sure`, QoS 0 only."""
        for lanes in (self._unsure, self._sure) if sure else (self._unsure,):
            for lane in lanes.values():
                for waiting in lane:
                    self._forget(waiting)
            lanes.clear()

    def _has_room(self, size: int) -> bool:
        if self._count == 0:
            return size <= SMALL_BYTES or self._memory.has_room(size)
        total = self._bytes + size
        if self._count >= self._limits.queued or total > self._limits.queued_bytes:
            return False
        return total <= SMALL_BYTES or self._memory.has_room(size)

    def _take_first(self, lanes: Lanes) -> Waiting:
        publisher, lane = next(iter(lanes.items()))
        waiting = lane.popleft()
        if lane:
            lanes.move_to_end(publisher)
        else:
            del lanes[publisher]
        self._forget(waiting)
        return waiting

    def _drop_last(self, lanes: Lanes, publisher: str) -> Waiting:
        waiting = lanes[publisher].pop()
        if not lanes[publisher]:
            del lanes[publisher]
        return waiting

    def _forget(self, waiting: Waiting) -> None:
        self._count -= 1
        self._bytes -= waiting.message.size
        self._memory.held -= waiting.message.size
