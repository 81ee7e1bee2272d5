"""Biovision's BVH, motions of a skeleton.

- `reader`: a file to a motion with a column for each channel
- `skeleton`: the channels, as the hierarchy names them
- `rows`: the frames

Nothing writes BVH: the joints of a robot are no skeleton of joints with three channels each.
"""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load, sniff

__all__ = ["NAME", "SUFFIXES", "load", "sniff"]
