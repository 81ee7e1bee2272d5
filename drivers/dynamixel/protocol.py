"""DYNAMIXEL Protocol 2.0: packets as bytes, made and read by pure functions.

`encode…` make frames for the wire, `take_packet` takes packets out of received bytes. Follows the ROBOTIS
e-manual, "DYNAMIXEL Protocol 2.0": the header FF FF FD 00, an id, the length of what follows it, an
instruction, parameters, and a CRC-16. Where FF FF FD would occur after the length, an FD is stuffed in behind
it, except in a status packet that answers a fast sync read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from ..serial_bus.protocol import Found, StatusPacket

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HEADER = b"\xff\xff\xfd\x00"
BROADCAST_ID = 0xFE
HIGHEST_ID = 252
ALERT = 0x80
BEFORE_INSTRUCTION = 7
SHORTEST = 10
_LONGEST = 4096
_PATTERN, _STUFFED = b"\xff\xff\xfd", b"\xff\xff\xfd\xfd"


class Instruction(IntEnum):
    """The instructions that this project knows, and the status packet that answers them."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REBOOT = 0x08
    STATUS = 0x55
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83
    FAST_SYNC_READ = 0x8A


class Refusal(IntEnum):
    """Why a servo refused an instruction: the low seven bits of a status packet's error byte."""

    RESULT_FAIL = 1
    INSTRUCTION = 2
    CRC = 3
    DATA_RANGE = 4
    DATA_LENGTH = 5
    DATA_LIMIT = 6
    ACCESS = 7


REFUSED = {
    Refusal.RESULT_FAIL: "it could not do it",
    Refusal.INSTRUCTION: "it does not know the instruction",
    Refusal.CRC: "it got a damaged packet",
    Refusal.DATA_RANGE: "the value is out of range",
    Refusal.DATA_LENGTH: "the value has too few bytes",
    Refusal.DATA_LIMIT: "the value is beyond one of its limits",
    Refusal.ACCESS: "the register is read-only, missing, or locked while torque is on",
}


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet without stuffing; the `parameters` of a status packet begin with the error byte."""

    servo_id: int
    instruction: int
    parameters: bytes

    @property
    def error(self) -> int:
        """The error byte of a status packet."""
        return self.parameters[0]

    @property
    def data(self) -> bytes:
        """The bytes of a status packet after the error byte."""
        return self.parameters[1:]


_PRIMITIVE = 0x8003
"""x^15 + x + 1: the CRC's polynomial is this times x + 1."""
_CRC_BITS = 15


def _folds(size: int) -> tuple[tuple[int, int], ...]:
    """Return by which powers to reduce up to so many bytes to 15 bits: x^cut is x^shift + 1."""
    bits, folds = 8 * size + 16, []
    for power in reversed(range(bits.bit_length())):
        cut, shift = _CRC_BITS << power, 1 << power
        while bits > cut and (not power or bits > cut + 2 * shift):
            folds.append((cut, shift))
            bits = max(cut, bits - cut + shift)
    return tuple(folds)


_FOLDS = tuple(_folds((1 << bits) - 1) for bits in range(17))
"""By the bits that the length of the data has."""


def crc16(data: bytes | bytearray | memoryview, crc: int = 0) -> int:
    """Return the CRC-16 (polynomial 0x8005, most significant bit first) of `data`, continuing from `crc`.

    All bytes are taken at once, as a polynomial over GF(2) in one integer: a loop over bytes would be most
    of the computing in a tick. Each 2^n-th power of x^15 + x + 1 is a trinomial too, so a few shifts reduce
    many bits at once; whether the number of ones is odd gives the rest, the remainder by x + 1.

    `data`: up to 65,535 bytes, more than a packet can have.
    """
    size = len(data)
    rest = int.from_bytes(data, "big") << 16 ^ crc << 8 * size
    ones = rest.bit_count()
    for cut, shift in _FOLDS[size.bit_length()]:
        high = rest >> cut
        rest ^= high ^ high << shift ^ high << cut
    return rest ^ _PRIMITIVE if (ones ^ rest.bit_count()) & 1 else rest


def encode(servo_id: int, instruction: int, parameters: bytes = b"", *, stuffed: bool = True) -> bytes:
    """Return a frame for the wire."""
    body = bytes([instruction]) + parameters
    if stuffed:
        body = body.replace(_PATTERN, _STUFFED)
    frame = HEADER + bytes([servo_id]) + (len(body) + 2).to_bytes(2, "little") + body
    return frame + crc16(frame).to_bytes(2, "little")


def encode_status(servo_id: int, error: int, data: bytes = b"") -> bytes:
    """Return the frame of a servo's answer."""
    return encode(servo_id, Instruction.STATUS, bytes([error]) + data)


