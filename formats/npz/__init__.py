"""NumPy's files `.npz` and `.npy`, read and written.

- `arrays`: the arrays of a file, within bounds
- `reader`: a file to a motion
- `writer`: a motion to a file
"""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load, sniff
from .writer import OPTIONS, dump

__all__ = ["NAME", "OPTIONS", "SUFFIXES", "dump", "load", "sniff"]
