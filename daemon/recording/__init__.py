"""Recordings: every tick of a robot in a file of MCAP, beside what happened meanwhile.

- `writer`: one file, from its beginning to its end
- `about`: what a file says of itself
- `channels`: the topics of a file
- `ticks`: records of the ring to messages
"""

from .about import RecordingAbout, Why
from .writer import RecordingWriter

__all__ = ["RecordingAbout", "RecordingWriter", "Why"]
