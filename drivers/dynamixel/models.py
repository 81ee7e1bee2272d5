"""Servo models: the control table of each model number, and the units of its registers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLES = Path(__file__).with_name("tables")
_RAD_S_PER_RPM = 2 * math.pi / 60
_RAD_S2_PER_RPM2 = 2 * math.pi / 3600


@dataclass(frozen=True, slots=True)
class Item:
    """A register: its address, its size in bytes, and whether it is signed."""

    address: int
    size: int
    signed: bool

    @property
    def end(self) -> int:
        """The address after its last byte."""
        return self.address + self.size

    def encode(self, value: int) -> bytes:
        """Return the register's bytes for a value."""
        return value.to_bytes(self.size, "little", signed=self.signed)

    def decode(self, data: bytes | bytearray, begin: int = 0) -> int:
        """Return the register's value from bytes that begin at address `begin`."""
        part = data[self.address - begin : self.end - begin]
        return int.from_bytes(part, "little", signed=self.signed)


@dataclass(frozen=True, slots=True)
class Table:
    """A control table."""

    series: str
    items: Mapping[str, Item]
    ram_from: int
    watchdog_from: int

    def __getitem__(self, name: str) -> Item:
        return self.items[name]


@dataclass(frozen=True, slots=True)
class Model:
    """A kind of servo.

    `zero_ticks`: the position that the servo's documentation calls its centre. `current_unit_a`: one unit of
    `present_current`; None where the servo does not measure its current. `fast_read_from`: the first firmware
    version that supports fast sync reads; None if none does. `continuous_nm`: the torque that it can hold for
    any time; None where its documentation does not say it. `farthest_ticks`: how far from 0 it takes goals
    where it counts turns.
    """

    name: str
    number: int
    table: Table
    ticks_per_turn: int
    zero_ticks: int
    velocity_unit_rad_s: float
    acceleration_unit_rad_s2: float
    current_unit_a: float | None
    fast_read_from: int | None
    farthest_ticks: int
    continuous_nm: float | None

    @property
    def rad_per_tick(self) -> float:
        """The resolution of the encoder."""
        return 2 * math.pi / self.ticks_per_turn


@cache
def models() -> Mapping[int, Model]:
    """Return all known models by number."""
    return {model.number: model for path in sorted(TABLES.glob("*.yaml")) for model in _load(path)}


def models_by_name() -> Mapping[str, Model]:
    """Return all known models by name, such as `XM430-W350`."""
    return {model.name: model for model in models().values()}


def name_of(number: int) -> str:
    """Return the name of a model, or `unknown model` with its number."""
    known = models().get(number)
    return known.name if known else f"unknown model {number}"


def _load(path: Path) -> list[Model]:
    content = yaml.load(path.read_bytes(), yaml.CSafeLoader)
    items = {
        name: Item(address, int(kind[1]), kind[0] == "i")
        for name, (address, kind) in content["items"].items()
    }
    table = Table(content["series"], items, content["ram_from"], content["watchdog_from"])
    return [_model(name, table, content["units"] | entry) for name, entry in content["models"].items()]


def _model(name: str, table: Table, entry: Mapping[str, Any]) -> Model:
    current_ma = entry.get("current_ma")
    return Model(
        name=name,
        number=entry["number"],
        table=table,
        ticks_per_turn=entry["ticks_per_turn"],
        zero_ticks=entry["zero_ticks"],
        velocity_unit_rad_s=entry["velocity_rpm"] * _RAD_S_PER_RPM,
        acceleration_unit_rad_s2=entry["acceleration_rpm2"] * _RAD_S2_PER_RPM2,
        current_unit_a=None if current_ma is None else current_ma / 1000,
        fast_read_from=entry.get("fast_read_from"),
        farthest_ticks=entry["farthest_ticks"],
        continuous_nm=entry.get("continuous_nm"),
    )


HARDWARE_ERRORS = {
    0x01: "an input voltage error",
    0x02: "a motor hall sensor error",
    0x04: "overheating",
    0x08: "a motor encoder error",
    0x10: "an electrical shock",
    0x20: "overload",
}


def in_words(bits: int) -> str:
    """Return what is wrong, such as `overheating and overload`."""
    named = [words for bit, words in HARDWARE_ERRORS.items() if bits & bit]
    unknown = bits & ~sum(HARDWARE_ERRORS)
    if unknown:
        named.append(f"unknown error bits 0x{unknown:02x}")
    return " and ".join(named)
