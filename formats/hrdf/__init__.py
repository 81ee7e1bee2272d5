"""HRDF, HEBI's robot descriptions, versions 1.0.0 to 1.6.0, read.

- `reader`: elements connected to a robot
- `document`: a file and those it includes to checked elements
- `attributes`: their texts to values
- `elements`: which elements and attributes each version knows
- `formula`: numbers, formulas, rotations and translations
- `catalog`, `catalog.yaml`: HEBI's parts
"""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load, sniff

__all__ = ["NAME", "SUFFIXES", "load", "sniff"]
