"""The motions that a robot can play: every configured file read, planned, and listed, playable or not.

In come the configured files and folders, out comes an `Entry` for each motion, with its plan or with the
reason why it cannot be played. One bad file never hides the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daemon.joint_map import JointMapError
from daemon.planner import Plan, PlanError, plan
from formats import FormatError, load_motions
from formats.errors import nearest
from formats.registry import MOTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from daemon.config import RobotSettings
    from daemon.joint_map import JointMap
    from daemon.violations import Violation
    from formats.motion import Motion


@dataclass(frozen=True, slots=True)
class Entry:
    """One motion of the library.

    Attributes
    ----------
    plan : Plan or None
        None where it cannot be played.
    reason : str
        Why it cannot, one line for each problem; '' where it can.
    violations : tuple of Violation
        Of limits, where they are the reason.
    duration_s, frame_rate, frames, joints
        As the file tells; 0 and () where it cannot be read.
    """

    name: str
    file: Path
    plan: Plan | None = None
    reason: str = ""
    violations: tuple[Violation, ...] = ()
    duration_s: float = 0.0
    frame_rate: float = 0.0
    frames: int = 0
    joints: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def payload(self) -> dict[str, Any]:
        """Describe the motion, JSON-ready."""
        told = {
            "name": self.name,
            "file": str(self.file),
            "ok": self.plan is not None,
            "duration": self.plan.duration_s if self.plan else self.duration_s,
            "frame_rate": self.frame_rate,
            "frames": self.frames,
            "joints": list(self.joints),
            "warnings": list(self.warnings),
        }
        return told | ({"max_speed": self.plan.max_speed} if self.plan else {"reason": self.reason})


@dataclass(frozen=True, slots=True)
class _File:
    """What one file held when it looked like `stamp`."""

    stamp: tuple[float, ...]
    entries: tuple[Entry, ...]


class MotionLibrary:
    """The motions of one robot.

    Parameters
    ----------
    joint_map : JointMap
    settings : RobotSettings
    max_rate_hz : float
        The highest rate at which the driver takes setpoints, where it is known already.
    load : callable
        Reads the motions of a file; a `MotionCache` remembers large ones.
    """

    def __init__(
        self,
        joint_map: JointMap,
        settings: RobotSettings,
        max_rate_hz: float = math.inf,
        load: Callable[[Path], list[Motion]] = load_motions,
    ) -> None:
        self._joint_map = joint_map
        self._settings = settings
        self.max_rate_hz = max_rate_hz
        self._load = load
        self._files: dict[Path, _File] = {}
        self._entries: Mapping[str, Entry] = {}

    def load_all(self) -> None:
        """Read and plan what is new or has changed, and forget what is gone; takes as long as it takes.

        May run in a thread: the library changes in one step, when all is read.
        """
        files = {path: self._loaded(path) for path in self._paths()}
        self._files = files
        self._entries = _by_name(entry for file in files.values() for entry in file.entries)

    def get(self, name: str) -> Entry | None:
        """Give a motion by its name."""
        return self._entries.get(name)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def unknown(self, name: str) -> str:
        """Say that there is no such motion, and what there is."""
        known = f"there are {', '.join(self._entries)}" if self._entries else "there are no motions at all"
        parts = (f"{self._joint_map.robot}: no motion '{name}'", known, nearest(name, self._entries))
        return "; ".join(part for part in parts if part)

    def payload(self) -> dict[str, Any]:
        """List all motions, JSON-ready."""
        return {"motions": [entry.payload() for entry in self]}

    def _paths(self) -> Iterator[Path]:
        """Give every file to read: those configured, and motions in configured folders."""
        suffixes = {suffix for kind in MOTIONS.formats() for suffix in kind.SUFFIXES}
        for place in self._settings.motions:
            if place.is_dir():
                inside = sorted(path for path in place.iterdir() if not path.name.startswith("."))
                yield from (path for path in inside if path.suffix.lower() in suffixes)
            else:
                yield place

    def _loaded(self, path: Path) -> _File:
        stamp = (*_stamp_of(path), self.max_rate_hz)
        known = self._files.get(path)
        return known if known and known.stamp == stamp else _File(stamp, tuple(self._read(path)))

    def _read(self, path: Path) -> Iterator[Entry]:
        try:
            motions = self._load(path)
        except FormatError as error:
            yield Entry(path.stem, path, reason=str(error))
            return
        for motion in motions:
            yield self._planned(path, motion)

    def _planned(self, path: Path, motion: Motion) -> Entry:
        planned, reason = None, ""
        violations: tuple[Violation, ...] = ()
        try:
            planned = plan(motion, self._joint_map, self._settings, self.max_rate_hz)
        except PlanError as error:
            reason, violations = str(error), error.violations
        except JointMapError as error:
            reason = str(error)
        moved = planned.driven.nonzero()[0] if planned else ()
        return Entry(
            name=motion.name,
            file=path,
            plan=planned,
            reason=reason,
            violations=violations,
            duration_s=motion.duration_s,
            frame_rate=motion.frame_rate,
            frames=len(motion.times),
            joints=tuple(self._joint_map.joints[joint] for joint in moved) or motion.joint_names,
            warnings=(*motion.warnings, *(planned.warnings if planned else ())),
        )


def _stamp_of(path: Path) -> tuple[float, ...]:
    """Tell a file's state without reading it; another file in its place has another inode."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino


def _by_name(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Sort by name; a name that two motions share stands for neither of them."""
    files: dict[str, list[Entry]] = {}
    for entry in entries:
        files.setdefault(entry.name, []).append(entry)
    return {name: same[0] if len(same) == 1 else _ambiguous(same) for name, same in sorted(files.items())}


def _ambiguous(same: list[Entry]) -> Entry:
    places = " and ".join(str(entry.file) for entry in same)
    reason = f"{same[0].name}: {len(same)} motions have this name; they are in {places}; rename all but one"
    return Entry(same[0].name, same[0].file, reason=reason)
