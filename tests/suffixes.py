"""Formats by the suffixes of their files, and the other way round."""

from __future__ import annotations

from typing import Any

from motiond.formats.registry import MOTIONS, ROBOTS


def format_of(suffix: str) -> Any:
    """Return the format that a suffix such as `.seq` names."""
    return next(format_ for format_ in _formats() if suffix in format_.SUFFIXES)


def suffix_of(name: str) -> str:
    """Return the first suffix of a format."""
    suffix: str = next(format_ for format_ in _formats() if name == format_.NAME).SUFFIXES[0]
    return suffix


def _formats() -> list[Any]:
    return [format_ for kind in (ROBOTS, MOTIONS) for format_ in kind.formats()]
