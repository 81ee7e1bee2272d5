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


class Lane(deque[Waiting]):
    """What waits of one publisher."""

    size = 0


Lanes = OrderedDict[str, Lane]


class Outbox:
    """Messages that wait for one client."""

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
        before = self.dropped
        size = waiting.message.size
        lanes = self._sure if waiting.qos else self._unsure
        own_size = size + (lanes[publisher].size if publisher in lanes else 0)
        while not self._has_room(size):
            self.dropped += 1
            if not self._make_room(lanes, own_size):
                return True
        lane = lanes.setdefault(publisher, Lane())
        lane.append(waiting)
        self._add(lane, size)
        return self.dropped > before

    def take(self, *, sure: bool) -> Waiting | None:
        """Take the next message; one of QoS 1 or 2 only where it may be sent (`sure`)."""
        self._sure_is_next = not self._sure_is_next
        both = (self._unsure, self._sure) if self._sure_is_next else (self._sure, self._unsure)
        for lanes in both:
            if lanes and (sure or lanes is self._unsure):
                return self._take_first(lanes)
        return None

    def clear(self, *, sure: bool = True) -> None:
        """Forget what waits; without `sure`, QoS 0 only."""
        for lanes in (self._unsure, self._sure) if sure else (self._unsure,):
            for lane in lanes.values():
                self._count += 1 - len(lane)
                self._add(lane, -lane.size)
            lanes.clear()

    def _has_room(self, size: int) -> bool:
        total = self._bytes + size
        if self._count and (self._count >= self._limits.queued or total > self._limits.queued_bytes):
            return False
        return total <= SMALL_BYTES or self._memory.has_room(size)

    def _make_room(self, lanes: Lanes, own_size: int) -> bool:
        """Drop the newest of the longest lane; return whether that is not the one that shall be put."""
        victims = self._unsure or self._sure
        if not victims or (lanes is self._unsure and victims is self._sure):
            return False
        publisher, lane = max(victims.items(), key=lambda item: item[1].size)
        if victims is lanes and own_size > lane.size:
            return False
        self._add(lane, -lane.pop().message.size)
        if not lane:
            del victims[publisher]
        return True

    def _take_first(self, lanes: Lanes) -> Waiting:
        publisher, lane = next(iter(lanes.items()))
        waiting = lane.popleft()
        self._add(lane, -waiting.message.size)
        if lane:
            lanes.move_to_end(publisher)
        else:
            del lanes[publisher]
        return waiting

    def _add(self, lane: Lane, size: int) -> None:
        """Count a message that came into a lane, or one that left it."""
        lane.size += size
        self._count += 1 if size > 0 else -1
        self._bytes += size
        self._memory.held += size
