"""Joint trajectories of ROS as YAML, and the motions of play_motion, read; trajectories written.

- `reader`: a file to motions
- `trajectory`: one trajectory to a motion
- `writer`: a motion to a file
"""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load, sniff
from .writer import OPTIONS, dump

__all__ = ["NAME", "OPTIONS", "SUFFIXES", "dump", "load", "sniff"]
