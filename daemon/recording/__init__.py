"""Recordings: every tick of a robot in a file of MCAP, beside what happened meanwhile.

- `writer`: one file, from its beginning to its end
- `part`: its name
- `repair`: a whole file of one that a crash left: `salvage` finds what is whole, `ending` what is missing
- `about`: what a file says of itself
- `description`: a robot's URDF, and where its links are
- `channels`: the topics of a file
- `ticks`: records of the ring to messages
"""

from .about import RecordingAbout, Why
from .description import RobotDescription
from .part import NoRecording
from .repair import repair
from .writer import RecordingWriter

__all__ = ["NoRecording", "RecordingAbout", "RecordingWriter", "RobotDescription", "Why", "repair"]
