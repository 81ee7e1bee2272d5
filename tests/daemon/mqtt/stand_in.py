"""A broker in memory that does what mosquitto 2.0 does by the same configuration, in MQTT 5 and 3.1.1.

`tests/daemon/broker/contract.py` holds it to the real one.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from paho.mqtt.client import topic_matches_sub
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from motiond.daemon.broker.packets import _Fields as Fields
from motiond.daemon.config.mqtt import MqttSettings
from tests.daemon.broker.wire import packet, short, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MOST_IN_FLIGHT = 20
NOT_AUTHORIZED, TAKEN_OVER, TOO_LARGE, NO_RETAIN, NO_SUCH_QOS = 0x87, 0x8E, 0x95, 0x9A, 0x9B
NOBODY = 0x10
"""No matching subscribers."""


def properties_of(fields: Fields, kind: int) -> Properties:
    """Take the properties that a packet of a kind has in MQTT 5."""
    properties = Properties(kind)  # type: ignore[no-untyped-call] # paho's is untyped
    _, length = properties.unpack(fields.rest())  # type: ignore[no-untyped-call] # the same
    fields.take(length)
    return properties


@dataclass(frozen=True)
class Message:
    """A message as it was published."""

    topic: str
    payload: bytes
    qos: int
    retain: bool
    properties: Properties | None = None


class Subscription(NamedTuple):
    qos: int
    retain_as_published: bool = False


@dataclass
class Session:
    """What is kept of a client; its connection may come and go."""

    name: str
    lasts: bool
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    outgoing: dict[int, tuple[Message, bool]] = field(default_factory=dict)  # whether to be released
    waiting: deque[Message] = field(default_factory=deque)
    incoming: dict[int, Message] = field(default_factory=dict)
    connection: Connection | None = None
    numbers: Iterator[int] = field(default_factory=lambda: itertools.cycle(range(1, 65_536)))

    def deliver(self, message: Message) -> None:
        """Send a message, or keep it if its QoS asks for that."""
        if message.qos:
            self.waiting.append(message)
            self.pump()
        elif self.connection is not None:
            self.connection.publish(message)

    def pump(self) -> None:
        """Send what waits, as long as the client takes it."""
        while self.connection and self.waiting and len(self.outgoing) < self.connection.most_in_flight:
            number = next(free for free in self.numbers if free not in self.outgoing)
            message = self.waiting.popleft()
            if self.connection.publish(message, number):
                self.outgoing[number] = message, False

    def resume(self, connection: Connection) -> None:
        """Go on by another connection: what was not acknowledged is sent again."""
        self.connection = connection
        for number, (message, is_received) in self.outgoing.items():
            if is_received:
                connection.send(0x62, short(number))
            else:
                connection.publish(message, number, again=True)
        self.pump()


class Rules(NamedTuple):
    """What an access list has for one user."""

    permitted: list[tuple[str, str]]
    denied: list[tuple[str, str]]


class Configuration:
    """What the lines of a configuration file set."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        options = dict(line.split(maxsplit=1) for line in lines)
        self.speaks_mqtt = "protocol" not in options
        self.is_open = options.get("allow_anonymous") != "false"
        self.persists = options.get("persistence") == "true"
        self.has_retained = options.get("retain_available") != "false"
        self.most_qos = int(options.get("max_qos", 2))
        self.most_packet_bytes = int(options.get("max_packet_size", 0))
        self.most_payload_bytes = int(options.get("message_size_limit", 0))
        self.most_in_flight = int(options.get("max_inflight_messages", MOST_IN_FLIGHT))
        self._passwords = Path(options["password_file"]) if "password_file" in options else None
        self._rules = _rules(Path(options["acl_file"])) if "acl_file" in options else None

    def lets_in(self, name: str | None, password: bytes | None) -> bool:
        """Whether somebody may connect."""
        if name is None or self._passwords is None:
            return self.is_open
        logins = dict(line.split(":", 1) for line in self._passwords.read_text().splitlines())
        return password is not None and logins.get(name) == password.decode()

    def permits(self, name: str | None, topic: str, access: Literal["read", "write"]) -> bool:
        """Whether a topic may be read or written."""
        if self._rules is None:
            return True
        rules = self._rules.get(name or "", Rules([], []))

        def has(among: list[tuple[str, str]]) -> bool:
            return any(access in how and topic_matches_sub(where, topic) for how, where in among)

        return has(rules.permitted) and not has(rules.denied)


def _rules(file: Path) -> dict[str, Rules]:
    rules, user = {"": Rules([], [])}, ""
    for line in file.read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "user":
            user = rest
            rules.setdefault(user, Rules([], []))
        elif word == "topic":
            how, _, where = rest.rpartition(" ")
            among = rules[user].denied if how == "deny" else rules[user].permitted
            among.append(("readwrite" if how in {"", "deny"} else how, where))
    return rules


