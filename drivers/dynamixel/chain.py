"""Servos with the same control table on one bus, addressed together.

Goals, feedback and registers are raw values in the order of the chain. Where all servos support it, feedback
is read fast, in one joint answer; after a damaged joint answer it is read servo by servo, until all have
answered again.

The feedback is one block of registers of each servo, in the layout of a joint answer. Blocks begin at the
current and end behind the position, or, in full, behind the temperature.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from ..base import CommunicationLost, DriverError
from ..serial_bus.bus import TRIES
from .protocol import (
    BEFORE_INSTRUCTION,
    BROADCAST_ID,
    HEADER,
    PROTOCOL,
    Instruction,
    crc16,
    encode,
    encode_sync_read,
    fast_answer_length,
    take_packet,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from ..serial_bus.bus import Bus
    from ..serial_bus.protocol import Firmware
    from .models import DynamixelModel
    from .protocol import Packet
    from .units import Ticks

SHORT, FULL = 10, 21
_BEFORE = [("error", "u1"), ("id", "u1"), ("current", "<i2"), ("velocity", "<i4"), ("position", "<i4")]
_HEALTH = [("trajectories", "V8"), ("voltage", "<u2"), ("temperature", "u1")]
PARTS = {SHORT: np.dtype([*_BEFORE, ("crc", "<u2")]), FULL: np.dtype([*_BEFORE, *_HEALTH, ("crc", "<u2")])}
_JOINT = HEADER + bytes([BROADCAST_ID])
_CRC_BYTES = 2


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


class Answer:
    """What the servos of a chain answered last to one question.

    `columns`: the fields of `PARTS` by name: views, shape (servos,), of what was taken last.
    """

    def __init__(self, ids: Sequence[int], length: int) -> None:
        self.joint = JointAnswer(len(ids), length)
        self._ids = bytes(ids)
        self._length = length
        self._part = PARTS[length]
        self._buffer = bytearray(self._part.itemsize * len(ids))
        rows = np.frombuffer(self._buffer, self._part)
        self.columns: Mapping[str, NDArray[Any]] = {name: rows[name] for name in self._part.names or ()}

    @property
    def errors(self) -> bytearray:
        """The error bytes of all servos; no array, as looking at one costs more in every tick."""
        return self._buffer[:: self._part.itemsize]

    def take_joint(self, received: bytearray) -> bool:
        """Take the joint answer out of what was received; False if it is not there, or not sound."""
        parts = self.joint.parts(received)
        if parts is None or parts[1 :: self._part.itemsize] != self._ids:
            return False
        self._buffer[:] = parts
        return True

    def take_one(self, place: int, packet: Packet) -> bool:
        """Take a servo's own answer; False if it is no answer to this question."""
        if packet.instruction != Instruction.STATUS or len(packet.data) != self._length:
            return False
        size = self._part.itemsize
        part = bytes([packet.error, packet.servo_id]) + packet.data + bytes(_CRC_BYTES)
        self._buffer[place * size : (place + 1) * size] = part
        return True


GOALS_FROM = 12
_GOAL = Struct("<i")
_STUFFING = b"\xff\xff\xfd"


@dataclass(frozen=True, slots=True)
class Servo:
    """A servo that was found."""

    index: int
    actuator: str
    where: str
    servo_id: int
    model: DynamixelModel
    firmware: Firmware
    bus: Bus

    @property
    def reads_fast(self) -> bool:
        """Whether it supports fast sync reads."""
        from_firmware = self.model.fast_read_from
        return from_firmware is not None and int(self.firmware) >= from_firmware


