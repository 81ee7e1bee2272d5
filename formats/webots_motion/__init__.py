"""Webots' motion files (.motion) of key poses, read and written.

- `reader`: a file to a motion
- `writer`: a motion to a file
"""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load, sniff
from .writer import OPTIONS, dump

__all__ = ["NAME", "OPTIONS", "SUFFIXES", "dump", "load", "sniff"]
