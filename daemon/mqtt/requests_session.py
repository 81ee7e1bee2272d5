"""The connection for requests other than stops: takes them, a few at once, and answers.

However many clients ask, they hold up nothing but each other: stops and reports go over another connection.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .inbox import Inbox
from .link import heed_cancellation
from .subscriptions import subscribe

if TYPE_CHECKING:
    from collections.abc import Callable

    import aiomqtt

    from .connection import Client
    from .responder import Responder
    from .stop_order import StopOrder
    from .topics import Topics

MOST_AT_ONCE = 64


class RequestsSession:
    """Serves requests on one connection after the other.

    Parameters
    ----------
    topics : Topics
    robots : tuple of str
    responder : Responder
    order : StopOrder
        Is told of the stops that come by.
    is_ours : callable
        Whether a robot's requests are for this daemon.
    tasks : TaskGroup
        Outlives the connection: what was begun is not cancelled by a lost one.

    Attributes
    ----------
    inbox : Inbox
    ready : asyncio.Event
        Set while requests are taken.
    """

    def __init__(
        self,
        topics: Topics,
        robots: tuple[str, ...],
        *,
        responder: Responder,
        order: StopOrder,
        is_ours: Callable[[str], bool],
        tasks: asyncio.TaskGroup,
    ) -> None:
        self.inbox = Inbox()
        self.ready = asyncio.Event()
        self._topics = topics
        self._robots = robots
        self._responder = responder
        self._order = order
        self._is_ours = is_ours
        self._tasks = tasks
        self._room = asyncio.Semaphore(MOST_AT_ONCE)

    def take(self, message: aiomqtt.Message) -> None:
        """Let a message wait to be served; stops come over the main connection, and are served there."""
        asked = self._topics.request_of(message.topic.value)
        if asked is None or (message.retain and not message.payload):  # an empty retained one only clears
            return
        if self._topics.is_stop(asked):
            self._order.pass_by(asked.robot)
        elif self._is_ours(asked.robot):
            self.inbox.put(message, self._order.place(asked.robot))

    async def run(self, client: Client) -> None:
        """Serve until the connection breaks."""
        await subscribe(client, [self._topics.requests(robot) for robot in self._robots])
        heed_cancellation()
        self._order.start()
        self.ready.set()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._serve(client), name="mqtt.requests")  # ends with the connection
                await client.broken()
        finally:
            self.ready.clear()

    async def _serve(self, client: Client) -> None:
        while True:
            message, place = await self.inbox.get()
            await self._room.acquire()
            name = f"mqtt.{message.topic.value}"
            self._tasks.create_task(self._serve_one(message, place, client), name=name)
            await asyncio.sleep(0)  # one in each turn of the loop, so that a stop's turn comes soon

    async def _serve_one(self, message: aiomqtt.Message, place: int, client: Client) -> None:
        """Answer; nothing is raised but cancellation."""
        asked = self._topics.request_of(message.topic.value)
        overtaken = asked is not None and self._order.is_overtaken(asked.robot, place)
        try:
            await self._responder.serve(message, client, overtaken=overtaken)
        finally:
            self._room.release()
