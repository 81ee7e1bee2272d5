"""MQTT 3.1.1 control packets, from bytes and to bytes; nothing here knows a socket.

Exception
└── PacketError      not a packet that a client may send
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from .matching import TopicError, check_filter, check_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

LEVEL = 4  # how 3.1.1 is called on the wire
LONGEST_HEADER = 5
MESSAGE_OVERHEAD = 300  # what Python needs besides the bytes of a message that waits
SHORT = struct.Struct("!H")


class Kind(IntEnum):
    """Types of packets."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    PUBREC = 5
    PUBREL = 6
    PUBCOMP = 7
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14


FROM_CLIENTS = {
    Kind.CONNECT: 0,
    Kind.PUBACK: 0,
    Kind.PUBREC: 0,
    Kind.PUBREL: 2,
    Kind.PUBCOMP: 0,
    Kind.SUBSCRIBE: 2,
    Kind.UNSUBSCRIBE: 2,
    Kind.PINGREQ: 0,
    Kind.DISCONNECT: 0,
}
"""The flags that each packet of a client must have, but for PUBLISH."""


class ConnectCode(IntEnum):
    """Return codes of CONNACK."""

    ACCEPTED = 0
    UNACCEPTABLE_LEVEL = 1
    IDENTIFIER_REJECTED = 2
    UNAVAILABLE = 3
    BAD_LOGIN = 4
    NOT_AUTHORIZED = 5


FAILURE = 0x80  # of one subscription, in a SUBACK
PINGRESP = bytes((Kind.PINGRESP << 4, 0))


class PacketError(Exception):
    """What a client has sent breaks the standard, or a bound of this broker; it is disconnected."""


class Message(NamedTuple):
    """What is published."""

    topic: str
    payload: bytes
    qos: int
    retain: bool

    @property
    def size(self) -> int:
        """What it takes to keep it, in bytes."""
        return len(self.payload) + len(self.topic) + MESSAGE_OVERHEAD


class Connect(NamedTuple):
    """How a client introduces itself; only the level is read where it is another one than ours."""

    level: int
    client_id: str = ""
    clean: bool = True
    keep_alive_s: int = 0
    will: Message | None = None
    username: bytes | None = None
    password: bytes | None = None


# -- from bytes ---------------------------------------------------------------------------------------------


class Frame(NamedTuple):
    """Where a packet's body lies in a buffer."""

    kind: int
    flags: int
    begin: int
    end: int


def frame_at(data: bytearray, start: int) -> Frame | None:
    """Return the packet whose header begins at an index, as far as it has come; None if the header has not.

    Raises `PacketError` if no client may send such a packet.
    """
    if len(data) < start + 2:
        return None
    kind, flags = data[start] >> 4, data[start] & 15
    if kind != Kind.PUBLISH and FROM_CLIENTS.get(kind) != flags:  # type: ignore[call-overload]
        raise PacketError(f"a packet that begins with 0x{data[start]:02x}, which no client may send")
    length = 0
    for index in range(1, LONGEST_HEADER):
        if len(data) <= start + index:
            return None
        byte = data[start + index]
        length |= (byte & 127) << (7 * (index - 1))
        if byte < 128:
            begin = start + index + 1
            return Frame(kind, flags, begin, begin + length)
    raise PacketError("a remaining length of more than four bytes")


class _Fields:
    """A packet's body, whose fields are taken one by one."""

    __slots__ = ("_at", "_body")

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    @property
    def is_done(self) -> bool:
        return self._at == len(self._body)

    def take(self, count: int) -> bytes:
        begin, self._at = self._at, self._at + count
        if self._at > len(self._body):
            raise PacketError("a packet that ends before its fields do")
        return self._body[begin : self._at]

    def byte(self) -> int:
        return self.take(1)[0]

    def short(self) -> int:
        return int(SHORT.unpack(self.take(2))[0])

    def binary(self) -> bytes:
        return self.take(self.short())

    def text(self) -> str:
        return _text(self.binary())

    def packet_id(self) -> int:
        packet_id = self.short()
        if packet_id == 0:
            raise PacketError("a packet identifier of zero")
        return packet_id

    def rest(self) -> bytes:
        return self._body[self._at :]

    def end(self) -> None:
        if not self.is_done:
            raise PacketError("a packet with more than its fields")


