"""What a coordinator knows of all robots at a broker, and its requests to them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import aiomqtt

from motiond.client import NoAnswer, Refused, connect

from ...config.client import brokers_of
from ...config.mqtt import MqttSettings
from ...mqtt.client import address_of, at_broker
from ...mqtt.topics import ANY_ROBOT, ReportTopic, Topics
from ..answers import json_object, refusal_of
from ..brokers import broker_of
from .roster import Roster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from motiond.client import Daemon, Robot

    from ...mqtt.client import MqttConnection

ANSWER_S = 5.0
FIRST_S, MORE_S, PARTLY_S = 3.0, 0.3, 1.5
"""How long the first report may take, each next one, and one while a robot is known in part."""
SUBSCRIBE_S = 5.0


class Conversation:
    """Reports on a connection to one broker, and requests by a client; `listeners` receive each report.

    Where a robot requires control and nobody has it, it is acquired as of `holder`, and kept to the end.
    """

    def __init__(
        self, reports: MqttConnection, settings: MqttSettings, daemon: Daemon, holder: str | None = None
    ) -> None:
        self.topics = Topics(settings.base)
        self.roster = Roster()
        self.listeners: list[Callable[[ReportTopic, dict[str, Any]], None]] = []
        self._client = reports
        self._settings = settings
        self._daemon = daemon
        self._holder = holder
        self._robots: dict[str, Robot] = {}
        self._in_control: list[AbstractAsyncContextManager[str]] = []
        self._news = asyncio.Event()
        self._kept = 0
        self._lost: NoAnswer | None = None

    # -- reports ---------------------------------------------------------------------------------------------

    async def receive(self) -> None:
        """Take reports until the connection breaks."""
        try:
            async for message in self._client.messages:
                self._kept += message.retain
                self._take(message)
        except aiomqtt.MqttError as error:
            problem = f"{address_of(self._settings)}: the connection to the broker is lost"
            self._lost = NoAnswer(f"{problem}; {error}; look at what the robots do")
        self._wake()

    def _take(self, message: aiomqtt.Message) -> None:
        meaning = self.topics.meaning(message.topic.value)
        data = json_object(message.payload)
        if meaning is None or data is None:
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
        """Wait until a report has come, or the time is over; raise NoAnswer if the connection is lost."""
        if self._lost is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._news.wait()
        if self._lost is not None:
            raise self._lost

    async def look_around(self, *subjects: str) -> None:
        """Receive the reports of all robots on some subjects, at first until the broker falls silent.

        Raises NoAnswer if no robot was ever at this broker.
        """
        # Daemons first, as they report who is there: a stop goes to each robot as soon as it is known.
        topics = (self.topics.daemon(), *(self.topics.report(ANY_ROBOT, subject) for subject in subjects))
        # By QoS 0: for more, a cluster elects a leader for each (`Broker.qos`).
        await self._client.subscribe([(topic, 0) for topic in topics], timeout=SUBSCRIBE_S)
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
        self, robot: str, verb: str, payload: dict[str, Any], timeout_s: float = ANSWER_S
    ) -> dict[str, Any]:
        """Send a request and return the data of its answer; any number may wait for theirs.

        Raises RequestError if it was refused, and NoAnswer if no answer comes in `timeout_s`, however many
        requests it takes to be in control.
        """
        try:
            # Not left to the client, which looks for a reason first: a release must not wait for that.
            async with asyncio.timeout(timeout_s):
                return await self._ask(robot, verb, payload, timeout_s)
        except Refused as error:
            raise refusal_of(error) from error
        except TimeoutError:
            reason = self.roster.absence(robot) or "its daemon is reported online"
            hint = "look at the daemon's log, and at the broker's access list"
            raise NoAnswer(f"{robot}: no answer in {timeout_s:.2g} s; {reason}; {hint}") from None

    async def _ask(self, name: str, verb: str, payload: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        robot = self._robots.setdefault(name, self._daemon.robot(name))
        try:
            return await robot.request(verb, payload, timeout_s=timeout_s)
        except Refused as error:
            if self._holder is None or not error.is_free:
                raise
        control = robot.control(self._holder)
        await control.__aenter__()
        self._in_control.append(control)
        return await robot.request(verb, payload, timeout_s=timeout_s)

    @property
    def is_in_control(self) -> bool:
        """Whether it has acquired control of a robot."""
        return bool(self._in_control)

    async def release_control(self) -> None:
        """Return control of all robots."""
        await asyncio.gather(*(control.__aexit__(None, None, None) for control in self._in_control))


@asynccontextmanager
async def conversing(settings: MqttSettings, holder: str | None = None) -> AsyncIterator[Conversation]:
    """Connect for as long as the context lasts; of several brokers to the first where a daemon is.

    Raises
    ------
    NoAnswer
        If the broker cannot be reached, or goes away.
    """
    broker = await broker_of(settings)
    async with at_broker(broker) as reports, connect(brokers_of(settings)) as daemon:
        conversation = Conversation(reports, broker, daemon, holder)
        receiving = asyncio.create_task(conversation.receive(), name="fleet.receive")
        try:
            yield conversation
        finally:
            await conversation.release_control()
            receiving.cancel()
            await asyncio.wait((receiving,))


def _no_robot_at(base: str) -> str:
    start_it = "start it with `motiond run`"
    if base == MqttSettings().base:
        return f"no daemon has been at this broker; {start_it}"
    return f"no daemon has been at this broker below '{base}'; {start_it}, or correct --base or mqtt.base"
