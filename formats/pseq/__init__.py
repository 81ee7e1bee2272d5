"""Choreonoid's pose sequences (.pseq), key poses of joints, read.

- `reader`: a file to a motion
- `poses`: the key poses, and what they have besides joints
- `curve`: what Choreonoid's interpolator makes of a joint's key poses

Nothing writes them: what a motion has is its rows, and no key poses.
"""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load, sniff

__all__ = ["NAME", "SUFFIXES", "load", "sniff"]
