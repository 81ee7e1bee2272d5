"""The daemon's connection for starts of groups: takes commits, and hears what the robots of a start tell."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import aiomqtt
import orjson

from ...api import FLEET, FLEET_VERBS, MOST_BYTES, Pace, RawRequest, RequestError, accepted, parse, refused
from ...mqtt.bridge import SESSION_S, Inbox, retained_refusal
from ...mqtt.client import (
    BackOff,
    ConnectionLog,
    Link,
    MovedOn,
    MqttConnection,
    address_of,
    heed_cancellation,
    speaks_5,
    subscribe,
    try_to_subscribe,
)
from ...mqtt.topics import DaemonTopic, PulseTopic, ReportTopic, RequestTopic, Topics
from .group_start import GroupStart
from .heard import Daemons

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...api import CommitRequest, ReleaseStartsRequest, Request
    from ...config.mqtt import MqttSettings
    from ...mqtt.bridge import MqttBridge
    from ...mqtt.client import Broker
    from ...robots import RobotRegistry

log = logging.getLogger(__name__)

SERVED_HZ, MOST_AT_ONCE = 20.0, 64
AGAIN_S = 1.0
WILL = orjson.dumps({"start": None, "robots": {}, "agrees": False, "reasons": {}})


class Listener:
    """Takes part in starts of groups, for the robots of one daemon.

    Parameters
    ----------
    settings : MqttSettings
    daemon_id : str
    bridge : MqttBridge
        The daemon's other connections: this one is where they are.
    robots : RobotRegistry
    """

    def __init__(
        self, settings: MqttSettings, daemon_id: str, bridge: MqttBridge, robots: RobotRegistry
    ) -> None:
        self._settings = settings
        self._daemon_id = daemon_id
        self._name = f"motiond-{daemon_id}-fleet"
        self._bridge = bridge
        self._robots = robots
        self._topics = Topics(settings.base)
        self._follower = bridge.follower()
        self._logs: dict[Broker, ConnectionLog] = {}
        self._daemons = Daemons()
        self._starts: dict[str, GroupStart] = {}
        self._inbox = Inbox()
        self._client: MqttConnection | None = None
        self._made: tuple[Broker, MqttConnection] | None = None
        self._left: set[str] = set()
        self._acts: dict[str, Callable[[Any], dict[str, bytes]]] = {
            "commit": self._commit,
            "release": self._release,
        }

    async def run(self) -> None:
        """Where robots are in groups, connect, serve and reconnect until cancelled; nothing fails for it."""
        if not self._robots.grouped:
            return
        while True:
            try:
                async with asyncio.TaskGroup() as tasks:
                    self._tasks = tasks
                    link = Link(
                        self._follower.turn, self._make, self._serve, self._wait, BackOff(self._settings)
                    )
                    tasks.create_task(link.run(), name="fleet.link")
            except Exception:
                log.exception("starts of groups: failed inside motiond")
            heed_cancellation()
            await asyncio.sleep(AGAIN_S)

    # -- one connection -------------------------------------------------------------------------------------

    def _make(self) -> MqttConnection:
        """Return the client that is to connect.

        By MQTT 3.1.1 it has a will, and a session: nats-server, which speaks nothing else, tells a will that
        it need not keep, of a session that it need not delete, before its log (decisions/all-or-none.md).
        Nothing waits in that session: all is subscribed to by QoS 0.
        """
        broker = self._follower.broker
        if speaks_5(broker.settings):
            return MqttConnection(broker.settings, self._name, receive=self._take, limit=broker.limit)
        if self._made is None or self._made[0] is not broker:
            will = aiomqtt.Will(self._topics.pulse(self._daemon_id), WILL, qos=0, retain=False)
            client = MqttConnection(
                broker.settings,
                self._name,
                will,
                receive=self._take,
                session_s=SESSION_S,
                limit=broker.limit,
            )
            self._made = broker, client
        return self._made[1]

    async def _serve(self, client: MqttConnection) -> None:
        broker = self._follower.broker
        self._client = client
        try:
            async with asyncio.TaskGroup() as tasks:  # each ends the others
                tasks.create_task(self._follower.has_to_move(), name="fleet.moves")
                tasks.create_task(self._listen(client, broker), name="fleet.requests")
                await client.broken()
        finally:
            self._client = None
            self._daemons.forget()
            for start in self._starts.values():
                start.lose_connection()

    @property
    def _qos(self) -> int:
        """By which quality of service to subscribe; where a session is kept, nothing is to wait in it."""
        broker = self._follower.broker
        return broker.listening_qos if speaks_5(broker.settings) else 0

    async def _listen(self, client: MqttConnection, broker: Broker) -> NoReturn:
        pace = Pace(SERVED_HZ, MOST_AT_ONCE, asyncio.get_running_loop().time)
        await subscribe(client, [self._topics.pulse()], qos=0)
        for start in self._starts.values():
            start.regain_connection()
        await broker.known.wait()
        await subscribe(client, [self._topics.daemon()], self._qos)
        for start in list(self._starts.values()):
            await self._hear_members(start)
        await subscribe(client, [self._topics.fleet_requests()], self._qos)
        await self._hear_no_more()
        heed_cancellation()
        self._log_of(broker).make()
        while True:
            message, _ = await self._inbox.get()
            self._serve_one(message, client, broker.asking_qos)
            await asyncio.sleep(pace.take())

    def _log_of(self, broker: Broker) -> ConnectionLog:
        if broker not in self._logs:
            self._logs[broker] = ConnectionLog(f"{address_of(broker.settings)}: fleet", tells_first=False)
        return self._logs[broker]

    async def _wait(self, wait_s: float, reason: BaseException | None) -> None:
        """Wait, and then tell of the loss, unless the main connection was lost as well, which tells of it."""
        broker = self._follower.broker
        was_connected = self._bridge.connected.is_set()
        await asyncio.sleep(wait_s)
        if was_connected and self._bridge.connected.is_set() and not isinstance(reason, MovedOn):
            self._log_of(broker).lose(reason)

    async def _hear_members(self, start: GroupStart) -> None:
        """Subscribe to what the robots of a start tell, and keep, besides the pulses of their daemons."""
        if self._client is None:
            return
        topics = self._told_by(start.commit.robots)
        self._left.difference_update(topics)
        try:
            unheard = await try_to_subscribe(self._client, topics, self._qos)
        except aiomqtt.MqttError:
            return  # the connection has broken; once it is back, they are subscribed to again
        if unheard:
            what = (
                "%s: the broker refuses the subscription; who leaves start '%s' may go unnoticed; permit it"
            )
            log.warning(what, unheard[0], start.commit.start)

    async def _hear_no_more(self) -> None:
        """Leave the topics of robots that are in no start; a session that is kept would keep them."""
        if self._left and self._client is not None:
            gone = [*self._left]
            with suppress(aiomqtt.MqttError):
                await self._client.unsubscribe(gone)
                self._left.difference_update(gone)

    def _told_by(self, robots: Iterable[str]) -> list[str]:
        return [self._topics.report(robot, "reservation") for robot in robots]

    def _starts_of(self, robot: str) -> list[GroupStart]:
        return [start for start in self._starts.values() if robot in start.members]

    # -- what comes in --------------------------------------------------------------------------------------

    def _take(self, message: aiomqtt.Message) -> None:
        """Take a message as it arrives: at once what members tell, in turn what is asked for."""
        payload = message.payload if isinstance(message.payload, bytes) else b""
        match self._topics.meaning(message.topic.value):
            case RequestTopic(robot, _) if robot == FLEET:
                if payload or not message.retain:  # an empty retained one only clears
                    self._inbox.put(message, 0)
            case DaemonTopic(daemon_id):
                self._daemons.hear(daemon_id, _decode(payload))
                for start in self._starts.values():
                    start.look()
            case PulseTopic(daemon_id):
                self._hear_pulse(daemon_id, _decode(payload))
            case ReportTopic(robot, "reservation"):
                for start in self._starts_of(robot):
                    start.hear(robot, _decode(payload))

    def _hear_pulse(self, daemon_id: str, data: dict[str, Any]) -> None:
        """Take note of what a daemon tells of one start, or its connection's will, which is of all."""
        if data.get("start", "") is None:
            for start in self._starts.values():
                start.hear_will(daemon_id)
        elif (told := self._starts.get(str(data.get("start")))) is not None:
            told.hear_pulse(daemon_id, data)

    def _serve_one(self, message: aiomqtt.Message, client: MqttConnection, qos: int) -> None:
        """Act on what is asked of all robots that it names, then answer for each of ours."""
        verb = message.topic.value.rpartition("/")[2]
        payload = message.payload if isinstance(message.payload, bytes) else b""
        refusal = retained_refusal(f"{FLEET}/{verb}") if message.retain else None
        raw = RawRequest(FLEET, verb, payload, refusal=refusal)
        try:
            request = parse(raw, FLEET_VERBS)
            _refuse_expired(raw, request)
            answers = self._acts[verb](request)
        except RequestError as error:
            answers = {robot: refused(error, error.transaction) for robot in self._ours(_named_in(payload))}
        for robot, answer in answers.items():
            client.hand_over(self._topics.response(robot, f"{FLEET}/{verb}"), answer, qos)

    def _ours(self, robots: Iterable[str]) -> list[str]:
        """Return which of some robots are ours to answer for."""
        known = self._robots.reservations
        return [robot for robot in dict.fromkeys(robots) if robot in known and self._bridge.owns(robot)]

    def _commit(self, request: CommitRequest) -> dict[str, bytes]:
        """Commit ours; return their answers."""
        answers: dict[str, bytes] = {}
        taken = []
        for robot in self._ours(request.robots):
            try:
                data = self._robots.reservations[robot].commit(request)
                answers[robot] = accepted(data, request.transaction)
                taken.append(robot)
            except RequestError as error:
                answers[robot] = refused(error, request.transaction)
        if taken and request.start not in self._starts:
            self._follow(request, taken)
        return answers

    def _follow(self, request: CommitRequest, robots: list[str]) -> None:
        """Bring a start to its end, beside whatever else is asked."""
        ours = {robot: self._robots.reservations[robot] for robot in robots}
        start = self._starts[request.start] = GroupStart(request, ours, self._daemons, self._tell)
        self._tasks.create_task(self._run(start), name=f"fleet.{request.start}")

    async def _run(self, start: GroupStart) -> None:
        hearing = asyncio.create_task(self._hear_members(start), name=f"fleet.{start.commit.start}.members")
        try:
            await start.run()
        finally:
            del self._starts[start.commit.start]
            hearing.cancel()
            await asyncio.wait((hearing,))
        self._left.update(self._told_by(one for one in start.commit.robots if not self._starts_of(one)))
        await self._hear_no_more()

    def _tell(self, pulse: dict[str, Any]) -> None:
        """Tell all daemons how far a start is here; what is not told now is told again soon."""
        if self._client is not None:
            self._client.hand_over(self._topics.pulse(self._daemon_id), orjson.dumps(pulse), 0)

    def _release(self, request: ReleaseStartsRequest) -> dict[str, bytes]:
        """Let ours go that are named; return answers, also of who has let go by itself."""
        answers: dict[str, bytes] = {}
        start = self._starts.get(request.start)
        for robot in self._ours(request.tokens):
            reservation = self._robots.reservations[robot]
            if reservation.phase_of(request.start) is not None:
                try:
                    data = reservation.release_now(request.start, request.tokens[robot])
                    answers[robot] = accepted(data, request.transaction)
                except RequestError as error:
                    answers[robot] = refused(error, request.transaction)
            elif start is not None and start.has_let_go(robot):
                answers[robot] = accepted({"start": request.start}, request.transaction)
        return answers


def _refuse_expired(raw: RawRequest, request: Request) -> None:
    late_s = 0.0 if request.expires_at is None else round(time.time() - request.expires_at, 3)
    if late_s > 0.0:
        problem, reason = f"expired {late_s:.3f} s ago", "it was not to be served any more"
        error = RequestError(
            "EXPIRED", raw.where, problem, reason, "send it anew, or with more time", late_s=late_s
        )
        error.transaction = request.transaction
        raise error


def _named_in(payload: bytes) -> list[str]:
    """Return the robots that a request names which is none, as far as they can be read."""
    named = _decode(payload).get("robots")
    return [robot for robot in named if isinstance(robot, str)] if isinstance(named, list) else []


def _decode(payload: bytes) -> dict[str, Any]:
    """Read what somebody has published; anything but a JSON object is as good as none."""
    try:
        data = orjson.loads(payload) if len(payload) <= MOST_BYTES else {}
    except orjson.JSONDecodeError:
        return {}
    return data if isinstance(data, dict) else {}
