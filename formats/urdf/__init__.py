"""URDF, ROS's robot descriptions, written.

- `writer`: a robot to a file
"""

from __future__ import annotations

from .writer import dump

NAME = "urdf"
SUFFIXES = (".urdf",)

__all__ = ["NAME", "SUFFIXES", "dump"]
