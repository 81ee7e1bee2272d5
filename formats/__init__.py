"""Robot descriptions and motion files: read into neutral types, changed, and written.

    from motiond.formats import dump_motion, load_motion, load_robot, trim

    robot = load_robot("arm.hrdf")
    dump_motion(trim(load_motion("wave.seq"), 1.0, 2.0), "short.seq")

Whatever is wrong with a file comes as one `FormatError` with a line for each problem. Public are the names
listed here, and those that `motiond.formats.cache` and the packages of the formats list.

- `hrdf`, `skel`, `sdf`: formats of robots; `seq`, `xmdi`: formats of motions
- `registry`: which format reads a file; `writing`: which format writes one
- `cache`: motions that were read before, mapped into memory
- `model`: the neutral types, and what can be done with them
- `io`: what readers and writers share
- `errors`: problems of files; `arrays`: types of arrays
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from . import registry
from .errors import FormatError, Problem, nearest
from .io.source import KeyFrames, Source
from .model.editing import mirror, name_joints, rename, reverse, select, trim, trim_frames, without
from .model.interpolation import Interpolation
from .model.joining import JoinTolerance, concatenate
from .model.motion import Motion, MotionError
from .model.robot import Coordinate, Frame, FrameKind, Joint, JointType, Link, Mimic, RobotModel
from .writing import dump_motion

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

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
    "Mimic",
    "Motion",
    "MotionError",
    "Problem",
    "RobotModel",
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


DEFAULT_KEY_FRAMES = KeyFrames()


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


def load_robots(
    path: str | os.PathLike[str], *, within: Iterable[str | os.PathLike[str]] = ()
) -> list[RobotModel]:
    """Read every robot in a file, in document order.

    Parameters
    ----------
    path : path
        HRDF, SKEL or SDFormat.
    within : iterable of path
        The folders that included files must lie in; none means anywhere.

    Raises
    ------
    FormatError
        If the file cannot be read or is invalid, with every problem found in it.
    """
    return registry.load_robots(Source(Path(path), tuple(Path(folder) for folder in within)))


def load_robot(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    within: Iterable[str | os.PathLike[str]] = (),
) -> RobotModel:
    """Read the only robot in a file, or the one named; otherwise as `load_robots`."""
    return _pick(load_robots(path, within=within), name, "robot", path)


def load_motions(path: str | os.PathLike[str], *, key_frames: KeyFrames = DEFAULT_KEY_FRAMES) -> list[Motion]:
    """Read every motion in a file, in document order.

    Parameters
    ----------
    path : path
        Choreonoid .seq or XMDI.
    key_frames : KeyFrames
        How key frames become rows, for XMDI.

    Raises
    ------
    FormatError
        If the file cannot be read or is invalid, with every problem found in it.
    """
    return registry.load_motions(Source(Path(path), key_frames=key_frames))


def load_motion(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    key_frames: KeyFrames = DEFAULT_KEY_FRAMES,
) -> Motion:
    """Read the only motion in a file, or the one named; otherwise as `load_motions`."""
    return _pick(load_motions(path, key_frames=key_frames), name, "motion", path)


def _pick(found: Sequence[N], name: str | None, kind: str, path: str | os.PathLike[str]) -> N:
    fitting = [one for one in found if name in {None, one.name}]
    if len(fitting) == 1:
        return fitting[0]
    names = [one.name for one in found]
    named = f" named '{name}'" if name else ""
    what = f"has {len(fitting)} {kind}s{named}" if fitting else f"has no {kind}{named}"
    why = f"it has {', '.join(names)}" if names else ""
    if fitting:
        mend = "give each its own name" if name else "name one of them"
    else:
        mend = nearest(name or "", names)
    raise FormatError([Problem(str(Path(path)), 0, what, why, mend)])
