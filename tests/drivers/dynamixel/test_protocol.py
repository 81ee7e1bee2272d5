"""Frames as bytes; the first table has the examples of the ROBOTIS e-manual, Protocol 2.0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from dynamixel_sdk import COMM_SUCCESS, GroupSyncRead, GroupSyncWrite, PacketHandler
from hypothesis import given
from hypothesis import strategies as st

from motiond.drivers.dynamixel import protocol
from motiond.drivers.dynamixel.chain import JointAnswer
from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.emulator.servo import EmulatedServo
from motiond.drivers.dynamixel.models import models_by_name
from motiond.drivers.dynamixel.protocol import Packet, take_packet

if TYPE_CHECKING:
    from collections.abc import Sequence

XM430 = models_by_name()["XM430-W210"]
SAID = {
    "ping 1": (protocol.encode_ping(1), "FF FF FD 00 01 03 00 01 19 4E"),
    "ping all": (protocol.encode_ping(254), "FF FF FD 00 FE 03 00 01 31 42"),
    "read": (protocol.encode_read(1, 132, 4), "FF FF FD 00 01 07 00 02 84 00 04 00 1D 15"),
    "write": (
        protocol.encode_write(1, 116, (512).to_bytes(4, "little")),
        "FF FF FD 00 01 09 00 03 74 00 00 02 00 00 CA 89",
    ),
    "sync read": (
        protocol.encode_sync_read([1, 2], 132, 4),
        "FF FF FD 00 FE 09 00 82 84 00 04 00 01 02 CE FA",
    ),
    "sync write": (
        protocol.encode_sync_write(116, {1: (150).to_bytes(4, "little"), 2: (170).to_bytes(4, "little")}),
        "FF FF FD 00 FE 11 00 83 74 00 04 00 01 96 00 00 00 02 AA 00 00 00 82 87",
    ),
    "fast sync read": (
        protocol.encode_sync_read([3, 7, 4], 132, 4, fast=True),
        "FF FF FD 00 FE 0A 00 8A 84 00 04 00 03 07 04 20 F2",
    ),
    "clear": (
        protocol.encode(1, 0x10, bytes.fromhex("01 44 58 4C 22")),
        "FF FF FD 00 01 08 00 10 01 44 58 4C 22 B1 DC",
    ),
}
ONE_AT_166 = "FF FF FD 00 01 08 00 55 00 A6 00 00 00 8C C0"
TWO_AT_2079 = "FF FF FD 00 02 08 00 55 00 1F 08 00 00 BA BE"
PINGED_1 = "FF FF FD 00 01 07 00 55 00 06 04 26 65 5D"
PINGED_2 = "FF FF FD 00 02 07 00 55 00 06 04 26 6F 6D"
FAST = "FF FF FD 00 FE 19 00 55 00 03 A6 00 00 00 84 08 00 07 1F 08 00 00 16 CA 00 04 FF 03 00 00 D1 9E"
HEARD = {
    "ping 1": PINGED_1,
    "ping all": PINGED_1 + PINGED_2,
    "read": ONE_AT_166,
    "write": "FF FF FD 00 01 04 00 55 00 A1 0C",
    "sync read": ONE_AT_166 + TWO_AT_2079,
    "fast sync read": FAST,
}


@pytest.mark.parametrize("example", SAID)
def test_reports_what_the_document_shows(example: str) -> None:
    frame, expected = SAID[example]
    assert frame == bytes.fromhex(expected)


def _servos_of_the_document(example: str) -> EmulatedChain:
    number, firmware = (1030, 38)
    standing = {3: 166, 7: 2079, 4: 1023} if example == "fast sync read" else {1: 166, 2: 2079}
    assert XM430.number == number
    servos = [EmulatedServo(one, XM430, {"firmware": firmware}, at) for one, at in standing.items()]
    return EmulatedChain(servos, lambda: 0.0)


@pytest.mark.parametrize("example", HEARD)
def test_emulated_servos_answer_as_the_document_shows(example: str) -> None:
    chain = _servos_of_the_document(example)
    replies = list(chain.feed(bytearray(SAID[example][0])))
    assert b"".join(reply.frame for reply in replies) == bytes.fromhex(HEARD[example])


def test_reads_the_documents_joint_answer() -> None:
    frame, answer = bytes.fromhex(FAST), JointAnswer(3, 4)
    assert len(frame) == answer.bytes
    assert answer.parts(bytearray(b"\xff\xff" + frame + b"\xff")) == bytearray(frame[8:])
    for place in range(len(frame)):
        damaged = frame[:place] + bytes([frame[place] ^ 1]) + frame[place + 1 :]
        assert answer.parts(bytearray(damaged)) is None
    assert answer.parts(bytearray(frame[:-1])) is None
    assert JointAnswer(2, 4).parts(bytearray(frame)) is None


@given(st.integers(0, 252), st.integers(0, 255), st.lists(st.sampled_from([0xFF, 0xFD, 0, 7]), max_size=40))
def test_takes_back_what_it_reports_whatever_needs_stuffing(
    servo_id: int, instruction: int, parameters: list[int]
) -> None:
    packet = Packet(servo_id, instruction, bytes(parameters))
    received = bytearray(protocol.encode(servo_id, instruction, bytes(parameters)))
    assert take_packet(received) == packet
    assert not received


@given(st.binary(max_size=30), st.integers(0, 12))
def test_finds_a_packet_behind_noise_however_it_is_cut(noise: bytes, cut: int) -> None:
    answer = bytes.fromhex(ONE_AT_166)
    received = bytearray(noise.replace(b"\xff", b"\x00") + answer[:cut])
    assert take_packet(received) is None
    received += answer[cut:]
    assert take_packet(received) == Packet(1, 0x55, bytes.fromhex("00 A6 00 00 00"))


def test_drops_a_damaged_packet_and_takes_the_next() -> None:
    damaged = bytearray.fromhex(ONE_AT_166)
    damaged[9] ^= 0x10
    received = damaged + bytes.fromhex(TWO_AT_2079)
    packet = take_packet(received)
    assert packet is not None
    assert packet.servo_id == 2


class WireOfTheSdk:
    """A port of the vendor's SDK with an emulated chain on it."""

    def __init__(self, chain: EmulatedChain) -> None:
        self.chain = chain
        self.is_using = False
        self.sent: list[bytes] = []
        self._received = b""

    def clearPort(self) -> None:  # noqa: N802 - the SDK's name
        self._received = b""

    def writePort(self, packet: Sequence[int]) -> int:  # noqa: N802 - the same
        self.sent.append(bytes(packet))
        self._received = b"".join(reply.frame for reply in self.chain.feed(bytearray(packet)))
        return len(packet)

    def readPort(self, length: int) -> bytes:  # noqa: N802 - the same
        part, self._received = self._received[:length], self._received[length:]
        return part

    def setPacketTimeout(self, length: int) -> None:  # noqa: N802 - the same
        pass

    def isPacketTimeout(self) -> bool:  # noqa: N802 - the same
        return not self._received

    def getBaudRate(self) -> int:  # noqa: N802 - the same
        return 1_000_000


