"""Servo models: the control table of each model number, and the units of its registers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..serial_bus.models import Model, Table, by_name, read_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TABLES = Path(__file__).with_name("tables")
POSITION_MODE = 0
FINE_VELOCITY, ZERO_IS_FASTEST, COUNTS_TURNS = 0x04, 0x08, 0x10
"""Bits of the register `phase`."""


@dataclass(frozen=True, slots=True)
class FeetechModel(Model):
    """A kind of servo.

    `most_ticks`: the highest position within a turn. `coarse_velocity_rad_s`: one unit of velocity where the
    register `phase` says that it is a coarse one, and of `velocity_limit`; None where it has no such setting.
    """

    most_ticks: int
    coarse_velocity_rad_s: float | None


@cache
def models() -> Mapping[int, FeetechModel]:
    """Return all known models by number."""
    return {
        model.number: model for content, items in read_tables(TABLES) for model in _models(content, items)
    }


def models_by_name() -> Mapping[str, FeetechModel]:
    """Return all known models by name, such as `STS3215`."""
    return by_name(models())


def _models(content: Mapping[str, Any], items: Mapping[str, Any]) -> Iterator[FeetechModel]:
    table = Table(content["series"], items, content["ram_from"], content["sync_read"])
    for name, entry in content["models"].items():
        yield _model(name, table, content["units"] | entry)


def _model(name: str, table: Table, entry: Mapping[str, Any]) -> FeetechModel:
    rad_per_tick = 2 * math.pi / entry["ticks_per_turn"]
    coarse, acceleration = entry.get("coarse_velocity_ticks_s"), entry.get("acceleration_ticks_s2")
    current_ma = entry.get("current_ma")
    return FeetechModel(
        name=name,
        number=entry["number"],
        table=table,
        ticks_per_turn=entry["ticks_per_turn"],
        zero_ticks=entry["zero_ticks"],
        velocity_unit_rad_s=entry["velocity_ticks_s"] * rad_per_tick,
        acceleration_unit_rad_s2=None if acceleration is None else acceleration * rad_per_tick,
        current_unit_a=None if current_ma is None else current_ma / 1000,
        farthest_ticks=2 * entry["zero_ticks"] - 1,
        continuous_nm=entry.get("continuous_nm"),
        most_ticks=2 * entry["zero_ticks"] - 1,
        coarse_velocity_rad_s=None if coarse is None else coarse * rad_per_tick,
    )
