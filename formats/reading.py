"""Reads files by their paths: all robots or motions of a file, or the one that is named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from motiond.text import listed, nearest

from . import registry
from .errors import FormatError, Problem
from .io.source import ReadOptions, Source

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from .model.mapping import MotionMap
    from .model.motion import Motion
    from .model.robot import RobotModel
    from .model.run import Run

DEFAULTS = ReadOptions()
MOST_POINTS = 4_000
MAP_SUFFIX = ".map.yaml"


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


def load_robots(
    path: str | os.PathLike[str],
    *,
    within: Iterable[str | os.PathLike[str]] = (),
    resource_paths: Iterable[str | os.PathLike[str]] = (),
) -> list[RobotModel]:
    """Read every robot in a file, in document order.

    `path`: HRDF, SKEL, SDFormat or URDF.
    `within`: the folders that included files must lie in, besides those where models are looked for; none
    means anywhere.
    `resource_paths`: folders that models and meshes are looked for in, before those of the environment.
    Raises `FormatError` if the file cannot be read or is invalid, with every problem found in it.
    """
    source = Source(Path(path), tuple(map(Path, within)), tuple(map(Path, resource_paths)))
    return registry.load_robots(source)


def load_robot(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    within: Iterable[str | os.PathLike[str]] = (),
    resource_paths: Iterable[str | os.PathLike[str]] = (),
) -> RobotModel:
    """Read the only robot in a file, or the one named; otherwise as `load_robots`."""
    return _pick(load_robots(path, within=within, resource_paths=resource_paths), name, "robot", path)


def load_map(path: str | os.PathLike[str]) -> MotionMap:
    """Read a motion map.

    Raises `FormatError` if the file cannot be read or is invalid, with every problem found in it.
    """
    from . import mapping  # noqa: PLC0415 - whoever reads no map needs no YAML

    return mapping.load_map(path)


def load_motions(path: str | os.PathLike[str], *, options: ReadOptions = DEFAULTS) -> list[Motion]:
    """Read every motion in a file, in document order.

    `path`: of any format of motions.
    `options`: for what the file leaves open.
    Raises `FormatError` if the file cannot be read or is invalid, with every problem found in it.
    """
    return registry.load_motions(Source(Path(path), options=options))


def load_motion(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    options: ReadOptions = DEFAULTS,
) -> Motion:
    """Read the only motion in a file, or the one named; otherwise as `load_motions`."""
    return _pick(load_motions(path, options=options), name, "motion", path)


def load_run(path: str | os.PathLike[str], *, points: int = MOST_POINTS) -> Run:
    """Read what a recording of motiond holds, thinned to so many points at most, for one to look at it.

    Raises `FormatError` if the file cannot be read, is none or is damaged, with every problem found in it.
    """
    from . import mcap  # noqa: PLC0415 - whoever reads none needs no MCAP

    return mcap.load_run(Source(Path(path)), points)


def _pick(found: Sequence[N], name: str | None, kind: str, path: str | os.PathLike[str]) -> N:
    fitting = [one for one in found if name in {None, one.name}]
    if len(fitting) == 1:
        return fitting[0]
    names = [one.name for one in found]
    named = f" named '{name}'" if name else ""
    problem = f"has {len(fitting)} {kind}s{named}" if fitting else f"has no {kind}{named}"
    reason = f"it has {listed(names)}" if names else ""
    if fitting:
        hint = "give each its own name" if name else "name one of them"
    else:
        hint = nearest(name or "", names)
    raise FormatError([Problem(str(Path(path)), 0, problem, reason, hint)])
