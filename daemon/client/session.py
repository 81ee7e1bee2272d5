"""Asks a running daemon over MQTT: what the subcommands that ask a daemon are made of.

Where a robot wants somebody to be in control of it and nobody is, control is acquired for as long as the
request, or what it has begun, takes.

Exception
└── NoAnswer         nobody answers: no broker, no daemon, or no such robot
"""

from __future__ import annotations

import asyncio
import getpass
import socket
from collections import deque
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import uuid4

import aiomqtt
import orjson
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from motiond.formats.errors import listed, nearest

from ..api.errors import RequestError
from ..api.reports import STREAMED, SUBJECTS, Report, Subject
from ..config.mqtt import MqttSettings
from ..mqtt.connection import address_of, make_client, speaks_5
from ..mqtt.reasons import NotConnected, reason_of
from ..mqtt.topics import ANY_ROBOT, DaemonTopic, Meaning, ReportTopic, ResponseTopic, Topics
from .finding import broker_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator

    from ..mqtt.connection import Client

ANSWER_TIMEOUT_S = 5.0
SUBSCRIBE_TRIES = 3
SUBSCRIBE_TIMEOUT_S = 3.0
LOOK_S = 0.1
CONNECT_TRIES, CONNECT_PAUSE_S = 3, 0.2
RENEWALS_A_TTL = 3  # so that two of them may be lost
RELEASE_TIMEOUT_S = 1.0
LONGEST_HOLDER = 60
FIRST_S, SILENCE_S = 3.0, 0.3  # until something retained must have come, and then each next one
# The same once a robot has answered, for brokers that look up meanwhile what they have retained.
SETTLED_S = 0.05
START_IT = "start it with `motiond run`"


class NoAnswer(Exception):
    """Nobody answers."""

    exit_code: ClassVar[int] = 3