def test_the_vendors_sdk_reports_the_same_and_understands_emulated_servos() -> None:
    ids = [1, 2, 3]
    chain = EmulatedChain([EmulatedServo(one, XM430, None, -3 + one) for one in ids], lambda: 0.0)
    wire, handler = WireOfTheSdk(chain), PacketHandler(2.0)
    goals = {one: np.int32(1000 - 2000 * one).tobytes() for one in ids}

    writing = GroupSyncWrite(wire, handler, 116, 4)
    for one, goal in goals.items():
        assert writing.addParam(one, list(goal))
    assert writing.txPacket() == COMM_SUCCESS
    reading = GroupSyncRead(wire, handler, 132, 4)
    for one in ids:
        assert reading.addParam(one)
    assert reading.fastSyncRead() == COMM_SUCCESS
    assert reading.txRxPacket() == COMM_SUCCESS

    assert wire.sent == [
        protocol.encode_sync_write(116, goals),
        protocol.encode_sync_read(ids, 132, 4, fast=True),
        protocol.encode_sync_read(ids, 132, 4),
    ]
    assert [np.int32(np.uint32(reading.getData(one, 132, 4))) for one in ids] == [-2, -1, 0]
    assert handler.ping(wire, 2)[0] == XM430.number
    assert handler.read4ByteTxRx(wire, 2, 132)[1:] == (COMM_SUCCESS, 0)
