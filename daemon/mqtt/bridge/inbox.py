"""Requests that have arrived and wait to be served: a bounded queue, and a count of what did not fit."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiomqtt

log = logging.getLogger(__name__)

MOST_WAITING = 256
MOST_BYTES = 4_000_000
TOLD_EVERY_S = 10.0


class Inbox:
    """The messages that wait.

    Attributes
    ----------
    refused : int
        How many did not fit, since the start.
    """

    def __init__(self) -> None:
        self.refused = 0
        self._waiting: deque[tuple[aiomqtt.Message, int]] = deque()
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._told, self._told_s = 0, -TOLD_EVERY_S

    def put(self, message: aiomqtt.Message, place: int) -> None:
        """Let a message wait, if there is room for it; its place among the stops waits with it."""
        size = size_of(message)
        if len(self._waiting) >= MOST_WAITING or self._bytes + size > MOST_BYTES:
            self._refuse()
            return
        self._waiting.append((message, place))
        self._bytes += size
        self._arrived.set()

    async def get(self) -> tuple[aiomqtt.Message, int]:
        """Wait for the next message; return it with its place among the stops."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        message, place = self._waiting.popleft()
        self._bytes -= size_of(message)
        return message, place

    def _refuse(self) -> None:
        self.refused += 1
        now_s = asyncio.get_running_loop().time()
        if now_s - self._told_s >= TOLD_EVERY_S:
            new, self._told, self._told_s = self.refused - self._told, self.refused, now_s
            reason = f"{MOST_WAITING} wait already, or {MOST_BYTES // 1_000_000} MB"
            log.warning("requests: %d dropped, %d since the start; %s; send fewer", new, self.refused, reason)


def size_of(message: aiomqtt.Message) -> int:
    """Return how many bytes a message takes, of which a client chooses the verb in its topic as well."""
    return len(message.topic.value) + (len(message.payload) if isinstance(message.payload, bytes) else 0)
