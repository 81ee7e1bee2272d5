"""What is in a robot description or a motion file, JSON-ready; `docs/cli.md` explains every key.

Units are SI; what a file does not limit is infinite here and null in JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.formats import FormatError, Problem, ReadOptions, Source, load_motions, load_robots
from motiond.formats.io import HEBI_CONFIG, foreign_format
from motiond.formats.registry import MOTIONS, ROBOTS, refuse_foreign
from motiond.text import printable

from ..joints import read_robot
from ..planning import marker_file, read_markers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from motiond.formats import Frame, Joint, Link, Motion, RobotModel
    from motiond.formats.arrays import Floats

    from ..planning import Marker


Description = dict[str, Any]

DEFAULTS = ReadOptions()

# Peaks nearer than this are the same one: differences of rounded positions are never quite alike.
SAME = 1e-9


def describe_file(path: Path, options: ReadOptions = DEFAULTS) -> list[Description]:
    """Describe every robot or motion in a file; one that cannot be read is described by its problems."""
    try:
        return [{"file": printable(str(path)), **found} for found in _described(path, options)]
    except FormatError as error:
        problems = [
            {name: getattr(problem, name) for name in Problem.__slots__} for problem in error.problems
        ]
        return [{"file": printable(str(path)), "kind": "unreadable", "problems": problems}]


def _described(path: Path, options: ReadOptions) -> Iterator[Description]:
    source = Source(path)
    data = source.read(MOTIONS.size)  # the larger one; a description beyond its own is refused below
    if ROBOTS.fitting(data, source):
        yield from map(describe_robot, load_robots(path))
    elif foreign_format(data) == HEBI_CONFIG:  # before what else has its suffix
        yield describe_robot(read_robot(path))
    elif MOTIONS.fitting(data, source):
        motions = load_motions(path, options=options)
        for motion in motions:
            markers = marker_file(path, motion.name if len(motions) > 1 else None)
            yield _with_markers(describe_motion(motion), markers, motion)
    else:
        refuse_foreign(data, source)
        known = ", ".join([*ROBOTS.names, *MOTIONS.names])
        reason = f"motiond knows {known}"
        raise FormatError([Problem(source.name, 0, "is of no known format", reason, "check the file")])


def _with_markers(description: Description, path: Path, motion: Motion) -> Description:
    """Add the markers that stand beside a motion; what is wrong with them is a warning here."""
    markers: tuple[Marker, ...] = ()
    warnings: list[str] = []
    if path.exists():
        try:
            markers = read_markers(path, motion)
        except FormatError as error:
            warnings = str(error).splitlines()
    listed = [
        {"name": one.name, "frame": one.frame, "time_s": one.time_s, "payload": one.payload}
        for one in markers
    ]
    return description | {"markers": listed, "warnings": description["warnings"] + warnings}


def describe_robot(robot: RobotModel) -> Description:
    """Return a robot's joints, links and frames; frames where they are with every joint at 0."""
    places = robot.forward_kinematics(np.zeros(robot.dof))
    return {
        "kind": "robot",
        "name": robot.name,
        "format": robot.format,
        "version": robot.version,
        "dof": robot.dof,
        "mass_kg": sum(link.mass for link in robot.links),
        "joints": [coordinate for joint in robot.joints for coordinate in _describe_joint(robot, joint)],
        "links": [_describe_link(link) for link in robot.links],
        "frames": [_describe_frame(frame, places[frame.name]) for frame in robot.frames],
        "warnings": list(robot.warnings),
    }


def _describe_joint(robot: RobotModel, joint: Joint) -> Iterator[Description]:
    """Describe each coordinate; a joint that moves nothing has none."""
    reductions = robot.metadata.get("reductions", {})
    for number, coordinate in enumerate(joint.coordinates):
        yield {
            "name": coordinate.name,
            "joint": joint.name,
            "type": joint.type,
            "parent": joint.parent,
            "child": joint.child,
            "unit": joint.unit(number),
            "continuous": robot.is_continuous(joint),
            "lower": coordinate.lower,
            "upper": coordinate.upper,
            "velocity_limit": coordinate.velocity_limit,
            "effort_limit": coordinate.effort_limit,
            "initial": coordinate.initial,
            "follows": joint.mimic.of if joint.mimic else None,
            "reduction": reductions.get(joint.name),
        }


def _describe_link(link: Link) -> Description:
    return {
        "name": link.name,
        "mass_kg": link.mass,
        "com_m": link.com[:3, 3].tolist(),
        "inertia_kg_m2": link.inertia.tolist(),
    }


def _describe_frame(frame: Frame, place: Floats) -> Description:
    return {
        "name": frame.name,
        "kind": frame.kind,
        "attached_to": frame.attached_to,
        "position_m": place[:3, 3].tolist(),
        "rotation": place[:3, :3].tolist(),
    }


def describe_motion(motion: Motion) -> Description:
    """Return a motion's timing, what became of its columns, and each joint's range and greatest speeds."""
    names = motion.joint_names or tuple(str(number) for number in range(motion.positions.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers that no plan takes
        velocities, accelerations = motion.derivatives()
    lower, upper = motion.positions.min(axis=0).tolist(), motion.positions.max(axis=0).tolist()
    map_ = motion.metadata.get("map", {"columns": [], "ignored": []})
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
                "lower": lower[column],
                "upper": upper[column],
                **_peak("velocity", velocities[:, column], motion.times),
                **_peak("acceleration", accelerations[:, column], motion.times),
            }
            for column, name in enumerate(names)
        ],
        "mapped": [
            column | {"lower": lower[number], "upper": upper[number]}
            for number, column in enumerate(map_["columns"])
        ],
        "ignored": list(map_["ignored"]),
        "components": [
            {"name": name, "shape": getattr(series, "shape", None)}
            for name, series in motion.components.items()
        ],
        "warnings": list(motion.warnings),
    }


def _peak(name: str, series: Floats, times: Floats) -> Description:
    """Return the greatest value of a joint's series, shape (frames,), without sign, and its first time."""
    amounts = np.abs(series)
    peak = amounts.max()
    with np.errstate(invalid="ignore"):
        first = int((amounts >= peak - SAME * max(peak, 1.0)).argmax())
    return {name: float(peak), f"{name}_at_s": float(times[first])}
