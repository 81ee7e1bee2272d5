"""Motions that were read before, kept in files that are mapped into memory.

- `store`: a folder of motions, found by the content of the file that they were read from
- `entry`: motions in one file
- `worker`: a process that reads motions for another one
"""

from __future__ import annotations

from .store import MotionCache, default_cache, default_folder

__all__ = ["MotionCache", "default_cache", "default_folder"]
