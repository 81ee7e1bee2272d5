"""The daemon's side of MQTT: publishes reports, serves requests, and never gives up the connection.

Reconnects for ever; trouble here delays nothing else in the daemon.
MQTT 5.0 and 3.1.1 (OASIS), by aiomqtt.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import aiomqtt
import orjson
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from ..api.dispatcher import Dispatcher
from ..api.errors import RequestError
from ..api.reports import LASTING, STREAMED, SUBJECTS, Report
from ..api.requests import RawRequest
from .connection import address_of, make_client, speaks_5
from .topics import RequestTopic, Topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..api.reports import ReportHub, Subscription
    from ..api.requests import Commands
    from ..config.mqtt import MqttSettings

log = logging.getLogger(__name__)

PUBLISH_TIMEOUT_S = 5.0
FAREWELL_S = 2.0
STREAMED_LENGTH = 16
REFUSED = 0x80


class MqttBridge:
    """Carries requests in and reports out, for all robots of one daemon.

    Parameters
    ----------
    settings : MqttSettings
        The broker and how to reach it.
    daemon_id : str
        The daemon's own name among daemons on one broker.
    commands : Commands
        The one who acts on requests.
    hub : ReportHub
        Where reports come from.

    Attributes
    ----------
    connected : asyncio.Event
        Set while requests are served.
    """

    def __init__(self, settings: MqttSettings, daemon_id: str, commands: Commands, hub: ReportHub) -> None:
        self.connected = asyncio.Event()
        self._settings = settings
        self._topics = Topics(settings.base)
        self._daemon_id = daemon_id
        self._commands = commands
        self._hub = hub
        self._dispatcher = Dispatcher(commands)

    async def run(self) -> NoReturn:
        """Connect, serve and reconnect until cancelled; then say offline."""
        with self._hub.subscribe(SUBJECTS - STREAMED) as reports:
            async with asyncio.TaskGroup() as requests:
                await self._keep_connected(reports, requests)
        raise AssertionError  # a connection is kept until cancelled

    async def _keep_connected(self, reports: Subscription, requests: asyncio.TaskGroup) -> NoReturn:
        waits_s = self._waits_s()
        while True:
            reason: BaseException | None = None
            try:
                async with self._client() as client:
                    waits_s = self._waits_s()
                    await self._session(client, reports, requests).run(self.connected)
            except* (aiomqtt.MqttError, OSError) as errors:
                reason = _first(errors)
            # a connection that breaks at the moment of the cancellation hides it
            _heed_cancellation()
            await self._wait(next(waits_s), reason)

    def _client(self) -> aiomqtt.Client:
        will = aiomqtt.Will(
            self._topics.daemon(self._daemon_id), _encode({"state": "offline"}), qos=1, retain=True
        )
        return make_client(self._settings, f"motiond-{self._daemon_id}", will)

    def _session(
        self, client: aiomqtt.Client, reports: Subscription, requests: asyncio.TaskGroup
    ) -> _Session:
        return _Session(
            client=client,
            version_5=speaks_5(self._settings),
            topics=self._topics,
            daemon_id=self._daemon_id,
            robots=self._commands.robots,
            dispatcher=self._dispatcher,
            hub=self._hub,
            reports=reports,
            requests=requests,
        )

    def _waits_s(self) -> Iterator[float]:
        """Yield how long to wait before each new try; random, lest many daemons come back at once."""
        longest_s = self._settings.reconnect_min_s
        while True:
            yield longest_s * random.uniform(0.5, 1.0)  # noqa: S311 # no secret
            longest_s = min(2.0 * longest_s, self._settings.reconnect_max_s)

    async def _wait(self, wait_s: float, reason: BaseException | None) -> None:
        reason = reason and (reason.__cause__ or reason)
        log.warning("%s: not connected; %s; next try in %.1f s", address_of(self._settings), reason, wait_s)
        await asyncio.sleep(wait_s)


@dataclass(frozen=True, slots=True)
class _Session:
    """One connection: subscribes, says online, serves, and says goodbye when cancelled.

    Attributes
    ----------
    reports : Subscription
        Outlives the connection, so that results and events wait for the next one.
    requests : TaskGroup
        Likewise: what was begun is not cancelled by a lost connection.
    """

    client: aiomqtt.Client
    version_5: bool
    topics: Topics
    daemon_id: str
    robots: tuple[str, ...]
    dispatcher: Dispatcher
    hub: ReportHub
    reports: Subscription
    requests: asyncio.TaskGroup

    @property
    def _availability(self) -> str:
        """The daemon's own topic."""
        return self.topics.daemon(self.daemon_id)

    async def run(self, connected: asyncio.Event) -> None:
        """Serve until the connection breaks (MqttError, alone or in a group) or the task is cancelled."""
        try:
            await self._greet()
            _heed_cancellation()
            connected.set()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._publish_reports(), name="mqtt.reports")
                tasks.create_task(self._publish_streams(), name="mqtt.streams")
                await self._take_messages()
        except asyncio.CancelledError:
            await self._say_goodbye()
            raise
        finally:
            connected.clear()

    async def _greet(self) -> None:
        """Subscribe first, so that whoever reads `online` may ask at once; then say all that lasts anew."""
        for robot in self.robots:
            await self._subscribe(self.topics.requests(robot))
        self.reports.discard(LASTING)
        for report in self.hub.latest():
            await self._publish_report(report)
        await self._publish(self._availability, {"state": "online"}, retain=True)
        await self._subscribe(self._availability)

    async def _subscribe(self, topic: str) -> None:
        """Subscribe; on MQTT 5 a request sent with the retain flag can be told from one without."""
        if self.version_5:
            options = SubscribeOptions(qos=1, retainAsPublished=True)
            answers = await self.client.subscribe(topic, options=options)
        else:
            answers = await self.client.subscribe(topic, qos=1)
        codes = (answer if isinstance(answer, int) else answer.value for answer in answers)
        if any(code >= REFUSED for code in codes):
            log.error("%s: the broker refuses the subscription; requests will not arrive; permit it", topic)

    async def _publish_reports(self) -> None:
        while True:
            report = await self.reports.get()
            try:
                await self._publish_report(report)
            except BaseException:
                self.reports.put_back(report)
                raise
            _heed_cancellation()

    async def _publish_streams(self) -> None:
        """Publish what only the moment matters of; nothing of it waits for a new connection."""
        with self.hub.subscribe(STREAMED, STREAMED_LENGTH) as streams:
            async for report in streams:
                await self._publish_report(report)
                _heed_cancellation()

    async def _publish_report(self, report: Report) -> None:
        data = report.data
        if report.subject == "availability":
            data = {**data, "bridge": self.daemon_id}
        topic = self.topics.report(report.robot, report.subject)
        qos = 0 if report.subject in STREAMED else 1
        await self._publish(topic, data, qos=qos, retain=report.subject in LASTING)

    async def _publish(self, topic: str, data: dict[str, Any], qos: int = 1, *, retain: bool = False) -> None:
        try:
            payload = _encode(data)
        except TypeError:
            log.exception("%s: the report is not JSON and was left out", topic)
            return
        await self.client.publish(topic, payload, qos, retain, timeout=PUBLISH_TIMEOUT_S)

    async def _take_messages(self) -> None:
        async for message in self.client.messages:
            if message.topic.value == self._availability:
                await self._correct_availability(message)
                _heed_cancellation()
            elif message.payload or not message.retain:  # an empty retained message only clears one
                name = f"mqtt.{message.topic.value}"
                self.requests.create_task(self._serve(message), name=name)

    async def _correct_availability(self, message: aiomqtt.Message) -> None:
        """Say online again where the will of an earlier connection came late."""
        if message.payload != _encode({"state": "online"}):
            await self._publish(self._availability, {"state": "online"}, retain=True)

    async def _serve(self, message: aiomqtt.Message) -> None:
        """Answer one request; where the answer cannot be sent, its transaction may be asked for again."""
        raw = self._raw_request(message)
        answer = await self.dispatcher.answer(raw)
        topic = self._response_topic(message, raw)
        properties = _correlated(message.properties) if self.version_5 else None
        try:
            await self.client.publish(topic, answer, 1, False, properties, timeout=PUBLISH_TIMEOUT_S)
        except (aiomqtt.MqttError, ValueError) as error:
            log.warning("%s: the answer could not be sent to '%s'; %s", raw.where, topic, error)

    def _response_topic(self, message: aiomqtt.Message, raw: RawRequest) -> str:
        """Return where the answer goes: where the client asks for it, if it may ask for that (MQTT 5)."""
        own = self.topics.response(raw.robot, raw.verb)
        wanted: str = getattr(message.properties, "ResponseTopic", own)
        if self.topics.takes_response(wanted):
            return wanted
        what = "%s: no answer can be sent to the response topic %.60r; it goes to '%s'"
        log.warning(what, raw.where, wanted, own)
        return own

    def _raw_request(self, message: aiomqtt.Message) -> RawRequest:
        """Return a request with all that MQTT says of it."""
        meaning = self.topics.meaning(message.topic.value)
        robot, verb = meaning if isinstance(meaning, RequestTopic) else ("", "")
        lifetime_s = getattr(message.properties, "MessageExpiryInterval", None)
        return RawRequest(
            robot,
            verb,
            message.payload if isinstance(message.payload, bytes) else b"",
            deadline_s=None if lifetime_s is None else time.time() + lifetime_s,
            refusal=_retained(f"{robot}/{verb}") if message.retain else None,
        )

    async def _say_goodbye(self) -> None:
        """Publish what is still to be said, then offline, within a bounded time."""
        try:
            async with asyncio.timeout(FAREWELL_S):
                while report := self.reports.get_now():
                    await self._publish_report(report)
                for robot in self.robots:
                    await self._publish_report(Report(robot, "availability", {"state": "offline"}))
                await self._publish(self._availability, {"state": "offline"}, retain=True)
        except (aiomqtt.MqttError, TimeoutError) as error:
            log.warning("%s: could not say offline; %s", self._availability, error)


def _heed_cancellation() -> None:
    """Raise a cancellation that was lost on the way.

    Before Python 3.12, `asyncio.wait_for`, which aiomqtt publishes by, drops one that arrives together with
    what it waits for.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _retained(where: str) -> RequestError:
    """Return the refusal of a request that the broker kept and may deliver again."""
    mend = "clear it with an empty retained message and send it without the flag"
    return RequestError("RETAINED", where, "retained", "it would act at every reconnect", mend)


def _correlated(request: Properties | None) -> Properties:
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's is untyped
    correlation: bytes | None = getattr(request, "CorrelationData", None)
    if correlation is not None:
        properties.CorrelationData = correlation
    return properties


def _encode(data: dict[str, Any]) -> bytes:
    return orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY)


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    """Return the first error of a group, however deep it lies."""
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
