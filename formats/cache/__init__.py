"""Motions that were read before, kept as memory to map."""

from __future__ import annotations

from .store import MotionCache, default_folder

__all__ = ["MotionCache", "default_folder"]
