"""What is in a robot description or a motion file, as lines and tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType

    from .describe import Description


def show(description: Description, console: Console) -> None:
    """Print a robot's or a motion's description."""
    tables = _robot_tables if description["kind"] == "robot" else _motion_tables
    for part in tables(description):
        console.print(part, soft_wrap=isinstance(part, Text))
    for warning in description["warnings"]:
        console.print(Text(f"warning: {warning}", style="yellow"), soft_wrap=True)


def _robot_tables(robot: Description) -> Iterator[RenderableType]:
    yield Text(
        f"{robot['name']}: robot, {robot['format']} {robot['version']}; {robot['dof']} degrees of freedom, "
        f"{len(robot['links'])} links, {robot['mass_kg']:.3f} kg",
        style="bold",
    )
    limits = {"lower": "lower", "upper": "upper", "velocity_limit": "velocity /s", "effort_limit": "effort"}
    follows = {"follows": "follows"} if any(joint["follows"] for joint in robot["joints"]) else {}
    yield from _table(
        {"name": "joint", "type": "type"} | limits | {"unit": "unit"} | follows, robot["joints"]
    )
    coms = {axis: f"com {axis} in m" for axis in "xyz"}
    links = [_with_axes(link, "com_m") for link in robot["links"]]
    yield from _table({"name": "link", "mass_kg": "mass in kg"} | coms, links)
    frames = [_with_axes(frame, "position_m") for frame in robot["frames"]]
    places = {axis: f"{axis} in m" for axis in "xyz"}
    yield from _table({"name": "frame, joints at 0", "kind": "kind"} | places, frames)


def _with_axes(row: Description, key: str) -> Description:
    return {**row, **dict(zip("xyz", row[key], strict=True))}


def _motion_tables(motion: Description) -> Iterator[RenderableType]:
    spacing = "" if motion["uniform"] else ", each with its own time"
    timing = f"{motion['duration_s']:g} s, {motion['frames']} frames at {motion['frame_rate']:g}/s{spacing}"
    kind = " ".join(str(part) for part in (motion["format"], motion["version"]) if part)
    yield Text(f"{motion['name']}: motion, {kind}; {timing}", style="bold")
    speed = {"velocity": "velocity /s", "velocity_at_s": "at s"}
    change = {"acceleration": "acceleration /s²", "acceleration_at_s": "at s"}
    name = "joint" if motion["named"] else "joint, by number"
    yield from _table({"name": name, "lower": "lower", "upper": "upper"} | speed | change, motion["joints"])
    yield from _table({"name": "other series", "shape": "shape"}, motion["components"])
    places = {"name": "marker", "frame": "frame", "time_s": "at s", "payload": "payload"}
    yield from _table(places, [one | {"payload": _json(one["payload"])} for one in motion["markers"]])


def _table(columns: dict[str, str], rows: list[Description]) -> Iterator[Table]:
    """Make a table of some of the rows' keys, each under its title; none where there are no rows."""
    if not rows:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for key, title in columns.items():
        numeric = any(isinstance(row[key], float) for row in rows)
        table.add_column(title, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[key]) for key in columns))
    yield table


def _json(value: Any) -> str:
    return "" if value is None else orjson.dumps(value).decode()


def _cell(value: Any) -> Text:
    if isinstance(value, float):
        return Text("-" if np.isinf(value) else f"{round(value, 9) + 0.0:.6g}")
    return Text("" if value is None else str(value))
