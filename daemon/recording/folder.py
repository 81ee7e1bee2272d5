"""The recordings of one robot in a folder: listed, marked to be kept, removed at a quota and on request.

A recording that is written or read is locked (flock(2)), so that nothing removes it, and no other daemon
repairs it. Everything here takes time, and is done in a thread.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import re
import stat
import unicodedata
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from motiond.formats.io import open_regular
from motiond.text import echoed

from ..api import RequestError
from .part import PART, SUFFIX, NoRecording, mark_of, numbered, part_of
from .repair import repair
from .summary import list_entry, read_summary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..api import ListedRecording
    from .summary import RecordingSummary

log = logging.getLogger(__name__)

NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
MOST_LISTED = 200
LONGEST_NAME = 96
"""In bytes; a file system takes 255 for all of a file's name."""
STAMP = len("20261126T191534Z")


class NoRoom(OSError):
    """The quota leaves no room, as nothing more can be removed; `strerror` says so."""


def refuse_unwritable(folder: Path) -> None:
    """Raise OSError where a folder cannot be written, or cannot be made."""
    place = next(place for place in (folder, *folder.parents) if place.exists())
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(place, os.W_OK | os.X_OK):
        is_read_only = os.statvfs(place).f_flag & os.ST_RDONLY
        number = errno.EROFS if is_read_only else errno.EACCES
        raise OSError(number, os.strerror(number))


def locked(path: Path, kind: int = fcntl.LOCK_SH, *, follows: bool = True) -> BinaryIO:
    """Open a recording, and keep it from being removed until it is closed; several may read it at once.

    `kind`: `fcntl.LOCK_EX` keeps others from reading it, too. On a file system without locks nothing is kept.
    `follows`: whether the path may be a link to it.

    Raises OSError if there is none, or it is no regular file, and BlockingIOError if others have it.
    """
    with ExitStack() as stack:
        file = stack.enter_context(open_regular(path, follows=follows))
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
        stack.pop_all()
    return file


class _File(NamedTuple):
    """A recording in the folder; `stamp_ns`: when it was written last."""

    name: str
    size: int
    stamp_ns: int
    path: Path

    @property
    def is_part(self) -> bool:
        return self.name.endswith(PART)


