"""`.seq`, the motion files of Choreonoid."""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load, sniff

__all__ = ["NAME", "SUFFIXES", "load", "sniff"]
