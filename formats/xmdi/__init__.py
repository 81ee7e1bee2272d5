"""XMDI, Webots' motion files of key frames, read and written.

- `reader`: a file to motions, key frames to rows
- `writer`: a motion to a file, rows to key frames
- `xmdi.xsd`: the schema of a motion
"""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load, sniff
from .writer import OPTIONS, dump

__all__ = ["NAME", "OPTIONS", "SUFFIXES", "dump", "load", "sniff"]
