"""The files of one robot's recordings, written one after the other, by one thread at a time."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ..clock import unix_less_monotonic
from ..ipc.ring import COLUMN
from .folder import NoRoom, locked
from .part import NoRecording
from .writer import RecordingWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from motiond.formats.arrays import Floats

    from ..api import Why
    from .about import RecordingAbout
    from .channels import ReportSubject
    from .folder import RecordingFolder

log = logging.getLogger(__name__)

CUT_S = 1.0
MOST_TRIES = 100
"""To open a file while other daemons open files of its name."""
MOST_ATTACHED = 32_000_000
"""A file that is longer is not attached."""
MARGIN = 0.01
"""So much of the quota is freed at once, so that the folder is looked through now and then alone."""
SETPOINT_S = COLUMN["setpoint_s"]


@dataclass(slots=True, eq=False)
class Recording:
    """One recording, from the request for it to its end; it may go over several files.

    - `why`: what asked for it
    - `name`: of whoever asked for it, or the motion
    - `offset_s`: what is added to times of ticks to have Unix time
    - `file`: the name of the present file, or of the last
    - `began_unix_s`, `ticks`, `gaps`, `size`, `duration_s`: of that file
    - `is_open`: whether there is a file, or has been
    - `has_ended`: whether nothing more is written
    - `problem`: why it could not go on; '' if it could
    - `is_reported`: whether that was reported
    """

    why: Why
    name: str
    offset_s: float
    began_unix_s: float
    file: str
    ticks: int = 0
    gaps: int = 0
    size: int = 0
    duration_s: float = 0.0
    is_open: bool = False
    has_ended: bool = False
    problem: str = ""
    is_reported: bool = False


Part: TypeAlias = "tuple[Recording, Callable[..., None], tuple[Any, ...]]"
"""What happens to a recording: a method of `RecordingFiles`, and what it takes besides the recording."""


class RecordingFiles:
    """Writes what recordings are made of, and nothing raises: `Recording.problem` says what is wrong.

    - `folder`: where the files go
    - `describe`: what a file says of itself
    - `attachments`: what each file carries, by name: reads it; may raise OSError
    - `longest_s`: how long a file is at most
    - `is_virtual`: whether ticks keep a time of their own, which begins again with each stream process
    - `finished`: takes each file that is whole, and returns at once

    `bodies`: what can touch, as the driver has it once it is open.
    """

    def __init__(
        self,
        folder: RecordingFolder,
        describe: Callable[[Recording], RecordingAbout],
        attachments: Sequence[tuple[str, Callable[[], bytes]]],
        *,
        longest_s: float,
        is_virtual: bool = False,
        finished: Callable[[Path], object] = lambda _: None,
    ) -> None:
        self.folder = folder
        self.is_virtual = is_virtual
        self._describe = describe
        self._attachments = attachments
        self._longest_s = longest_s
        self.bodies: tuple[str, ...] = ()
        self._finished = finished
        self._writer: RecordingWriter | None = None
        self._lock = ExitStack()
        self._room = 0
        self._cut_s = self._cut_tick_s = 0.0
        self._first_s: float | None = None
        self._last_s: float | None = None
        self._motions: dict[str, Path] = {}  # of the goals that play, by their ids
        self._left: list[Path] = []

    def write(self, recording: Recording | None, parts: Sequence[Part]) -> None:
        """Write parts of recordings, in their order.

        - `recording`: what is recorded now; where a second has gone by, it is cut
        """
        for whose, act, arguments in parts:
            self._guarded(whose, act, *arguments)
        if recording is not None and self._writer is not None and time.monotonic() - self._cut_s >= CUT_S:
            self._guarded(recording, self._cut)

    def _guarded(self, recording: Recording, act: Callable[..., None], *arguments: Any) -> None:
        if recording.has_ended:
            return
        try:
            act(recording, *arguments)
        except Exception as error:
            if not isinstance(error, OSError):
                log.exception("%s: failed inside motiond", recording.file)
            self._give_up(recording, error)

    # -- parts of a recording -------------------------------------------------------------------------------

    def begin(self, recording: Recording) -> None:
        """Open a recording's first file; it comes first."""
        self._motions.clear()
        self._open(recording)

    def _open(self, recording: Recording) -> None:
        """Open a recording's next file."""
        self._repair_left()
        self._room = self.folder.make_room(round(MARGIN * self.folder.keep_bytes), 1)
        recording.file, recording.is_open = self._opened(recording).path.name, True
        recording.ticks = recording.gaps = 0
        recording.duration_s = 0.0
        self._first_s = self._last_s = None
        for name, read in self._attachments:
            self._attach(name, read)
        for file in self._motions.values():
            self._attach(file.name, file.read_bytes)
        self._cut_s = time.monotonic()

    def _opened(self, recording: Recording) -> RecordingWriter:
        """Open a file of a name that no other daemon has taken meanwhile, nor taken for what a crash left."""
        for _ in range(MOST_TRIES):
            path = self.folder.new_path(recording.file)
            with suppress(FileExistsError):
                about = replace(self._describe(recording), bodies=self.bodies)
                writer = self._writer = RecordingWriter(path, about)
                try:
                    self._lock.enter_context(locked(writer.part, fcntl.LOCK_EX))
                except (FileNotFoundError, BlockingIOError):
                    self._writer = None
                    writer.abandon()
                else:
                    return writer
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    def add(self, recording: Recording, records: Floats) -> None:
        """Add ticks, in another file where this one is long enough or their time has begun again."""
        began_s, ended_s = float(records[0, SETPOINT_S]), float(records[-1, SETPOINT_S])
        if self._last_s is not None and self.is_virtual and began_s < self._last_s:
            recording.offset_s = time.time() - began_s
            self._go_on(recording, began_s, "the stream process was restarted, and its time began again")
        elif self._first_s is not None and ended_s - self._first_s > self._longest_s:
            if not self.is_virtual:
                recording.offset_s = unix_less_monotonic()
            self._go_on(recording, began_s, "it goes on in another file")
        if self._first_s is None:
            self._first_s = self._cut_tick_s = began_s
        self._last_s = ended_s
        self._present.add(records)
        recording.ticks, recording.duration_s = self._present.ticks, ended_s - self._first_s
        if ended_s - self._cut_tick_s >= CUT_S:  # on virtual time, which may run ahead
            self._cut(recording)
            self._cut_tick_s = ended_s

    def add_gap(self, _: Recording, first_tick: int, ticks: int, reason: str) -> None:
        """Add that ticks were lost before they came here."""
        self._present.add_gap(first_tick, ticks, reason)

    def add_report(
        self, _: Recording, subject: ReportSubject, data: Mapping[str, Any], stamp_ns: int
    ) -> None:
        """Add a report of the robot."""
        self._present.add_report(subject, data, stamp_ns)

    def attach_motion(self, _: Recording, goal_id: str, file: Path) -> None:
        """Attach the file of a goal's motion; while the goal plays, also to each next file."""
        self._motions[goal_id] = file
        self._attach(file.name, file.read_bytes)

    def leave_motion(self, _: Recording, goal_id: str) -> None:
        """Take that a goal has ended; the next file lacks its motion."""
        self._motions.pop(goal_id, None)

    def end(self, recording: Recording, reason: str, is_void: bool) -> None:  # noqa: FBT001 - a part has no keywords
        """End a recording; `is_void`: it is not worth a file."""
        self._finish(recording, reason, is_void=is_void)
        recording.has_ended = True

    # -- one file -------------------------------------------------------------------------------------------

    @property
    def _present(self) -> RecordingWriter:
        assert self._writer is not None  # noqa: S101 - `begin` comes first
        return self._writer

    def _attach(self, name: str, read: Callable[[], bytes]) -> None:
        """Attach a file; a recording lacks one that is too long, or cannot be read."""
        try:
            data = read()
        except OSError as error:
            log.warning("%s: %s is not attached; %s", self._present.path.name, name, error.strerror or error)
            return
        if len(data) > MOST_ATTACHED:
            log.warning("%s: %s is not attached; it has %d bytes", self._present.path.name, name, len(data))
            return
        self._present.attach(name, data)

    def _go_on(self, recording: Recording, began_s: float, reason: str) -> None:
        self._finish(recording, reason)
        recording.began_unix_s = began_s + recording.offset_s
        recording.file = self.folder.file_name(recording.name, recording.began_unix_s)
        self._open(recording)

    def _cut(self, recording: Recording) -> None:
        writer = self._present
        writer.cut()
        self._cut_s = time.monotonic()
        recording.gaps, recording.size = writer.gaps, writer.size
        if not writer.part.exists():
            raise FileNotFoundError(errno.ENOENT, "it was removed while it was written")
        if recording.size > self._room:
            wanted = recording.size + round(MARGIN * self.folder.keep_bytes)
            self._room = self.folder.make_room(wanted, recording.size, writer.part)

    def _finish(self, recording: Recording, reason: str, *, is_void: bool = False) -> None:
        writer = self._present
        if is_void:
            writer.abandon()
            writer.part.unlink()
            self._close()
            return
        path = writer.finish(reason)
        recording.file, recording.ticks, recording.gaps = path.name, writer.ticks, writer.gaps
        recording.size = path.stat().st_size
        self._close()
        with suppress(NoRoom):  # the next recording says so
            self.folder.make_room(0, 0)
        self._finished(path)

    def _close(self) -> None:
        self._writer = None
        self._lock.close()

    def _give_up(self, recording: Recording, error: Exception) -> None:
        """End a recording that cannot go on, and make a whole file of what there is."""
        recording.has_ended = True
        recording.problem = self.folder.trouble(error, has_begun=recording.is_open)
        if self._writer is not None:
            self._left.append(self._writer.part)
            with suppress(OSError):  # what it still holds does not fit
                self._writer.abandon()
            self._close()
            self._repair_left()

    def _repair_left(self) -> None:
        """Make whole files of what trouble with the disk has left; what fails is tried with the next one."""
        left, self._left = self._left, []
        for part in left:
            try:
                self.folder.repair(part)
            except FileNotFoundError:
                continue
            except (OSError, NoRecording):
                self._left.append(part)
