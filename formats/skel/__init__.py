"""SKEL 1.0, DART's robot descriptions, read.

- `reader`: bodies connected by joints to robots
- `document`: a file to checked elements
- `elements`: which elements there are, and what they hold
- `inertia`: mass and inertia of one body; `shape`: what it looks like
- `joint`: one joint with its axes and coordinates
"""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load, sniff

__all__ = ["NAME", "SUFFIXES", "load", "sniff"]
