"""Recordings: every tick of a robot in a file of MCAP, beside what happened meanwhile.

- `writer`: one file, from its beginning to its end
- `part`: its name
- `about`: what a file says of itself
- `description`: a robot's URDF, and where its links are
- `channels`: the topics of a file
- `ticks`: records of the ring to messages
"""

from .about import RecordingAbout, Why
from .description import RobotDescription
from .writer import RecordingWriter

__all__ = ["RecordingAbout", "RecordingWriter", "RobotDescription", "Why"]
