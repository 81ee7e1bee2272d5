"""Robot descriptions and motion files: read into neutral types, changed, and written.

    from motiond.formats import dump_motion, load_motion, load_robot, trim

    robot = load_robot("arm.hrdf")
    dump_motion(trim(load_motion("wave.seq"), 1.0, 2.0), "short.seq")

Whatever is wrong with a file comes as one `FormatError` with a line for each problem. Public are the names
listed here, and those that `motiond.formats.cache` and the packages of the formats list. Each is imported on
first use, so that who only names an error loads no numpy.

- `hrdf`, `skel`, `sdf`: formats of robots; `seq`, `xmdi`: formats of motions
- `reading`, `writing`: files by their paths; `registry`: which format reads or writes a file
- `foreign`: files of other formats, known by how they begin
- `cache`: motions that were read before, mapped into memory
- `model`: the neutral types, and what can be done with them
- `io`: what readers and writers share
- `errors`: problems of files; `arrays`: types of arrays
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import FormatError, Problem
    from .io.losses import NothingToDropError
    from .io.source import KeyFrames, Source
    from .model.editing import mirror, name_joints, rename, reverse, select, trim, trim_frames, without
    from .model.interpolation import Interpolation
    from .model.joining import JoinTolerance, concatenate
    from .model.motion import Motion, MotionError
    from .model.robot import (
        Coordinate,
        Frame,
        FrameKind,
        Joint,
        JointType,
        Link,
        Mesh,
        Mimic,
        RobotModel,
        Shape,
    )
    from .reading import load_motion, load_motions, load_robot, load_robots
    from .writing import dump_motion

__all__ = [
    "Coordinate",
    "FormatError",
    "Frame",
    "FrameKind",
    "Interpolation",
    "JoinTolerance",
    "Joint",
    "JointType",
    "KeyFrames",
    "Link",
    "Mesh",
    "Mimic",
    "Motion",
    "MotionError",
    "NothingToDropError",
    "Problem",
    "RobotModel",
    "Shape",
    "Source",
    "concatenate",
    "dump_motion",
    "load_motion",
    "load_motions",
    "load_robot",
    "load_robots",
    "mirror",
    "name_joints",
    "rename",
    "reverse",
    "select",
    "trim",
    "trim_frames",
    "without",
]
_HOMES = {
    "errors": ("FormatError", "Problem"),
    "io.losses": ("NothingToDropError",),
    "io.source": ("KeyFrames", "Source"),
    "model.editing": (
        "mirror",
        "name_joints",
        "rename",
        "reverse",
        "select",
        "trim",
        "trim_frames",
        "without",
    ),
    "model.interpolation": ("Interpolation",),
    "model.joining": ("JoinTolerance", "concatenate"),
    "model.motion": ("Motion", "MotionError"),
    "model.robot": (
        "Coordinate",
        "Frame",
        "FrameKind",
        "Joint",
        "JointType",
        "Link",
        "Mesh",
        "Mimic",
        "RobotModel",
        "Shape",
    ),
    "reading": ("load_motion", "load_motions", "load_robot", "load_robots"),
    "writing": ("dump_motion",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
