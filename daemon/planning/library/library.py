"""The motions that a robot can play: every configured file read, planned, and listed, playable or not.

Each motion has an `Entry`, with its plan or with the reason why it cannot be played. A motion whose markers
are wrong is not playable, for cues would silently not come. One bad file never hides the others, whatever
is wrong with it or its name. What could be played stays where its folder or file cannot be read for a moment,
and `problems` says so.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field, replace
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any

import orjson

from motiond.formats import MOST_PROBLEMS, FormatError, ReadOptions
from motiond.text import listed, nearest, printable, quoted_briefly, shortened

from ...joints import ROUNDING, JointMapError
from ..checks import checked_plan, never
from ..violations import PlanError
from .markers import SUFFIX, marker_file, read_markers
from .reader import MotionReader, list_places
from .robot_map import RobotMap
from .stamps import AGAIN, is_passing, stamp_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from motiond.formats import Motion

    from ...config.robot import RobotSettings
    from ...joints import JointMap
    from ..checks import PlanCheck
    from ..planner import Plan
    from ..violations import Violation
    from .markers import Marker
    from .reader import Listing
    from .robot_map import Reading
    from .stamps import Stamp

log = logging.getLogger(__name__)

DEFAULTS = ReadOptions()
# What is published of the library; a message of many megabytes would serve nobody.
MOST_LISTED, MOST_LISTED_BYTES = 1_000, 1_000_000
MOST_JOINTS_LISTED, LONGEST_JOINT_LISTED, LONGEST_REASON = 1_000, 200, 3_500


@dataclass(frozen=True, slots=True)
class Entry:
    """One motion of the library.

    Attributes
    ----------
    name : str
        Printable, whatever the file's name is.
    plan : Plan or None
        None where it cannot be played.
    reason : str
        Why it cannot, one line for each problem; '' where it can.
    violations : tuple of Violation
        Of limits, where they are the reason.
    physics : mapping
        As of `Plan`, also of what they have refused.
    duration_s, frame_rate, frames, joints
        As in the file; 0 and () where it cannot be read.
    holds : tuple of str
        The joints that it leaves where they are; () where it cannot be played.
    is_unread : bool
        Whether it stands for a file that is being read or checked.
    """

    name: str
    file: Path
    plan: Plan | None = None
    reason: str = ""
    violations: tuple[Violation, ...] = ()
    physics: Mapping[str, Any] = field(default_factory=dict)
    duration_s: float = 0.0
    frame_rate: float = 0.0
    frames: int = 0
    joints: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    markers: tuple[Marker, ...] = ()
    is_unread: bool = False

    def payload(self) -> dict[str, Any]:
        """Return the description of the motion, JSON-ready; long lists are cut."""
        joints = [shortened(joint, LONGEST_JOINT_LISTED) for joint in self.joints[:MOST_JOINTS_LISTED]]
        return {
            "name": self.name,
            "file": printable(str(self.file)),
            "ok": self.plan is not None,
            "duration": self.plan.duration_s if self.plan else self.duration_s,
            "frame_rate": self.frame_rate,
            "frames": self.frames,
            "joints": joints,
            "holds": list(self.holds),
            "markers": [{"name": one.name, "frame": one.frame, "time": one.time_s} for one in self.markers],
            "warnings": _first_of(self.warnings, "warnings"),
            **self.physics,
            **(
                {"max_speed": self.plan.max_speed}
                if self.plan
                else {"reason": shortened(self.reason, LONGEST_REASON)}
            ),
        }


@dataclass(frozen=True, slots=True)
class _File:
    """What one file held, with its marker files, when each of them looked like its stamp."""

    stamps: Mapping[Path, Stamp]
    joint_map: JointMap  # what it was planned for
    reading: Reading  # how it was read
    entries: tuple[Entry, ...]
    kept: bool = False  # whether it is what the file held before it became what cannot be played


class _PassingError(Exception):
    """A file that cannot be read for a reason that is not its own and will pass."""


STAYS = "what it held before stays"
IS_READ = "it is being read and checked"


class MotionLibrary:
    """The motions of one robot.

    Parameters
    ----------
    joint_map : JointMap
    settings : RobotSettings
    max_rate_hz : float
        The highest rate at which the driver takes setpoints, where it is known already.
    reader : MotionReader, optional
        Reads motion files; by default each here, whatever its size. It rests when no more are to be read.
    min_rate_hz : float
        The lowest rate, below which its actuators would release between two setpoints.
    options : ReadOptions, optional
        For what the files leave open, where the robot has no motion map.
    checks : sequence of PlanCheck
        Of the robot's body, which look at each motion that is within the limits.

    Attributes
    ----------
    joint_map : JointMap
        Once it is another one, `load_all` plans all motions again.
    files_read : int
        How many times a file has been read, as it was new or had changed.
    problems : tuple of str
        What could not be read the last time, so that what it held before stays.
    """

    def __init__(
        self,
        joint_map: JointMap,
        settings: RobotSettings,
        max_rate_hz: float = math.inf,
        *,
        reader: MotionReader | None = None,
        min_rate_hz: float = 0.0,
        options: ReadOptions = DEFAULTS,
        checks: Sequence[PlanCheck] = (),
    ) -> None:
        self.joint_map = joint_map
        self._settings = settings
        self.max_rate_hz = max_rate_hz
        self._min_rate_hz = min_rate_hz
        self.checks = tuple(checks)
        self._stopped: Callable[[], bool] = never
        self._reader = reader or MotionReader(small_bytes=math.inf)
        self._map = RobotMap(settings.motion_map, options)
        self.files_read = 0
        self.problems: tuple[str, ...] = ()
        self._files: dict[Path, _File] = {}
        self._entries: Mapping[str, Entry] = {}
        self._lost: frozenset[str] = frozenset()
        self._has_unlisted = False
        self._first: tuple[list[Path], dict[Path, _File]] | None = None  # to be read, and read, at first
        self._turn = Lock()

    def load_all(
        self,
        stopped: Callable[[], bool] = lambda: False,
        may_read: Callable[[Path], bool] | None = None,
    ) -> bool:
        """Read and plan what is new or has changed, and forget what is gone; takes as long as it takes.

        May run in a thread: the library changes in one step, when all is read.

        Parameters
        ----------
        stopped : callable
            Asked before each file; once it says so, nothing more is read, and the library stays as it was.
        may_read : callable, optional
            Which files may be read now, where nobody has asked for it: others stay as they were. So does one
            that could be played and cannot any more, and a warning says why.

        Returns
        -------
        bool
            Whether all was read.
        """
        self._stopped = stopped
        try:
            return self._load_all(stopped, may_read)
        finally:
            self._reader.rest()

    def end_reading(self) -> None:
        """Let whatever is being read in a thread end soon; nothing comes of it."""
        self._reader.kill()

    def _load_all(self, stopped: Callable[[], bool], may_read: Callable[[Path], bool] | None) -> bool:
        unread_map = self._map.refresh(may_read)
        found = list_places(self._settings.motion_places, self._settings.upload_folder)
        unread = {place: found.unlisted.get(place, "") for place in self._unlisted(found, may_read)}
        files = {
            path: file for path, file in self._files.items() if path.parent in unread and self._may_stay(file)
        }
        problems = [
            f"{unread[place] or printable(str(place)) + ': is no folder at the moment'}; {STAYS}"
            for place in {path.parent: None for path in files}
        ]
        problems += [f"{unread_map}; {STAYS}"] if unread_map else []
        if not self._files:
            self._first = found.motions, files
        for path in found.motions:
            if stopped():
                return False
            if path in unread:
                continue
            if may_read is None:
                files[path] = self._loaded(path, problems)
            elif one := self._watched(path, may_read, problems):
                files[path] = one
        entries = [entry for file in files.values() for entry in file.entries]
        entries += (
            Entry(printable(path.name), path, reason=reason) for path, reason in found.unlisted.items()
        )
        read = {path for file in files.values() for path in file.stamps}
        read |= {marker_file(path) for path in found.motions if path not in files}  # not read yet
        self._warn_of(_lost_markers(found.markers, read))
        for problem in problems:
            if problem not in self.problems:
                log.warning("%s: %s", self.joint_map.robot, problem)
        with self._turn:
            self._files, self._entries, self.problems = files, _by_name(entries), tuple(problems)
            self._has_unlisted, self._first = bool(found.unlisted), None
        return True

    def list_unread(self) -> None:
        """List what has been read already, and that the other files are being read.

        While `load_all` reads for the first time, in a thread.
        """
        with self._turn:
            if self._first is None:
                return
            paths, files = self._first[0], dict(self._first[1])
            entries = [entry for file in files.values() for entry in file.entries]
            self._entries = _by_name([*entries, *(_unread(path) for path in paths if path not in files)])

    def is_incomplete(self) -> bool:
        """Whether something could not be read for a reason that will pass."""
        is_unread = any(file.stamps[path] == AGAIN for path, file in self._files.items())
        return is_unread or self._map.is_unread or self._has_unlisted or bool(self.problems)

    def _unlisted(self, found: Listing, may_read: Callable[[Path], bool] | None) -> Iterator[Path]:
        """Yield the places that cannot be listed now; where nobody asked, folders that have gone as well."""
        yield from found.unlisted
        if may_read is not None:
            folders = {path.parent for path in self._files}
            yield from (path for path in found.motions if path in folders)

    def get(self, name: str) -> Entry | None:
        """Return the entry of a motion; None where there is none of that name."""
        return self._entries.get(name)

    def check(self, path: Path, topic: str | None = None) -> tuple[Entry, ...]:
        """Read and plan a file that is not in the library, and return what its entries would be.

        - `topic`: of a recording, in place of what is played of it otherwise; efforts that were measured are
          none that are asked for, and left out
        """
        try:
            self._map.refresh(lambda _: False)
            reading = self._map.reading
            if topic is not None:
                drop = reading.options.drop | {"JointEffort"}
                reading = replace(reading, options=replace(reading.options, topic=topic, map=None, drop=drop))
            return self._read_whole(path, {}, reading)
        finally:
            self._reader.rest()

    def as_read(self, motion: Motion) -> Motion:
        """Return what would be read of a motion's file: what the robot's motion map, if any, makes of it.

        Raises `MotionError` if the map does not fit.
        """
        self._map.refresh(lambda _: False)
        map_ = self._map.reading.options.map
        return motion if map_ is None else map_.apply(motion)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def unknown(self, name: str) -> tuple[str, str, str]:
        """Return that there is no such motion, what there is, and a hint, which may be empty."""
        entries = self._entries
        playable, others = (
            [one for one, entry in entries.items() if (entry.plan is None) == is_refused]
            for is_refused in (False, True)
        )
        known = f"there are {listed(playable)}" if playable else "there are no motions at all"
        if others:
            known = known if playable else "there are none to play"
            known += f" ({listed(others)} cannot be played)"
        return quoted_briefly(f"no motion '{name}'"), known, nearest(name, entries)

    def payload(self) -> dict[str, Any]:
        """Return the list of motions, JSON-ready; where not all fit, `more` is the number of the others.

        What cannot be played takes no place from what can.
        """
        shown: list[dict[str, Any]] = []
        room = MOST_LISTED_BYTES
        for entry in islice(sorted(self, key=lambda entry: entry.plan is None), MOST_LISTED):
            one = entry.payload()
            if entry.file.parent == self._settings.upload_folder:
                one["uploaded"] = True
            room -= len(orjson.dumps(one))
            if room < 0 and shown:
                break
            shown.append(one)
        shown.sort(key=lambda one: str(one["name"]))
        more = len(self._entries) - len(shown)
        besides: dict[str, Any] = {"more": more} if more else {}
        if self.problems:
            besides["problems"] = _first_of(self.problems, "problems")
        return {"motions": shown} | besides

    def _warn_of(self, lost: Iterable[str]) -> None:
        """Log marker files without a motion, each one once."""
        warnings = tuple(lost)
        for warning in warnings:
            if warning not in self._lost:
                log.warning("%s: %s", self.joint_map.robot, warning)
        self._lost = frozenset(warnings)

    def _loaded(self, path: Path, problems: list[str]) -> _File:
        """Return what a file holds; what it held before stays, as a problem, where it cannot be read now."""
        known = self._files.get(path)
        if known and not known.kept and self._is_as_before(known):
            return known
        self.files_read += 1
        stamps, joint_map = {path: stamp_of(path)}, self.joint_map  # which may change while it is read
        reading = self._map.reading
        read = _File(stamps, joint_map, reading, self._read_whole(path, stamps, reading))
        if known is None or stamps[path] != AGAIN or not self._may_stay(known):
            return read
        problems.append(f"{read.entries[0].reason}; {STAYS}")
        return replace(known, stamps=stamps, kept=True)

    def _may_stay(self, known: _File) -> bool:
        """Whether a file holds what can be played within the limits, and by the map, of now."""
        is_of_now = known.joint_map is self.joint_map and known.reading is self._map.reading
        return is_of_now and any(entry.plan for entry in known.entries)

    def _watched(self, path: Path, may_read: Callable[[Path], bool], problems: list[str]) -> _File | None:
        """Return what a file holds that nobody asked for; None of a new one that is being written."""
        known = self._files.get(path)
        if known and self._is_as_before(known):
            return known
        if not all(map(may_read, known.stamps if known else (path, marker_file(path)))):
            return known
        read = self._loaded(path, problems)
        if known is None or read.kept or known.joint_map is not self.joint_map:
            return read
        if not (broken := _broken(known.entries, read.entries)):
            return read
        reason = shortened(
            f"the file has changed and cannot be played as it is now; {broken}", LONGEST_REASON
        )
        log.warning("%s: %s; what it held before stays", printable(str(path)), reason)
        return _File(read.stamps, known.joint_map, read.reading, known.entries, kept=True)

    def _is_as_before(self, known: _File) -> bool:
        is_of_now = known.joint_map is self.joint_map and known.reading is self._map.reading
        return is_of_now and all(stamp_of(path) == stamp for path, stamp in known.stamps.items())

    def _read_whole(self, path: Path, stamps: dict[Path, Stamp], reading: Reading) -> tuple[Entry, ...]:
        """Return the entries of a file; one that fails unforeseen must not take the others with it."""
        file = printable(str(path))
        try:
            return tuple(self._read(path, stamps, reading))
        except _PassingError as error:
            stamps[path] = AGAIN
            reason = str(error)
        except MemoryError:
            stamps[path] = ()  # the next time, there may be enough
            reason = f"{file}: cannot be read; there is not enough memory for it; split the motion"
        except Exception as error:
            log.exception("%s: failed inside motiond", file)
            reason = (
                f"{file}: failed inside motiond; {shortened(repr(error), 200)}; the daemon's log says more"
            )
        return (Entry(printable(path.stem), path, reason=reason),)

    def _read(self, path: Path, stamps: dict[Path, Stamp], reading: Reading) -> Iterator[Entry]:
        """Yield the entries of a file, and note how each marker file looks before it is read or missed."""
        try:
            motions = [] if reading.problem else self._reader.load_motions(path, reading.options)
        except FormatError as error:
            _refuse_passing(error)
            motions, problem = [], str(error)
        else:
            problem = reading.problem
        if problem:
            stamps[marker_file(path)] = stamp_of(marker_file(path))
            yield Entry(printable(path.stem), path, reason=problem)
        for motion in motions:
            markers = marker_file(path, motion.name if len(motions) > 1 else None)
            stamps[markers] = stamp_of(markers)
            yield _marked(self._planned(path, motion), motion, markers)

    def _planned(self, path: Path, motion: Motion) -> Entry:
        planned, reason = None, ""
        violations: tuple[Violation, ...] = ()
        physics: Mapping[str, Any] = {}
        try:
            planned = checked_plan(
                motion,
                self.joint_map,
                self._settings,
                self.max_rate_hz,
                self.checks,
                stopped=self._stopped,
            )
        except PlanError as error:
            reason, violations, physics = str(error), error.violations, error.physics
        except JointMapError as error:
            reason = str(error)
        reasons = [reason, *self._further_reasons(motion, planned)]
        if any(reasons):
            planned, reason = None, "\n".join(one for one in reasons if one)
        driven = planned.driven.tolist() if planned else ()
        joints = self.joint_map.joints
        moved = tuple(name for name, is_driven in zip(joints, driven, strict=False) if is_driven)
        held = tuple(name for name, is_driven in zip(joints, driven, strict=False) if not is_driven)
        return Entry(
            name=motion.name,
            file=path,
            plan=planned,
            reason=quoted_briefly("\n".join(_first_of(reason.splitlines(), "problems"))),
            violations=violations,
            physics=planned.physics if planned else physics,
            duration_s=motion.duration_s,
            frame_rate=motion.frame_rate,
            frames=len(motion.times),
            joints=moved or motion.joint_names,
            holds=held,
            warnings=(*motion.warnings, *(planned.warnings if planned else ())),
        )

    def _further_reasons(self, motion: Motion, planned: Plan | None) -> Iterator[str]:
        """Yield why a motion cannot be played besides what its plan says."""
        if not self._settings.allow_short_files:
            yield from _short_of_frames(motion)
        slowest = self._min_rate_hz
        if planned and planned.rate_hz < slowest * (1 - ROUNDING):
            reason = f"the actuators release between setpoints that come at less than {slowest:g} Hz"
            hint = f"`motiond convert --rate {math.ceil(slowest)}`, or raise `command_lifetime_s`"
            yield f"{motion.name}: {planned.rate_hz:g} frames/s are too few; {reason}; {hint}"


def _unread(path: Path) -> Entry:
    name = printable(path.stem)
    reason = f"{name}: {IS_READ}; it can be played once that is done"
    return Entry(name, path, reason=reason, is_unread=True)


def _refuse_passing(error: FormatError) -> None:
    """Raise `_PassingError` for what says nothing of a file, but that it could not be read now."""
    if is_passing(error):
        raise _PassingError(str(error)) from error


def _short_of_frames(motion: Motion) -> Iterator[str]:
    """Yield for each series without all its frames that it may end in the middle of a gesture."""
    reason = "that its file states; so does a copy that was interrupted"
    hint = "copy it again, correct the count, or set `allow_short_files: true`"
    for series, (frames, stated) in motion.missing_frames().items():
        yield f"{motion.name}: {series} ends after {frames} of the {stated} frames {reason}; {hint}"


def _lost_markers(found: Iterable[Path], read: Collection[Path]) -> Iterator[str]:
    """Yield a warning of each marker file that belongs to no motion."""
    lost = [path for path in found if path not in read and stamp_of(path)]
    if not lost:
        return
    known = [path.name for path in read if path.name.endswith(SUFFIX)]
    reason = f"those of wave.seq stand in wave{SUFFIX}, or in wave.NAME{SUFFIX} if it holds several"
    for path in lost:
        hint = nearest(path.name, known) or "rename or remove it"
        yield f"{printable(str(path))}: belongs to no motion; {reason}; {printable(hint)}"


def _first_of(lines: Sequence[str], what: str) -> list[str]:
    """Return the first twenty lines, and in another how many more there are."""
    more = len(lines) - MOST_PROBLEMS
    return [*lines[:MOST_PROBLEMS], *([f"and {more} more {what}"] if more > 0 else [])]


def _marked(entry: Entry, motion: Motion, path: Path) -> Entry:
    """Add the markers of a motion, where it has any."""
    if not stamp_of(path):
        return entry
    try:
        return replace(entry, markers=read_markers(path, motion))
    except FormatError as error:
        _refuse_passing(error)
        reasons = (entry.reason, str(error))
        return replace(entry, plan=None, reason="\n".join(reason for reason in reasons if reason))


def _broken(before: Iterable[Entry], now: Sequence[Entry]) -> str:
    """Return why what could be played cannot any more; '' where it still can, or is there no more."""
    playable = {entry.name for entry in before if entry.plan}
    faults = [entry for entry in now if entry.plan is None]
    if not playable or not (playable & {entry.name for entry in faults} or len(faults) == len(now)):
        return ""
    return "\n".join(entry.reason for entry in faults)


def _by_name(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Sort by name; a name that two motions share stands for neither of them."""
    files: dict[str, list[Entry]] = {}
    for entry in entries:
        files.setdefault(entry.name, []).append(entry)
    return {name: same[0] if len(same) == 1 else _ambiguous(same) for name, same in sorted(files.items())}


def _ambiguous(same: list[Entry]) -> Entry:
    files = [printable(str(entry.file)) for entry in same[:MOST_PROBLEMS]]
    places = " and ".join(files) + (f" and {len(same) - len(files):,} more" if len(same) > len(files) else "")
    reason = f"{same[0].name}: {len(same)} motions have this name; they are in {places}; rename all but one"
    if any(entry.file.suffix.lower() == ".xmdi" for entry in same):
        reason += ", those in XMDI by the `name` of their <motion>"
    faults = [
        line if line.startswith(file) else f"{file}: {line}"
        for file, entry in zip(files, same, strict=False)
        for line in entry.reason.splitlines()
    ]
    all_reasons = "\n".join([reason, *_first_of(faults, "problems")])
    return Entry(same[0].name, same[0].file, reason=all_reasons)
