"""Tables of rows (CSV, TSV, `.pos`, `.mot`, `.sto`), read and written.

- `reader`: a file to a motion
- `header`: what stands above the rows; `titles`: what a column's title says
- `rows`: rows of numbers read by simdjson
- `sniff`: whether a text is a table
- `writer`: a motion to a file
"""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load
from .sniff import sniff
from .writer import OPTIONS, dump

__all__ = ["NAME", "OPTIONS", "SUFFIXES", "dump", "load", "sniff"]
