"""Servos with the same control table on one bus, addressed together.

Goals, feedback and registers are raw values in the order of the chain. The feedback is one block of registers
of each servo.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from ..base import CommunicationLost, DriverError
from .bus import TRIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from .bus import Bus
    from .models import Item, Model, Table
    from .protocol import Firmware, StatusPacket

    Columns = Mapping[str, NDArray[Any]]

BEFORE_DATA = 2
"""Bytes of a row before the block: error and id."""
_WORDS = {1: "B", 2: "H", 4: "I"}


@dataclass(frozen=True, slots=True)
class Servo:
    """A servo that was found."""

    index: int
    actuator: str
    where: str
    servo_id: int
    model: Model
    firmware: Firmware
    bus: Bus


class Block:
    """Registers that are read as feedback, in one piece.

    `registers`: of a table, by the quantities of `ActuatorState` that they report. `trailer`: bytes of a row
    behind the block. `address`, `length`: of the block. `row`: what one servo answers, as a numpy type with a
    field for its error, its id and each quantity. `signed`: the quantities of sign and magnitude, which
    numpy has no type for.
    """

    def __init__(self, table: Table, registers: Mapping[str, str], trailer: int = 0) -> None:
        items = {quantity: table[register] for quantity, register in registers.items()}
        self.address = min(item.address for item in items.values())
        self.length = max(item.end for item in items.values()) - self.address
        self.signed = {quantity: item for quantity, item in items.items() if item.sign_bit is not None}
        offsets = [BEFORE_DATA + item.address - self.address for item in items.values()]
        self.row = np.dtype(
            {
                "names": ["error", "id", *items],
                "formats": ["u1", "u1", *map(_format, items.values())],
                "offsets": [0, 1, *offsets],
                "itemsize": BEFORE_DATA + self.length + trailer,
            }
        )


def _format(item: Item) -> str:
    order = "<" if item.byte_order == "little" else ">"
    return f"{order}{'i' if item.signed else 'u'}{item.size}"


class Answer:
    """What the servos of a chain answered last to one question.

    `columns`: the fields of the block's row by name: shape (servos,), of what was taken last.
    """

    def __init__(self, ids: Sequence[int], block: Block) -> None:
        self._block = block
        self._size = block.row.itemsize
        self._buffer = bytearray(self._size * len(ids))
        rows = np.frombuffer(self._buffer, block.row)
        columns: dict[str, NDArray[Any]] = {name: rows[name] for name in block.row.names or ()}
        self._signed = []
        for quantity, item in block.signed.items():
            columns[quantity] = values = np.zeros(len(ids), np.int32)
            unpack = Struct(("<" if item.byte_order == "little" else ">") + _WORDS[item.size]).unpack_from
            self._signed.append((unpack, item.address - block.address, 1 << (item.sign_bit or 0), values))
        self.columns: Columns = columns

    @property
    def errors(self) -> bytearray:
        """The error bytes of all servos; no array, as looking at one costs more in every tick."""
        return self._buffer[:: self._size]

    def take_one(self, place: int, packet: StatusPacket) -> bool:
        """Take a servo's own answer; False if it is no answer to this question."""
        data = packet.data
        if len(data) != self._block.length:
            return False
        begin = place * self._size
        self._buffer[begin : begin + BEFORE_DATA + len(data)] = bytes((packet.error, packet.servo_id)) + data
        for unpack, offset, sign, values in self._signed:  # now, as other answers are still on their way
            value = unpack(data, offset)[0]
            values[place] = -(value & (sign - 1)) if value & sign else value
        return True


