"""An emulated bus: what a daisy chain of servos answers, byte for byte.

The chain answers the instructions that the driver sends, as in Protocol 2.0, by the time at which they
arrive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...serial_bus.emulator import RETURN_DELAY_UNIT_S, EmulatedBus, Reply
from ..protocol import (
    BROADCAST_ID,
    HEADER,
    Instruction,
    Packet,
    Refusal,
    crc16,
    encode_status,
    fast_answer_length,
    take_packet,
)
from .servo import EmulatedServo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(slots=True)
class EmulatedChain(EmulatedBus[EmulatedServo]):
    """Servos that share a bus."""

    _now_s: float = field(default=0.0, init=False)

    def answer(self, received: bytearray) -> Iterator[Reply]:
        """Take packets out of what was received, and yield a reply for each that is answered."""
        while (packet := take_packet(received)) is not None:
            self._now_s = self.now()
            for servo in self.servos:
                servo.receive(self._now_s)
            reply = None if packet.instruction == Instruction.STATUS else self._answer(packet)
            if reply is not None and reply.frame:
                yield reply

    def _answer(self, packet: Packet) -> Reply | None:
        match packet.instruction:
            case Instruction.PING:
                asked = self.servos if packet.servo_id == BROADCAST_ID else self._meant([packet.servo_id])
                return _one_by_one((servo, _introduction(servo)) for servo in self._there(asked))
            case Instruction.SYNC_READ:
                asked = self._meant(packet.parameters[4:])
                return _one_by_one((servo, _read(servo, packet.parameters)) for servo in self._there(asked))
            case Instruction.FAST_SYNC_READ:
                return self._answer_jointly(packet.parameters)
            case Instruction.SYNC_WRITE:
                self._sync_write(packet.parameters)
                return None
        return self._instruct(packet)

    def _meant(self, ids: Iterable[int]) -> list[EmulatedServo | None]:
        """Return the servos with these ids, and None for each unknown id."""
        by_id = {servo.servo_id: servo for servo in self.servos}
        return [by_id.get(servo_id) for servo_id in ids]

    def _there(self, asked: Iterable[EmulatedServo | None]) -> Iterator[EmulatedServo]:
        for servo in asked:
            if servo is not None and servo.attends(self._now_s):
                yield servo

    def _instruct(self, packet: Packet) -> Reply | None:
        """Carry out an instruction to one servo or all; one answers if its status return level says so."""
        if packet.servo_id == BROADCAST_ID:
            for servo in self._there(self.servos):
                _obey(servo, packet)
            return None
        for servo in self._there(self._meant([packet.servo_id])):
            if packet.instruction == Instruction.READ:
                data, refusal, least_level = _read(servo, packet.parameters), None, 1
            else:
                data, refusal, least_level = b"", _obey(servo, packet), 2
            if servo.get("status_return_level") >= least_level:
                frame = encode_status(servo.servo_id, servo.error_byte | (refusal or 0), data)
                return Reply(frame, _delay_s(servo))
        return None

    def _sync_write(self, parameters: bytes) -> None:
        address, length = _span(parameters)
        entries = [parameters[at : at + 1 + length] for at in range(4, len(parameters), 1 + length)]
        asked = self._meant(entry[0] for entry in entries)
        for servo, entry in zip(asked, entries, strict=True):
            if servo is not None and servo.attends(self._now_s):
                servo.write(address, entry[1:])

    def _answer_jointly(self, parameters: bytes) -> Reply:
        """Return one packet to which each servo adds its part after the one before it."""
        asked, (_, length) = self._meant(parameters[4:]), _span(parameters)
        size = fast_answer_length(len(asked), length) - len(HEADER) - 3
        frame = HEADER + bytes([BROADCAST_ID]) + size.to_bytes(2, "little") + bytes([Instruction.STATUS])
        crc, delay_s = crc16(frame), 0.0
        for number, servo in enumerate(asked):
            if servo is None or not servo.attends(self._now_s):
                return Reply(frame if number else b"", delay_s)
            delay_s = delay_s or _delay_s(servo)
            part = bytes([servo.error_byte, servo.servo_id]) + _read(servo, parameters)
            crc = crc16(part, crc)
            sealed = crc.to_bytes(2, "little")
            crc = crc16(sealed, crc)
            frame += part + sealed
        return Reply(frame, delay_s)


def _one_by_one(answers: Iterable[tuple[EmulatedServo, bytes]]) -> Reply:
    """Return the answers of servos, one after the other."""
    frames, delay_s = [], 0.0
    for servo, data in answers:
        frames.append(encode_status(servo.servo_id, servo.error_byte, data))
        delay_s += _delay_s(servo)
    return Reply(b"".join(frames), delay_s)


def _introduction(servo: EmulatedServo) -> bytes:
    return bytes(servo.memory[0:2]) + bytes([servo.get("firmware")])


def _span(parameters: bytes) -> tuple[int, int]:
    return int.from_bytes(parameters[0:2], "little"), int.from_bytes(parameters[2:4], "little")


def _read(servo: EmulatedServo, parameters: bytes) -> bytes:
    address, length = _span(parameters)
    return bytes(servo.memory[address : address + length])


def _delay_s(servo: EmulatedServo) -> float:
    return servo.get("return_delay") * RETURN_DELAY_UNIT_S


def _obey(servo: EmulatedServo, packet: Packet) -> Refusal | None:
    if packet.instruction == Instruction.WRITE:
        return servo.write(int.from_bytes(packet.parameters[:2], "little"), packet.parameters[2:])
    if packet.instruction != Instruction.REBOOT:
        return Refusal.INSTRUCTION
    servo.reboot()
    return None