class Chain:
    """Servos of one series on one bus.

    `indexes` (servos,): of their actuators. `span` (servos,): the same; a slice where they follow each other,
    as that is copied faster. `profile` (servos,): profile velocities in the register's unit, for the caller
    to fill; None unless velocities are followed. `answered` (servos,): which servos answered last.
    """

    def __init__(self, bus: Bus, servos: Sequence[Servo], *, follow_velocity: bool) -> None:
        self.bus = bus
        self.servos = tuple(servos)
        self.ids = [servo.servo_id for servo in servos]
        self.indexes = np.array([servo.index for servo in servos])
        self.span = _span(self.indexes)
        self.table = servos[0].model.table
        self.can_read_fast = all(servo.reads_fast for servo in servos)
        self.return_delay_s = PROTOCOL.slowest_return_s
        self.answered = np.zeros(len(servos), bool)
        self.all_answered = False
        self._place = {servo_id: place for place, servo_id in enumerate(self.ids)}
        self._fast = self.can_read_fast
        address = self.table["present_current"].address
        self._questions = {
            (length, fast): encode_sync_read(self.ids, address, length, fast=fast)
            for length in (SHORT, FULL)
            for fast in (False, True)
        }
        self._answers = {length: Answer(self.ids, length) for length in (SHORT, FULL)}
        self._length = SHORT
        self._deadline_s = 0.0
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

    def ask(self, length: int) -> None:
        """Ask for feedback, `SHORT` or `FULL`, without waiting; `take` waits for it."""
        self._length = length
        question = self._questions[length, self._fast]
        self.bus.send(question)
        delay_s = self.return_delay_s * (1 if self._fast else len(self.ids))
        self._deadline_s = self.bus.deadline_s(len(question), self._answer_length(), delay_s)

    def _answer_length(self) -> int:
        if self._fast:
            return self._answers[self._length].joint.bytes
        return len(self.ids) * (PROTOCOL.status_bytes + self._length)

    def take(self) -> Answer:
        """Wait for the feedback asked for; `answered` shows whose came.

        Returns what it holds of servos that did not answer are their former values.
        """
        received = self.bus.receive(self._answer_length(), self._deadline_s)
        answer = self._answers[self._length]
        if self._fast:
            self.all_answered = answer.take_joint(received)
            self.answered.fill(self.all_answered)
        else:
            self._take_each(received, answer)
            self.all_answered = bool(self.answered.all())
        self._fast = self.can_read_fast and self.all_answered
        return answer

    def _take_each(self, received: bytearray, answer: Answer) -> None:
        self.answered.fill(False)
        while (packet := take_packet(received)) is not None:
            place = self._place.get(packet.servo_id)
            if place is not None and answer.take_one(place, packet):
                self.answered[place] = True

    def get(self, name: str) -> list[int]:
        """Read a register of all servos. Raises CommunicationLost if servos do not answer; names them."""
        item = self.table[name]
        found = self.read(item.address, item.size)
        return [item.decode(data, item.address) for data in found]

    def read(self, address: int, length: int) -> list[bytes]:
        """Read a block of registers of all servos; errors as of `get`."""
        found = self.bus.sync_read(self.ids, address, length)
        silent = [servo for servo in self.servos if servo.servo_id not in found]
        if silent:
            raise lost(silent, len(found), len(self.ids))
        return [found[servo_id] for servo_id in self.ids]

    def write(self, name: str, values: Mapping[int, int]) -> None:
        """Write a register, whatever becomes of it. Raises CommunicationLost if the bus is gone."""
        item = self.table[name]
        self.bus.sync_write(item.address, {one: item.encode(value) for one, value in values.items()})

    def glance(self, name: str, ids: Sequence[int]) -> dict[int, int]:
        """Read a register in a single try; servos that do not answer are left out."""
        item = self.table[name]
        found = self.bus.sync_read(ids, item.address, item.size, tries=1)
        return {one: item.decode(data, item.address) for one, data in found.items()}

    def set(self, name: str, values: Mapping[int, int]) -> None:
        """Write a register and read it back.

        Raises DriverError if a servo did not accept its value; names the first one.
        """
        if not values:
            return
        missing: dict[int, int | None] = {}
        for _ in range(TRIES):
            self.write(name, values)
            stands = self.glance(name, list(values))
            missing = {one: stands.get(one) for one, value in values.items() if stands.get(one) != value}
            if not missing:
                return
        silent = [self._servo(one) for one, value in missing.items() if value is None]
        if silent:
            raise lost(silent, len(values) - len(silent), len(values))
        one, value = next(iter(missing.items()))
        raise DriverError(
            self._servo(one).where,
            f"its register `{name}` is {value} after {values[one]} was written",
            "it refused the value",
            "check its limits, and its health with `motiond scan`",
        )

    def set_all(self, name: str, value: int) -> None:
        """Write one value to all servos and read it back; errors as of `set`."""
        self.set(name, dict.fromkeys(self.ids, value))

    def _servo(self, servo_id: int) -> Servo:
        return self.servos[self._place[servo_id]]


def _span(indexes: NDArray[np.int_]) -> slice | NDArray[np.int_]:
    first = int(indexes[0])
    span = slice(first, first + len(indexes))
    return span if np.array_equal(indexes, np.arange(span.start, span.stop)) else indexes


def lost(silent: Sequence[Servo], answered: int, asked: int, tries: int = TRIES) -> CommunicationLost:
    """Return the error that names the silent servos and how many answered."""
    others = "".join(f", nor from {servo.where}" for servo in silent[1:])
    return CommunicationLost(
        silent[0].where,
        f"no answer ({tries} tries){others}",
        f"{answered} of {asked} answered",
        "check its cable, power and id",
    )
