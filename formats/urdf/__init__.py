"""URDF, ROS's robot descriptions, read and written.

- `reader`: links hung on each other by joints to a robot
- `elements`: which elements there are, and one of them with its pose and values
- `link`: one link with its inertia and its shapes; `materials`: their colours by name
- `joint`: one joint with its axes, limits and coordinates
- `transmission`: the reduction of each joint's actuator
- `writer`: a robot to a file
"""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load, sniff
from .writer import dump

__all__ = ["NAME", "SUFFIXES", "dump", "load", "sniff"]
