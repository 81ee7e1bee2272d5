"""The formats, and which of them reads a file: the one that its suffix names, else the one it looks like.

A format is a package with `NAME`, `SUFFIXES`, `sniff` and `load`, and one line in a table here; it is
imported when it is needed. A motion format that writes has `dump` and `OPTIONS` as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, cast

from .errors import MOST_NOTED, FormatError, Problem
from .io.beginning import HEAD_BYTES, beginning
from .io.foreign import foreign_format
from .io.regular_file import open_regular
from .io.source import MOTION_SIZE, OTHER_SIZE, SizeBound
from .model.motion import MotionError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from .errors import Problems
    from .io.source import Source
    from .model.mapping import MotionMap
    from .model.motion import Motion
    from .model.robot import RobotModel

T = TypeVar("T")

RECORDER = "motiond"
SHARED_SUFFIXES = (".yaml", ".yml")


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


class RobotWriter(Protocol):
    """What a robot format that writes offers."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a module's constant
        """What people call the format."""

    @property
    def SUFFIXES(self) -> tuple[str, ...]:  # noqa: N802 - a module's constant
        """The suffixes that settle it, in lower case."""

    def dump(self, model: RobotModel, path: Path, *, drop: Collection[str] = ()) -> tuple[str, ...]:
        """Write a robot, or raise `FormatError`; return a line for what is called otherwise in the file."""


class MotionWriter(Format["Motion"], Protocol):
    """What a motion format that writes offers."""

    @property
    def OPTIONS(self) -> frozenset[str]:  # noqa: N802 - a module's constant
        """The options of `dump` besides `precision` and `drop`."""

    def dump(self, motion: Motion, path: Path, **options: Any) -> None:
        """Write a motion, or raise `FormatError`; `ValueError` if an option has no such value."""


