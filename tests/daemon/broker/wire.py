"""A client on a raw socket; its packets are written by the standard, and not by the broker's own codec."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import NamedTuple, Self

from tests.waiting import PATIENCE_S

PINGREQ, PINGRESP = b"\xc0\x00", b"\xd0\x00"
DISCONNECT = b"\xe0\x00"
PUBACK, PUBREC, PUBREL, PUBCOMP, UNSUBACK = 0x40, 0x50, 0x62, 0x70, 0xB0


def packet(first: int, body: bytes) -> bytes:
    length, rest = b"", len(body)
    while True:
        rest, digit = divmod(rest, 128)
        length += bytes([digit | (128 if rest else 0)])
        if not rest:
            return bytes([first]) + length + body


def short(number: int) -> bytes:
    return struct.pack("!H", number)


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return short(len(data)) + data


class Will(NamedTuple):
    topic: str | bytes
    payload: bytes = b"gone"
    qos: int = 0
    retain: bool = False


def connect(
    client_id: str | bytes = "c",
    *,
    clean: bool = True,
    keep_alive_s: int = 0,
    will: Will | None = None,
    username: str | bytes | None = None,
    password: bytes | None = None,
    name: str = "MQTT",
    level: int = 4,
    flags: int = 0,
    after: bytes = b"",
) -> bytes:
    flags |= clean << 1
    fields = text(client_id)
    if will is not None:
        flags |= 4 | will.qos << 3 | will.retain << 5
        fields += text(will.topic) + text(will.payload)
    if username is not None:
        flags |= 128
        fields += text(username)
    if password is not None:
        flags |= 64
        fields += text(password)
    return packet(0x10, text(name) + bytes([level, flags]) + short(keep_alive_s) + fields + after)


def connack(code: int = 0, *, present: bool = False) -> bytes:
    return bytes([0x20, 2, present, code])


def publish(
    topic: str | bytes,
    payload: bytes = b"",
    qos: int = 0,
    packet_id: int = 1,
    *,
    retain: bool = False,
    again: bool = False,
) -> bytes:
    first = 0x30 | again << 3 | qos << 1 | retain
    return packet(first, text(topic) + (short(packet_id) if qos else b"") + payload)


def subscribe(*filters: str | bytes, qos: int = 0, packet_id: int = 1) -> bytes:
    return packet(0x82, short(packet_id) + b"".join(text(filter_) + bytes([qos]) for filter_ in filters))


def unsubscribe(*filters: str | bytes, packet_id: int = 1) -> bytes:
    return packet(0xA2, short(packet_id) + b"".join(map(text, filters)))


def suback(*codes: int, packet_id: int = 1) -> bytes:
    return packet(0x90, short(packet_id) + bytes(codes))


def ack(first: int, packet_id: int) -> bytes:
    return packet(first, short(packet_id))


class Published(NamedTuple):
    """A message as it was delivered."""

    topic: str
    payload: bytes
    qos: int
    retain: bool
    again: bool
    packet_id: int


def published(received: bytes) -> Published:
    first = received[0]
    assert first >> 4 == 3, received[:40]
    at = 1
    while received[at] & 128:
        at += 1
    at += 1
    end = at + 2 + struct.unpack_from("!H", received, at)[0]
    topic, qos, packet_id = received[at + 2 : end].decode(), first >> 1 & 3, 0
    if qos:
        packet_id = struct.unpack_from("!H", received, end)[0]
        end += 2
    return Published(topic, received[end:], qos, bool(first & 1), bool(first & 8), packet_id)


class Wire:
    """One connection, and what comes on it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, port: int, *, reads_little: bool = False) -> Self:
        """Connect; one that reads little has small buffers, so that it is soon stuck unless it reads."""
        sock = socket.socket()
        sock.setblocking(False)
        if reads_little:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
        return cls(*await asyncio.open_connection(sock=sock, limit=4096 if reads_little else 2**16))

    def send(self, *packets: bytes) -> None:
        self.writer.write(b"".join(packets))

    async def next(self) -> bytes:
        """Give the next packet; nothing at the end of the connection."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                head = await self.reader.readexactly(2)
                while head[-1] & 128:
                    head += await self.reader.readexactly(1)
                length = sum((byte & 127) << 7 * at for at, byte in enumerate(head[1:]))
                return head + await self.reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionResetError):
            return b""

    async def until(self, wanted: bytes) -> list[Published]:
        """Give the messages that come before a packet."""
        messages: list[Published] = []
        while (received := await self.next()) != wanted:
            assert received, f"the connection ended before {wanted!r}; there came {messages}"
            messages.append(published(received))
        return messages

    async def received(self) -> list[Published]:
        """Give all messages that the broker has sent up to now."""
        self.send(PINGREQ)
        return await self.until(PINGRESP)

    async def message(self) -> Published:
        return published(await self.next())

    async def ends(self) -> bool:
        """Whether the connection ends, without anything more coming."""
        return await self.next() == b""

    def vanish(self) -> None:
        """End without a word."""
        self.writer.transport.abort()
