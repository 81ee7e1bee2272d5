"""Servo models: the control table of each model number, and the units of its registers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Item:
    """A register: its address and size in bytes, and how it has its value.

    `signed`: in two's complement. `sign_bit`: of a value of sign and magnitude; None where it has none.
    """

    address: int
    size: int
    signed: bool = False
    byte_order: Literal["little", "big"] = "little"
    sign_bit: int | None = None

    @property
    def end(self) -> int:
        """The address after its last byte."""
        return self.address + self.size

    def encode(self, value: int) -> bytes:
        """Return the register's bytes for a value. Raises OverflowError if it does not fit."""
        if self.sign_bit is None:
            return value.to_bytes(self.size, self.byte_order, signed=self.signed)
        sign = 1 << self.sign_bit
        if abs(value) >= sign:
            raise OverflowError(f"{value} does not fit into {self.sign_bit} bits and a sign")
        return (abs(value) | (sign if value < 0 else 0)).to_bytes(self.size, self.byte_order)

    def decode(self, data: bytes | bytearray, begin: int = 0) -> int:
        """Return the register's value from bytes that begin at address `begin`."""
        part = data[self.address - begin : self.end - begin]
        value = int.from_bytes(part, self.byte_order, signed=self.signed)
        if self.sign_bit is None:
            return value
        sign = 1 << self.sign_bit
        return -(value & (sign - 1)) if value & sign else value


@dataclass(frozen=True, slots=True)
class Table:
    """A control table. `sync_read`: whether its servos answer sync reads."""

    series: str
    items: Mapping[str, Item]
    ram_from: int
    sync_read: bool

    def __getitem__(self, name: str) -> Item:
        return self.items[name]

    def __contains__(self, name: str) -> bool:
        return name in self.items


@dataclass(frozen=True, slots=True)
class Model:
    """A kind of servo.

    `zero_ticks`: the position that the servo's documentation calls its centre. `acceleration_unit_rad_s2`:
    one unit of `profile_acceleration`; None where it has no such register. `current_unit_a`: one unit of
    `present_current`; None where the servo does not measure its current. `farthest_ticks`: how far from 0 it
    takes goals where it counts turns. `continuous_nm`: the torque that it can hold for any time; None where
    its documentation does not say it.
    """

    name: str
    number: int
    table: Table
    ticks_per_turn: float
    zero_ticks: int
    velocity_unit_rad_s: float
    acceleration_unit_rad_s2: float | None
    current_unit_a: float | None
    farthest_ticks: int
    continuous_nm: float | None

    @property
    def rad_per_tick(self) -> float:
        """The resolution of the encoder."""
        return 2 * math.pi / self.ticks_per_turn


SomeModel = TypeVar("SomeModel", bound=Model)


def read_tables(folder: Path) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Item]]]:
    """Read the tables of a folder: yield each file's content, and its `items` as registers.

    An item is an address and a type: `u` unsigned, `i` two's complement, `m` sign and magnitude, then the
    number of bytes, and for `m` a colon and the bit that has the sign. `byte_order` is of all items of a
    file; little by default.
    """
    for path in sorted(folder.glob("*.yaml")):
        content = yaml.load(path.read_bytes(), yaml.CSafeLoader)
        order = content.get("byte_order", "little")
        items = {name: _item(address, kind, order) for name, (address, kind) in content["items"].items()}
        yield content, items


def _item(address: int, kind: str, byte_order: Literal["little", "big"]) -> Item:
    size, _, sign_bit = kind[1:].partition(":")
    return Item(address, int(size), kind[0] == "i", byte_order, int(sign_bit) if sign_bit else None)


def by_name(models: Mapping[int, SomeModel]) -> Mapping[str, SomeModel]:
    """Return models by name."""
    return {model.name: model for model in models.values()}


def name_of(number: int, models: Mapping[int, Model]) -> str:
    """Return the name of a model, or `unknown model` with its number."""
    known = models.get(number)
    return known.name if known else f"unknown model {number}"
