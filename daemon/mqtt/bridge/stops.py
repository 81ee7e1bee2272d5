"""Stops: served as they arrive, and which requests they have overtaken.

A stop comes over a connection of its own, and so may come before requests that were sent earlier. Every stop
comes over the connection of the other requests as well: what comes there before it was sent before it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from ...api import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    import aiomqtt

    from ..topics import RequestTopic

RATE_HZ, BURST = 50.0, 50
MERGED_S = 0.01


class StopIntake:
    """Takes the stops to all robots.

    Of each robot and verb, 50 at once and 50 a second are served and answered one by one. What comes faster
    acts as well, once for all that came within 10 ms, whatever it holds, and is not answered.
    """

    def __init__(
        self,
        serve: Callable[[aiomqtt.Message], Coroutine[None, None, None]],
        act: Callable[[RequestTopic], Coroutine[None, None, None]],
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._serve = serve
        self._act = act
        self._tasks = tasks
        self._paces: dict[RequestTopic, Pace] = {}
        self._merged: set[RequestTopic] = set()

    def take(self, asked: RequestTopic, message: aiomqtt.Message) -> None:
        """Serve a stop, or let it be one of those that are merged."""
        loop = asyncio.get_running_loop()
        if asked in self._merged:
            return
        pace = self._paces.setdefault(asked, Pace(RATE_HZ, BURST, loop.time))
        if pace.take() == 0.0:
            self._tasks.create_task(self._serve(message), name=f"mqtt.{message.topic.value}")
        else:
            self._merged.add(asked)
            self._tasks.create_task(self._act_soon(asked), name=f"mqtt.{message.topic.value}")

    async def _act_soon(self, asked: RequestTopic) -> None:
        """Act for all that come until then."""
        await asyncio.sleep(MERGED_S)
        self._merged.discard(asked)
        await self._act(asked)


LONGEST_S = 30.0
"""A stop that has not come by for so long was dropped by the broker; nothing that old is on its way."""


class StopOrder:
    """The stops to each robot, counted as they are taken and as they come by among the other requests."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._taken: Counter[str] = Counter()
        self._passed: Counter[str] = Counter()
        self._taken_s: dict[str, float] = {}

    def take(self, robot: str) -> None:
        """Count a stop that is served."""
        self._settle(robot)
        self._taken[robot] += 1
        self._taken_s[robot] = self._now()

    def pass_by(self, robot: str) -> None:
        """Count a stop that comes by among the other requests."""
        self._passed[robot] += 1

    def place(self, robot: str) -> int:
        """Return the place of a request that comes by now, among the stops."""
        self._settle(robot)
        return self._passed[robot]

    def is_overtaken(self, robot: str, place: int) -> bool:
        """Whether a stop was served that was sent after the request of that place."""
        return self._taken[robot] > place

    def start(self) -> None:
        """Begin on a new connection, where no earlier stop comes by any more."""
        self._passed = Counter(self._taken)

    def _settle(self, robot: str) -> None:
        """Take a stop that has not come by in time as one that never will."""
        if self._taken[robot] > self._passed[robot] and self._now() - self._taken_s[robot] > LONGEST_S:
            self._passed[robot] = self._taken[robot]
