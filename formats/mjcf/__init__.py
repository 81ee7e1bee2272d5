"""MJCF, MuJoCo's models, written.

- `writer`: a robot to a file, or to a document for a program that has MuJoCo
"""

from __future__ import annotations

from .writer import NAME, SUFFIXES, document, dump

__all__ = ["NAME", "SUFFIXES", "document", "dump"]
