"""Every configured motion, read and planned, playable or not.

- `library`: the motions of a robot
- `reader`: the files in the configured places; motions of files, large ones from a process of their own
- `robot_map`: the motion map by which a robot's motions are read
- `markers`: named places, from a file beside the motion's
- `stamps`: whether a file has changed
"""

from .library import Entry, MotionLibrary
from .markers import Marker, marker_file, read_markers
from .reader import MOST_FILES, MotionReader, is_beside_motions, is_motion
from .stamps import Stamp, stamp_of

__all__ = [
    "MOST_FILES",
    "Entry",
    "Marker",
    "MotionLibrary",
    "MotionReader",
    "Stamp",
    "is_beside_motions",
    "is_motion",
    "marker_file",
    "read_markers",
    "stamp_of",
]
