"""Recordings: every tick of a robot in a file of MCAP, beside what happened meanwhile.

- `recorder`: takes what happens to one robot, and has it written in a thread
- `files`: what that thread does: one file after the other
- `folder`: the recordings that there are, marked, removed at a quota, locked while they are read
- `evidence`: what a finished file proves, left beside it
- `summary`: what a finished file says of itself
- `writer`: one file, from its beginning to its end
- `part`: its name
- `repair`: a whole file of one that a crash left
- `mcap_file`: a recording as a file of MCAP: written, found whole, listed in its summary
- `about`: what a file says of itself
- `description`: a robot's URDF, and where its links are
- `channels`: the topics of a file
- `ticks`: records of the ring to messages
"""

from .about import RecordingAbout
from .description import RobotDescription
from .evidence import leave_evidence
from .files import Recording, RecordingFiles
from .folder import RecordingFolder, locked, refuse_unwritable
from .part import PART, SUFFIX, NoRecording, mark_of
from .recorder import Recorder
from .repair import repair
from .summary import RecordingSummary, list_entry, read_summary
from .writer import RecordingWriter

__all__ = [
    "PART",
    "SUFFIX",
    "NoRecording",
    "Recorder",
    "Recording",
    "RecordingAbout",
    "RecordingFiles",
    "RecordingFolder",
    "RecordingSummary",
    "RecordingWriter",
    "RobotDescription",
    "leave_evidence",
    "list_entry",
    "locked",
    "mark_of",
    "read_summary",
    "refuse_unwritable",
    "repair",
]
