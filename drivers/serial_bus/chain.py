"""Servos with the same control table on one bus, addressed together.

Goals and registers are raw values in the order of the chain. The feedback is one block of registers of each
servo, and becomes SI units as it comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..base import CommunicationLost, DriverError
from .bus import TRIES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..base import ActuatorState, Floats
    from .bus import Bus
    from .models import Item, Model, Table
    from .protocol import Firmware, StatusPacket

    UnitOf: TypeAlias = Callable[[str], tuple[Sequence[float], Sequence[float]]]
    """Returns the zero and the unit of a quantity, of each actuator."""

_CODES = {1: "b", 2: "h", 4: "i"}


@dataclass(frozen=True, slots=True)
class Servo:
    """A servo that was found. Its registers are read and written by their names."""

    index: int
    actuator: str
    where: str
    servo_id: int
    model: Model
    firmware: Firmware
    bus: Bus

    def read(self, register: str) -> int:
        """Return a register's value; raises as `Bus.read` does."""
        item = self.model.table[register]
        return item.decode(self.bus.read(self.servo_id, item.address, item.size), item.address)

    def glance(self, register: str) -> int | None:
        """Return a register's value, read in a single try; None if no answer came."""
        item = self.model.table[register]
        data = self.bus.glance(self.servo_id, item.address, item.size)
        return None if data is None else item.decode(data, item.address)

    def write(self, register: str, value: int) -> None:
        """Write a register; raises as `Bus.write` does."""
        item = self.model.table[register]
        self.bus.write(self.servo_id, item.address, item.encode(value))


class Block:
    """Registers that are read as feedback, in one piece.

    `registers`: of a table, by the quantities of `ActuatorState` that they report. `address`, `length`: of
    the block. `quantities`: in the order of `unpack`, which returns their registers' values; of those of sign
    and magnitude as if unsigned. `signs`: the bit that is the sign of these, 0 of the others.
    """

    def __init__(self, table: Table, registers: Mapping[str, str]) -> None:
        items = {quantity: table[register] for quantity, register in registers.items()}
        self.quantities = sorted(items, key=lambda quantity: items[quantity].address)
        ordered = [items[quantity] for quantity in self.quantities]
        self.address = ordered[0].address
        self.length = max(item.end for item in ordered) - self.address
        self.signs = [0 if item.sign_bit is None else 1 << item.sign_bit for item in ordered]
        self.unpack = Struct(_format(ordered)).unpack_from


def _format(items: Sequence[Item]) -> str:
    """Return the format of registers in the order of their addresses, for `struct`."""
    parts, end = ["<" if items[0].byte_order == "little" else ">"], items[0].address
    for item in items:
        code = _CODES[item.size]
        parts.append(f"{item.address - end}x{code if item.signed else code.upper()}")
        end = item.end
    return "".join(parts)


class Answer:
    """Takes what servos answer to a question for a block, one by one, as it comes.

    Done in every tick, when what numpy needs has left the processor's cache, and so without numpy.
    `indexes`: of the servos' actuators. `state`: what it fills.
    """

    def __init__(self, indexes: Sequence[int], block: Block, state: ActuatorState, unit_of: UnitOf) -> None:
        self._indexes, self._unpack, self._length = indexes, block.unpack, block.length
        self._stamp_s = cells(state.stamp_s)
        self._cells = [
            (cells(getattr(state, quantity)), *unit_of(quantity), sign)
            for quantity, sign in zip(block.quantities, block.signs, strict=True)
        ]

    def take(self, place: int, data: bytes | bytearray, stamp_s: float, begin: int = 0) -> None:
        """Take the block of the servo at a place, from bytes of which it begins at `begin`."""
        index = self._indexes[place]
        values = self._unpack(data, begin)
        for (cells, zeros, units, sign), value in zip(self._cells, values, strict=True):
            number = -(value & (sign - 1)) if value & sign else value
            cells[index] = (number - zeros[index]) * units[index]
        self._stamp_s[index] = stamp_s

    def take_packet(self, place: int, packet: StatusPacket, stamp_s: float) -> bool:
        """Take a servo's own answer; False if it is no answer to this question."""
        if len(packet.data) != self._length:
            return False
        self.take(place, packet.data, stamp_s)
        return True


def cells(values: Floats) -> memoryview[float]:
    """Return the numbers of an array in memory, which are set faster than by numpy."""
    return values.data.cast("B").cast("d")


