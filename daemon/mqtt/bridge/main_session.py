"""The daemon's main connection: reports go out, stops come in, and so does the daemon's own heartbeat."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import aiomqtt
import orjson

from ...api import MOST_BYTES
from ..client import EXACTLY_ONCE, granted_qos, heed_cancellation, subscribe, try_to_subscribe
from ..topics import ANY_ROBOT, DaemonTopic, HeartbeatTopic, ReportTopic
from .heartbeat import Heartbeat
from .home_assistant import BORN
from .stops import StopIntake

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..client import Broker, MqttConnection
    from ..topics import Topics
    from .claims import Claims, Identity
    from .home_assistant import HomeAssistant
    from .reports_out import ReportsOut
    from .responder import Responder
    from .stops import StopOrder

log = logging.getLogger(__name__)

SHUTDOWN_S = 2.0
LOOK_PERIOD_S = 0.5
PeerListener = Callable[[DaemonTopic | ReportTopic, dict[str, Any]], None]
PEER_SUBJECTS = ("availability", "reservation")
FORMER_S = 5.0
MOST_FORMER = 1000
"""Another daemon of our id would have disconnected us by then: what seems to be ours would be its own."""


class MainSession:
    """Uses the main connection, one after the other."""

    def __init__(
        self,
        topics: Topics,
        identity: Identity,
        robots: Collection[str],
        silent_s: float | None,
        *,
        connected: asyncio.Event,
        claims: Claims,
        home_assistant: HomeAssistant,
        reports: ReportsOut,
        responder: Responder,
        order: StopOrder,
        requests_ready: asyncio.Event,
        tasks: asyncio.TaskGroup,
        take_peer_report: PeerListener | None = None,
    ) -> None:
        self._connected = connected
        self._take_peer_report = take_peer_report
        self.received_s = asyncio.get_running_loop().time()
        self._topics = topics
        self._identity = identity
        self._robots = robots
        self._silent_s = silent_s
        self._claims = claims
        self._home_assistant = home_assistant
        self._home_assistant_began = asyncio.Event()
        self._reports = reports
        self._responder = responder
        self._order = order
        self._requests_ready = requests_ready
        self._client: MqttConnection | None = None
        self._broker: Broker | None = None
        self._is_subscribed_to_stops = self._receives_stops = False
        self._heartbeat = self._new_heartbeat()
        self.connections = 0
        self._rival = ""
        self._former: set[str] = set()
        self._stops = StopIntake(self._serve_stop, responder.act, tasks)

    def _new_heartbeat(self) -> Heartbeat:
        """Return one that also shows whether a broker delivers the requests to which it let us subscribe."""
        requests = [self._topics.request_heartbeat(robot) for robot in self._robots]
        return Heartbeat(self._topics.heartbeat(self._identity.daemon_id), requests, self._silent_s)

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection, though no heartbeat may have come yet."""
        return self._client is not None

    @property
    def takes_stops(self) -> bool:
        """Whether the broker delivers stops here, though no heartbeat may have come yet."""
        return self._is_subscribed_to_stops

    @property
    def may_begin(self) -> bool:
        """Whether a motion may begin.

        A connection that was ended right after a long message may be ended by that again: then not before
        all has been taken.
        """
        suspicious = self._broker is not None and self._broker.limit.is_suspicious
        return self._connected.is_set() or (self._receives_stops and not suspicious)

    # -- what comes in --------------------------------------------------------------------------------------

    def take(self, message: aiomqtt.Message) -> None:
        """Take a message as it arrives."""
        topic = message.topic.value
        payload = message.payload if isinstance(message.payload, bytes) else b""
        asked = self._topics.request_of(topic)
        if asked is not None:
            if asked.is_stop and (payload or not message.retain):
                self._order.take(asked.robot)
                self._stops.take(asked, message)
            return
        if topic == self._home_assistant.status_topic:
            if payload == BORN:
                self._home_assistant_began.set()
            return
        meaning = self._topics.meaning(topic)
        match meaning:
            case HeartbeatTopic():
                self.received_s = asyncio.get_running_loop().time()
                self._heartbeat.receive(topic)
            case DaemonTopic() | ReportTopic():
                self._take_report(meaning, topic, payload)

    def _take_report(self, meaning: DaemonTopic | ReportTopic, topic: str, payload: bytes) -> None:
        match meaning:
            case DaemonTopic(daemon_id) if daemon_id == self._identity.daemon_id:
                self._check_instance(decode(payload))
                self._reports.receive(topic, payload)
            case DaemonTopic(daemon_id):
                data = decode(payload)
                self._claims.take_daemon(daemon_id, data)
                if self._take_peer_report is not None:
                    self._take_peer_report(meaning, data)
            case ReportTopic(robot, subject):
                if self._take_peer_report is not None and subject in PEER_SUBJECTS:
                    self._take_peer_report(meaning, decode(payload))
                if subject == "availability":
                    data = decode(payload)
                    self._claims.take_robot(robot, data)
                    self._note_former(robot, data)
                    self._home_assistant.take(robot, data)
                self._reports.receive(topic, payload)

    async def _serve_stop(self, message: aiomqtt.Message) -> None:
        """Serve a stop; where the connection has gone since, it still acts."""
        if self._client is not None and self._broker is not None:
            await self._responder.serve(message, self._client, self._broker.qos)
        elif (asked := self._topics.request_of(message.topic.value)) is not None:
            await self._responder.act(asked)

    def _check_instance(self, data: dict[str, Any]) -> None:
        """Notice another daemon of our id: one that has written here since we were at this broker before."""
        other = str(data.get("instance", self._identity.instance))
        if other == self._identity.instance or self._broker is None or self._broker.visits == 1:
            return
        self._broker.log.meet_rival()
        if other != self._rival:
            self._rival = other
            what = (
                "another daemon of id '%s', on %s, has been connected meanwhile; "
                "they disconnect each other; give each an `id` of its own"
            )
            log.error(what, self._identity.daemon_id, data.get("host"))

    # -- one connection -------------------------------------------------------------------------------------

    async def run(self, client: MqttConnection, broker: Broker) -> None:
        """Serve until the connection breaks (MqttError, alone or in a group) or the task is cancelled."""
        self._client, self._broker = client, broker
        self.connections += 1
        self._former.clear()
        self._claims.forget()
        self._home_assistant.forget()
        try:
            async with asyncio.TaskGroup() as tasks:  # each of these ends with the connection, and ends it
                tasks.create_task(self._serve(client, broker), name="mqtt.main")
                await client.broken()
        except asyncio.CancelledError:
            await self._shut_down(client)
            raise
        finally:
            self._connected.clear()
            self._is_subscribed_to_stops = self._receives_stops = False
            self._client = None

    async def _serve(self, client: MqttConnection, broker: Broker) -> None:
        self._heartbeat = self._new_heartbeat()
        await self._subscribe(client, broker)
        heed_cancellation()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._heartbeat.run(client.publish), name="mqtt.heartbeat")
            await self._heartbeat.returned.wait()  # what others keep at the broker has come by then, too
            self._claims.settle()
            self._receives_stops = True
            await self._requests_ready.wait()
            await self._reports.announce(client, broker)
            heed_cancellation()
            await self._reports.describe(client)
            heed_cancellation()
            self._connected.set()
            broker.log.make()
            tasks.create_task(self._reports.publish_reports(client), name="mqtt.reports")
            tasks.create_task(self._reports.publish_streams(client), name="mqtt.streams")
            tasks.create_task(self._reports.look_after(client, LOOK_PERIOD_S), name="mqtt.retained")
            tasks.create_task(self._clear_former(client), name="mqtt.former")
            tasks.create_task(self._follow_home_assistant(client), name="mqtt.home_assistant")

    async def _follow_home_assistant(self, client: MqttConnection) -> None:
        """Publish the robots to Home Assistant whenever it has started."""
        while True:
            await self._home_assistant_began.wait()
            self._home_assistant_began.clear()
            await self._reports.publish_to_home_assistant(client)

    def _note_former(self, robot: str, data: dict[str, Any]) -> None:
        """Remember a robot that this daemon had before its configuration was changed."""
        if robot in self._robots or data.get("bridge") != self._identity.daemon_id:
            self._former.discard(robot)
        elif len(self._former) < MOST_FORMER:
            self._former.add(robot)

    async def _clear_former(self, client: MqttConnection) -> None:
        """Clear what the broker keeps of robots that are not in the configuration any more."""
        await asyncio.sleep(FORMER_S)
        if not self._rival:
            for robot in sorted(self._former):
                await self._reports.clear(client, robot)
                log.info("%s: is not configured any more; what the broker kept of it is cleared", robot)

    async def _subscribe(self, client: MqttConnection, broker: Broker) -> None:
        """Subscribe to ourselves and to stops, without which we are of no use, and to who has which name."""
        ourselves = self._topics.daemon(self._identity.daemon_id)
        broker.learn(await granted_qos(client, ourselves, EXACTLY_ONCE))
        qos = broker.qos
        await subscribe(client, [topic for robot in self._robots for topic in self._topics.stops(robot)], qos)
        self._is_subscribed_to_stops = True
        echoed = [topic for robot in self._robots for topic in self._topics.reports(robot, broker.echoed)]
        others = [self._topics.daemon(), *echoed]
        others += [self._home_assistant.status_topic] if self._home_assistant.status_topic else []
        refused = await try_to_subscribe(client, others, qos)
        if refused and broker.visits == 1:
            reason = "what others do there goes unnoticed"
            log.warning("%s: the broker refuses the subscription; %s; permit it", refused[0], reason)
        if self._take_peer_report is not None:
            refused = await try_to_subscribe(client, [self._topics.report(ANY_ROBOT, "reservation")], qos)
            if refused and broker.visits == 1:
                reason = "starts of groups stop softly after the first row"
                log.warning("%s: the broker refuses the subscription; %s; permit it", refused[0], reason)
        # Of robots that are ours no more; it may be refused, then `motiond forget` is left.
        await try_to_subscribe(client, [self._topics.report(ANY_ROBOT, "availability")], qos)
        await subscribe(client, self._heartbeat.topics, qos=0)

    async def _shut_down(self, client: MqttConnection) -> None:
        """Publish what is still to be published, within a bounded time."""
        try:
            async with asyncio.timeout(SHUTDOWN_S):
                await self._reports.shut_down(client)
        except (aiomqtt.MqttError, TimeoutError) as error:
            reason = str(error) or f"the broker did not take it in {SHUTDOWN_S:g} s"
            log.warning(
                "%s: could not publish offline; %s", self._topics.daemon(self._identity.daemon_id), reason
            )


def decode(payload: object) -> dict[str, Any]:
    """Read what somebody has published; anything but a JSON object is as good as none."""
    try:
        data = orjson.loads(payload) if isinstance(payload, bytes) and len(payload) <= MOST_BYTES else {}
    except orjson.JSONDecodeError:
        return {}
    return data if isinstance(data, dict) else {}
