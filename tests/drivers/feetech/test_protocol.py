"""Frames as bytes; the examples are those of Feetech's "Communication Protocol User Manual"."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiond.drivers.feetech import protocol
from motiond.drivers.feetech.emulator.chain import EmulatedChain
from motiond.drivers.feetech.emulator.servo import EmulatedServo
from motiond.drivers.feetech.models import models_by_name
from motiond.drivers.feetech.protocol import Packet, take_packet

STS, SCS = models_by_name()["STS3215"], models_by_name()["SCS0009"]
GOAL = bytes.fromhex("00 08 00 00 E8 03")
SAID = {
    "ping": (protocol.encode_ping(1), "FF FF 01 02 01 FB"),
    "read": (protocol.encode_read(1, 0x38, 2), "FF FF 01 04 02 38 02 BE"),
    "write": (protocol.encode_write(254, 5, b"\x01"), "FF FF FE 04 03 05 01 F4"),
    "sync read": (protocol.encode_sync_read([1, 2], 0x38, 8), "FF FF FE 06 82 38 08 01 02 36"),
    "sync write": (
        protocol.encode_sync_write(0x2A, dict.fromkeys([1, 2, 3, 4], GOAL)),
        "FF FF FE 20 83 2A 06" + "".join(f"{one:02x} 00 08 00 00 E8 03" for one in (1, 2, 3, 4)) + "58",
    ),
}
AT_1304 = "FF FF 01 04 00 18 05 DD"


@pytest.mark.parametrize("example", SAID)
def test_reports_what_the_manual_shows(example: str) -> None:
    frame, expected = SAID[example]
    assert frame == bytes.fromhex(expected)


@pytest.mark.parametrize(("question", "answer"), [("ping", "FF FF 01 02 00 FC"), ("read", AT_1304)])
def test_emulated_servos_answer_as_the_manual_shows(question: str, answer: str) -> None:
    chain = EmulatedChain([EmulatedServo(1, STS, position_ticks=1304)], lambda: 0.0)
    assert _answers(chain, SAID[question][0]) == bytes.fromhex(answer)


def _answers(chain: EmulatedChain, frame: bytes) -> bytes:
    return b"".join(reply.frame for reply in chain.feed(bytearray(frame)))


def test_goals_of_more_servos_than_a_frame_takes_go_into_several() -> None:
    ids = range(1, 101)
    chain = EmulatedChain([EmulatedServo(one, STS) for one in ids], lambda: 0.0)
    frames = protocol.encode_sync_write(42, {one: one.to_bytes(2, "little") for one in ids})
    assert _answers(chain, frames) == b""
    assert [one.get("goal_position") for one in chain.servos] == list(ids)


def test_refuses_to_ask_more_servos_than_a_frame_takes() -> None:
    with pytest.raises(ValueError, match=r"^254 bytes of parameters; a packet takes 253$"):
        protocol.encode_sync_read([1] * 252, 56, 2)


@given(st.integers(0, 254), st.integers(0, 255), st.binary(max_size=253))
def test_takes_back_what_it_reports(servo_id: int, error: int, data: bytes) -> None:
    received = bytearray(protocol.encode(servo_id, error, data))
    assert take_packet(received) == Packet(servo_id, error, data)
    assert not received


@given(st.binary(max_size=30), st.integers(0, 7))
def test_finds_a_packet_behind_noise_however_it_is_cut(noise: bytes, cut: int) -> None:
    answer = bytes.fromhex(AT_1304)
    received = bytearray(noise.replace(b"\xff", b"\x00") + answer[:cut])
    assert take_packet(received) is None
    received += answer[cut:]
    assert take_packet(received) == Packet(1, 0, bytes.fromhex("18 05"))


@pytest.mark.parametrize("place", [0, 1, 2, 4, 5, 6, 7])  # a wrong length makes a longer packet of both
def test_drops_a_damaged_packet_and_takes_the_next(place: int) -> None:
    damaged = bytearray.fromhex(AT_1304)
    damaged[place] ^= 0x01
    received = damaged + protocol.encode_status(2, 0, b"\x01\x02")
    assert take_packet(received) == Packet(2, 0, b"\x01\x02")


# -- whatever comes in --------------------------------------------------------------------------------------


def _frames(seed: int, count: int) -> list[bytes]:
    """Return frames of which most are broken: cut, changed, repeated, or not frames at all."""
    random_ = random.Random(seed)
    return [_broken(random_, _frame(random_)) for _ in range(count)]


def _frame(random_: random.Random) -> bytes:
    instruction = random_.choice([1, 2, 3, 4, 5, 6, 8, 0x0A, 0x0B, 0x82, 0x83, random_.randrange(256)])
    parameters = random_.randbytes(random_.choice([0, 1, 2, 3, 4, 8, 40, 253]))
    if random_.random() < 0.5:
        near = bytes([random_.choice([0, 5, 9, 31, 40, 42, 48, 55, 56]), random_.randrange(20)])
        parameters = (near + bytes([1, 2]) + parameters)[:253]
    return protocol.encode(random_.choice([0, 1, 2, 253, 254]), instruction, parameters)


def _broken(random_: random.Random, frame: bytes) -> bytes:
    at = random_.randrange(len(frame))
    match random_.randrange(6):
        case 0:
            return frame[:at]
        case 1:
            return frame[:at] + random_.randbytes(1) + frame[at + 1 :]
        case 2:
            return random_.randbytes(random_.randrange(40))
        case 3:
            return b"\xff" * random_.randrange(6) + frame[at:] + frame
    return frame


def test_takes_whatever_comes_and_never_more_than_it_was_given() -> None:
    received = bytearray()
    for frame in _frames(seed=45, count=10_000):
        received += frame
        while (packet := take_packet(received)) is not None:
            assert 0 <= packet.servo_id <= protocol.BROADCAST_ID
            assert len(packet.data) <= 253
        assert len(received) <= 259


def test_emulated_servos_bear_whatever_comes() -> None:
    now_s = 0.0
    servos = [EmulatedServo(1, STS), EmulatedServo(2, SCS), EmulatedServo(253, STS)]
    chain, received = EmulatedChain(servos, lambda: now_s), bytearray()
    for frame in _frames(seed=46, count=10_000):
        now_s += 0.001
        received += frame
        for reply in chain.feed(received):
            answer = take_packet(bytearray(reply.frame))  # none where an id was written that two have now
            assert answer is None or answer.error < 0x80
    assert all(len(one.memory) == 256 for one in servos)
