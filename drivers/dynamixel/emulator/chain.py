"""An emulated bus: what a daisy chain of servos answers, byte for byte.

The chain answers the instructions that the driver sends, as in Protocol 2.0, by the time at which they
arrive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...serial_bus.emulator import RETURN_DELAY_UNIT_S, EmulatedBus, Reply, together
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
    from collections.abc import Callable, Iterable, Iterator, Sequence


@dataclass(slots=True)
class EmulatedChain(EmulatedBus[EmulatedServo]):
    """Servos that share a bus."""

    _now_s: float = field(default=0.0, init=False)

    def answer(self, received: bytearray) -> Iterator[Reply]:
        """Take packets out of what was received, and yield a reply for each that is answered.

        Servos with one id answer at once, which damages what they say, unless it is the same.
        """
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
                return self._one_by_one(self._ids(packet), _introduction)
            case Instruction.SYNC_READ:
                return self._one_by_one(packet.parameters[4:], lambda one: _read(one, packet.parameters))
            case Instruction.FAST_SYNC_READ:
                return self._answer_jointly(packet.parameters)
            case Instruction.SYNC_WRITE:
                self._sync_write(packet.parameters)
                return None
        return self._instruct(packet)

    def _ids(self, packet: Packet) -> Sequence[int]:
        """Return the ids that a packet is for."""
        is_for_all = packet.servo_id == BROADCAST_ID
        return sorted({one.servo_id for one in self.servos}) if is_for_all else [packet.servo_id]

    def _there(self, servo_id: int) -> list[EmulatedServo]:
        """Return the servos with an id that attend; several where they share it."""
        return [one for one in self.servos if one.servo_id == servo_id and one.attends(self._now_s)]

    def _one_by_one(self, ids: Iterable[int], data_of: Callable[[EmulatedServo], bytes]) -> Reply:
        """Return the answers of servos, one after the other."""
        frame, delay_s = b"", 0.0
        for servos in filter(None, map(self._there, ids)):
            frame += together(encode_status(one.servo_id, one.error_byte, data_of(one)) for one in servos)
            delay_s += _delay_s(servos[0])
        return Reply(frame, delay_s)

    def _instruct(self, packet: Packet) -> Reply | None:
        """Carry out an instruction to one id or all; an id answers if its status return level says so."""
        servos = [one for servo_id in self._ids(packet) for one in self._there(servo_id)]
        frames = [frame for one in servos if (frame := _carry_out(one, packet))]
        if packet.servo_id == BROADCAST_ID or not frames:
            return None
        return Reply(together(frames), _delay_s(servos[0]))

    def _sync_write(self, parameters: bytes) -> None:
        address, length = _span(parameters)
        for at in range(4, len(parameters), 1 + length):
            for servo in self._there(parameters[at]):
                servo.write(address, parameters[at + 1 : at + 1 + length])

    def _answer_jointly(self, parameters: bytes) -> Reply:
        """Return one packet to which each servo adds its part after the one before it."""
        ids, (_, length) = parameters[4:], _span(parameters)
        size = fast_answer_length(len(ids), length) - len(HEADER) - 3
        frame = HEADER + bytes([BROADCAST_ID]) + size.to_bytes(2, "little") + bytes([Instruction.STATUS])
        crc, delay_s = crc16(frame), 0.0
        for number, servos in enumerate(map(self._there, ids)):
            if not servos:
                return Reply(frame if number else b"", delay_s)
            delay_s = delay_s or _delay_s(servos[0])
            parts = [bytes([one.error_byte, one.servo_id]) + _read(one, parameters) for one in servos]
            part = together(part + crc16(part, crc).to_bytes(2, "little") for part in parts)
            crc = crc16(part, crc)
            frame += part
        return Reply(frame, delay_s)


def _carry_out(servo: EmulatedServo, packet: Packet) -> bytes:
    """Carry out an instruction, and return what the servo answers; nothing where it does not."""
    if packet.instruction == Instruction.READ:
        data, refusal, least_level = _read(servo, packet.parameters), None, 1
    else:
        data, refusal, least_level = b"", _obey(servo, packet), 2
    if servo.get("status_return_level") < least_level:
        return b""
    return encode_status(servo.servo_id, servo.error_byte | (refusal or 0), data)


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