class Connection(asyncio.Protocol):
    """One client's connection."""

    def __init__(self, broker: StandIn) -> None:
        self._broker = broker
        self._inbox = b""
        self._is_lost = False
        self._transport: asyncio.Transport
        self._handlers: Mapping[int, Callable[[int, Fields], None]] = {
            1: self._connect,
            3: self._take_message,
            4: self._acknowledged,
            5: self._received,
            6: self._released,
            7: self._acknowledged,
            8: self._subscribe,
            10: self._unsubscribe,
            12: lambda *_: self.send(0xD0),
            14: self._disconnect,
        }
        self.version_5 = False
        self.user: str | None = None
        self.session: Session | None = None
        self.will: Message | None = None
        self.most_in_flight = MOST_IN_FLIGHT
        self._most_bytes = 2**28

    # -- called by asyncio ----------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._broker.connections.append(self)

    def data_received(self, data: bytes) -> None:
        self._inbox += data
        self.go_on()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the same, whatever the reason
        self._is_lost = True
        self.go_on()

    # -- called by the broker -------------------------------------------------------------------------------

    def go_on(self) -> None:
        """Serve what has come, unless the broker hangs."""
        if self._broker.is_frozen:
            return
        while self._inbox and not self._transport.is_closing() and (frame := self._frame()):
            first, body = frame
            if not self._broker.configuration.speaks_mqtt or (self.session is None) != (first >> 4 == 1):
                self.hang_up()
                break
            self._handlers[first >> 4](first, Fields(body))
        if self._is_lost:
            self.leave()

    def _frame(self) -> tuple[int, bytes] | None:
        """Take the next packet off what has come, if it has come whole."""
        length, end = 0, 1
        while True:
            if end >= len(self._inbox):
                return None
            byte = self._inbox[end]
            length |= (byte & 127) << 7 * (end - 1)
            end += 1
            if not byte & 128:
                break
        if 0 < self._broker.configuration.most_packet_bytes < end + length:
            self.hang_up(TOO_LARGE)
            return None
        if len(self._inbox) < end + length:
            return None
        first, body = self._inbox[0], self._inbox[end : end + length]
        self._inbox = self._inbox[end + length :]
        return first, body

    def hang_up(self, code: int = 0, *, has_will: bool = True) -> None:
        """End the connection; MQTT 5 has a word for why."""
        if code and self.version_5:
            self.send(0xE0, bytes([code, 0]))
        self._transport.close()
        self.leave(has_will=has_will)

    def leave(self, *, has_will: bool = True) -> None:
        """Forget the connection, and its session unless that lasts."""
        if self in self._broker.connections:
            self._broker.connections.remove(self)
        session, self.session = self.session, None
        will, self.will = self.will, None
        if session is not None and session.connection is self:
            session.connection = None
            if not session.lasts:
                self._broker.sessions.pop(session.name, None)
        if will is not None and has_will:
            self._broker.publish(will)

    def cut(self) -> None:
        """End the connection as the end of a process does."""
        self._transport.abort()

    # -- what is sent ---------------------------------------------------------------------------------------

    def send(self, first: int, body: bytes = b"") -> None:
        """Send a packet."""
        self._transport.write(packet(first, body))

    def publish(self, message: Message, number: int = 0, *, again: bool = False) -> bool:
        """Send a message, if it may be read and is not too long; return whether it was."""
        if not self._broker.configuration.permits(self.user, message.topic, "read"):
            return False
        head = text(message.topic) + (short(number) if message.qos else b"")
        if self.version_5:
            head += message.properties.pack() if message.properties is not None else b"\0"  # type: ignore[no-untyped-call]
        if len(head) + len(message.payload) + 5 > self._most_bytes:
            return False
        self.send(0x30 | again << 3 | message.qos << 1 | message.retain, head + message.payload)
        return True

    # -- what comes -----------------------------------------------------------------------------------------

    def _connect(self, _first: int, fields: Fields) -> None:
        assert fields.text() == "MQTT"
        self.version_5 = fields.byte() == 5
        flags = fields.byte()
        fields.short()  # the keep-alive, which no test waits for
        expires_s = 0 if flags & 2 else 1
        if self.version_5:
            asked = properties_of(fields, PacketTypes.CONNECT)
            expires_s = getattr(asked, "SessionExpiryInterval", 0)
            self.most_in_flight = min(self.most_in_flight, getattr(asked, "ReceiveMaximum", MOST_IN_FLIGHT))
            self._most_bytes = getattr(asked, "MaximumPacketSize", self._most_bytes)
        name = fields.text() or f"auto-{id(self)}"
        if flags & 4:
            if self.version_5:
                properties_of(fields, PacketTypes.WILLMESSAGE)
            topic, payload = fields.text(), fields.binary()
            self.will = Message(topic, payload, flags >> 3 & 3, bool(flags & 32))
        self.user = fields.text() if flags & 128 else None
        password = fields.binary() if flags & 64 else None
        if code := self._refusal(password):
            self.will = None
            if self.version_5 or code == NOT_AUTHORIZED:
                self.send(0x20, bytes([0, code, 0]) if self.version_5 else bytes([0, 5]))
            self.hang_up()
            return
        if self.will is not None and not self._may_write(self.will.topic):
            self.will = None
        self._begin(name, is_clean=bool(flags & 2), lasts=expires_s > 0)

    def _refusal(self, password: bytes | None) -> int:
        configuration = self._broker.configuration
        if not configuration.lets_in(self.user, password):
            return NOT_AUTHORIZED
        if self.will is not None and self.will.retain and not configuration.has_retained:
            return NO_RETAIN
        return NO_SUCH_QOS if self.will is not None and self.will.qos > configuration.most_qos else 0

    def _begin(self, name: str, *, is_clean: bool, lasts: bool) -> None:
        sessions = self._broker.sessions
        before = sessions.get(name)
        if before is not None and before.connection is not None:
            before.connection.hang_up(TAKEN_OVER, has_will=is_clean or not before.lasts)
        present = sessions.get(name)
        if is_clean or present is None:
            present = sessions[name] = Session(name, lasts)
            self._accept(is_present=False)
        else:
            present.lasts = lasts
            self._accept(is_present=True)
        self.session = present
        present.resume(self)

    def _accept(self, *, is_present: bool) -> None:
        if not self.version_5:
            self.send(0x20, bytes([is_present, 0]))
            return
        configuration = self._broker.configuration
        properties = Properties(PacketTypes.CONNACK)  # type: ignore[no-untyped-call] # paho's is untyped
        properties.ReceiveMaximum = configuration.most_in_flight
        if configuration.most_qos < 2:
            properties.MaximumQoS = configuration.most_qos
        if not configuration.has_retained:
            properties.RetainAvailable = 0
        if configuration.most_packet_bytes:
            properties.MaximumPacketSize = configuration.most_packet_bytes
        self.send(0x20, bytes([is_present, 0]) + properties.pack())  # type: ignore[no-untyped-call]

    def _may_write(self, topic: str) -> bool:
        return self._broker.configuration.permits(self.user, topic, "write")

    def _take_message(self, first: int, fields: Fields) -> None:
        configuration = self._broker.configuration
        qos, retain = first >> 1 & 3, bool(first & 1)
        topic = fields.text()
        number = fields.short() if qos else 0
        properties = properties_of(fields, PacketTypes.PUBLISH) if self.version_5 else None
        message = Message(topic, fields.rest(), qos, retain, properties)
        if qos > configuration.most_qos:
            self.hang_up(NO_SUCH_QOS)
            return
        if retain and not configuration.has_retained:
            self.hang_up(NO_RETAIN)
            return
        assert self.session is not None
        code = 0
        if 0 < configuration.most_payload_bytes < len(message.payload):
            code = TOO_LARGE
        elif not self._may_write(topic):
            code = NOT_AUTHORIZED
        if qos == 2:
            if not code:
                self.session.incoming.setdefault(number, message)
            self._acknowledge(0x50, number, code)
            return
        reached = not code and self._broker.publish(message)
        if qos:
            self._acknowledge(0x40, number, code or (0 if reached else NOBODY))

    def _acknowledge(self, first: int, number: int, code: int = 0) -> None:
        self.send(first, short(number) + (bytes([code]) if self.version_5 and code else b""))

    def _released(self, _first: int, fields: Fields) -> None:
        assert self.session is not None
        number = fields.short()
        if (message := self.session.incoming.pop(number, None)) is not None:
            self._broker.publish(message)
        self._acknowledge(0x70, number)

    def _received(self, _first: int, fields: Fields) -> None:
        assert self.session is not None
        number = fields.short()
        if number in self.session.outgoing:
            self.session.outgoing[number] = self.session.outgoing[number][0], True
        self.send(0x62, short(number))

    def _acknowledged(self, _first: int, fields: Fields) -> None:
        assert self.session is not None
        self.session.outgoing.pop(fields.short(), None)
        self.session.pump()

    def _subscribe(self, _first: int, fields: Fields) -> None:
        assert self.session is not None
        answer = short(fields.short())
        if self.version_5:
            properties_of(fields, PacketTypes.SUBSCRIBE)
            answer += b"\0"
        subscribed = []
        while not fields.is_done:
            filter_, options = fields.text(), fields.byte()
            qos = min(options & 3, self._broker.configuration.most_qos)
            subscribed.append((filter_, Subscription(qos, bool(options & 8))))
        self.session.subscriptions.update(subscribed)
        self.send(0x90, answer + bytes(one.qos for _, one in subscribed))
        for filter_, one in subscribed:
            self._broker.send_retained(self.session, filter_, one.qos)

    def _unsubscribe(self, _first: int, fields: Fields) -> None:
        assert self.session is not None
        answer, codes = short(fields.short()), b""
        if self.version_5:
            properties_of(fields, PacketTypes.UNSUBSCRIBE)
            answer += b"\0"
        while not fields.is_done:
            was_there = self.session.subscriptions.pop(fields.text(), None) is not None
            codes += bytes([0 if was_there else 0x11])
        self.send(0xB0, answer + (codes if self.version_5 else b""))

    def _disconnect(self, _first: int, fields: Fields) -> None:
        code = 0 if fields.is_done else fields.byte()
        if self.session is not None and self.version_5 and not fields.is_done:
            properties = properties_of(fields, PacketTypes.DISCONNECT)
            self.session.lasts = getattr(properties, "SessionExpiryInterval", self.session.lasts) > 0
        self.hang_up(has_will=code == 4)


