"""DYNAMIXEL servos of one series on one bus, addressed together.

Where all servos support it, feedback is read fast, in one joint answer; after a damaged joint answer it is
read servo by servo, until all have answered again. Blocks begin at the current and end behind the position,
or, in full, behind the temperature.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from ..serial_bus.chain import Block, Chain
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
    fast_part_length,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..serial_bus.bus import Bus
    from ..serial_bus.chain import Servo
    from ..serial_bus.models import Table
    from ..serial_bus.units import Ticks

SHORT, FULL = 10, 21
"""Lengths of the blocks."""
_MOVING = {"effort": "present_current", "velocity": "present_velocity", "position": "present_position"}
_HEALTH = {"voltage_v": "present_voltage", "temperature_c": "present_temperature"}
_JOINT = HEADER + bytes([BROADCAST_ID])
_CRC_BYTES = 2
_BEFORE_DATA = 2
"""Bytes of a part before the block: error and id."""


def reads_fast(servo: Servo) -> bool:
    """Return whether a servo supports fast sync reads."""
    from_firmware = models()[servo.model.number].fast_read_from
    return from_firmware is not None and int(servo.firmware) >= from_firmware


def blocks_of(table: Table) -> tuple[Block, Block]:
    """Return the short and the full block of feedback."""
    return Block(table, _MOVING), Block(table, _MOVING | _HEALTH)


class JointAnswer:
    """Finds the joint answer to one fast sync read in what was received.

    `count`, `length`: how many servos answer, and with how many bytes each. `bytes`, `part_bytes`: length of
    the joint answer, and of the part of each servo.
    """

    def __init__(self, count: int, length: int) -> None:
        self.bytes = fast_answer_length(count, length)
        self.part_bytes = fast_part_length(length)
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


GOALS_FROM = 12
_GOAL = Struct("<i")
_STUFFING = b"\xff\xff\xfd"


class DynamixelChain(Chain):
    """DYNAMIXEL servos of one series on one bus.

    `profile` (servos,): profile velocities in the register's unit, for the caller to fill; None unless
    velocities are followed.
    """

    def __init__(self, bus: Bus, servos: Sequence[Servo], *, follow_velocity: bool) -> None:
        super().__init__(bus, servos, *blocks_of(servos[0].model.table))
        self._id_bytes = bytes(self.ids)
        self.can_read_fast = self._fast = all(map(reads_fast, servos))
        self._fast_questions = {
            is_full: encode_sync_read(self.ids, block.address, block.length, fast=True)
            for is_full, block in self.blocks.items()
        }
        self._joint = {
            is_full: JointAnswer(len(servos), block.length) for is_full, block in self.blocks.items()
        }
        self._make_goal_frame(follow_velocity=follow_velocity)

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
        length = self._joint[full].bytes
        self._deadline_s = self.bus.deadline_s(len(question), length, self.return_delay_s)

    def take(self) -> None:
        """Wait for the feedback asked for, as `Chain.take` does; of a damaged joint answer nothing came."""
        if self._fast:
            self._take_joint(self._joint[self._full])
        else:
            super().take()
        self._fast = self.can_read_fast and self.all_answered

    def _take_joint(self, joint: JointAnswer) -> None:
        parts = joint.parts(self.bus.receive(joint.bytes, self._deadline_s, awake=True))
        self.all_answered = parts is not None and parts[1 :: joint.part_bytes] == self._id_bytes
        self.answered = [self.all_answered] * len(self.ids)
        if parts is None or not self.all_answered:
            self.damaged = [self.bus.heard_from(BROADCAST_ID)] * len(self.ids)
            return
        self.errors[:] = parts[:: joint.part_bytes]
        take, stamp_s = self._answers[self._full].take, self.bus.heard_s
        for place in range(len(self.ids)):
            take(place, parts, stamp_s, place * joint.part_bytes + _BEFORE_DATA)
