"""Servo models: the control table of each model number, and the units of its registers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..serial_bus.models import Model, Table, by_name, read_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLES = Path(__file__).with_name("tables")
_RAD_S_PER_RPM = 2 * math.pi / 60
_RAD_S2_PER_RPM2 = 2 * math.pi / 3600


@dataclass(frozen=True, slots=True)
class DynamixelTable(Table):
    """A control table. `watchdog_from`: the first firmware version with a bus watchdog."""

    watchdog_from: int


@dataclass(frozen=True, slots=True)
class DynamixelModel(Model):
    """A kind of servo.

    `fast_read_from`: the first firmware version that supports fast sync reads; None if none does.
    """

    table: DynamixelTable
    ticks_per_turn: int
    acceleration_unit_rad_s2: float
    fast_read_from: int | None


@cache
def models() -> Mapping[int, DynamixelModel]:
    """Return all known models by number."""
    found = {}
    for content, items in read_tables(TABLES):
        table = DynamixelTable(
            content["series"],
            items,
            content["ram_from"],
            sync_read=True,
            watchdog_from=content["watchdog_from"],
        )
        for name, entry in content["models"].items():
            found[entry["number"]] = _model(name, table, content["units"] | entry)
    return found


def models_by_name() -> Mapping[str, DynamixelModel]:
    """Return all known models by name, such as `XM430-W350`."""
    return by_name(models())


def _model(name: str, table: DynamixelTable, entry: Mapping[str, Any]) -> DynamixelModel:
    current_ma = entry.get("current_ma")
    return DynamixelModel(
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
