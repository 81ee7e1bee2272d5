"""One client's connection to one broker, and its conversation with one robot there."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from math import ceil
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import aiomqtt
import orjson
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from motiond.client import NoAnswer
from motiond.text import listed, nearest

from ..api import STOPS, STREAMED, SUBJECTS, Report, RequestError, Subject
from ..config.mqtt import MqttSettings
from ..mqtt.client import (
    REFUSED,
    MqttConnection,
    NotConnected,
    PacketTooLong,
    address_of,
    reason_of,
    speaks_5,
)
from ..mqtt.topics import ANY_ROBOT, DaemonTopic, Meaning, ReportTopic, ResponseTopic, Topics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


ANSWER_TIMEOUT_S = 5.0
STOP_AGAIN_S = 0.5
"""So often a stop by QoS 0 is sent again until it is answered: nothing between here and there keeps it."""
SUBSCRIBE_TRIES = 3
SUBSCRIBE_TIMEOUT_S = 3.0
CONNECT_TRIES, CONNECT_PAUSE_S = 3, 0.2
START_IT = "start it with `motiond run`"
OPTIONS = {"mqtt.broker": "--broker or mqtt.broker", "mqtt.ca_file": "--ca-file or mqtt.ca_file"}
"""What a command may have been told by an option, instead of by its configuration."""


async def _connected(settings: MqttSettings, stack: AsyncExitStack) -> MqttConnection:
    """Connect; a broker that hangs up while it takes the connection is tried again, an absent one is not."""
    for tries_left in reversed(range(CONNECT_TRIES)):
        try:
            client = await stack.enter_async_context(MqttConnection(settings))
        except aiomqtt.MqttError as error:
            if not tries_left or (isinstance(error, NotConnected) and error.absent):
                raise
            await asyncio.sleep(CONNECT_PAUSE_S)
        else:
            client.logs_refusals = False
            return client
    raise AssertionError  # the last try returns or raises


@asynccontextmanager
async def at_broker(broker: MqttSettings) -> AsyncIterator[MqttConnection]:
    """Connect to one broker for as long as the context lasts.

    Raises
    ------
    NoAnswer
        If it cannot be reached, or goes away.
    """
    try:
        async with AsyncExitStack() as stack:
            yield await _connected(broker, stack)
    except (aiomqtt.MqttError, OSError) as error:
        reason = _by_options(reason_of(error))
        raise NoAnswer(f"{address_of(broker)}: no connection to the broker; {reason}") from error


def _by_options(reason: str) -> str:
    for key, either in OPTIONS.items():
        reason = reason.replace(key, either)
    return reason


def nobody_at(base: str) -> str:
    """Return that no daemon has been at a broker, and what to do."""
    if base == MqttSettings().base:
        return f"no daemon has been at this broker; {START_IT}"
    return f"no daemon has been at this broker below '{base}'; {START_IT}, or correct --base or mqtt.base"


def asking_qos(settings: MqttSettings) -> int:
    """Return by which quality of service a client listens and asks: 1 in MQTT 5, 0 in MQTT 3.1.1.

    The clusters that take no QoS 2 speak 3.1.1 alone. For QoS 1 they elect a leader for each subscription and
    log each message before it is delivered, and where a node dies, a stop would wait for that for seconds
    (`motiond.daemon.mqtt.client.Broker`). Nor does 3.1.1 let a request expire: by QoS 0 none is kept to
    come when nobody wants it any more. Brokers that would keep QoS 1 in 3.1.1 too lose nothing by it, as a
    client's connection lasts no longer than its request.
    """
    return 1 if speaks_5(settings) else 0


def expiry(settings: MqttSettings, timeout_s: float) -> Properties | None:
    """Let the broker forget a request when nobody waits for its answer any more (MQTT 5 only)."""
    if not speaks_5(settings):
        return None
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's is untyped
    properties.MessageExpiryInterval = ceil(timeout_s)
    return properties


class Connection:
    """One client's conversation with one robot; reports that come while it waits for an answer are kept.

    Parameters
    ----------
    client : MqttConnection
    settings : MqttSettings
        The one broker that the client is connected to.
    robot : str
    is_one_of_several : bool
        Whether messages have to say which broker that is.
    """

    def __init__(
        self,
        client: MqttConnection,
        settings: MqttSettings,
        robot: str,
        *,
        is_one_of_several: bool = False,
    ) -> None:
        self._client = client
        self.settings = settings
        self._place = f" at {address_of(settings)}" if is_one_of_several else ""
        self._topics = Topics(settings.base)
        self.robot = robot
        self._subscribed: set[str] = set()
        self._reports: deque[Report] = deque()
        self._qos = asking_qos(settings)
        self._robots: dict[str, dict[str, Any]] = {}
        self._daemons: dict[str, dict[str, Any]] = {}

    async def listen(self, *subjects: Subject) -> None:
        """Subscribe to what the robot reports."""
        for subject in subjects:
            qos = 0 if subject in STREAMED else self._qos
            await self._subscribe(self._topics.report(self.robot, subject), qos)

    async def _subscribe(self, topic: str, qos: int) -> None:
        """Subscribe once; a broker that does not acknowledge it is asked again, as that does no harm."""
        if topic in self._subscribed:
            return
        for tries_left in reversed(range(SUBSCRIBE_TRIES)):
            try:
                await self._client.subscribe(topic, qos=qos, timeout=SUBSCRIBE_TIMEOUT_S)
            except aiomqtt.MqttError:
                if not tries_left:
                    raise
            else:
                self._subscribed.add(topic)
                return

    async def ask(self, verb: str, payload: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        request = {"transaction": uuid4().hex, **payload}
        if self._is_sent_again(verb):  # at once, too: a cluster without a leader grants no subscription
            await self._send(verb, request, timeout_s)
        topics = self._topics
        for topic in (
            topics.response(self.robot, verb),
            topics.report(ANY_ROBOT, "availability"),
            topics.daemon(),
        ):
            await self._subscribe(topic, self._qos)
        try:
            async with asyncio.timeout(timeout_s):
                return _data_of(await self._answer(verb, request, timeout_s))
        except TimeoutError:
            pass
        raise NoAnswer(f"{self.robot}: no answer in {timeout_s:g} s{self._place}; {self._why_silent()}")

    def _is_sent_again(self, verb: str) -> bool:
        return verb in STOPS and self._qos == 0

    async def _answer(self, verb: str, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send a request, a stop by QoS 0 again and again, until the answer to it has come."""
        answered = ResponseTopic(self.robot, verb)
        again_s = STOP_AGAIN_S if self._is_sent_again(verb) else None
        while True:
            await self._send(verb, request, timeout_s)
            with suppress(TimeoutError):
                async with asyncio.timeout(again_s):
                    while True:
                        meaning, data = await self._receive()
                        if meaning == answered and data.get("transaction") == request["transaction"]:
                            return data

    async def _send(self, verb: str, request: dict[str, Any], timeout_s: float) -> None:
        topic, properties = self._topics.request(self.robot, verb), expiry(self.settings, timeout_s)
        try:
            await self._client.publish(topic, orjson.dumps(request), qos=self._qos, properties=properties)
        except PacketTooLong as error:
            raise NoAnswer(str(error)) from error
        if topic in self._client.refused:
            raise NoAnswer(f"{topic}: {REFUSED}")

    async def reports(self, silence_s: float | None) -> AsyncIterator[Report]:
        """Yield reports as they arrive; after a silence, the state as the robot answers it."""
        while True:
            for report in self.take_reports():
                yield report
            try:
                async with asyncio.timeout(silence_s):
                    await self._receive()
            except TimeoutError:
                status = await self.ask("status", {}, silence_s or ANSWER_TIMEOUT_S)
                yield Report(self.robot, "state", status)

    def take_reports(self) -> Iterator[Report]:
        """Yield the reports that have come, each once."""
        while self._reports:
            yield self._reports.popleft()

    async def _receive(self) -> tuple[Meaning, dict[str, Any]]:
        """Wait for a message, keep what it tells, and return what its topic means with its JSON."""
        while True:
            message = await anext(self._client.messages)
            meaning = self._topics.meaning(message.topic.value)
            try:
                data = orjson.loads(message.payload)
            except orjson.JSONDecodeError:
                continue
            if meaning is not None and isinstance(data, dict):
                self._keep(meaning, data)
                return meaning, data

    def _keep(self, meaning: Meaning, data: dict[str, Any]) -> None:
        match meaning:
            case DaemonTopic(daemon_id):
                self._daemons[daemon_id] = data
            case ReportTopic(robot, subject) if subject in SUBJECTS:
                self._reports.append(Report(robot, subject, data))
                if subject == "availability":
                    self._robots[robot] = data

    def _why_silent(self) -> str:
        if not self._robots:
            return nobody_at(self._topics.base)
        if self.robot not in self._robots:
            names = sorted(self._robots)
            hint = nearest(self.robot, names) or "name one of them, or start the daemon that has it"
            return f"the robots here are {listed(names, longest=None)}; {hint}"
        daemon = self._daemons.get(str(self._robots[self.robot].get("bridge")), {})
        if daemon.get("state") == "online":
            return "its daemon says that it is online; look at the daemon's log"
        if daemon.get("state") == "broken":
            return "its daemon has crashed, or has lost the broker; look at the daemon's log"
        return f"its daemon is offline; {START_IT}"


def _data_of(answer: dict[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = answer["data"]
    if answer["status"] != "ok":
        raise RequestError.of(answer["code"], answer["error"], data)
    return data
