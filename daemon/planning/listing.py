"""Which files stand in the configured places: motions, marker files, and places that cannot be listed."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from motiond.formats import Problem
from motiond.formats.registry import MOTIONS
from motiond.text import printable

from .markers import SUFFIX, marker_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MOST_FILES = 20_000
"""In a folder: each is looked at whenever one changes, which takes seconds of ten times as many."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What stands in the configured places.

    - `motions`: the files that are configured, there or not, and those in folders whose suffix is that of a
      motion
    - `markers`: marker files in folders, and where those of configured files would be
    - `unlisted`: the folders that cannot be listed, with the reason
    """

    motions: list[Path] = field(default_factory=list)
    markers: list[Path] = field(default_factory=list)
    unlisted: dict[Path, str] = field(default_factory=dict)


def list_places(places: Iterable[Path]) -> Listing:
    """List files and folders, in their order; what is in a folder is sorted, hidden files are left out."""
    suffixes = {suffix for kind in MOTIONS.formats() for suffix in kind.SUFFIXES}
    found = Listing()
    for place in places:
        try:
            inside = _inside(place) if place.is_dir() else None
        except OSError as error:
            reason = error.strerror or str(error)
            hint = "remove some" if error.errno == errno.E2BIG else "check its rights"
            problem = Problem(printable(str(place)), 0, "cannot be listed", reason, hint)
            found.unlisted[place] = str(problem)
            continue
        if inside is None:
            found.motions.append(place)
            found.markers.append(marker_file(place))
            continue
        seen = [path for path in inside if not path.name.startswith(".")]
        found.motions.extend(path for path in seen if path.suffix.lower() in suffixes)
        found.markers.extend(path for path in seen if path.name.endswith(SUFFIX))
    return found


def _inside(folder: Path) -> list[Path]:
    inside = [*islice(folder.iterdir(), MOST_FILES + 1)]
    if len(inside) > MOST_FILES:
        raise OSError(errno.E2BIG, f"it holds more than {MOST_FILES:,} files", str(folder))
    return sorted(inside)