class Chain:
    """Servos of one series on one bus.

    `short`, `full`: the feedback of most ticks, and that of some. `indexes` (servos,): of their actuators.
    `span` (servos,): the same; a slice where they follow each other, as that is copied faster.
    `return_delay_s`: how long a servo waits before it answers; the caller sets it. `answered` (servos,):
    which servos answered last. `damaged` (servos,): of which others something came that was no sound answer.
    """

    def __init__(self, bus: Bus, servos: Sequence[Servo], short: Block, full: Block) -> None:
        self.bus = bus
        self.servos = tuple(servos)
        self.ids = [servo.servo_id for servo in servos]
        self.indexes = np.array([servo.index for servo in servos])
        self.span = _span(self.indexes)
        self.table = servos[0].model.table
        self.return_delay_s = bus.protocol.slowest_return_s
        self.answered, self.damaged = np.zeros((2, len(servos)), bool)
        self.all_answered = False
        self.blocks = {False: short, True: full}
        self._place = {servo_id: place for place, servo_id in enumerate(self.ids)}
        self._answers: Mapping[bool, Answer] = {
            is_full: self.make_answer(block) for is_full, block in self.blocks.items()
        }
        self._questions = {
            is_full: bus.protocol.sync_read(self.ids, block.address, block.length)
            for is_full, block in self.blocks.items()
        }
        self._lengths = {
            is_full: len(servos) * (bus.protocol.status_bytes + block.length)
            for is_full, block in self.blocks.items()
        }
        self._full = False
        self._deadline_s = 0.0

    def make_answer(self, block: Block) -> Answer:
        """Make what answers to questions for a block are taken by."""
        return Answer(self.ids, block)

    def send_goals(self, goals: Sequence[int]) -> None:
        """Send goal positions. `goals`: in ticks, of all actuators."""
        self.write("goal_position", {servo.servo_id: goals[servo.index] for servo in self.servos})

    def ask(self, *, full: bool) -> None:
        """Ask for feedback without waiting; `take` waits for it."""
        self._full = full
        if self.table.sync_read:
            question = self._questions[full]
            self.bus.send(question)
            delay_s = len(self.ids) * self.return_delay_s
            self._deadline_s = self.bus.deadline_s(len(question), self._lengths[full], delay_s)

    def take(self) -> Answer:
        """Wait for the feedback asked for; `answered` shows whose came.

        Returns what it holds of servos that did not answer are their former values.
        """
        answer = self._answers[self._full]
        if self.table.sync_read:
            self._take_each(answer)
        else:
            self._ask_each(self.blocks[self._full], answer)
        return answer

    def _take_each(self, answer: Answer) -> None:
        """Take the answers of servos one by one, as they come."""
        bus, length, answered = self.bus, self._lengths[self._full], [False] * len(self.ids)
        take, place_of = bus.protocol.take, self._place.get
        while (
            not all(answered)
            and bus.heard_bytes < length
            and (received := bus.receive_next(self._deadline_s)) is not None
        ):
            while (packet := take(received)) is not None:
                place = place_of(packet.servo_id)
                if place is not None and answer.take_one(place, packet):
                    answered[place] = True
        self.all_answered = all(answered)
        self.answered[:] = answered
        if not self.all_answered:
            self.damaged[:] = [
                not is_sound and bus.heard_from(one) for is_sound, one in zip(answered, self.ids, strict=True)
            ]

    def _ask_each(self, block: Block, answer: Answer) -> None:
        """Ask servos one by one, as they do not know sync reads."""
        bus = self.bus
        for place, servo_id in enumerate(self.ids):
            question = bus.protocol.read(servo_id, block.address, block.length)
            packets = bus.ask(question, (servo_id,), block.length)
            self.answered[place] = bool(packets) and answer.take_one(place, packets[0])
            self.damaged[place] = not self.answered[place] and bus.heard_from(servo_id)
        self.all_answered = bool(self.answered.all())

    def get(self, name: str) -> list[int]:
        """Read a register of all servos. Raises CommunicationLost if servos do not answer; names them."""
        item = self.table[name]
        found = self.read(item.address, item.size)
        return [item.decode(data, item.address) for data in found]

    def read(self, address: int, length: int) -> list[bytes]:
        """Read a block of registers of all servos; errors as of `get`."""
        found = self._read(self.ids, address, length, TRIES)
        silent = [servo for servo in self.servos if servo.servo_id not in found]
        if silent:
            raise lost(silent, len(found), len(self.ids))
        return [found[servo_id] for servo_id in self.ids]

    def _read(self, ids: Sequence[int], address: int, length: int, tries: int) -> dict[int, bytes]:
        read = self.bus.sync_read if self.table.sync_read else self.bus.read_each
        return read(ids, address, length, tries)

    def write(self, name: str, values: Mapping[int, int]) -> None:
        """Write a register, whatever becomes of it. Raises CommunicationLost if the bus is gone."""
        item = self.table[name]
        self.bus.sync_write(item.address, {one: item.encode(value) for one, value in values.items()})

    def glance(self, name: str, ids: Sequence[int]) -> dict[int, int]:
        """Read a register in a single try; servos that do not answer are left out."""
        item = self.table[name]
        found = self._read(ids, item.address, item.size, 1)
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
    """Return the error that names the silent servos and how many answered.

    Two servos with one id answer at once, and so what they say is damaged.
    """
    first = silent[0]
    others = "".join(f", nor from {servo.where}" for servo in silent[1:])
    what, hint = "no answer", "check its cable, power and id"
    if first.bus.heard_from(first.servo_id):
        what, hint = "no sound answer", f"check its cable, and that no other servo has id {first.servo_id}"
    return CommunicationLost(
        first.where, f"{what} ({tries} tries){others}", f"{answered} of {asked} answered", hint
    )
