"""Stops, served as they arrive; those of a flood are merged, so that it delays no other robot's stop."""

from __future__ import annotations

import asyncio
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
    acts as well, once for all that came within 10 ms, whatever it says, and is not answered.

    Parameters
    ----------
    serve : callable
        Serves a message and answers it.
    act : callable
        Acts on a stop without a message, for those that were merged.
    tasks : TaskGroup
        Runs both; neither raises anything but cancellation.
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
