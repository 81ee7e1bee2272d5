"""Recordings of ROS in MCAP: joint states and trajectories of one topic read, joint states written.

Those of motiond itself are read by what the robot did in them.

- `container`: the messages in a file, within bounds, also of one that was cut short
- `decoding`: a message's bytes to values: CDR, ROS 1, JSON
- `joining`: messages about different joints to rows
- `reader`: a file to motions
- `ticks`: the ticks of motiond's own recordings, chunk by chunk
- `goal_phases`: which of what the robot did belongs to which goal
- `goals`: such a recording to a motion of each goal
- `run`: such a recording to look at; `thinning`: long series to as many points as are drawn
- `peaks`: what each goal in it reaches
- `writer`: a motion to a file
"""

from __future__ import annotations

from .container import MAGIC
from .reader import NAME, SUFFIXES, load, sniff
from .run import load_run
from .writer import OPTIONS, dump

__all__ = ["MAGIC", "NAME", "OPTIONS", "SUFFIXES", "dump", "load", "load_run", "sniff"]
