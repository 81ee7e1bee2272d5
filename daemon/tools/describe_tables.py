"""What is in a robot description or a motion file, as lines and tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson
from rich.text import Text

from motiond.formats.model import si_unit
from motiond.text import listed

from .tables import Column, print_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from .describe import Description

FOLDED = {"payload"}


class _Table(NamedTuple):
    """A table as it will be printed; one without rows is left out."""

    columns: list[Column]
    rows: list[list[str]]


def show(description: Description, console: Console) -> None:
    """Print a robot's or a motion's description."""
    parts = _robot_parts if description["kind"] == "robot" else _motion_parts
    for part in parts(description):
        if isinstance(part, Text):
            console.print(part, soft_wrap=True)
        elif part.rows:
            print_rows(console, part.columns, part.rows)
    for warning in description["warnings"]:
        console.print(Text(f"warning: {warning}", style="yellow"), soft_wrap=True)


def _robot_parts(robot: Description) -> Iterator[Text | _Table]:
    yield Text(
        f"{robot['name']}: robot, {robot['format']} {robot['version']}; {robot['dof']} degrees of freedom, "
        f"{len(robot['links'])} links, {robot['mass_kg']:.3f} kg",
        style="bold",
    )
    limits = {"lower": "lower", "upper": "upper", "velocity_limit": "velocity /s", "effort_limit": "effort"}
    some = {key: key for key in ("follows", "reduction") if any(joint[key] for joint in robot["joints"])}
    joints = [joint | ({"type": "continuous"} if joint["continuous"] else {}) for joint in robot["joints"]]
    yield _table({"name": "joint", "type": "type"} | limits | {"unit": "unit"} | some, joints)
    coms = {axis: f"com {axis} in m" for axis in "xyz"}
    links = [_with_axes(link, "com_m") for link in robot["links"]]
    yield _table({"name": "link", "mass_kg": "mass in kg"} | coms, links)
    frames = [_with_axes(frame, "position_m") for frame in robot["frames"]]
    places = {axis: f"{axis} in m" for axis in "xyz"}
    yield _table({"name": "frame, joints at 0", "kind": "kind"} | places, frames)


def _with_axes(row: Description, key: str) -> Description:
    return {**row, **dict(zip("xyz", row[key], strict=True))}


def _motion_parts(motion: Description) -> Iterator[Text | _Table]:
    spacing = "" if motion["uniform"] else ", each with its own time"
    timing = f"{motion['duration_s']:g} s, {motion['frames']} frames at {motion['frame_rate']:g}/s{spacing}"
    kind = " ".join(str(part) for part in (motion["format"], motion["version"]) if part)
    yield Text(f"{motion['name']}: motion, {kind}; {timing}", style="bold")
    speed = {"velocity": "velocity /s", "velocity_at_s": "at s"}
    change = {"acceleration": "acceleration /s²", "acceleration_at_s": "at s"}
    name = "joint" if motion["named"] else "joint, by number"
    yield _table({"name": name, "lower": "lower", "upper": "upper"} | speed | change, motion["joints"])
    mapped = {"column": "column", "unit": "in", "sign": "sign", "offset": "offset", "joint": "joint"}
    yield _table(mapped | {"lower": "lower", "upper": "upper", "si": "in"}, _with_si(motion["mapped"]))
    if motion["ignored"]:
        yield Text(f"left out: {listed([str(column) for column in motion['ignored']])}")
    yield _table({"name": "other series", "shape": "shape"}, motion["components"])
    places = {"name": "marker", "frame": "frame", "time_s": "at s", "payload": "payload"}
    yield _table(places, [one | {"payload": _json(one["payload"])} for one in motion["markers"]])


def _with_si(mapped: list[Description]) -> list[Description]:
    """Add what the joints are in to columns whose unit is known."""
    return [row | {"si": si_unit(row["unit"])} for row in mapped]


def _table(columns: dict[str, str], rows: list[Description]) -> _Table:
    """Make a table of some of the rows' keys, each under its title."""
    numeric = {key for key in columns for row in rows if isinstance(row[key], float)}
    return _Table(
        [Column(title, right=key in numeric, folds=key in FOLDED) for key, title in columns.items()],
        [[_cell(row[key]) for key in columns] for row in rows],
    )


def _json(value: Any) -> str:
    return "" if value is None else orjson.dumps(value).decode()


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if np.isinf(value) else f"{round(value, 9) + 0.0:.6g}"
    return "" if value is None else str(value)