class RecordingFolder:
    """One robot's recordings.

    - `robot`: the robot's name, with which its recordings begin
    - `folder`: where they lie; None where there is no place for them
    - `keep_bytes`: what they may take together
    """

    def __init__(self, robot: str, folder: Path | None, keep_bytes: int) -> None:
        self.folder = folder
        self.keep_bytes = keep_bytes
        self._robot = robot
        self._named = re.compile(rf"{re.escape(robot)}_\d{{8}}T\d{{6}}Z_.+\.mcap({re.escape(PART)})?")
        self._stems: list[str] = []
        self._summaries: dict[str, tuple[tuple[int, int], RecordingSummary]] = {}

    # -- what there is --------------------------------------------------------------------------------------

    def _files(self) -> list[_File]:
        """Return the robot's recordings, the oldest first."""
        files = []
        if self.folder is not None:
            with suppress(FileNotFoundError), os.scandir(self.folder) as entries:
                for entry in entries:
                    if self._named.fullmatch(entry.name):
                        with suppress(FileNotFoundError):
                            status = entry.stat(follow_symlinks=False)
                            if stat.S_ISREG(status.st_mode):
                                path = self.folder / entry.name
                                files.append(_File(entry.name, status.st_size, status.st_mtime_ns, path))
        begin = len(self._robot) + 1
        return sorted(files, key=lambda file: (file.name[begin : begin + STAMP], file.stamp_ns))

    def listed(self) -> tuple[list[ListedRecording], int, int]:
        """Return the newest that are finished, the newest first, how many there are, and the bytes of all.

        Raises RequestError: DISK_TROUBLE.
        """
        with self._reporting("its recordings cannot be listed"):
            files = self._files()
        finished = [file for file in reversed(files) if not file.is_part]
        whole = finished[:MOST_LISTED]
        summaries = {file.name: self._summary(file) for file in whole}
        self._summaries = {file.name: ((file.size, file.stamp_ns), summaries[file.name]) for file in whole}
        recordings = [
            list_entry(file.name, file.size, summaries[file.name], is_kept=mark_of(file.path).exists())
            for file in whole
        ]
        return recordings, len(finished), sum(file.size for file in files)

    def _summary(self, file: _File) -> RecordingSummary:
        """Return what a file says of itself, which is read again only if it looks different."""
        stamp, summary = self._summaries.get(file.name, (None, None))
        if summary is None or stamp != (file.size, file.stamp_ns):
            return read_summary(file.path)
        return summary

    def place(self, name: str) -> Path:
        """Return where a recording is, by its name with or without `.mcap`.

        Raises RequestError: UNKNOWN_RECORDING.
        """
        file = name if name.endswith(SUFFIX) else name + SUFFIX
        if self.folder is not None and self._named.fullmatch(file) and "/" not in file:
            path = self.folder / file
            if _is_regular(path):
                return path
            if _is_regular(part_of(path)):
                problem, hint = f"{file} is being written", "wait for its end"
                raise RequestError("BUSY", self._robot, problem, hint=hint)
        problem, hint = f"no recording '{echoed(name)}'", "list them by `recordings`"
        raise RequestError("UNKNOWN_RECORDING", self._robot, problem, hint=hint)

    # -- what is asked --------------------------------------------------------------------------------------

    def keep(self, name: str, keep: bool) -> str:  # noqa: FBT001 - the request's own words
        """Mark a recording to be kept, or take the mark off; return the file's name; raises RequestError."""
        path = self.place(name)
        with self._reporting(f"{path.name} cannot be marked"):
            if keep:
                mark_of(path).touch()
            else:
                mark_of(path).unlink(missing_ok=True)
        return path.name

    def delete(self, name: str) -> str:
        """Remove a recording and return the file's name; raises RequestError."""
        path = self.place(name)
        problem = f"{path.name} cannot be removed"
        if mark_of(path).exists():
            reason, hint = "it is marked to be kept", "take the mark off first"
            raise RequestError("NOT_ALLOWED", self._robot, problem, reason, hint)
        with self._reporting(problem):
            if not _removed(path):
                raise RequestError("BUSY", self._robot, problem, "it is being read", "try again")
        return path.name

    @contextmanager
    def _reporting(self, problem: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RequestError(
                "DISK_TROUBLE", self._robot, problem, self._reason(error), _hint(error)
            ) from error

    def _reason(self, error: OSError) -> str:
        reason = error.strerror or str(error)
        where = "" if self.folder is None else f"{self.folder}: "
        return f"{where}{reason[:1].lower()}{reason[1:]}"

    # -- what is written ------------------------------------------------------------------------------------

    def file_name(self, name: str, began_unix_s: float) -> str:
        """Return what a new recording is called; no two that this returns are alike.

        - `name`: of whoever asked for it, or the motion; '' where nothing is
        """
        stamp = datetime.fromtimestamp(began_unix_s, UTC).strftime("%Y%m%dT%H%M%SZ")
        stem = f"{self._robot}_{stamp}_{_safe(name) or 'recording'}"
        self._stems = [other for other in self._stems if stamp in other] + [stem]
        number = self._stems.count(stem)
        return f"{stem}{f'-{number}' if number > 1 else ''}{SUFFIX}"

    def new_path(self, file: str) -> Path:
        """Return where a new recording goes, by its name unless there is one; the folder is made.

        Raises OSError.
        """
        if self.folder is None:
            raise OSError(errno.ENOENT, "the daemon has no folder for its state")
        self.folder.mkdir(parents=True, exist_ok=True)
        places = numbered(self.folder / file)
        return next(
            place for place in places if not os.path.lexists(place) and not os.path.lexists(part_of(place))
        )

    def repair_all(self) -> None:
        """Make whole files of what a crash has left, unless somebody writes it."""
        try:
            parts = [file.path for file in self._files() if file.is_part]
        except OSError as error:
            log.warning("%s", self.trouble(error, has_begun=False))
            return
        for part in parts:
            try:
                self.repair(part)
            except (OSError, NoRecording) as error:
                log.warning("%s: %s cannot be repaired; %s", self._robot, part, error)

    def repair(self, part: Path) -> None:
        """Make a whole file of one that was not finished; nothing happens while somebody writes it.

        Raises OSError, and NoRecording for a file of another kind.
        """
        with suppress(BlockingIOError), locked(part, fcntl.LOCK_EX):
            whole = repair(part)
            what = "it held nothing, and was removed" if whole is None else f"{whole.name} is what was whole"
            log.warning("%s: %s was not finished; %s", self._robot, part.name, what)

    def trouble(self, error: Exception, *, has_begun: bool) -> str:
        """Return what to say of an error while something is recorded."""
        problem = "it is recorded no further" if has_begun else "it cannot be recorded"
        if not isinstance(error, OSError):
            return f"{self._robot}: {problem}; it failed inside motiond; the daemon's log says more"
        return f"{self._robot}: {problem}; {self._reason(error)}; {_hint(error)}"

    def make_room(self, size: int, least: int, besides: Path | None = None) -> int:
        """Remove the oldest recordings until there is room for `size` bytes; return the room that there is.

        - `besides`: what is being written, and counts in `size`

        Raises NoRoom where there is none for `least` bytes, as the others are kept, written or read.
        """
        files = [file for file in self._files() if file.path != besides]
        room = self.keep_bytes - sum(file.size for file in files)
        for file in files:
            if room >= size:
                break
            if not file.is_part and not mark_of(file.path).exists() and _removed(file.path):
                log.info("%s: %s was removed, as the oldest recording", self._robot, file.name)
                room += file.size
        if room < least:
            raise NoRoom(errno.EDQUOT, f"the recordings that are left fill {_amount(self.keep_bytes)}")
        return room


def evidence_files(path: Path) -> tuple[Path, Path]:
    """Return where the evidence of a recording lies, as JSON and as JUnit XML."""
    return path.with_name(f"{path.name}.json"), path.with_name(f"{path.name}.xml")


def _removed(path: Path) -> bool:
    """Remove a recording that nobody has locked, and its evidence; return whether it is gone."""
    try:
        with locked(path, fcntl.LOCK_EX):
            path.unlink()
            for evidence in evidence_files(path):
                evidence.unlink(missing_ok=True)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    return True


def _is_regular(path: Path) -> bool:
    with suppress(OSError):
        return stat.S_ISREG(path.lstat().st_mode)
    return False


def _safe(name: str) -> str:
    """Return letters, their marks and digits of any script, and `._-`, with `-` for all that is between."""
    letters = (
        letter if letter in "._-" or unicodedata.category(letter)[0] in "LMN" else "-"
        for letter in unicodedata.normalize("NFC", name)
    )
    safe = re.sub("-+", "-", "".join(letters))
    return safe.strip("-.").encode()[:LONGEST_NAME].decode(errors="ignore")


def _amount(size: int) -> str:
    """Return a size as the configuration has it."""
    for unit, scale in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6)):
        if size >= scale:
            return f"{size / scale:g} {unit}"
    return f"{size / 1000:g} kB"


def _hint(error: OSError) -> str:
    """Return what a user can do about trouble with the folder."""
    if isinstance(error, NoRoom):
        return "delete some that are marked to be kept, or raise recording.keep"
    return {
        errno.ENOSPC: "make room on that disk, or lower recording.keep",
        errno.EDQUOT: "make room on that disk, or lower recording.keep",
        errno.EROFS: "let motiond write there, or set recording.folder",
        errno.EACCES: "let motiond write there, or set recording.folder",
        errno.EPERM: "let motiond write there, or set recording.folder",
        errno.ENOENT: "set recording.folder",
    }.get(error.errno or 0, "look at that disk, or set recording.folder")
