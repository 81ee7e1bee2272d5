"""Choreonoid's motion files (.seq), format versions 1 to 4, read and written.

- `reader`: a file to a motion
- `tree`: YAML to a tree that knows its lines and is bounded
- `rows`: rows of numbers cut out of the text and read by simdjson
- `regions`: rows in other layouts than Choreonoid's, likewise
- `node`: a mapping's values by key, checked
- `component`: one component to a series with neutral values
- `frames`: the frames of a component to one array
- `writer`: a motion to a file
"""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load, sniff
from .writer import OPTIONS, dump

__all__ = ["NAME", "OPTIONS", "SUFFIXES", "dump", "load", "sniff"]
