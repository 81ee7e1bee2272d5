"""Recordings of ROS in MCAP: joint states and trajectories of one topic read, joint states written.

- `container`: the messages in a file, within bounds, also of one that was cut short
- `decoding`: a message's bytes to values: CDR, ROS 1, JSON
- `joining`: messages about different joints to rows
- `reader`: a file to motions
- `writer`: a motion to a file
"""

from __future__ import annotations

from .container import MAGIC
from .reader import NAME, SUFFIXES, load, sniff
from .writer import OPTIONS, dump

__all__ = ["MAGIC", "NAME", "OPTIONS", "SUFFIXES", "dump", "load", "sniff"]