class Entry(NamedTuple):
    """What is known of a format without importing it."""

    module: str
    suffixes: tuple[str, ...]
    has_units: bool = True  # whether its numbers are in rad and m, or what the file states, by definition


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """All formats of one kind of content."""

    name: str
    entries: Mapping[str, Entry]  # by the format's `NAME`
    size: SizeBound = OTHER_SIZE

    @property
    def names(self) -> list[str]:
        """What people call the formats."""
        return list(self.entries)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Every suffix that settles a format, in lower case."""
        return tuple(suffix for entry in self.entries.values() for suffix in entry.suffixes)

    def formats(self) -> Iterator[Format[T]]:
        """Return the formats one by one, each imported when its turn comes."""
        return (self._imported(entry) for entry in self.entries.values())

    def fitting(self, data: bytes, source: Source) -> Format[T] | None:
        """Return the format that the suffix names, else the first whose content it looks like.

        Where many formats have a suffix, the content comes first.
        """
        suffix = source.path.suffix.lower()
        by_suffix = next((entry for entry in self.entries.values() if suffix in entry.suffixes), None)
        if by_suffix and suffix not in SHARED_SUFFIXES:
            return self._imported(by_suffix)
        head = beginning(data)
        by_content = next((format_ for format_ in self.formats() if format_.sniff(head)), None)
        return by_content or (self._imported(by_suffix) if by_suffix else None)

    def _imported(self, entry: Entry) -> Format[T]:
        return cast("Format[T]", import_module(entry.module))


ROBOTS: Kind[RobotModel] = Kind(
    "robot description",
    {
        "hrdf": Entry("motiond.formats.hrdf", (".hrdf",)),
        "skel": Entry("motiond.formats.skel", (".skel",)),
        "sdf": Entry("motiond.formats.sdf", (".sdf", ".world")),
        "urdf": Entry("motiond.formats.urdf", (".urdf",)),
    },
)
MOTIONS: Kind[Motion] = Kind(
    "motion",
    {
        # These may hold files of the others, whose looks are looked for anywhere at the beginning.
        "npz": Entry("motiond.formats.npz", (".npz", ".npy"), has_units=False),
        "mcap": Entry("motiond.formats.mcap", (".mcap",)),
        "seq": Entry("motiond.formats.seq", (".seq",)),
        "pseq": Entry("motiond.formats.pseq", (".pseq",)),
        "bvh": Entry("motiond.formats.bvh", (".bvh",), has_units=False),
        "webots_motion": Entry("motiond.formats.webots_motion", (".motion",)),
        "xmdi": Entry("motiond.formats.xmdi", (".xmdi",)),
        "ros": Entry("motiond.formats.ros", (".yaml", ".yml")),
        # A table is known by its looks alone, and so comes last.
        "csv": Entry("motiond.formats.csv", (".csv", ".tsv", ".pos", ".mot", ".sto"), has_units=False),
    },
    MOTION_SIZE,
)


# MJCF is only written.
ROBOT_WRITERS = {
    "urdf": "motiond.formats.urdf",
    "sdf": "motiond.formats.sdf",
    "mjcf": "motiond.formats.mjcf",
}


def load_robots(source: Source) -> list[RobotModel]:
    """Read every robot in a file."""
    return _load(ROBOTS, MOTIONS, source)


def included_urdf(
    data: bytes, source: Source, problems: Problems, spend: Callable[[], None]
) -> RobotModel | None:
    """Return the robot of a file that one of another format includes, if it is URDF; None if it is not.

    `problems`: what is wrong with the file or odd in it is noted there; then `FormatError` is raised for the
    former.
    `spend`: called for each of its links and joints, or for each problem: they count where it is included.
    """
    urdf = next(format_ for format_ in ROBOTS.formats() if format_.NAME == "urdf")
    if source.path.suffix.lower() not in urdf.SUFFIXES and not urdf.sniff(beginning(data)):
        return None
    try:
        (robot,) = urdf.load(data, source)
    except FormatError as error:
        for _ in error.problems:
            spend()
        problems.found.extend(error.problems[: max(0, MOST_NOTED - len(problems.found))])
        raise
    for _ in (*robot.links, *robot.joints):
        spend()
    problems.warnings.extend(robot.warnings[: max(0, MOST_NOTED - len(problems.warnings))])
    return robot


def load_motions(source: Source) -> list[Motion]:
    """Read every motion in a file, mapped by `source.options.map` where there is one."""
    motions = _load(MOTIONS, ROBOTS, source)
    if source.options.map is None:
        return motions
    mapped, problems = [], []
    for motion in motions:
        try:
            mapped.append(_mapped(motion, source.options.map))
        except MotionError as error:
            problems += [Problem(source.name, 0, line) for line in str(error).splitlines()]
    if problems:
        raise FormatError(problems)
    return mapped


def _mapped(motion: Motion, map_: MotionMap) -> Motion:
    """Apply a map; a format's own units are not those of columns for which none is stated.

    A recording of motiond has a robot's joints already: no map that need not fit changes them.
    """
    if motion.metadata.get("recorded_by") == RECORDER and not map_.must_fit:
        return motion
    entry = MOTIONS.entries.get(str(motion.metadata.get("format")))
    if map_.units is None or entry is None or not entry.has_units:
        return map_.apply(motion)
    if map_.must_fit:
        reason = f"numbers in {motion.metadata['format']} are in rad and m, or in what the file states"
        hint = "leave them out, or give joints of a motion map their `unit`"
        raise MotionError(f"{motion.name}: units cannot be {map_.units}; {reason}; {hint}")
    return replace(map_, units=None).apply(motion)


def is_motion_file(path: Path) -> bool:
    """Whether a file in a folder is a motion: by its suffix, and where that says little, by its content."""
    suffix = path.suffix.lower()
    if suffix not in MOTIONS.suffixes or suffix not in SHARED_SUFFIXES:
        return suffix in MOTIONS.suffixes
    try:
        with open_regular(path) as file:
            head = beginning(file.read(HEAD_BYTES))
    except (OSError, ValueError):
        return True
    return any(format_.sniff(head) for format_ in MOTIONS.formats())


def motion_writers() -> Iterator[MotionWriter]:
    """Return the motion formats that write one by one, each imported when its turn comes."""
    return (cast("MotionWriter", format_) for format_ in MOTIONS.formats() if hasattr(format_, "dump"))


def robot_writers() -> Iterator[RobotWriter]:
    """Return the formats in which robots are written one by one, each imported when its turn comes."""
    return (cast("RobotWriter", import_module(module)) for module in ROBOT_WRITERS.values())


def refuse_foreign(data: bytes, source: Source) -> None:
    """Refuse a file that no reader could read, if it is of a format that is known, with what to do about it.

    Raises `FormatError` if it is one.
    """
    if foreign := foreign_format(data):
        raise FormatError([Problem(source.name, 0, *foreign)])


def _refuse_misnamed(kind: Kind[T], fitting: Format[T], data: bytes, source: Source) -> None:
    """Refuse a file that could not be read as its suffix asks, if it looks like another format alone."""
    head = beginning(data)
    if fitting.sniff(head):
        return
    if looks := next((format_ for format_ in kind.formats() if format_.sniff(head)), None):
        problem, reason = f"is a {kind.name} ({looks.NAME})", f"its suffix is that of {fitting.NAME}"
        raise FormatError([Problem(source.name, 0, problem, reason, f"name it {looks.SUFFIXES[0]}")])


def _load(kind: Kind[T], other: Kind[Any], source: Source) -> list[T]:
    data = source.read(kind.size)
    if fitting := kind.fitting(data, source):
        try:
            return fitting.load(data, source)
        except FormatError:
            # Only now: a good file may well look like something else, by a comment or a name, say.
            refuse_foreign(data, source)
            _refuse_misnamed(kind, fitting, data, source)
            raise
    refuse_foreign(data, source)
    if elsewhere := other.fitting(data, source):
        problem, reason = f"is a {other.name} ({elsewhere.NAME})", f"a {kind.name} is wanted here"
        raise FormatError([Problem(source.name, 0, problem, reason, "give the right file")])
    reason = "; ".join(f"{name}: not its suffix nor content" for name in kind.names)
    hint = f"name it {' or '.join(kind.suffixes)} if it is one"
    raise FormatError([Problem(source.name, 0, f"no {kind.name} format fits", reason, hint)])
