"""The protocol of Feetech's STS, SMS and SCS servos: packets as bytes, made and read by pure functions.

`encode…` make frames for the wire, `take_packet` takes packets out of received bytes. Follows Feetech's
"Communication Protocol User Manual": the header FF FF, an id, the length of what follows it, an instruction,
parameters, and a checksum. The answer has the servo's state in place of the instruction. Registers of two
bytes are little-endian in STS and SMS servos, and big-endian in SCS servos; the tables have that.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from ..serial_bus.protocol import Found

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..serial_bus.protocol import StatusPacket

HEADER = b"\xff\xff"
BROADCAST_ID = 0xFE
HIGHEST_ID = 253
BEFORE_INSTRUCTION = 4
SHORTEST = 6
_CHECKSUM_BYTES = 1
_BIG_ENDIAN = 1
_LEAST_LENGTH, _MOST_LENGTH = 2, 255
_LEAST_INSTRUCTION_TO_SEVERAL = 0x80
"""No error byte has this bit, and an echo of what was sent to several servos does."""


class Instruction(IntEnum):
    """The instructions that this project knows."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REBOOT = 0x08
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83


@dataclass(frozen=True, slots=True)
class Packet:
    """What stands between header and checksum.

    `error`: of an answer, the servo's state, 0 where all is well; of a question, its instruction. `data`: the
    bytes after it.
    """

    servo_id: int
    error: int
    data: bytes


def checksum(body: bytes | bytearray | memoryview) -> int:
    """Return the checksum of what stands between the header and it."""
    return ~sum(body) & 0xFF


def encode(servo_id: int, instruction: int, parameters: bytes = b"") -> bytes:
    """Return a frame for the wire. Raises ValueError if there are more parameters than it can have."""
    length = len(parameters) + _LEAST_LENGTH
    if length > _MOST_LENGTH:
        raise ValueError(f"{len(parameters)} bytes of parameters; a packet takes {_MOST_LENGTH - 2}")
    body = bytes([servo_id, length, instruction]) + parameters
    return HEADER + body + bytes([checksum(body)])


def encode_status(servo_id: int, error: int, data: bytes = b"") -> bytes:
    """Return the frame of a servo's answer."""
    return encode(servo_id, error, data)


def encode_ping(servo_id: int) -> bytes:
    """Return the frame that asks a servo whether it is there."""
    return encode(servo_id, Instruction.PING)


@lru_cache(maxsize=256)
def encode_read(servo_id: int, address: int, length: int) -> bytes:
    """Return the frame that asks one servo for part of its control table; ticks ask the same again."""
    return encode(servo_id, Instruction.READ, bytes([address, length]))


def encode_write(servo_id: int, address: int, data: bytes) -> bytes:
    """Return the frame that writes part of one servo's control table."""
    return encode(servo_id, Instruction.WRITE, bytes([address]) + data)


def encode_reboot(servo_id: int) -> bytes:
    """Return the frame that restarts a servo."""
    return encode(servo_id, Instruction.REBOOT)


def encode_sync_read(ids: Sequence[int], address: int, length: int) -> bytes:
    """Return the frame that asks several servos for one part of their control tables; SCS servos ignore it.

    Each answers for itself, in this order.
    """
    return encode(BROADCAST_ID, Instruction.SYNC_READ, bytes([address, length, *ids]))


def encode_sync_write(address: int, data: Mapping[int, bytes]) -> bytes:
    """Return the frames that write one part of several servos' control tables; there is no answer.

    `data`: bytes by servo id; at least one servo, and all of the same length. One frame takes 253 bytes of
    parameters, so that many servos need several.
    """
    (length,) = {len(part) for part in data.values()}
    most = (_MOST_LENGTH - _LEAST_LENGTH - 2) // (1 + length)
    parts = [bytes([servo_id]) + part for servo_id, part in data.items()]
    head = bytes([address, length])
    return b"".join(
        encode(BROADCAST_ID, Instruction.SYNC_WRITE, head + b"".join(parts[at : at + most]))
        for at in range(0, len(parts), most)
    )


def take_packet(received: bytearray) -> Packet | None:
    """Remove the first sound packet, and all before it, from what was received.

    Bytes that belong to no packet, and packets whose checksum is wrong, are dropped. Bytes that may still
    become a packet stay.

    Returns none if no packet is complete yet.
    """
    while True:
        begin = received.find(HEADER)
        if begin < 0:
            del received[: max(0, len(received) - len(HEADER) + 1)]
            return None
        del received[:begin]
        if len(received) < BEFORE_INSTRUCTION:
            return None
        servo_id, length = received[2], received[3]
        if servo_id <= BROADCAST_ID and length >= _LEAST_LENGTH:
            end = BEFORE_INSTRUCTION + length
            if len(received) < end:
                return None
            body = bytes(received[len(HEADER) : end - _CHECKSUM_BYTES])
            if checksum(body) == received[end - _CHECKSUM_BYTES]:
                del received[:end]
                return Packet(servo_id, body[2], body[3:])
        del received[:1]


class FeetechProtocol:
    """The protocol as a bus needs it; a `ServoProtocol`.

    A servo's answer to a ping says nothing but its state; what it is stands in its first registers. A ping to
    all at once is not used: the manual forbids it where several servos answer.
    """

    driver = "feetech"
    header = HEADER
    highest_id = HIGHEST_ID
    status_bytes = SHORTEST
    ping_bytes = 0
    identity: tuple[int, int] | None = (0, 5)
    alert_mask = 0x7F
    slowest_return_s = 508e-6
    ping = staticmethod(encode_ping)
    read = staticmethod(encode_read)
    write = staticmethod(encode_write)
    reboot = staticmethod(encode_reboot)
    sync_read = staticmethod(encode_sync_read)
    sync_write = staticmethod(encode_sync_write)

    def ping_all(self) -> None:
        """Return none: each servo is asked by itself."""

    def take(self, received: bytearray) -> Packet | None:
        """Remove the first sound answer, and all before it; None if none is complete yet."""
        while (packet := take_packet(received)) is not None:
            if packet.servo_id <= HIGHEST_ID and packet.error < _LEAST_INSTRUCTION_TO_SEVERAL:
                return packet
        return None

    def refusal(self, packet: StatusPacket) -> str | None:  # noqa: ARG002 - it refuses nothing
        """Return none: the error byte is the servo's state."""
        return None

    def heard_badly(self, packet: StatusPacket) -> bool:  # noqa: ARG002 - the same
        """Return false: a servo does not answer a damaged question."""
        return False

    def found(self, servo_id: int, data: bytes) -> Found:
        """Return what a servo is, by its first registers: firmware, byte order, model number."""
        number = int.from_bytes(data[3:5], "big" if data[2] == _BIG_ENDIAN else "little")
        return Found(servo_id, number, f"{data[0]}.{data[1]}")


PROTOCOL = FeetechProtocol()
