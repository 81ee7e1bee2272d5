"""Recordings on the command line, without a daemon.

- `overview`: what is in a folder, and in a recording
- `drawing`: a recording as a picture
- `export`: what was played in it as a motion file
- `evidence`: what it proves of each run
"""

from .drawing import plot_run
from .evidence import Evidence, RunEvidence, evidence_of
from .export import export_recording
from .overview import RECORDING_COLUMNS, list_recordings, recording_row, show_run

__all__ = [
    "RECORDING_COLUMNS",
    "Evidence",
    "RunEvidence",
    "evidence_of",
    "export_recording",
    "list_recordings",
    "plot_run",
    "recording_row",
    "show_run",
]
