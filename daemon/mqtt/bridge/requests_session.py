"""The connection for requests other than stops: however many clients ask, they hold up only each other."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from ...api import Pace, cost_of
from ..client import heed_cancellation, subscribe
from .stops import StopIntake
from .targets import TargetIntake

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import aiomqtt

    from ..client import Broker, MqttConnection
    from ..topics import RequestTopic, Topics
    from .main_session import MainSession
    from .responder import Responder
    from .stops import StopOrder

log = logging.getLogger(__name__)

MOST_WAITING = 256
MOST_BYTES = 4_000_000
LOG_PERIOD_S = 10.0


class Inbox:
    """The messages that wait."""

    def __init__(self) -> None:
        self.refused = 0
        self._waiting: deque[tuple[aiomqtt.Message, int]] = deque()
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._logged, self._logged_s = 0, -LOG_PERIOD_S

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
        if now_s - self._logged_s >= LOG_PERIOD_S:
            new, self._logged, self._logged_s = self.refused - self._logged, self.refused, now_s
            reason = f"{MOST_WAITING} wait already, or {MOST_BYTES // 1_000_000} MB"
            log.warning("requests: %d dropped, %d since the start; %s; send fewer", new, self.refused, reason)


def size_of(message: aiomqtt.Message) -> int:
    """Return how many bytes a message takes, of which a client chooses the verb in its topic as well."""
    return len(message.topic.value) + (len(message.payload) if isinstance(message.payload, bytes) else 0)


def is_answered(message: aiomqtt.Message) -> bool:
    """Whether who sends a target waits for an answer, by which they could know it."""
    return b'"transaction"' in message.payload or hasattr(message.properties, "ResponseTopic")


MOST_AT_ONCE = 64
SERVED_HZ = 500.0


class RequestsSession:
    """Serves requests on one connection after the other."""

    def __init__(
        self,
        topics: Topics,
        robots: Collection[str],
        main: MainSession,
        *,
        responder: Responder,
        order: StopOrder,
        is_ours: Callable[[str], bool],
        ready: asyncio.Event,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self.inbox = Inbox()
        self.ready = ready
        self.is_connected = False
        self._topics = topics
        self._robots = robots
        self._responder = responder
        self._order = order
        self._is_ours = is_ours
        self._main = main
        self._stops = StopIntake(self._serve_stop, responder.act, tasks)
        self._targets = TargetIntake(responder)
        self._client: MqttConnection | None = None
        self._broker: Broker | None = None
        self._pace = Pace(SERVED_HZ, MOST_AT_ONCE, asyncio.get_running_loop().time)
        self._tasks = tasks
        self._room = asyncio.Semaphore(MOST_AT_ONCE)

    def take(self, message: aiomqtt.Message) -> None:
        """Let a message wait to be served; stops come over the main connection, and are served there."""
        asked = self._topics.request_of(message.topic.value)
        if asked is None or (message.retain and not message.payload):  # an empty retained one only clears
            return
        if asked.is_stop:
            self._order.pass_by(asked.robot)
            if not self._main.takes_stops:  # then nobody else receives it
                self._stops.take(asked, message)
        elif not self._is_ours(asked.robot):
            return
        elif asked.streams and not is_answered(message):
            self._take_target(asked, message)
        else:
            self.inbox.put(message, self._order.place(asked.robot))

    def _take_target(self, asked: RequestTopic, message: aiomqtt.Message) -> None:
        error = self._targets.take(asked, message)
        if error is not None and self._client is not None and self._broker is not None:
            refusing = self._responder.refuse(message, error, self._client, self._broker.qos)
            self._tasks.create_task(refusing, name=f"mqtt.{message.topic.value}")

    async def run(self, client: MqttConnection, broker: Broker) -> None:
        """Serve until the connection breaks; the log has when requests are taken."""
        self._client, self._broker = client, broker
        self.is_connected = True
        try:
            await broker.known.wait()
            requests = [self._topics.requests(robot) for robot in self._robots]
            await subscribe(client, requests, broker.qos)
            heed_cancellation()
            self._order.start()
            self.ready.set()
            broker.requests_log.make()
            async with asyncio.TaskGroup() as tasks:  # each of these ends with the connection, and ends it
                tasks.create_task(self._serve(client, broker.qos), name="mqtt.requests")
                await client.broken()
        finally:
            self.is_connected = False
            self.ready.clear()

    async def _serve(self, client: MqttConnection, qos: int) -> None:
        while True:
            message, place = await self.inbox.get()
            await self._room.acquire()
            name = f"mqtt.{message.topic.value}"
            self._tasks.create_task(self._serve_one(message, place, client, qos), name=name)
            # One in each turn of the loop, and no more in a second than leave time for stops.
            await asyncio.sleep(self._pace.take(cost_of(size_of(message))))

    async def _serve_stop(self, message: aiomqtt.Message) -> None:
        if self._client is not None and self._broker is not None:
            await self._responder.serve(message, self._client, self._broker.qos)

    async def _serve_one(
        self, message: aiomqtt.Message, place: int, client: MqttConnection, qos: int
    ) -> None:
        """Answer; nothing is raised but cancellation."""
        asked = self._topics.request_of(message.topic.value)
        overtaken = asked is not None and self._order.is_overtaken(asked.robot, place)
        try:
            await self._responder.serve(
                message, client, qos, overtaken=overtaken, may_begin=self._main.may_begin
            )
        finally:
            self._room.release()
