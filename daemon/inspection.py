"""What is in a robot description or a motion file, for people and for programs.

In comes a file of any format that motiond reads, out comes a JSON-ready description, and from it tables.
Units are SI; what a file does not limit is infinite here and null in JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from formats import FormatError, Problem, load_motions, load_robots
from formats.registry import MOTIONS, ROBOTS
from formats.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import RenderableType

    from formats import Joint, Motion, RobotModel

Description = dict[str, Any]

LINEAR = frozenset({"prismatic", "translational"})


def describe_file(path: Path) -> list[Description]:
    """Describe every robot or motion in a file.

    Raises
    ------
    FormatError
        If it cannot be read, is invalid, or is of no known format.
    """
    source = Source(path)
    data = source.read()
    if ROBOTS.fitting(data, source):
        return [describe_robot(robot) for robot in load_robots(path)]
    if MOTIONS.fitting(data, source):
        return [describe_motion(motion) for motion in load_motions(path)]
    known = ", ".join(one.NAME for kind in (ROBOTS, MOTIONS) for one in kind.formats())
    why = f"motiond knows {known}"
    raise FormatError([Problem(source.name, 0, "is of no known format", why, "check the file")])


def describe_robot(robot: RobotModel) -> Description:
    """Give a robot's joints, links and frames; frames where they are with every joint at 0."""
    return {
        "kind": "robot",
        "name": robot.name,
        "format": robot.format,
        "version": robot.version,
        "dof": robot.dof,
        "mass_kg": sum(link.mass for link in robot.links),
        "joints": [coordinate for joint in robot.joints for coordinate in _describe_joint(joint)],
        "links": [{"name": link.name, "mass_kg": link.mass} for link in robot.links],
        "frames": list(_describe_frames(robot)),
        "warnings": list(robot.warnings),
    }


def _describe_joint(joint: Joint) -> Iterator[Description]:
    for coordinate in joint.coordinates:
        yield {
            "name": coordinate.name,
            "type": joint.type,
            "parent": joint.parent,
            "child": joint.child,
            "unit": "m" if joint.type in LINEAR else "rad",
            "lower": coordinate.lower,
            "upper": coordinate.upper,
            "velocity_limit": coordinate.velocity_limit,
            "effort_limit": coordinate.effort_limit,
        }


def _describe_frames(robot: RobotModel) -> Iterator[Description]:
    places = robot.forward_kinematics(np.zeros(robot.dof))
    for frame in robot.frames:
        yield {
            "name": frame.name,
            "kind": frame.kind,
            "attached_to": frame.attached_to,
            "position_m": places[frame.name][:3, 3].tolist(),
        }


def describe_motion(motion: Motion) -> Description:
    """Give a motion's timing, and each joint's range and greatest speed and acceleration."""
    speeds, accelerations = (np.abs(series).max(axis=0, initial=0.0) for series in motion.derivatives())
    names = motion.joint_names or tuple(str(number) for number in range(motion.positions.shape[1]))
    return {
        "kind": "motion",
        "name": motion.name,
        "format": motion.metadata.get("format"),
        "version": motion.metadata.get("format_version"),
        "duration_s": motion.duration_s,
        "frame_rate": motion.frame_rate,
        "frames": len(motion.times),
        "uniform": motion.is_uniform,
        "named": bool(motion.joint_names),
        "joints": [
            {
                "name": name,
                "lower": float(motion.positions[:, column].min()),
                "upper": float(motion.positions[:, column].max()),
                "velocity": float(speeds[column]),
                "acceleration": float(accelerations[column]),
            }
            for column, name in enumerate(names)
        ],
        "components": [
            {"name": name, "shape": getattr(series, "shape", None)}
            for name, series in motion.components.items()
        ],
        "warnings": list(motion.warnings),
    }


def show(description: Description) -> Iterator[RenderableType]:
    """Give what a terminal shows of a description."""
    yield from _show_robot(description) if description["kind"] == "robot" else _show_motion(description)
    for warning in description["warnings"]:
        yield Text(f"warning: {warning}", style="yellow")


def _show_robot(robot: Description) -> Iterator[RenderableType]:
    yield Text(
        f"{robot['name']}: robot, {robot['format']} {robot['version']}; {robot['dof']} degrees of freedom, "
        f"{len(robot['links'])} links, {robot['mass_kg']:.3f} kg",
        style="bold",
    )
    limits = {"lower": "lower", "upper": "upper", "velocity_limit": "velocity /s", "effort_limit": "effort"}
    yield _table({"name": "joint", "type": "type"} | limits | {"unit": "unit"}, robot["joints"])
    yield _table({"name": "link", "mass_kg": "mass in kg"}, robot["links"])
    frames = [{**frame, **dict(zip("xyz", frame["position_m"], strict=True))} for frame in robot["frames"]]
    axes = {axis: f"{axis} in m" for axis in "xyz"}
    yield _table({"name": "frame, joints at 0", "kind": "kind"} | axes, frames)


def _show_motion(motion: Description) -> Iterator[RenderableType]:
    spacing = "" if motion["uniform"] else ", each with its own time"
    timing = f"{motion['duration_s']:g} s, {motion['frames']} frames at {motion['frame_rate']:g}/s{spacing}"
    yield Text(
        f"{motion['name']}: motion, {motion['format']} {motion['version'] or ''}; {timing}",
        style="bold",
    )
    peaks = {"velocity": "velocity /s", "acceleration": "acceleration /s²"}
    name = "joint" if motion["named"] else "joint, by number"
    yield _table({"name": name, "lower": "lower", "upper": "upper"} | peaks, motion["joints"])
    if motion["components"]:
        yield _table({"name": "other series", "shape": "shape"}, motion["components"])


def _table(columns: dict[str, str], rows: list[Description]) -> Table:
    """Make a table of some of the rows' keys, each under its title."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for key, title in columns.items():
        numeric = any(isinstance(row[key], float) for row in rows)
        table.add_column(title, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[key]) for key in columns))
    return table


def _cell(value: Any) -> Text:
    if isinstance(value, float):
        return Text("-" if np.isinf(value) else f"{round(value, 9) + 0.0:.6g}")
    return Text("" if value is None else str(value))
