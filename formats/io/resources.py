"""Where models and meshes are that a file names by a URI, as Gazebo and ROS look for them.

Looked through are, in this order: the folder of the file; for `model://` and `package://` the folder above it
and any further one that has the package's name; the configured folders; those of the environment variables in
`resource_folders`; and what Gazebo has downloaded from Fuel.
"""

from __future__ import annotations

import re
from glob import escape
from typing import TYPE_CHECKING
from urllib.parse import unquote

from motiond.text import nearest_file, quoted

from ..errors import BadText
from .resource_folders import FOLDERS, PREFIXES, WORKSPACES, folders_in, fuel_caches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .source import Source

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
# A model on a server: fuel.gazebosim.org/1.0/OpenRobotics/models/Ambulance, its version, and a file of it.
_ON_FUEL = re.compile(
    r"(?P<server>[\w.-]+)/[\d.]+/(?P<owner>[^/]+)/models/(?P<model>[^/]+)"
    r"(?:/(?P<version>\d+|tip))?(?:/files)?(?P<rest>/.*)?"
)
_BY_NAME = ("model", "package")


def find_resource(uri: str, source: Source, verb: str = "find") -> Source:
    """Return what a URI in a file means: a file or folder that is there and may be read.

    One that may not be read is returned where there is no other, for the caller to say so.
    `verb`: what cannot be done with it where there is none, as messages have it.
    Raises `BadText` with all places that were looked at if there is none.
    """
    failed = f"cannot {verb} {quoted(uri)}"
    candidates = list(_candidates(uri, source, failed))
    allowed = [candidate for candidate in candidates if candidate.allowed()]
    others = (candidate for candidate in candidates if candidate not in allowed)
    for candidate in (*allowed, *others):
        if candidate.path.exists():
            return candidate
    if not allowed:
        return candidates[0]
    places = ", ".join(dict.fromkeys(candidate.name for candidate in allowed))
    near = next(filter(None, (nearest_file(candidate.path) for candidate in allowed)), "")
    hint = f"check the name, or name {_folder_to_name(uri)} in `resource_paths` or {FOLDERS[0]}"
    raise BadText(failed, f"there is no {places}", near or hint)


def _folder_to_name(uri: str) -> str:
    """Return which folder has to be looked through for a URI to be found, as messages have it."""
    found = _SCHEME.fullmatch(uri)
    if not found or found[1].lower() not in _BY_NAME:
        return "its folder"
    return f"the folder that holds {quoted(found[2].partition('/')[0])}"


def _candidates(uri: str, source: Source, failed: str) -> Iterator[Source]:
    scheme, path = "file", uri
    if found := _SCHEME.fullmatch(uri):
        scheme, path = found[1].lower(), found[2]
    if scheme in {"http", "https"} and (there := _ON_FUEL.fullmatch(unquote(path))):
        return iter((source.at(_downloaded(uri, there, failed)),))
    if scheme not in {"file", *_BY_NAME}:
        hint = "download it and name it by a path or model://…"
        raise BadText(failed, "nothing is fetched from the network", hint)
    if not path:
        raise BadText(failed, "it names no file", "write model://… or a path")
    return (source.at(place) for place in _places(path, source, by_name=scheme in _BY_NAME))


def _places(path: str, source: Source, *, by_name: bool) -> Iterator[Path]:
    folder = source.path.parent
    yield folder / path
    name, _, rest = path.partition("/")
    if by_name:
        yield folder / ".." / path
        yield from (above / rest for above in folder.resolve().parents if above.name == name)
        if folder.resolve().name == name:
            yield folder / rest
    yield from (other / path for other in source.resource_paths)
    yield from (other / path for variable in FOLDERS for other in folders_in(variable))
    if by_name:
        yield from (prefix / "share" / path for prefix in folders_in(PREFIXES))
        yield from (place / rest for space in folders_in(WORKSPACES) for place in _packages(space, name))
        models = (
            model for cache in fuel_caches() for model in cache.glob(f"*/*/models/{escape(name.lower())}")
        )
        yield from (newest / rest for model in models if (newest := _newest(model)))


def _packages(space: Path, name: str) -> Iterator[Path]:
    """Return where a package may be in a folder of packages: it, one in it, or one in a group of packages."""
    if space.name == name:
        yield space
    yield space / name
    yield from sorted(space.glob(f"*/{escape(name)}"))


def _downloaded(uri: str, names: re.Match[str], failed: str) -> Path:
    """Return where a model of a server is in a cache, which has its owner and name in lower case."""
    folders = [
        cache / names["server"] / names["owner"].lower() / "models" / names["model"].lower()
        for cache in fuel_caches()
    ]
    for folder in folders:
        version = names["version"] or "tip"
        found = _newest(folder) if version == "tip" else folder / version
        if found and found.is_dir():
            return found / (names["rest"] or "").lstrip("/")
    reason = f"it is not in {', '.join(map(str, folders))}, and nothing is fetched from the network"
    raise BadText(failed, reason, f"download it: `gz fuel download -u {uri}`")


def _newest(model: Path) -> Path | None:
    """Return the folder of the newest version of a downloaded model."""
    versions = (place for place in model.glob("*") if place.name.isdecimal())
    return max(versions, key=lambda place: int(place.name), default=None)