def encode_ping(servo_id: int) -> bytes:
    """Return the frame that asks a servo, or all of them, for model and firmware."""
    return encode(servo_id, Instruction.PING)


@lru_cache(maxsize=256)
def encode_read(servo_id: int, address: int, length: int) -> bytes:
    """Return the frame that asks one servo for part of its control table; ticks ask the same again."""
    return encode(servo_id, Instruction.READ, _span(address, length))


def encode_write(servo_id: int, address: int, data: bytes) -> bytes:
    """Return the frame that writes part of one servo's control table."""
    return encode(servo_id, Instruction.WRITE, address.to_bytes(2, "little") + data)


def encode_sync_read(ids: Sequence[int], address: int, length: int, *, fast: bool = False) -> bytes:
    """Return the frame that asks several servos for one part of their control tables."""
    instruction = Instruction.FAST_SYNC_READ if fast else Instruction.SYNC_READ
    return encode(BROADCAST_ID, instruction, _span(address, length) + bytes(ids))


def encode_sync_write(address: int, data: Mapping[int, bytes]) -> bytes:
    """Return the frame that writes one part of several servos' control tables; there is no answer.

    `data`: bytes by servo id; at least one servo, and all of the same length.
    """
    (length,) = {len(part) for part in data.values()}
    parts = b"".join(bytes([servo_id]) + part for servo_id, part in data.items())
    return encode(BROADCAST_ID, Instruction.SYNC_WRITE, _span(address, length) + parts)


def _span(address: int, length: int) -> bytes:
    return address.to_bytes(2, "little") + length.to_bytes(2, "little")


def fast_answer_length(count: int, length: int) -> int:
    """Return the length in bytes of the joint answer of `count` servos with `length` bytes each."""
    return BEFORE_INSTRUCTION + 1 + count * fast_part_length(length)


def fast_part_length(length: int) -> int:
    """Return the length in bytes of one servo's part: error, id, data, CRC."""
    return length + 4


def take_packet(received: bytearray) -> Packet | None:
    """Remove the first sound packet, and all before it, from what was received.

    Bytes that belong to no packet, and packets whose CRC is wrong, are dropped. Bytes that may still become a
    packet stay.

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
        length = int.from_bytes(received[5:7], "little")
        end = BEFORE_INSTRUCTION + length
        if SHORTEST <= end <= _LONGEST:
            if len(received) < end:
                return None
            frame = bytes(received[:end])
            if crc16(frame[:-2]) == int.from_bytes(frame[-2:], "little"):
                del received[:end]
                return _unwrap(frame)
        del received[:1]


def _unwrap(frame: bytes) -> Packet:
    parameters = frame[BEFORE_INSTRUCTION + 1 : -2]
    if frame[4] != BROADCAST_ID or frame[BEFORE_INSTRUCTION] != Instruction.STATUS:
        parameters = frame[BEFORE_INSTRUCTION:-2].replace(_STUFFED, _PATTERN)[1:]
    return Packet(frame[4], frame[BEFORE_INSTRUCTION], parameters)


class DynamixelProtocol:
    """Protocol 2.0, as a bus needs it; a `ServoProtocol`."""

    driver = "dynamixel"
    header = HEADER
    highest_id = HIGHEST_ID
    status_bytes = 11
    ping_bytes = 3
    identity: tuple[int, int] | None = None
    alert_mask = ALERT
    slowest_return_s = 508e-6
    ping = staticmethod(encode_ping)
    read = staticmethod(encode_read)
    write = staticmethod(encode_write)
    sync_read = staticmethod(encode_sync_read)
    sync_write = staticmethod(encode_sync_write)

    def ping_all(self) -> bytes:
        """Return the frame that asks all servos for model and firmware."""
        return encode_ping(BROADCAST_ID)

    def reboot(self, servo_id: int) -> bytes:
        """Return the frame that restarts a servo."""
        return encode(servo_id, Instruction.REBOOT)

    def take(self, received: bytearray) -> Packet | None:
        """Remove the first sound status packet, and all before it; None if none is complete yet."""
        while (packet := take_packet(received)) is not None:
            if packet.instruction == Instruction.STATUS and packet.parameters:
                return packet
        return None

    def refusal(self, packet: StatusPacket) -> str | None:
        """Return why a servo refused an instruction; the alert bit is none."""
        number = packet.error & ~ALERT
        if not number:
            return None
        try:
            return REFUSED[Refusal(number)]
        except ValueError:
            return f"error {number}"

    def heard_badly(self, packet: StatusPacket) -> bool:
        """Return whether a servo found the CRC wrong."""
        return packet.error & ~ALERT == Refusal.CRC

    def found(self, servo_id: int, data: bytes) -> Found:
        """Return what a servo answers to a ping."""
        return Found(servo_id, int.from_bytes(data[0:2], "little"), data[2])


PROTOCOL = DynamixelProtocol()