def _text(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise PacketError("a text that is not UTF-8") from None
    if "\0" in text:
        raise PacketError("a text with the null character")
    return text


def _topic(data: bytes) -> str:
    topic = _text(data)
    try:
        check_topic(topic)
    except TopicError as error:
        raise PacketError(f"a PUBLISH to {error}") from None
    return topic


def read_connect(body: bytes) -> Connect:
    """Read a CONNECT; the rest is left alone if its level is not ours."""
    fields = _Fields(body)
    if (name := fields.text()) != "MQTT":
        raise PacketError(f"the protocol {name[:16]!r}")
    if (level := fields.byte()) != LEVEL:
        return Connect(level)
    flags = fields.byte()
    _check_connect_flags(flags)
    keep_alive_s = fields.short()
    client_id = fields.text()
    will = None
    if flags & 4:
        topic, payload = _topic(fields.binary()), fields.binary()
        will = Message(topic, payload, flags >> 3 & 3, bool(flags & 32))
    username = fields.text().encode() if flags & 128 else None
    password = fields.binary() if flags & 64 else None
    fields.end()
    return Connect(level, client_id, bool(flags & 2), keep_alive_s, will, username, password)


def _check_connect_flags(flags: int) -> None:
    if flags & 1:
        raise PacketError("a CONNECT with the reserved flag")
    if flags & 4 and flags >> 3 & 3 == 3:
        raise PacketError("a will of QoS 3")
    if not flags & 4 and flags & 0b111000:
        raise PacketError("a QoS or a retain flag of no will")
    if flags & 64 and not flags & 128:
        raise PacketError("a password without a user name")


def read_publish(flags: int, body: bytes) -> tuple[Message, int]:
    """Read a PUBLISH: its message, and its identifier, which is 0 for QoS 0."""
    qos = flags >> 1 & 3
    if qos == 3:
        raise PacketError("a PUBLISH of QoS 3")
    if qos == 0 and flags & 8:
        raise PacketError("a PUBLISH of QoS 0 with the DUP flag")
    fields = _Fields(body)
    topic = _topic(fields.binary())
    packet_id = fields.packet_id() if qos else 0
    return Message(topic, fields.rest(), qos, bool(flags & 1)), packet_id


def read_packet_id(body: bytes) -> int:
    """Read a packet that consists of an identifier only."""
    fields = _Fields(body)
    packet_id = fields.packet_id()
    fields.end()
    return packet_id


def read_nothing(body: bytes) -> None:
    """Read a packet without a body."""
    _Fields(body).end()


def read_subscribe(body: bytes) -> tuple[int, Iterator[tuple[str, int]]]:
    """Read a SUBSCRIBE: its identifier, and its filters with their QoS, as far as they are asked for."""
    fields = _Fields(body)
    packet_id = fields.packet_id()
    return packet_id, _subscriptions(_some(fields))


def _subscriptions(fields: _Fields) -> Iterator[tuple[str, int]]:
    while not fields.is_done:
        filter_ = _filter(fields)
        if (qos := fields.byte()) > 2:
            raise PacketError(f"a subscription of QoS {qos}")
        yield filter_, qos


def read_unsubscribe(body: bytes) -> tuple[int, Iterator[str]]:
    """Read an UNSUBSCRIBE: its identifier, and its filters, as far as they are asked for."""
    fields = _Fields(body)
    packet_id = fields.packet_id()
    return packet_id, _filters(_some(fields))


def _filters(fields: _Fields) -> Iterator[str]:
    while not fields.is_done:
        yield _filter(fields)


def _some(fields: _Fields) -> _Fields:
    if fields.is_done:
        raise PacketError("a packet without a topic filter")
    return fields


def _filter(fields: _Fields) -> str:
    filter_ = fields.text()
    try:
        check_filter(filter_)
    except TopicError as error:
        raise PacketError(str(error)) from None
    return filter_


# -- to bytes -----------------------------------------------------------------------------------------------


def write_connack(code: ConnectCode, *, present: bool = False) -> bytes:
    """Write a CONNACK."""
    return bytes((Kind.CONNACK << 4, 2, present, code))


def write_ack(kind: Kind, packet_id: int) -> bytes:
    """Write a PUBACK, PUBREC, PUBREL, PUBCOMP or UNSUBACK."""
    flags = 2 if kind == Kind.PUBREL else 0
    return bytes((kind << 4 | flags, 2, packet_id >> 8, packet_id & 255))


def write_suback(packet_id: int, codes: list[int]) -> bytes:
    """Write a SUBACK with a return code for each filter."""
    return b"".join(
        (bytes((Kind.SUBACK << 4,)), _length(2 + len(codes)), SHORT.pack(packet_id), bytes(codes))
    )


def write_publish(
    message: Message, *, qos: int = 0, retain: bool = False, packet_id: int = 0, again: bool = False
) -> bytes:
    """Write a PUBLISH; its flags are not those with which the message came."""
    topic = message.topic.encode()
    head = Kind.PUBLISH << 4 | again << 3 | qos << 1 | retain
    identifier = SHORT.pack(packet_id) if qos else b""
    length = _length(2 + len(topic) + len(identifier) + len(message.payload))
    return b"".join((bytes((head,)), length, SHORT.pack(len(topic)), topic, identifier, message.payload))


def _length(length: int) -> bytes:
    if length < 128:
        return bytes((length,))
    digits = []
    while length > 127:
        digits.append(length & 127 | 128)
        length >>= 7
    return bytes((*digits, length))