class StandIn:
    """The broker."""

    def __init__(self, port: int, protocol: Literal["5", "3.1.1"] = "5") -> None:
        self.settings = MqttSettings(
            broker=f"mqtt://127.0.0.1:{port}",
            protocol=protocol,
            reconnect_min_s=0.05,
            reconnect_max_s=0.2,
            stop_when_lost_s=10.0,
        )
        self.port = port
        self.is_frozen = False
        self.configuration = Configuration(())
        self.connections: list[Connection] = []
        self.sessions: dict[str, Session] = {}
        self._retained: dict[str, Message] = {}
        self._lines: tuple[str, ...] = ()
        self._server: asyncio.Server | None = None

    # -- what tests do with it ------------------------------------------------------------------------------

    def configure(self, *lines: str) -> None:
        """Have other lines in the configuration file; they count from the next start on."""
        self._lines = lines

    async def start(self) -> None:
        self.configuration = Configuration(self._lines)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), "127.0.0.1", self.port)

    def is_running(self) -> bool:
        return self._server is not None

    def freeze(self) -> None:
        """Let it hang."""
        self.is_frozen = True

    def thaw(self) -> None:
        self.is_frozen = False
        for connection in self.connections[:]:
            connection.go_on()

    async def end(self) -> None:
        """Let it end by itself: wills are published, and what is persistent is kept."""
        for connection in self.connections[:]:
            will, connection.will = connection.will, None
            if will is not None:
                self.publish(will)
        for connection in self.connections[:]:
            connection.hang_up()
        retained = self._retained if self.configuration.persists else {}
        await self.kill()
        self._retained = retained

    async def kill(self) -> None:
        """End it as SIGKILL does."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        for connection in self.connections:
            connection.cut()
        self.is_frozen = True  # what is lost now, is lost in silence
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.connections.clear()
        self.is_frozen = False
        self.sessions, self._retained = {}, {}

    # -- what connections do with it ------------------------------------------------------------------------

    def publish(self, message: Message) -> bool:
        """Keep a message if it is to be, and give it to all who are subscribed; return whether anybody is."""
        if message.retain and message.payload:
            self._retained[message.topic] = message
        elif message.retain:
            self._retained.pop(message.topic, None)
        reached = False
        for session in list(self.sessions.values()):
            matching = [
                one for filter_, one in session.subscriptions.items() if _matches(filter_, message.topic)
            ]
            if matching:
                reached = True
                best = max(matching)
                retain = message.retain and best.retain_as_published
                session.deliver(_as(message, min(message.qos, best.qos), retain=retain))
        return reached

    def send_retained(self, session: Session, filter_: str, qos: int) -> None:
        """Give what is kept to who has subscribed."""
        for topic, message in list(self._retained.items()):
            if _matches(filter_, topic):
                session.deliver(_as(message, min(message.qos, qos), retain=True))


def _as(message: Message, qos: int, *, retain: bool) -> Message:
    return Message(message.topic, message.payload, qos, retain, message.properties)


@cache
def _matches(filter_: str, topic: str) -> bool:
    return topic_matches_sub(filter_, topic) and (topic[0] != "$" or filter_[0] == "$")
