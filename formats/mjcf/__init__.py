"""MJCF, MuJoCo's models, written.

- `writer`: a robot to a file
"""

from __future__ import annotations

from .writer import NAME, SUFFIXES, dump

__all__ = ["NAME", "SUFFIXES", "dump"]
