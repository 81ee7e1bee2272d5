"""SKEL 1.0, DART's robot descriptions, read.

- `reader`: bodies connected by joints to robots
- `elements`: which elements there are, and one of them with its pose and values
- `inertia`: mass and inertia of one body; `shape`: what it looks like
- `joint`: one joint with its axes and coordinates
"""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load, sniff

__all__ = ["NAME", "SUFFIXES", "load", "sniff"]
