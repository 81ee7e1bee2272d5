"""Publishes what the robots report: once each, in order, and what lasts again where it was overwritten."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from math import inf
from typing import TYPE_CHECKING, Any, NoReturn

from ...api import RETAINED, STREAMED, Report
from ..client import CUT_TO, EXACTLY_ONCE, heed_cancellation
from .fitting import LEFT_OUT, encode, fit_report
from .published import PublishedTopics

if TYPE_CHECKING:
    from collections.abc import Collection

    from ...api import ReportHub, Subject, Subscription
    from ..client import Broker, MqttConnection
    from ..topics import Topics
    from .claims import Claims, Identity
    from .home_assistant import HomeAssistant
    from .results import KeptResults

log = logging.getLogger(__name__)

PUBLISH_TIMEOUT_S = 5.0
STREAMED_LENGTH = 16
MOST_UNCONFIRMED = 16
LONG: frozenset[Subject] = frozenset({"description", "motions"})
"""What may be too long for a broker; in alphabetical order it is published."""


class ReportsOut:
    """The way out for all reports of one daemon, over one connection after the other.

    A result is published with QoS 2 and the session is resumed, so that it arrives exactly once, also when
    the connection breaks at the worst moment; where the broker takes no more than QoS 1, it may then arrive
    twice, alike in all. What is handed to the client with QoS 1 or 2 is the client's to
    deliver; it is not published again here, unless at another broker.
    """

    def __init__(
        self,
        topics: Topics,
        identity: Identity,
        *,
        hub: ReportHub,
        reports: Subscription,
        claims: Claims,
        results: KeptResults,
        home_assistant: HomeAssistant,
    ) -> None:
        self._topics = topics
        self._identity = identity
        self._availability = topics.daemon(identity.daemon_id)
        self._hub = hub
        self._reports = reports
        self._claims = claims
        self._results = results
        self._home_assistant = home_assistant
        self._on_broker = PublishedTopics(asyncio.get_running_loop().time, identity.will)
        self._echoed = RETAINED
        self._unconfirmed: dict[int, Report] = {}
        self._published: set[str] = set()
        self._longest_returned: dict[str, int] = {}
        self._most_qos = EXACTLY_ONCE
        for result in reversed(results.load()):
            reports.put_back(result)

    def receive(self, topic: str, payload: bytes) -> None:
        """Note what the broker delivers on a topic of ours."""
        self._on_broker.receive(topic, payload)

    async def announce(self, client: MqttConnection, broker: Broker) -> None:
        """Publish of all robots whether they take requests and what they do, then that the daemon is online.

        What may be long comes later (`describe`): it keeps nobody from a robot.
        """
        self._most_qos, self._echoed = broker.most_qos, broker.echoed
        self._on_broker.begin()
        self._published.clear()
        self._reports.discard(lambda report: report.subject in RETAINED)
        for number in reversed(client.take_withdrawn()):
            if (report := self._unconfirmed.pop(number, None)) is not None:
                self._reports.put_back(report)
        await self._publish_latest(client, self._ours(), RETAINED - LONG)
        await self._publish_retained(client, self._availability, self._identity.online(broker.qos))

    async def describe(self, client: MqttConnection) -> None:
        """Publish what the robots are, and then what they can play."""
        ours = self._ours()
        for subject in sorted(LONG):
            await self._publish_latest(client, ours, {subject})
        self._published = ours

    async def look_after(self, client: MqttConnection, period_s: float) -> NoReturn:
        """Publish again what others have cleared or overwritten, and robots whose name was released."""
        while True:
            await asyncio.sleep(period_s)
            await self._publish_new(client)
            for topic, payload in self._on_broker.overwritten():
                self._on_broker.publish(topic, payload)
                await client.publish(topic, payload, 1, True, timeout=PUBLISH_TIMEOUT_S)
            for topic in self._on_broker.log_silence(client.refused):
                await self._publish_shorter(client, topic)
            heed_cancellation()

    def _ours(self) -> set[str]:
        """Return the robots whose names are ours."""
        return {one.robot for one in self._hub.latest() if self._claims.is_ours(one.robot)}

    async def _publish_new(self, client: MqttConnection) -> None:
        """Publish all that lasts of the robots that have become ours."""
        ours = self._ours()
        await self._publish_latest(client, ours - self._published, RETAINED)
        self._published = ours

    async def _publish_latest(
        self, client: MqttConnection, robots: Collection[str], subjects: Collection[Subject]
    ) -> None:
        """Publish the latest of what lasts; the first of a robot is its availability, by which it is ours."""
        for robot in sorted(robots):
            await self._clear_outdated(client, robot)
        unconfirmed = deque[int]()
        for report in self._hub.latest():
            if report.robot in robots and report.subject in subjects:
                await self._publish_ahead(client, report, unconfirmed)
        for number in unconfirmed:
            await client.delivered(number, PUBLISH_TIMEOUT_S)

    async def publish_to_home_assistant(self, client: MqttConnection) -> None:
        """Publish all robots to it, as it has started and may not keep what it received."""
        for robot in sorted(self._published):
            self._hand_over_device(client, robot)
        await client.all_delivered()

    async def _clear_outdated(self, client: MqttConnection, robot: str) -> None:
        """Clear where a robot was published to Home Assistant by another configuration."""
        topic = self._home_assistant.outdated(robot)
        if topic is not None:
            await client.publish(topic, b"", 1, True, timeout=PUBLISH_TIMEOUT_S)

    async def clear(self, client: MqttConnection, robot: str) -> None:
        """Let a robot's name go, and clear what the broker keeps of it."""
        await self._clear_outdated(client, robot)
        released = encode({"state": "offline", "bridge": None})
        availability = self._topics.report(robot, "availability")
        await client.publish(availability, released, 1, True, timeout=PUBLISH_TIMEOUT_S)
        for topic in self._topics.retained(robot):
            await client.publish(topic, b"", 1, True, timeout=PUBLISH_TIMEOUT_S)
        heed_cancellation()

    async def publish_reports(self, client: MqttConnection) -> NoReturn:
        """Publish reports in order."""
        unconfirmed = deque[int]()
        while True:
            await self._publish_ahead(client, await self._reports.get(), unconfirmed)
            heed_cancellation()

    async def _publish_ahead(self, client: MqttConnection, report: Report, unconfirmed: deque[int]) -> None:
        """Publish a report, a few ahead of what the broker has confirmed: it may be slow at it."""
        number = self._hand_over(client, report)
        if number is not None:
            unconfirmed.append(number)
        if len(unconfirmed) > MOST_UNCONFIRMED:
            await client.delivered(unconfirmed.popleft(), PUBLISH_TIMEOUT_S)

    async def publish_streams(self, client: MqttConnection) -> None:
        """Publish what only the moment matters of; nothing of it waits for a new connection."""
        with self._hub.subscribe(STREAMED, STREAMED_LENGTH) as streams:
            async for report in streams:
                if (payload := self._payload(client, report, 0)) is not None:
                    topic = self._topics.report(report.robot, report.subject)
                    await client.publish(topic, payload, 0, timeout=PUBLISH_TIMEOUT_S)
                heed_cancellation()

    async def shut_down(self, client: MqttConnection) -> None:
        """Publish what is left, then offline, and wait until the broker has all of it."""
        while report := self._reports.get_now():
            await self._publish(client, report)
        for robot in sorted(self._published):
            await self._publish(client, Report(robot, "availability", {"state": "offline"}))
        await self._publish_retained(client, self._availability, self._identity.availability("offline"))
        await client.all_delivered()

    def take_back(self, client: MqttConnection) -> None:
        """Make what a broker has not confirmed the next that is published: there will be another broker.

        One that was cut off after the broker had it comes twice, alike in all: that none is lost counts more.
        """
        unconfirmed, self._unconfirmed = self._unconfirmed, {}
        for mid in reversed(unconfirmed):
            if client.is_outstanding(mid):
                self._reports.put_back(unconfirmed[mid])

    def keep_unpublished(self, client: MqttConnection | None) -> None:
        """Keep the results that the broker has not got."""
        unpublished = [
            report for mid, report in self._unconfirmed.items() if client and client.is_outstanding(mid)
        ]
        while report := self._reports.get_now():
            unpublished.append(report)
        self._results.keep(report for report in unpublished if report.subject == "result")

    async def _publish(self, client: MqttConnection, report: Report) -> None:
        """Publish a report, and wait until the broker has it."""
        number = self._hand_over(client, report)
        if number is not None:
            await client.delivered(number, PUBLISH_TIMEOUT_S)

    def _hand_over(self, client: MqttConnection, report: Report) -> int | None:
        """Have a report delivered; return its number at the client, None where there is none to publish."""
        qos = min(qos_of(report.subject), self._most_qos)
        if (payload := self._payload(client, report, qos)) is None:
            return None
        topic, lasts = self._topics.report(report.robot, report.subject), report.subject in RETAINED
        if report.subject in self._echoed:
            self._on_broker.publish(topic, payload, retained=lasts)
        number = client.hand_over(topic, payload, qos, retain=lasts)
        if report.subject == "motions":
            self._hand_over_device(client, report.robot)
        if not lasts:
            self._unconfirmed = {m: r for m, r in self._unconfirmed.items() if client.is_outstanding(m)}
            self._unconfirmed[number] = report
        return number

    def _hand_over_device(self, client: MqttConnection, robot: str) -> None:
        """Publish a robot to Home Assistant, as soon as its motions are known.

        What becomes of it there is not looked after: whoever deletes the device in Home Assistant clears it.
        """
        topic = self._home_assistant.topic(robot)
        latest = {(report.robot, report.subject): report for report in self._hub.latest()}
        motions = latest.get((robot, "motions"))
        if topic is None or motions is None or not self._claims.is_ours(robot):
            return
        playable = shown = [motion["name"] for motion in motions.data["motions"] if motion.get("ok")]
        payload = encode(self._home_assistant.config(robot, shown))
        room, length = client.room(topic, 1), len(payload)
        while shown and len(payload) > room:
            shown = shown[: len(shown) // 2]
            payload = encode(self._home_assistant.config(robot, shown))
        fits = len(payload) <= room
        if length > room:
            remedy = f"{len(shown)} of {len(playable)} motions can be chosen there" if fits else LEFT_OUT
            client.limit.report(topic, length, remedy)
        if fits:
            client.hand_over(topic, payload, 1, retain=True)

    def _payload(self, client: MqttConnection, report: Report, qos: int) -> bytes | None:
        """Return what is published of a report, None if nothing."""
        robot = report.robot
        if not self._claims.is_ours(robot):
            return None
        data = report.data
        if report.subject == "availability":
            data = {**data, "bridge": self._identity.daemon_id}
            if (discovery := self._home_assistant.topic(report.robot)) is not None:
                data["discovery"] = discovery
        return self._fitted(client, report.subject, self._topics.report(robot, report.subject), data, qos)

    def _fitted(
        self, client: MqttConnection, subject: Subject, topic: str, data: dict[str, Any], qos: int
    ) -> bytes | None:
        """Return a report as the broker takes it, None if it does not; what it keeps is then cleared."""
        payload = _encode(topic, data)
        most_bytes = min(client.room(topic, qos), self._longest_returned.get(topic, inf))
        if payload is None or len(payload) <= most_bytes:
            return payload
        fitted = fit_report(subject, data, most_bytes, min(most_bytes, client.room(topic, qos, is_cut=True)))
        if topic not in self._longest_returned:
            client.limit.report(topic, len(payload), fitted.remedy)
        return b"" if fitted.payload is None and subject in RETAINED else fitted.payload

    async def _publish_shorter(self, client: MqttConnection, topic: str) -> None:
        """Publish a list of motions again, cut, that has not come back: it may have been too long."""
        for report in self._hub.latest():
            if report.subject == "motions" and self._topics.report(report.robot, report.subject) == topic:
                length = len(_encode(topic, report.data) or b"")
                self._longest_returned[topic] = self._longest_returned.get(topic, length) // CUT_TO
                self._on_broker.forget(topic)
                await self._publish(client, report)

    async def _publish_retained(self, client: MqttConnection, topic: str, data: dict[str, Any]) -> None:
        payload = _encode(topic, data)
        if payload is not None:
            self._on_broker.publish(topic, payload)
            await client.publish(topic, payload, 1, True, timeout=PUBLISH_TIMEOUT_S)


def qos_of(subject: Subject) -> int:
    """Return the quality of service by which a subject is published."""
    if subject in STREAMED:
        return 0
    return EXACTLY_ONCE if subject == "result" else 1


def _encode(topic: str, data: dict[str, Any]) -> bytes | None:
    """Return a report as JSON; None, with a line in the log, where it cannot be."""
    try:
        return encode(data)
    except TypeError:
        log.exception("%s: the report is not JSON and was left out", topic)
        return None
