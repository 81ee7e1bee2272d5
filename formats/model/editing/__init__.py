"""Tools that make a new motion of one.

Each tool changes every component along with the positions, or raises `MotionError` with the name of the one
that it cannot change: `without` drops it first. Derivatives, sampling and resampling are the motion's own
methods, and `joining` joins motions.

- `joints`: picks, renames, mirrors and moves joints
- `rows`: cuts and reverses rows, and finds ends that stand still
- `warping`: the same path in another time: faster, slower, from rest to rest
- `smoothing`: the noise of a recording taken away, within a bound
- `components`: what becomes of a motion's other series
"""

from .components import is_of_joints, metadata_for, without
from .joints import mirror, name_joints, offset, rename, select
from .rows import is_even, reverse, still_ends, trim, trim_frames
from .smoothing import smooth
from .warping import ease, retime

__all__ = [
    "ease",
    "is_even",
    "is_of_joints",
    "metadata_for",
    "mirror",
    "name_joints",
    "offset",
    "rename",
    "retime",
    "reverse",
    "select",
    "smooth",
    "still_ends",
    "trim",
    "trim_frames",
    "without",
]