class Chain:
    """Servos of one series on one bus.

    `short`, `full`: the feedback of most ticks, and that of some. `indexes` (servos,): of their actuators.
    `return_delay_s`: how long a servo waits before it answers; the caller sets it. Of each servo, in lists or
    bytes: `answered`: whether it answered last. `damaged`: of which others something came that was no sound
    answer. `errors`: the error byte of its last answer.
    """

    def __init__(self, bus: Bus, servos: Sequence[Servo], short: Block, full: Block) -> None:
        self.bus = bus
        self.servos = tuple(servos)
        self.ids = [servo.servo_id for servo in servos]
        self.indexes = np.array([servo.index for servo in servos])
        self.table = servos[0].model.table
        self.return_delay_s = bus.protocol.slowest_return_s
        self.answered = self.damaged = [False] * len(servos)
        self.all_answered = False
        self.errors = bytearray(len(servos))
        self.blocks = {False: short, True: full}
        self._place = {servo_id: place for place, servo_id in enumerate(self.ids)}
        self._answers: Mapping[bool, Answer] = {}
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

    def report_to(self, state: ActuatorState, unit_of: UnitOf) -> None:
        """Fill `state` with the feedback from now on."""
        indexes = self.indexes.tolist()
        self._answers = {
            is_full: Answer(indexes, block, state, unit_of) for is_full, block in self.blocks.items()
        }

    def send_goals(self, goals: Sequence[int]) -> None:
        """Send goal positions. `goals`: in ticks, of all actuators."""
        self.write("goal_position", {servo.servo_id: goals[servo.index] for servo in self.servos})

    def send_some_goals(self, goals: Sequence[int], withheld: Collection[int]) -> None:
        """Send the goals of all actuators but those withheld, by their indexes."""
        wanted = {one.servo_id: goals[one.index] for one in self.servos if one.index not in withheld}
        if wanted:
            self.write("goal_position", wanted)

    def ask(self, *, full: bool) -> None:
        """Ask for feedback without waiting; `take` waits for it."""
        self._full = full
        if self.table.sync_read:
            question = self._questions[full]
            self.bus.send(question)
            delay_s = len(self.ids) * self.return_delay_s
            self._deadline_s = self.bus.deadline_s(len(question), self._lengths[full], delay_s)

    def take(self) -> None:
        """Wait for the feedback asked for; `answered` shows whose came."""
        self._mark_silent()
        if self.table.sync_read:
            self._take_each()
        else:
            self._ask_each(self.blocks[self._full])
        self.all_answered = all(self.answered)

    def _mark_silent(self) -> None:
        """Begin with none that has answered."""
        self.answered, self.damaged = [False] * len(self.ids), [False] * len(self.ids)

    def _take_each(self) -> None:
        """Take the answers of servos one by one, as they come."""
        bus, length, missing = self.bus, self._lengths[self._full], len(self.ids)
        while (
            missing
            and (ahead := length - bus.heard_bytes) > 0
            and (received := bus.receive_next(self._deadline_s, ahead)) is not None
        ):
            while (packet := bus.protocol.take(received)) is not None:
                place = self._place.get(packet.servo_id)
                if place is not None and self._take_packet(place, packet):
                    missing -= 1
        if missing:
            self._note_damaged()

    def _take_packet(self, place: int, packet: StatusPacket) -> bool:
        """Take an answer; return whether it is a servo's first."""
        is_sound = self._answers[self._full].take_packet(place, packet, self.bus.heard_s)
        is_first = is_sound and not self.answered[place]
        if is_sound:
            self.errors[place] = packet.error
            self.answered[place] = True
        return is_first

    def _note_damaged(self) -> None:
        self.damaged = [
            not is_sound and self.bus.heard_from(one)
            for is_sound, one in zip(self.answered, self.ids, strict=True)
        ]

    def _ask_each(self, block: Block) -> None:
        """Ask servos one by one, as they do not know sync reads."""
        bus = self.bus
        for place, servo_id in enumerate(self.ids):
            question = bus.protocol.read(servo_id, block.address, block.length)
            packets = bus.ask(question, (servo_id,), block.length)
            if not packets or not self._take_packet(place, packets[0]):
                self.damaged[place] = bus.heard_from(servo_id)

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
        first.where,
        f"{what} ({tries} tries){others}",
        f"{answered} of {asked} answered",
        hint,
        actuators=[servo.actuator for servo in silent],
    )
