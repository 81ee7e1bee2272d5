"""Which files stand in the configured places: motions, marker files, and places that cannot be listed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from motiond.formats.errors import Problem, printable
from motiond.formats.registry import MOTIONS

from .markers import SUFFIX, marker_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Listing:
    """What stands in the configured places.

    Attributes
    ----------
    motions : list of Path
        The files that are configured, there or not, and those in folders whose suffix is that of a motion.
    markers : list of Path
        Marker files in folders, and where those of configured files would be.
    unlisted : dict of Path to str
        The folders that cannot be listed, with the reason.
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
            inside = sorted(place.iterdir()) if place.is_dir() else None
        except OSError as error:
            why = error.strerror or str(error)
            problem = Problem(printable(str(place)), 0, "cannot be listed", why, "check its rights")
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
