"""The feedback of a chain: one block of registers of each servo, in the layout of a joint answer.

Blocks begin at the current and end behind the position, or, in full, behind the temperature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .protocol import BEFORE_INSTRUCTION, BROADCAST_ID, HEADER, Instruction, crc16, fast_answer_length

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from .protocol import Packet

SHORT, FULL = 10, 21
_BEFORE = [("error", "u1"), ("id", "u1"), ("current", "<i2"), ("velocity", "<i4"), ("position", "<i4")]
_HEALTH = [("trajectories", "V8"), ("voltage", "<u2"), ("temperature", "u1")]
PARTS = {
    SHORT: np.dtype([*_BEFORE, ("crc", "<u2")]),
    FULL: np.dtype([*_BEFORE, *_HEALTH, ("crc", "<u2")]),
}
_JOINT = HEADER + bytes([BROADCAST_ID])
_CRC_BYTES = 2


class JointAnswer:
    """Finds the joint answer to one fast sync read in what was received.

    Parameters
    ----------
    count, length : int
        How many servos answer, and with how many bytes each.

    Attributes
    ----------
    bytes : int
        Length of the joint answer.
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

    Parameters
    ----------
    ids : sequence of int
        Of the servos, in the order of the question.
    length : int
        `SHORT` or `FULL`.

    Attributes
    ----------
    joint : JointAnswer
        How it comes where servos answer together.
    columns : mapping
        The fields of `PARTS` by name: views, shape (servos,), of what was taken last.
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
