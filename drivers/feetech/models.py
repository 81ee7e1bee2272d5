"""Servo models: the control table of each model number, and the units of its registers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLES = Path(__file__).with_name("tables")
IDENTITY = (0, 5)
"""Address and length of what says which servo it is: firmware, byte order, model number."""
BIG_ENDIAN = 1


@dataclass(frozen=True, slots=True)
class Item:
    """A register: its address and size in bytes, and how it has its value.

    `sign_bit`: of a value of sign and magnitude; None where it is unsigned.
    """

    address: int
    size: int
    byte_order: Literal["little", "big"]
    sign_bit: int | None = None

    @property
    def end(self) -> int:
        """The address after its last byte."""
        return self.address + self.size

    def encode(self, value: int) -> bytes:
        """Return the register's bytes for a value. Raises OverflowError if it does not fit."""
        if self.sign_bit is None:
            return value.to_bytes(self.size, self.byte_order)
        sign = 1 << self.sign_bit
        if abs(value) >= sign:
            raise OverflowError(f"{value} does not fit into {self.sign_bit} bits and a sign")
        return (abs(value) | (sign if value < 0 else 0)).to_bytes(self.size, self.byte_order)

    def decode(self, data: bytes | bytearray, begin: int = 0) -> int:
        """Return the register's value from bytes that begin at address `begin`."""
        value = int.from_bytes(data[self.address - begin : self.end - begin], self.byte_order)
        if self.sign_bit is None:
            return value
        sign = 1 << self.sign_bit
        magnitude = value & (sign - 1)
        return -magnitude if value & sign else magnitude


@dataclass(frozen=True, slots=True)
class Table:
    """A control table. `sync_read`: whether its servos answer sync reads."""

    series: str
    items: Mapping[str, Item]
    ram_from: int
    sync_read: bool

    def __getitem__(self, name: str) -> Item:
        return self.items[name]


@dataclass(frozen=True, slots=True)
class Model:
    """A kind of servo.

    `zero_ticks`: the position that the servo's documentation calls its centre. `most_ticks`: the highest
    position within a turn. `coarse_velocity_ticks_s`: one unit of velocity where the register `phase` says
    that it is a coarse one; None where it has no such setting. `acceleration_unit_rad_s2`, `current_unit_a`:
    None where it takes no acceleration, or does not measure its current.
    """

    name: str
    number: int
    table: Table
    ticks_per_turn: float
    zero_ticks: int
    most_ticks: int
    velocity_unit_ticks_s: float
    coarse_velocity_ticks_s: float | None
    acceleration_unit_rad_s2: float | None
    current_unit_a: float | None

    @property
    def rad_per_tick(self) -> float:
        """The resolution of the encoder."""
        return 2 * math.pi / self.ticks_per_turn

    @property
    def velocity_unit_rad_s(self) -> float:
        """One unit of velocity."""
        return self.velocity_unit_ticks_s * self.rad_per_tick


@cache
def models() -> Mapping[int, Model]:
    """Return all known models by number."""
    return {model.number: model for path in sorted(TABLES.glob("*.yaml")) for model in _load(path)}


def models_by_name() -> Mapping[str, Model]:
    """Return all known models by name, such as `STS3215`."""
    return {model.name: model for model in models().values()}


def name_of(number: int) -> str:
    """Return the name of a model, or `unknown model` with its number."""
    known = models().get(number)
    return known.name if known else f"unknown model {number}"


def model_number(identity: bytes) -> int:
    """Return a servo's model number from the bytes at `IDENTITY`, in its own byte order."""
    return int.from_bytes(identity[3:5], "big" if identity[2] == BIG_ENDIAN else "little")


def _load(path: Path) -> list[Model]:
    content = yaml.load(path.read_bytes(), yaml.CSafeLoader)
    items = {
        name: _item(address, kind, content["byte_order"])
        for name, (address, kind) in content["items"].items()
    }
    table = Table(content["series"], items, content["ram_from"], content["sync_read"])
    return [_model(name, table, content["units"] | entry) for name, entry in content["models"].items()]


def _item(address: int, kind: str, byte_order: Literal["little", "big"]) -> Item:
    size, _, sign_bit = kind[1:].partition(":")
    return Item(address, int(size), byte_order, int(sign_bit) if sign_bit else None)


def _model(name: str, table: Table, entry: Mapping[str, Any]) -> Model:
    rad_per_tick = 2 * math.pi / entry["ticks_per_turn"]
    acceleration, current_ma = entry.get("acceleration_ticks_s2"), entry.get("current_ma")
    return Model(
        name=name,
        number=entry["number"],
        table=table,
        ticks_per_turn=entry["ticks_per_turn"],
        zero_ticks=entry["zero_ticks"],
        most_ticks=2 * entry["zero_ticks"] - 1,
        velocity_unit_ticks_s=entry["velocity_ticks_s"],
        coarse_velocity_ticks_s=entry.get("coarse_velocity_ticks_s"),
        acceleration_unit_rad_s2=None if acceleration is None else acceleration * rad_per_tick,
        current_unit_a=None if current_ma is None else current_ma / 1000,
    )


OVERLOAD = 0x20
ERRORS = {
    0x01: "a supply voltage beyond its limits",
    0x02: "an angle sensor error",
    0x04: "overheating",
    0x08: "overcurrent",
    OVERLOAD: "overload",
}
"""What the bits of an answer's error byte, and of the register `status`, say."""


def in_words(bits: int) -> str:
    """Return what is wrong, such as `overheating and overload`."""
    named = [words for bit, words in ERRORS.items() if bits & bit]
    unknown = bits & ~sum(ERRORS)
    if unknown:
        named.append(f"unknown error bits 0x{unknown:02x}")
    return " and ".join(named)
