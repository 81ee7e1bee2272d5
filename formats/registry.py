"""The formats, and which of them reads a file: the one that its suffix names, else the one it looks like.

A format is a package with `NAME`, `SUFFIXES`, `sniff` and `load`, and one name in a table here; it is
imported when it is needed. A motion format that writes has `dump` and `OPTIONS` as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from .errors import FormatError, Problem
from .io.beginning import beginning
from .io.foreign import foreign_format
from .io.source import MOTION_SIZE, OTHER_SIZE, SizeBound

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from .io.source import Source
    from .model.motion import Motion
    from .model.robot import RobotModel

T = TypeVar("T")


class Format(Protocol[T]):
    """What a format offers."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a module's constant
        """What people call the format."""

    @property
    def SUFFIXES(self) -> tuple[str, ...]:  # noqa: N802 - a module's constant
        """The suffixes that settle it, in lower case."""

    def sniff(self, head: bytes) -> bool:
        """Whether a file that begins like this is probably of the format; cheap, never raises."""

    def load(self, data: bytes, source: Source) -> list[T]:
        """Read everything in the file, or raise `FormatError`."""


class MotionWriter(Format["Motion"], Protocol):
    """What a motion format that writes offers."""

    @property
    def OPTIONS(self) -> frozenset[str]:  # noqa: N802 - a module's constant
        """The options of `dump` besides `precision` and `drop`."""

    def dump(self, motion: Motion, path: Path, **options: Any) -> None:
        """Write a motion, or raise `FormatError`; `ValueError` if an option has no such value."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """All formats of one kind of content."""

    name: str
    # the module of each format by its `NAME`, so that naming the formats imports none of them
    modules: Mapping[str, str]
    size: SizeBound = OTHER_SIZE

    @property
    def names(self) -> list[str]:
        """What people call the formats."""
        return list(self.modules)

    def formats(self) -> Iterator[Format[T]]:
        """Return the formats one by one, each imported when its turn comes."""
        return (cast("Format[T]", import_module(module)) for module in self.modules.values())

    def fitting(self, data: bytes, source: Source) -> Format[T] | None:
        """Return the format that the suffix names, else the first whose content it looks like."""
        suffix = source.path.suffix.lower()
        by_suffix = (format_ for format_ in self.formats() if suffix in format_.SUFFIXES)
        if found := next(by_suffix, None):
            return found
        head = beginning(data)
        return next((format_ for format_ in self.formats() if format_.sniff(head)), None)


ROBOTS: Kind[RobotModel] = Kind(
    "robot description",
    {"hrdf": "motiond.formats.hrdf", "skel": "motiond.formats.skel", "sdf": "motiond.formats.sdf"},
)
MOTIONS: Kind[Motion] = Kind(
    "motion", {"seq": "motiond.formats.seq", "xmdi": "motiond.formats.xmdi"}, MOTION_SIZE
)


def load_robots(source: Source) -> list[RobotModel]:
    """Read every robot in a file."""
    return _load(ROBOTS, MOTIONS, source)


def load_motions(source: Source) -> list[Motion]:
    """Read every motion in a file."""
    return _load(MOTIONS, ROBOTS, source)


def motion_writers() -> Iterator[MotionWriter]:
    """Return the motion formats that write one by one, each imported when its turn comes."""
    return (cast("MotionWriter", format_) for format_ in MOTIONS.formats() if hasattr(format_, "dump"))


def refuse_foreign(data: bytes, source: Source) -> None:
    """Refuse a file that no reader could read, if it is of a format that is known, with what to do about it.

    Raises `FormatError` if it is one.
    """
    if foreign := foreign_format(data):
        raise FormatError([Problem(source.name, 0, *foreign)])


def _load(kind: Kind[T], other: Kind[Any], source: Source) -> list[T]:
    data = source.read(kind.size)
    if fitting := kind.fitting(data, source):
        try:
            return fitting.load(data, source)
        except FormatError:
            # Only now: a good file may well look like something else, by a comment or a name, say.
            refuse_foreign(data, source)
            raise
    refuse_foreign(data, source)
    if elsewhere := other.fitting(data, source):
        problem, reason = f"is a {other.name} ({elsewhere.NAME})", f"a {kind.name} is wanted here"
        raise FormatError([Problem(source.name, 0, problem, reason, "give the right file")])
    reason = "; ".join(f"{name}: not its suffix nor content" for name in kind.names)
    hint = f"name it {' or '.join(suffix for one in kind.formats() for suffix in one.SUFFIXES)} if it is one"
    raise FormatError([Problem(source.name, 0, f"no {kind.name} format fits", reason, hint)])
