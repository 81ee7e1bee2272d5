"""The connection to a broker, by aiomqtt's public interface."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import ssl
from collections import defaultdict
from contextlib import nullcontext, suppress
from itertools import chain
from math import ceil, inf
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from motiond.tls import why_distrusted

from .errors import ConnectionLost, NoAnswer
from .reports import NEWEST_ONLY, Report
from .target import ENCRYPTED, WEB_SOCKETS, Broker
from .transport import MOST_AT_ONCE, POST_S, STOPS, UNEXPIRING, Deadline, Interest, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

CONNECT_S, SUBSCRIBE_S = 5.0, 3.0
CONNECT_TRIES, CONNECT_PAUSE_S = 3, 0.2
SUBSCRIBE_TRIES = 3
KEEPALIVE_S = 10
STOP_AGAIN_S = 0.5
"""So often a stop is sent again until it is answered: a broker that has restarted keeps it for no daemon."""
FIRST_S, SILENCE_S = 3.0, 0.05
"""How long the first retained report may take, and each next one where the broker is near."""
MOST_IN_FLIGHT = 1000
_Asked = tuple[str, str, str]
"""A robot, a verb and a transaction, which several requests may have in common."""
START_IT = "start it with `motiond run`"
_REASONS: tuple[tuple[type[OSError], str], ...] = (
    (ssl.SSLError, "there is no TLS on this port; correct the URL"),
    (ConnectionRefusedError, "nobody listens there; start the daemon or the broker, or correct the URL"),
    (socket.gaierror, "the host's name cannot be found; correct the URL, or look at the name service"),
    (TimeoutError, "nobody answers there; correct the URL, or look at the network"),
)
# aiomqtt logs a traceback for each acknowledgement that comes after its call was cancelled or timed out.
_AIOMQTT_LOG = logging.getLogger(f"{__name__}.aiomqtt")
_AIOMQTT_LOG.setLevel(logging.CRITICAL)
_NO_DELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Topics:
    """The topics that a client uses, below a base; docs/mqtt.md lists all."""

    def __init__(self, base: str) -> None:
        self.base = base

    def report(self, robot: str, subject: str) -> str:
        """Return where a robot reports on a subject; `+` is any robot."""
        return f"{self.base}/{robot}/{subject}"

    def request(self, robot: str, verb: str) -> str:
        """Return where a robot is asked."""
        return f"{self.base}/{robot}/request/{verb}"

    def response(self, robot: str, verb: str) -> str:
        """Return where a robot answers."""
        return f"{self.base}/{robot}/response/{verb}"

    def daemons(self) -> str:
        """Return the filter of what daemons report of themselves."""
        return f"{self.base}/bridge/+/availability"

    def levels(self, topic: str) -> list[str]:
        """Return the levels below the base; none where a topic is not below it."""
        head, _, rest = topic.partition(f"{self.base}/")
        return rest.split("/") if not head else []


class MqttTransport(Transport):
    """One connection to one broker, for any number of robots and requests at once.

    Answers come to the topics that all clients have in common, where the transaction says whose they are: on
    those, an access list can let a client read the answers to stops alone. By 3.1.1 all is QoS 0: the
    clusters that speak it alone log each message of QoS 1 before they deliver it, and a stop would wait.

    Attributes
    ----------
    daemons : dict of str to dict
        The availability of each daemon, by its id.
    """

    has_groups = False
    takes_no_result = "the broker may not take it"

    def __init__(self, broker: Broker, take: Callable[[Report], None]) -> None:
        super().__init__(str(broker), take)
        self.broker = broker
        self.daemons: dict[str, dict[str, Any]] = {}
        self._robots: dict[str, dict[str, Any]] = {}
        self._topics = Topics(broker.base)
        self._is_5 = broker.protocol == "5"
        self._qos = 1 if self._is_5 else 0
        self._client: aiomqtt.Client | None = None
        self._subscribed: set[str] = set()
        self._may_subscribe = asyncio.Lock()
        self._asked: defaultdict[_Asked, set[asyncio.Future[dict[str, Any]]]] = defaultdict(set)
        self._turns: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(MOST_AT_ONCE)
        )
        self._sightings = 0
        self._is_answering = False

    # -- the connection --------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        self._subscribed = set()
        try:
            async with await self._connected() as client:
                self._client = client
                await self._subscribe(self._wanted_topics())
                self._note_connected()
                async for message in client.messages:
                    self._receive(message)
        except (aiomqtt.MqttError, OSError) as error:
            raise NoAnswer(
                f"{self.place}: no connection to the broker; {reason_of(error, self.broker)}"
            ) from error
        finally:
            self._client = None
            self.connected.clear()
            for waiting in chain(*self._asked.values()):
                if not waiting.done():
                    waiting.set_exception(
                        ConnectionLost(f"{self.place}: the connection to the broker is lost")
                    )

    async def _connected(self) -> _Entered:
        """Connect; a broker that hangs up while it takes the connection is tried again."""
        for tries_left in reversed(range(CONNECT_TRIES)):
            client = self._make()
            try:
                await client.__aenter__()
            except aiomqtt.MqttError as error:
                if not tries_left or not _is_hang_up(error):
                    raise
                await asyncio.sleep(CONNECT_PAUSE_S)
            else:
                return _Entered(client)
        raise AssertionError  # the last try returns or raises

    def _make(self) -> aiomqtt.Client:
        broker = self.broker
        username, password = broker.login
        tls = None
        if broker.scheme in ENCRYPTED:
            tls = ssl.create_default_context(cafile=broker.ca_file)
            if broker.cert_file is not None:
                tls.load_cert_chain(broker.cert_file, broker.key_file)
        client = aiomqtt.Client(
            broker.host,
            broker.port,
            username=username,
            password=password,
            identifier=f"motiond-client-{uuid4().hex[:12]}",
            protocol=aiomqtt.ProtocolVersion.V5 if self._is_5 else aiomqtt.ProtocolVersion.V311,
            clean_session=None if self._is_5 else True,
            transport="websockets" if broker.scheme in WEB_SOCKETS else "tcp",
            timeout=CONNECT_S,
            keepalive=KEEPALIVE_S,
            max_inflight_messages=MOST_IN_FLIGHT,
            tls_context=tls,
            socket_options=[_NO_DELAY],
            websocket_path=broker.path or None,
            logger=_AIOMQTT_LOG,
        )
        client.pending_calls_threshold = MOST_IN_FLIGHT
        return client

    def _receive(self, message: aiomqtt.Message) -> None:
        try:
            data = json.loads(message.payload) if isinstance(message.payload, bytes) else None
        except ValueError:
            return
        if not isinstance(data, dict):
            return
        match self._topics.levels(message.topic.value):
            case [robot, "response", *verb]:
                for waiting in self._asked.get((robot, "/".join(verb), str(data.get("transaction"))), ()):
                    if not waiting.done():
                        waiting.set_result(data)
            case ["bridge", daemon, "availability"]:
                self.daemons[daemon] = data
                self._sightings += 1
            case [robot, subject]:
                if subject == "availability":
                    self._robots[robot] = data
                    self._sightings += 1
                self._take(Report(robot, subject, data))

    # -- reports ---------------------------------------------------------------------------------------------

    async def follow(self, interest: Interest) -> None:
        """Subscribe to what is new, and unsubscribe from what is no longer wanted."""
        before, self._interest = self._interest, interest
        client = self._client
        if client is None:  # the next connection subscribes to it
            return
        with suppress(aiomqtt.MqttError):  # it has broken, and the next one does so
            await self._subscribe(self._wanted_topics())
            gone = {self._topics.report(*one) for one in before - interest} & self._subscribed
            if gone := gone - {self._topics.report("+", "availability")}:
                self._subscribed -= gone
                await client.unsubscribe(sorted(gone), timeout=SUBSCRIBE_S)

    def _wanted_topics(self) -> dict[str, int]:
        return {
            self._topics.report(robot, subject): 0 if subject in NEWEST_ONLY else self._qos
            for robot, subject in self._interest
        }

    async def _subscribe(self, wanted: dict[str, int]) -> None:
        """Subscribe to each topic once; a broker that does not acknowledge it is asked again."""
        async with self._may_subscribe:
            new = [(topic, qos) for topic, qos in sorted(wanted.items()) if topic not in self._subscribed]
            client = self._client
            if not new or client is None:
                return
            for tries_left in reversed(range(SUBSCRIBE_TRIES)):
                try:
                    await client.subscribe(new, timeout=SUBSCRIBE_S)
                except aiomqtt.MqttError:
                    if not tries_left:
                        raise
                else:
                    self._subscribed.update(topic for topic, _ in new)
                    return

    # -- requests --------------------------------------------------------------------------------------------

    async def ask(self, path: str, verb: str, payload: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        """Send a request and return the answer; a stop again and again until it is answered."""
        asked = path, verb, str(payload.setdefault("transaction", uuid4().hex))
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[asked].add(answer)
        try:
            repeats = verb in STOPS
            if repeats and self._qos == 0:  # at once, too: a cluster without a leader grants no subscription
                await self._publish(path, verb, payload, deadline)
            async with nullcontext() if verb in STOPS else self._turns[path]:
                await self._subscribe({self._topics.response("+", verb): self._qos})
                while True:
                    await self._publish(path, verb, payload, deadline)
                    with suppress(TimeoutError):
                        async with asyncio.timeout(STOP_AGAIN_S if repeats else None):
                            return await asyncio.shield(answer)
        except aiomqtt.MqttError as error:
            if self._client is not None and not answer.done():
                raise TimeoutError from error
            raise ConnectionLost(f"{self.place}: the connection to the broker is lost") from error
        finally:
            self._asked[asked].discard(answer)
            if not self._asked[asked]:
                del self._asked[asked]
            answer.cancel()

    async def _post(self, path: str, verb: str, payload: dict[str, Any]) -> None:
        """Publish a target; without a transaction it is not answered."""
        if self._client is not None:
            topic = self._topics.request(path, verb)
            with suppress(aiomqtt.MqttError):  # the connection has broken, or a newer one makes up for it
                await self._client.publish(topic, json.dumps(payload).encode(), 0, timeout=POST_S)

    async def _publish(self, robot: str, verb: str, payload: dict[str, Any], deadline: Deadline) -> None:
        if self._client is None:
            raise aiomqtt.MqttError("not connected")
        properties = None
        if self._is_5 and verb not in UNEXPIRING:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's is untyped
            properties.MessageExpiryInterval = ceil(deadline.left_s)
        topic = self._topics.request(robot, verb)
        await self._client.publish(
            topic, json.dumps(payload).encode(), self._qos, properties=properties, timeout=inf
        )

    # -- who is there ----------------------------------------------------------------------------------------

    async def names(self) -> Collection[str]:
        """Return the robots that the broker has retained reports of; it does not say when that was all."""
        if not self._subscribed.issuperset(self._whereabouts):
            await self.look()
        return sorted(self._robots)

    @property
    def _whereabouts(self) -> tuple[str, str]:
        return self._topics.daemons(), self._topics.report("+", "availability")

    async def look(self) -> None:
        """Receive the availability of all robots and daemons, until the broker falls silent.

        It is asked for an acknowledgement whether all is subscribed to or not: one that hangs gives none.
        """
        self._is_answering = False
        acknowledged = self._topics.response("+", "queue")  # of which nothing is retained
        self._subscribed.discard(acknowledged)
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        with suppress(aiomqtt.MqttError):
            await self._subscribe(dict.fromkeys(self._whereabouts, self._qos))
            # What is retained, most brokers send before they acknowledge what comes later, others soon after.
            await self._subscribe({acknowledged: self._qos})
            self._is_answering = self._client is not None
        silence_s = max(SILENCE_S, loop.time() - began_s)
        until_s, seen = loop.time() + FIRST_S, -1
        while self._is_answering and (
            self._sightings != seen or (not self._robots and loop.time() < until_s)
        ):
            seen = self._sightings
            await asyncio.sleep(silence_s)

    def absence(self, robot: str) -> str:
        """Return why a robot may not have answered, by what its daemon has reported."""
        if not self._is_answering:
            return "the broker does not answer; look at it, or at the daemon that it is a part of"
        if not self._robots:
            return self.nobody
        if robot not in self._robots:
            return f"the robots here are {_listed(self._robots)}; {_nearest(robot, self._robots)}"
        match self.daemons.get(str(self._robots[robot].get("bridge")), {}).get("state"):
            case "online":
                hint = "look at the daemon's log, and at the broker's access list and limits"
                return f"its daemon reports that it is online; {hint}"
            case "broken":
                return "its daemon has crashed, or has lost the broker; look at the daemon's log"
        return f"its daemon is offline; {START_IT}"

    @property
    def nobody(self) -> str:
        """What is said of a broker at which no daemon has been."""
        if self.broker.base == Broker().base:
            return f"no daemon has been at this broker; {START_IT}"
        return (
            f"no daemon has been at this broker below '{self.broker.base}'; {START_IT}, or correct the base"
        )


class _Entered:
    """Leaves a client that is connected already."""

    def __init__(self, client: aiomqtt.Client) -> None:
        self._client = client

    async def __aenter__(self) -> aiomqtt.Client:
        return self._client

    async def __aexit__(self, *error: object) -> None:
        with suppress(aiomqtt.MqttError):
            await self._client.__aexit__(*error)  # type: ignore[arg-type]


def _is_hang_up(error: aiomqtt.MqttError) -> bool:
    """Whether the broker was reached, and closed the connection without an answer."""
    return not isinstance(error, aiomqtt.MqttCodeError) and not isinstance(error.__context__, OSError)


def reason_of(error: BaseException, broker: Broker) -> str:
    """Return why there is no connection to a broker, and what to do."""
    met = error.__context__ if isinstance(error.__context__, OSError) else error  # aiomqtt names it so alone
    if isinstance(met, ssl.SSLCertVerificationError):
        is_set = broker.ca_file is not None
        return f"the broker's certificate {why_distrusted(met, 'the URL', 'ca_file', is_set=is_set)}"
    if isinstance(met, aiomqtt.MqttCodeError) and "protocol" in str(met.rc).lower():
        return f"the broker does not speak MQTT {broker.protocol}; name another protocol, 3.1.1 or 5"
    if isinstance(met, aiomqtt.MqttCodeError):
        hint = "correct the login, or see its log" if _has_login(broker) else "name a user and a password"
        return f"the broker refuses the connection ({str(met.rc).lower()}); {hint}"
    if not isinstance(met, OSError):
        return f"the broker has hung up or gone ({str(met).lower()}); look at its log"
    for kind, reason in _REASONS:
        if isinstance(met, kind):
            return reason
    return f"it cannot be reached ({(met.strerror or str(met)).lower()}); correct the URL"


def _has_login(broker: Broker) -> bool:
    return broker.username is not None or urlsplit(broker.url).username is not None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _nearest(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a message

    close = get_close_matches(name, list(names), 1)
    return f"did you mean '{close[0]}'?" if close else "name one of them, or start the daemon that has it"
