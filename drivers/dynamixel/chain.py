"""DYNAMIXEL servos of one series on one bus, addressed together.

Where all servos support it, feedback is read fast, in one joint answer; after a damaged joint answer it is
read servo by servo, until all have answered again. A block of registers is then in the layout of a joint
answer. Blocks begin at the current and end behind the position, or, in full, behind the temperature.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from ..serial_bus.chain import Answer, Block, Chain
from .models import models
from .protocol import (
    BEFORE_INSTRUCTION,
    BROADCAST_ID,
    HEADER,
    Instruction,
    crc16,
    encode,
    encode_sync_read,
    fast_answer_length,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..serial_bus.bus import Bus
    from ..serial_bus.chain import Servo
    from ..serial_bus.models import Table
    from ..serial_bus.units import Ticks

SHORT, FULL = 10, 21
"""Lengths of the blocks."""
_MOVING = {"effort": "present_current", "velocity": "present_velocity", "position": "present_position"}
_HEALTH = {"voltage": "present_voltage", "temperature": "present_temperature"}
_JOINT = HEADER + bytes([BROADCAST_ID])
_CRC_BYTES = 2


def reads_fast(servo: Servo) -> bool:
    """Return whether a servo supports fast sync reads."""
    from_firmware = models()[servo.model.number].fast_read_from
    return from_firmware is not None and int(servo.firmware) >= from_firmware


def blocks_of(table: Table) -> tuple[Block, Block]:
    """Return the short and the full block of feedback."""
    return Block(table, _MOVING, _CRC_BYTES), Block(table, _MOVING | _HEALTH, _CRC_BYTES)


class JointAnswer:
    """Finds the joint answer to one fast sync read in what was received.

    `count`, `length`: how many servos answer, and with how many bytes each. `bytes`: length of the joint
    answer.
    """

    def __init__(self, count: int, length: int) -> None:
        self.bytes = fast_answer_length(count, length)
        size = self.bytes - BEFORE_INSTRUCTION
        self._begin = _JOINT + size.to_bytes(2, "little") + bytes([Instruction.STATUS])

    def parts(self, received: bytearray) -> bytearray | None:
        """Return the parts of all servos; None if the answer is not there, whole and undamaged."""
        at = max(0, received.find(_JOINT))
        frame = received[at : at + self.bytes]
        if len(frame) != self.bytes or not frame.startswith(self._begin):
            return None
        if crc16(frame[:-_CRC_BYTES]) != int.from_bytes(frame[-_CRC_BYTES:], "little"):
            return None
        return frame[len(self._begin) :]


class DynamixelAnswer(Answer):
    """What the servos of a chain answered last, jointly or one by one."""

    def __init__(self, ids: Sequence[int], block: Block) -> None:
        super().__init__(ids, block)
        self.joint = JointAnswer(len(ids), block.length)
        self._ids = bytes(ids)

    def take_joint(self, received: bytearray) -> bool:
        """Take the joint answer out of what was received; False if it is not there, or not sound."""
        parts = self.joint.parts(received)
        if parts is None or parts[1 :: self._size] != self._ids:
            return False
        self._buffer[:] = parts
        return True


GOALS_FROM = 12
_GOAL = Struct("<i")
_STUFFING = b"\xff\xff\xfd"


class DynamixelChain(Chain):
    """DYNAMIXEL servos of one series on one bus.

    `profile` (servos,): profile velocities in the register's unit, for the caller to fill; None unless
    velocities are followed.
    """

    _answers: Mapping[bool, DynamixelAnswer]

    def __init__(self, bus: Bus, servos: Sequence[Servo], *, follow_velocity: bool) -> None:
        super().__init__(bus, servos, *blocks_of(servos[0].model.table))
        self.can_read_fast = self._fast = all(map(reads_fast, servos))
        self._fast_questions = {
            is_full: encode_sync_read(self.ids, block.address, block.length, fast=True)
            for is_full, block in self.blocks.items()
        }
        self._make_goal_frame(follow_velocity=follow_velocity)

    def make_answer(self, block: Block) -> DynamixelAnswer:
        """Make what takes joint answers as well."""
        return DynamixelAnswer(self.ids, block)

    def _make_goal_frame(self, *, follow_velocity: bool) -> None:
        """Make the frame of the sync write once, and note where goals go in it."""
        first = self.table["profile_velocity" if follow_velocity else "goal_position"].address
        size = self.table["goal_position"].end - first
        span = first.to_bytes(2, "little") + size.to_bytes(2, "little")
        parts = b"".join(bytes([servo_id]) + bytes(size) for servo_id in self.ids)
        self._frame = bytearray(encode(BROADCAST_ID, Instruction.SYNC_WRITE, span + parts, stuffed=False))
        count, stride = len(self.ids), size + 1
        self._goal_places = [
            (servo.index, GOALS_FROM + (place + 1) * stride - _GOAL.size)
            for place, servo in enumerate(self.servos)
        ]
        self.profile: Ticks | None = None
        if follow_velocity:
            self.profile = np.ndarray((count,), "<i4", self._frame, GOALS_FROM + 1, (stride,))
        self._sealed = memoryview(self._frame)[:-2]

    def send_goals(self, goals: Sequence[int]) -> None:
        """Send goals and, if velocities are followed, `profile`. `goals`: in ticks, of all actuators."""
        frame, put = self._frame, _GOAL.pack_into
        for index, place in self._goal_places:
            put(frame, place, goals[index])
        if frame.find(_STUFFING, BEFORE_INSTRUCTION, -2) >= 0:
            self.bus.send(
                encode(BROADCAST_ID, frame[BEFORE_INSTRUCTION], bytes(frame[BEFORE_INSTRUCTION + 1 : -2]))
            )
            return
        frame[-2:] = crc16(self._sealed).to_bytes(2, "little")
        self.bus.send(frame)

    def send_currents(self, currents: Sequence[int]) -> None:
        """Send goal currents. `currents`: in the register's unit, of all actuators."""
        self.write("goal_current", {servo.servo_id: currents[servo.index] for servo in self.servos})

    def ask(self, *, full: bool) -> None:
        """Ask for feedback without waiting; `take` waits for it."""
        if not self._fast:
            super().ask(full=full)
            return
        self._full = full
        question = self._fast_questions[full]
        self.bus.send(question)
        length = self._answers[full].joint.bytes
        self._deadline_s = self.bus.deadline_s(len(question), length, self.return_delay_s)

    def take(self) -> DynamixelAnswer:
        """Wait for the feedback asked for, as `Chain.take` does; of a damaged joint answer nothing came."""
        answer = self._answers[self._full]
        if self._fast:
            self.all_answered = answer.take_joint(self.bus.receive(answer.joint.bytes, self._deadline_s))
            self.answered.fill(self.all_answered)
            if not self.all_answered:
                self.damaged.fill(self.bus.heard_from(BROADCAST_ID))
        else:
            super().take()
        self._fast = self.can_read_fast and self.all_answered
        return answer
