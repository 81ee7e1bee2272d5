"""An emulated bus: what a daisy chain of servos answers, byte for byte.

The chain answers the instructions that the driver sends, by the time at which they arrive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from ...serial_bus.emulator import RETURN_DELAY_UNIT_S, EmulatedBus, Reply, together
from ..protocol import BROADCAST_ID, Instruction, encode_status, take_packet
from .servo import EmulatedServo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..protocol import Packet

SPAN = 2
"""Bytes of address and length."""
MOST_DATA = 253


@dataclass(slots=True)
class EmulatedChain(EmulatedBus[EmulatedServo]):
    """Servos that share a bus."""

    _now_s: float = field(default=0.0, init=False)

    def answer(self, received: bytearray) -> Iterator[Reply]:
        """Take packets out of what was received, and yield each servo's answer.

        Servos with one id answer at once, which damages what they say, unless it is the same.
        """
        while (packet := take_packet(received)) is not None:
            self._now_s = self.now()
            for _, answers in groupby(self._answers(packet), lambda answer: answer[0].servo_id):
                servos, data = zip(*answers, strict=True)
                frame = together(map(_status, servos, data))
                yield Reply(frame, servos[0].get("return_delay") * RETURN_DELAY_UNIT_S)

    def _answers(self, packet: Packet) -> Iterator[tuple[EmulatedServo, bytes]]:
        """Carry out an instruction; yield the servos that answer, with their data."""
        match packet.error:
            case Instruction.SYNC_READ if len(packet.data) > SPAN:
                asked = self._there(packet.data[SPAN:])
                yield from ((one, _read(one, packet.data)) for one in asked if one.table.sync_read)
            case Instruction.SYNC_WRITE if len(packet.data) > SPAN:
                self._sync_write(packet.data)
            case _:
                for servo in self._meant(packet):
                    data = _obey(servo, packet)
                    if data is not None and (
                        packet.servo_id != BROADCAST_ID or packet.error == Instruction.PING
                    ):
                        yield servo, data

    def _meant(self, packet: Packet) -> list[EmulatedServo]:
        """Return the servos that a packet is for, and that are there."""
        ids = (
            sorted({one.servo_id for one in self.servos})
            if packet.servo_id == BROADCAST_ID
            else [packet.servo_id]
        )
        return list(self._there(ids))

    def _there(self, ids: Iterable[int]) -> Iterator[EmulatedServo]:
        for servo_id in ids:
            for servo in self.servos:
                if servo.servo_id == servo_id and servo.attends(self._now_s):
                    yield servo

    def _sync_write(self, parameters: bytes) -> None:
        address, length = parameters[:SPAN]
        for at in range(SPAN, len(parameters), 1 + length):
            part = parameters[at : at + 1 + length]
            if len(part) == 1 + length:
                for servo in self._there(part[:1]):
                    servo.write(address, part[1:])


def _status(servo: EmulatedServo, data: bytes) -> bytes:
    return encode_status(servo.servo_id, servo.error_byte, data)


def _obey(servo: EmulatedServo, packet: Packet) -> bytes | None:
    """Carry out an instruction, and return what the servo answers; None if it does not."""
    match packet.error:
        case Instruction.PING:
            return b""
        case Instruction.READ if len(packet.data) == SPAN:
            return _read(servo, packet.data)
        case Instruction.WRITE if len(packet.data) > 1:
            servo.write(packet.data[0], packet.data[1:])
        case Instruction.REBOOT if servo.reboots:
            servo.restart()
        case _:
            return None
    return b"" if servo.get("status_return_level") else None


def _read(servo: EmulatedServo, parameters: bytes) -> bytes:
    address, length = parameters[:SPAN]
    return bytes(servo.memory[address : address + min(length, MOST_DATA)])