async def ask(
    settings: MqttSettings,
    robot: str,
    verb: str,
    payload: dict[str, Any] | None = None,
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> dict[str, Any]:
    """Send one request and give the data of its answer.

    Parameters
    ----------
    settings : MqttSettings
        The broker that the daemon is connected to.
    robot, verb : str
        Whom to ask, and for what: one of `motiond.daemon.api.requests.VERBS`.
    payload : dict, optional
        The request's keys and values.
    timeout_s : float
        How long to wait for the answer.

    Raises
    ------
    RequestError
        If the request was refused, with the daemon's code, message and data.
    NoAnswer
        If there is no broker, or no answer in time; the message says what to do.
    """
    async with _connection(settings, robot) as connection, AsyncExitStack() as stack:
        return await _ask_in_control(stack, connection, verb, payload or {}, timeout_s)


async def begin_and_wait(
    settings: MqttSettings,
    robot: str,
    verb: str,
    request: dict[str, Any],
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> AsyncGenerator[Report]:
    """Set a robot going and give its reports: states, the one result, and then what follows it by itself.

    What follows a motion that ended well is what `on_end` asks for. For `release` there come states until
    torque is off; for `park` states, and the result of `park` or the event that says why there is none. They
    end early where somebody else sets the robot going, or where it is halted or offline.

    Close it (`contextlib.aclosing`) if not run to its end; that stops the listening, not the robot.

    Parameters
    ----------
    settings : MqttSettings
        The broker that the daemon is connected to.
    robot : str
        The robot to set going.
    verb : {'play', 'goto'}
        How.
    request : dict
        Keys and values of such a request.
    timeout_s : float
        How long to wait for an answer, and how long the robot may say nothing before it is asked.

    Raises
    ------
    RequestError
        If the request was refused.
    NoAnswer
        If the daemon does not answer, or no longer.
    """
    async with _connection(settings, robot) as connection, AsyncExitStack() as stack:
        await connection.listen("state", "result", "event")
        goal_id = (await _ask_in_control(stack, connection, verb, request, timeout_s))["goal_id"]
        result: dict[str, Any] = {}
        async for report in connection.reports(timeout_s):
            if report.subject != "event" and report.data.get("goal_id") == goal_id:
                yield report
                if report.subject == "result":
                    result = report.data
                    break
        async for report in _followed(connection, result, timeout_s):
            yield report


async def _ask_in_control(
    stack: AsyncExitStack, connection: _Connection, verb: str, payload: dict[str, Any], timeout_s: float
) -> dict[str, Any]:
    """Ask; if nobody is in control and somebody has to be, be it from then on, as long as the stack lasts."""
    try:
        return await connection.ask(verb, payload, timeout_s)
    except RequestError as error:
        if error.code != "NOT_IN_CONTROL" or error.data["holder"] is not None or verb.startswith("lease/"):
            raise
    control = _in_control(connection.settings, connection.robot, holder_of(verb), timeout_s)
    lease = await stack.enter_async_context(control)
    return await connection.ask(verb, {**payload, "lease": lease}, timeout_s)


@asynccontextmanager
async def _in_control(
    settings: MqttSettings, robot: str, holder: str, timeout_s: float
) -> AsyncIterator[str]:
    """Be in control; renewals have a connection of their own, as they wait for no other answer."""
    async with _connection(settings, robot) as connection:
        given = await connection.ask("lease/acquire", {"holder": holder}, timeout_s)
        lease: str = given["lease"]
        keeping = asyncio.create_task(_keep(connection, lease, given["ttl_s"]), name="lease.keep")
        try:
            yield lease
        finally:
            keeping.cancel()
            await asyncio.wait((keeping,))
            with suppress(RequestError, NoAnswer, aiomqtt.MqttError):  # it runs out by itself
                await connection.ask("lease/release", {"lease": lease}, RELEASE_TIMEOUT_S)


async def _keep(connection: _Connection, lease: str, ttl_s: float) -> None:
    """Renew a lease until it is lost; what that leads to is the daemon's to say."""
    with suppress(RequestError, aiomqtt.MqttError):
        while True:
            await asyncio.sleep(ttl_s / RENEWALS_A_TTL)
            with suppress(NoAnswer):
                await connection.ask("lease/renew", {"lease": lease}, ttl_s / RENEWALS_A_TTL)


def holder_of(verb: str) -> str:
    """Return what others are told of who is in control: the user, the machine and the subcommand."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # one that the machine has no name for
        user = "somebody"
    told = f"{user}@{socket.gethostname()} (motiond {verb})"
    return "".join(one if one.isprintable() else "?" for one in told)[:LONGEST_HOLDER].strip()


async def _followed(
    connection: _Connection, result: dict[str, Any], timeout_s: float
) -> AsyncIterator[Report]:
    """Yield what follows a result, until it is done.

    The robot is asked for its state: how a report of it stands to the result in time is not known, as they
    are published apart.
    """
    follows, at_rest_s = result["follows"], 0.0
    while follows in {"release", "park"} and at_rest_s < timeout_s:
        state = await connection.ask("status", {}, timeout_s)
        yield Report(connection.robot, "state", state)
        for report in connection.take_reports():
            ended = report.subject == "result" and report.data["motion"] == "park"
            if ended and report.data["goal_id"] != result["goal_id"]:
                yield report
                return
            if report.subject == "event" and report.data["kind"] == "not_parked":
                yield report
                return
        if follows == "release" and not state["torque"]:
            return
        if state["state"] in {"offline", "estopped", "fault"} or state["motion"] not in {None, "park"}:
            return
        await asyncio.sleep(LOOK_S)
        at_rest_s = at_rest_s + LOOK_S if state["state"] == "idle" and state["goal_id"] is None else 0.0


async def watch(
    settings: MqttSettings, robot: str = ANY_ROBOT, subjects: Iterable[Subject] = SUBJECTS
) -> AsyncGenerator[Report]:
    """Yield reports as they arrive, those that last at once, until the caller closes it.

    Parameters
    ----------
    settings : MqttSettings
        The broker that the daemon is connected to.
    robot : str
        Whom to watch; `+` is everyone.
    subjects : iterable of str
        What to watch.

    Raises
    ------
    NoAnswer
        If there is no broker, or no longer.
    """
    async with _connection(settings, robot) as connection:
        await connection.listen(*subjects)
        async for report in connection.reports(None):
            yield report


async def retained(
    settings: MqttSettings, robot: str = ANY_ROBOT, subjects: Iterable[Subject] = SUBJECTS
) -> tuple[list[Report], dict[str, dict[str, Any]]]:
    """Return what the broker has retained, and the answer of a robot that was asked for its status.

    A broker does not say when that was all. What it has retained is on its way before the answer of a robot
    that is asked afterwards; where none answers soon, only silence tells.

    Raises
    ------
    NoAnswer
        If there is no broker, or no longer.
    """
    told: list[Report] = []
    answers: dict[str, dict[str, Any]] = {}
    loop, silence_s, asked = asyncio.get_running_loop(), SILENCE_S, False
    async with _connection(settings, robot) as connection:
        await connection.listen(*subjects)
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_S) as limit:
                async for report in connection.reports(None):
                    told.append(report)
                    if not asked and _is_online(report):
                        asked = True
                        limit.reschedule(None)
                        answers = await _status_of(connection, report.robot)
                        silence_s = SETTLED_S if answers else SILENCE_S
                    limit.reschedule(loop.time() + silence_s)
    return told, answers


def _is_online(report: Report) -> bool:
    return report.subject == "availability" and report.data.get("state") == "online"


async def _status_of(connection: _Connection, robot: str) -> dict[str, dict[str, Any]]:
    """Return the status of a robot by its name; nothing where it does not answer soon."""
    connection.robot = robot
    with suppress(NoAnswer, RequestError):
        return {robot: await connection.ask("status", {}, SILENCE_S)}
    return {}


async def _connected(settings: MqttSettings, stack: AsyncExitStack) -> Client:
    """Connect; a broker that hangs up while it takes the connection is tried again, an absent one is not."""
    for tries_left in reversed(range(CONNECT_TRIES)):
        try:
            return await stack.enter_async_context(make_client(settings))
        except aiomqtt.MqttError as error:
            if not tries_left or (isinstance(error, NotConnected) and error.absent):
                raise
            await asyncio.sleep(CONNECT_PAUSE_S)
    raise AssertionError  # the last try returns or raises


@asynccontextmanager
async def _connection(settings: MqttSettings, robot: str) -> AsyncIterator[_Connection]:
    async with reaching(settings, robot) as client:
        yield _Connection(client, settings, robot)


@asynccontextmanager
async def reaching(settings: MqttSettings, robot: str = ANY_ROBOT) -> AsyncIterator[Client]:
    """Connect to the broker for as long as the context lasts; of several to the one where the robot is.

    Raises
    ------
    NoAnswer
        If it cannot be reached, or goes away.
    """
    broker = await broker_of(settings, robot)
    try:
        async with AsyncExitStack() as stack:
            yield await _connected(broker, stack)
    except (aiomqtt.MqttError, OSError) as error:
        raise NoAnswer(f"{address_of(broker)}: no connection to the broker; {reason_of(error)}") from error


def nobody_at(base: str) -> str:
    """Return that no daemon has been at a broker, and what to do."""
    if base == MqttSettings().base:
        return f"no daemon has been at this broker; {START_IT}"
    return f"no daemon has been at this broker below '{base}'; {START_IT}, or correct --base or mqtt.base"


class _Connection:
    """One client's conversation with one robot; reports that come while it waits for an answer are kept."""

    def __init__(self, client: aiomqtt.Client, settings: MqttSettings, robot: str) -> None:
        self._client = client
        self.settings = settings
        self._version_5 = speaks_5(settings)
        self._topics = Topics(settings.base)
        self.robot = robot
        self._subscribed: set[str] = set()
        self._reports: deque[Report] = deque()
        self._robots: dict[str, dict[str, Any]] = {}
        self._daemons: dict[str, dict[str, Any]] = {}

    async def listen(self, *subjects: Subject) -> None:
        """Subscribe to what the robot reports."""
        for subject in subjects:
            qos = 0 if subject in STREAMED else 1
            await self._subscribe(self._topics.report(self.robot, subject), qos)

    async def _subscribe(self, topic: str, qos: int = 1) -> None:
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
        topics = self._topics
        for topic in (
            topics.response(self.robot, verb),
            topics.report(ANY_ROBOT, "availability"),
            topics.daemon(),
        ):
            await self._subscribe(topic)
        request = {"transaction": uuid4().hex, **payload}
        answered = ResponseTopic(self.robot, verb)
        try:
            async with asyncio.timeout(timeout_s):
                properties = self._expiry(timeout_s)
                topic = topics.request(self.robot, verb)
                await self._client.publish(topic, orjson.dumps(request), qos=1, properties=properties)
                while True:
                    meaning, data = await self._receive()
                    if meaning == answered and data.get("transaction") == request["transaction"]:
                        return _data_of(data)
        except TimeoutError:
            pass
        raise NoAnswer(f"{self.robot}: no answer in {timeout_s:g} s; {self._why_silent()}")

    def _expiry(self, timeout_s: float) -> Properties | None:
        """Let the broker forget a request when nobody waits for its answer any more (MQTT 5 only)."""
        if not self._version_5:
            return None
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's is untyped
        properties.MessageExpiryInterval = ceil(timeout_s)
        return properties

    async def reports(self, silence_s: float | None) -> AsyncIterator[Report]:
        """Yield reports as they arrive; after a silence, ask for the status to see that someone is there."""
        while True:
            for report in self.take_reports():
                yield report
            try:
                async with asyncio.timeout(silence_s):
                    await self._receive()
            except TimeoutError:
                await self.ask("status", {}, silence_s or ANSWER_TIMEOUT_S)

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
            return f"the robots here are {listed(names)}; {nearest(self.robot, names) or START_IT}"
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
