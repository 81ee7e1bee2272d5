"""One connection to the broker, for requests to many robots at once and all of their reports."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import aiomqtt
import orjson

from motiond.client import NoAnswer

from ...config.mqtt import MqttSettings
from ...mqtt.client import REFUSED, PacketTooLong, address_of, at_broker
from ...mqtt.topics import ANY_ROBOT, ReportTopic, ResponseTopic, Topics
from ..answers import data_of, json_object
from ..brokers import ALSO_S, NoneAnswered, broker_of, first_answer, stop_at
from .roster import Roster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from ...mqtt.client import MqttConnection

ANSWER_S = 5.0
FIRST_S, MORE_S, PARTLY_S = 3.0, 0.3, 1.5
"""How long the first report may take, each next one, and one while a robot is known in part."""
SUBSCRIBE_S = 5.0


class Conversation:
    """Requests and reports on one connection to one broker.

    Parameters
    ----------
    others : sequence of MqttSettings
        The other brokers that the configuration names.

    Attributes
    ----------
    listeners : list of callable
        Receive each report, once the roster knows it.
    """

    def __init__(
        self, client: MqttConnection, settings: MqttSettings, others: Sequence[MqttSettings] = ()
    ) -> None:
        self.topics = Topics(settings.base)
        self.roster = Roster()
        self.listeners: list[Callable[[ReportTopic, dict[str, Any]], None]] = []
        self._client = client
        self._settings = settings
        self._others = others
        self._subscribed: set[str] = set()
        self._may_subscribe = asyncio.Lock()
        self._asked: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._news = asyncio.Event()
        self._kept = 0
        self._lost: NoAnswer | None = None

    # -- reports ---------------------------------------------------------------------------------------------

    async def receive(self) -> None:
        """Take messages until the connection breaks."""
        try:
            async for message in self._client.messages:
                self._kept += message.retain
                self._take(message)
        except aiomqtt.MqttError as error:
            problem = f"{address_of(self._settings)}: the connection to the broker is lost"
            self._lost = NoAnswer(f"{problem}; {error}; look at what the robots do")
            for asked in self._asked.values():
                if not asked.done():
                    asked.set_exception(self._lost)
        self._wake()

    def _take(self, message: aiomqtt.Message) -> None:
        meaning = self.topics.meaning(message.topic.value)
        data = json_object(message.payload)
        if meaning is None or data is None:
            return
        if isinstance(meaning, ResponseTopic):
            asked = self._asked.get(str(data.get("transaction")))
            if asked is not None and not asked.done():
                asked.set_result(data)
            return
        self.roster.take(meaning, data)
        if isinstance(meaning, ReportTopic):
            for listener in self.listeners:
                listener(meaning, data)
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def news(self, timeout_s: float) -> None:
        """Wait until a report has come, or the time is over.

        Raises
        ------
        NoAnswer
            If the connection is lost.
        """
        if self._lost is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._news.wait()
        if self._lost is not None:
            raise self._lost

    async def subscribe(self, *topics: str) -> None:
        """Subscribe to each once, all with one packet."""
        async with self._may_subscribe:
            new = [topic for topic in topics if topic not in self._subscribed]
            if new:
                # By QoS 0: for more, a cluster elects a leader for each (`Broker.qos`).
                await self._client.subscribe([(topic, 0) for topic in new], timeout=SUBSCRIBE_S)
                self._subscribed.update(new)

    async def look_around(self, *subjects: str) -> None:
        """Receive the retained reports of all robots on some subjects, until the broker falls silent.

        Raises
        ------
        NoAnswer
            If no robot was ever at this broker.
        """
        # Daemons first, as they report how to ask: a stop goes to each robot as soon as it is known.
        await self.subscribe(
            self.topics.daemon(), *(self.topics.report(ANY_ROBOT, subject) for subject in subjects)
        )
        loop = asyncio.get_running_loop()
        since_s, kept = loop.time(), self._kept
        while (left_s := since_s + self._patience_s() - loop.time()) > 0.0:
            await self.news(left_s)
            if self._kept != kept:
                since_s, kept = loop.time(), self._kept
        if not self.roster.robots:
            raise NoAnswer(_no_robot_at(self.topics.base))

    def _patience_s(self) -> float:
        """Return how long the next retained report may take."""
        if not self._kept:
            return FIRST_S
        return PARTLY_S if self.roster.is_incomplete() else MORE_S

    # -- requests --------------------------------------------------------------------------------------------

    async def ask(
        self,
        robot: str,
        verb: str,
        payload: dict[str, Any],
        timeout_s: float = ANSWER_S,
        until_s: float | None = None,
    ) -> dict[str, Any]:
        """Send a request and return the data of its answer; any number may wait for theirs.

        Parameters
        ----------
        until_s : float, optional
            When to give up, by the event loop's clock, if part of `timeout_s` is over.

        Raises
        ------
        RequestError
            If it was refused.
        NoAnswer
            If no answer comes in time.
        """
        await self.subscribe(self.topics.response(ANY_ROBOT, verb))
        transaction = uuid4().hex
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[transaction] = answer
        try:
            left_s = timeout_s if until_s is None else until_s - asyncio.get_running_loop().time()
            async with asyncio.timeout(left_s):
                if left_s > 0.0:
                    request = {"transaction": transaction, **payload}
                    self._send(robot, verb, request, left_s, self.roster.requests_qos())
                data = await answer
        except TimeoutError:
            if (topic := self.topics.request(robot, verb)) in self._client.refused:
                raise NoAnswer(f"{topic}: {REFUSED}") from None
            reason = self.roster.absence(robot) or "its daemon is reported online"
            hint = "look at the daemon's log"
            raise NoAnswer(f"{robot}: no answer in {timeout_s:.2g} s; {reason}; {hint}") from None
        finally:
            del self._asked[transaction]
        return data_of(f"{robot}/{verb}", data)

    async def stop(self, robot: str) -> dict[str, Any]:
        """Stop a robot softly, at every broker at once: its daemon may have gone on to another."""
        here = self.ask(robot, "stop", {})
        if not self._others:
            return await here
        try:
            return await first_answer([here, stop_at(self._others, robot, "stop", {}, ANSWER_S)], ALSO_S)
        except NoneAnswered as error:
            raise NoAnswer("\n".join(map(str, error.failures))) from None

    def _send(self, robot: str, verb: str, payload: dict[str, Any], expires_s: float, qos: int = 1) -> None:
        """Hand a request over, which expires after so long."""
        if self._lost is not None:
            raise self._lost
        topic = self.topics.request(robot, verb)
        try:
            self._client.hand_over(topic, orjson.dumps(payload), qos, expires_s=expires_s)
        except PacketTooLong as error:
            raise NoAnswer(str(error)) from error


@asynccontextmanager
async def conversing(settings: MqttSettings) -> AsyncIterator[Conversation]:
    """Connect for as long as the context lasts; of several brokers to the first where a daemon is.

    Raises
    ------
    NoAnswer
        If the broker cannot be reached, or goes away.
    """
    broker = await broker_of(settings)
    async with at_broker(broker) as client:
        others = [other for other in settings.each() if other != broker]
        conversation = Conversation(client, broker, others)
        receiving = asyncio.create_task(conversation.receive(), name="fleet.receive")
        try:
            yield conversation
        finally:
            receiving.cancel()
            await asyncio.wait((receiving,))


def _no_robot_at(base: str) -> str:
    start_it = "start it with `motiond run`"
    if base == MqttSettings().base:
        return f"no daemon has been at this broker; {start_it}"
    return f"no daemon has been at this broker below '{base}'; {start_it}, or correct --base or mqtt.base"
