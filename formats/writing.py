"""Writes a motion or a robot in the format that is named, or that the path's suffix names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from motiond.text import nearest

from .errors import FormatError, Problem
from .io.writers.digits import ALL_DIGITS
from .registry import MotionWriter, RobotWriter, motion_writers, robot_writers

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Mapping

    from .arrays import Floats
    from .io.xml.tree import Xml
    from .model.motion import Motion
    from .model.robot import RobotModel

W = TypeVar("W", MotionWriter, RobotWriter)


def dump_motion(
    motion: Motion,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - what everyone calls it
    *,
    precision: int | None = ALL_DIGITS,
    drop: Collection[str] = (),
    version: int | None = None,
    tolerance: float | None = None,
    frame_period_s: float | None = None,
) -> None:
    """Write a motion; an existing file is replaced once all is written.

    Parameters
    ----------
    format : {'seq', 'webots_motion', 'xmdi', 'npz', 'mcap', 'ros', 'csv'}, optional
        By the path's suffix unless given.
    precision : int, optional
        Significant digits; from 13 on all that a number has. A value that fewer would carry beyond the range
        of its column keeps all. None also writes times that differ from the frame rate by rounding alone.
    drop : collection of str
        What may be lost, by the names that a refusal has; of .seq also components that are not wanted.
    version : {1, 2, 3, 4}, optional
        Of .seq; the newest unless given.
    tolerance : float, optional
        Of XMDI, in rad or m: how far from a row the line between two key frames may pass; 1e-6 unless given.
    frame_period_s : float, optional
        Of XMDI: what a frame stands for; 0.032 s unless given.

    Raises
    ------
    FormatError
        If the format cannot hold something, each thing named, or the file cannot be written.
    ValueError
        If an option has no such value, or the format no such option.
    """
    target = Path(path)
    writer = _writer(target, format, "motion", motion_writers())
    given = {"version": version, "tolerance": tolerance, "frame_period_s": frame_period_s}
    for name, value in given.items():
        if name not in writer.OPTIONS and value is not None:
            raise ValueError(f"{name} is {value}; {writer.NAME} has no such option; leave it out")
    options = {name: value for name, value in given.items() if name in writer.OPTIONS}
    writer.dump(motion, target, precision=precision, drop=drop, **options)


def dump_robot(
    model: RobotModel,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - what everyone calls it
    *,
    drop: Collection[str] = (),
) -> tuple[str, ...]:
    """Write a robot; an existing file is replaced once all is written.

    Joints that the format does not have become a row of ones that it has, with the same coordinates.

    Parameters
    ----------
    format : {'urdf', 'sdf', 'mjcf'}, optional
        By the path's suffix unless given.
    drop : collection of str
        What may be lost, by the names that a refusal has.

    Returns
    -------
    tuple of str
        `file: problem; reason`, one for each kind of part that the file calls by another name.

    Raises
    ------
    FormatError
        If the format cannot hold something, each thing named, or the file cannot be written.
    """
    target = Path(path)
    return _writer(target, format, "robot", robot_writers()).dump(model, target, drop=drop)


def mjcf_document(model: RobotModel, hulls: Mapping[Path, Floats]) -> tuple[Xml, RobotModel]:
    """Return a robot as MuJoCo loads it, and the robot of simple joints that it is.

    Its bodies have the names of links, its joints those of the second robot's, of which some may follow
    others. Meshes have absolute paths; nothing looks into them.

    Parameters
    ----------
    model : RobotModel
        No joint closes a loop or is a gearbox, what is free hangs on the world, only what does not move has
        planes, and meshes are STL or OBJ, or have hulls.
    hulls : mapping of Path to ndarray, shape (n, 3)
        Points whose convex hull stands for a mesh, by the mesh's path.
    """
    from .mjcf import document  # noqa: PLC0415 - as formats are: when it is needed

    return document(model, hulls)


def _writer(path: Path, name: str | None, kind: str, writers: Iterable[W]) -> W:
    suffix, known = path.suffix.lower(), []
    for writer in writers:
        if name == writer.NAME or (name is None and suffix in writer.SUFFIXES):
            return writer
        known.append(writer.NAME)
    written = f"written are {', '.join(known)}"
    if name is not None:
        what = f"no {kind} format is called '{name}'"
        raise FormatError([Problem(str(path), 0, what, written, nearest(name, known))])
    what = f"its suffix '{path.suffix}' names no {kind} format"
    raise FormatError([Problem(str(path), 0, what, written, "name the format")])
