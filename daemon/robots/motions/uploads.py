"""The folder into which clients may upload motions, whole and once, and from which they may delete them."""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from motiond.formats.registry import MOTIONS
from motiond.text import listed, shortened

from ...api import RequestError
from ...planning import is_beside_motions, is_motion, marker_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...planning import Entry, MotionLibrary

log = logging.getLogger(__name__)

SCRATCH = ".upload-"
"""How the name of the folder of an upload begins that is under way."""
LEFT_AFTER_S = 3600.0
"""No upload takes so long: then its daemon was killed in it."""
SCRATCH_NAME = re.compile(re.escape(SCRATCH) + "[a-z0-9_]{8}")
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]|[ ](?=[A-Za-z0-9_-])){0,99}")
"""A blank stands alone, and in front of no suffix: names that look the same are the same."""
MAY_STAND = "a to z, digits, single blanks and . _ - can stand in it, a letter or digit first"
MOST_FILES = 1_000
LONGEST_REASON = 3_500
IS_FULL = {errno.ENOSPC, errno.EDQUOT}


class Uploads:
    """One robot's folder for uploads. Everything here takes time, and is done in a thread.

    - `robot`: the robot's name, for messages
    - `folder`: None where nothing may be uploaded
    """

    def __init__(self, robot: str, folder: Path | None, library: MotionLibrary) -> None:
        self._robot = robot
        self._folder = folder
        self._library = library

    def take(self, name: str, content: bytes) -> list[Entry]:
        """Check a file, keep it if all of it can be played, and return what is in it.

        Raises RequestError: NOT_ALLOWED, INVALID_REQUEST, or INVALID_MOTION with what is in it.
        """
        return self.put(name, lambda file: _write(file, content))

    def put(
        self, name: str, write: Callable[[Path], None], *, replaces: bool = False, keeps: bool = True
    ) -> list[Entry]:
        """Write a file, keep it if all of it can be played, and return what is in it; otherwise as `take`.

        - `write`: writes the file, to disk
        - `replaces`: whether it may replace the file of this name
        - `keeps`: whether it is kept at all
        """
        folder = self._ready_for(name, replaces=replaces)
        with self._room_for(folder, name, write) as file:
            entries = self._checked(file, folder / name if replaces else None)
            if keeps:
                with self._writing(folder):
                    if replaces:
                        file.replace(folder / name)
                    else:
                        self._link(file, folder / name)
                _make_lasting(folder)
        return entries

    def refuse(self, name: str, *, replaces: bool) -> None:
        """Refuse a file that could not be kept whatever is in it, as `put` does."""
        with self._room_for(self._ready_for(name, replaces=replaces), name, Path.touch):
            pass

    def _ready_for(self, name: str, *, replaces: bool) -> Path:
        """Return the folder, where a file of this name may be put into it."""
        folder = self.folder_for("motions cannot be uploaded")
        with self._writing(folder):
            folder.mkdir(exist_ok=True)  # below one that is there
            self._check_name(folder, name, replaces=replaces)
        return folder

    def _link(self, file: Path, target: Path) -> None:
        try:
            os.link(file, target)  # which replaces nothing, unlike a rename
        except FileExistsError as error:
            raise self._exists(target.name) from error

    def remove_leftovers(self) -> None:
        """Remove what daemons left that were killed in an upload, and nothing else."""
        if self._folder is None:
            return
        try:
            left = [path for path in self._folder.iterdir() if SCRATCH_NAME.fullmatch(path.name)]
            for scratch in left:
                _remove_left(scratch, time.time())
        except FileNotFoundError:
            return  # it is made with the first upload
        except OSError as error:
            reason = error.strerror or str(error)
            log.warning(
                "%s: %s: cannot be cleared of interrupted uploads; %s", self._robot, self._folder, reason
            )

    def delete(self, motion: str) -> list[str]:
        """Remove a motion's file with its markers, and return the names of the motions that were in it.

        Raises RequestError: NOT_ALLOWED, or UNKNOWN_MOTION.
        """
        folder = self.folder_for("motions cannot be deleted")
        entry = self._library.get(motion)
        if entry is None:
            raise RequestError(
                "UNKNOWN_MOTION", self._library.joint_map.robot, *self._library.unknown(motion)
            )
        if entry.file.parent != folder:
            reason = "its file was not put there by an upload"
            problem = f"{shortened(motion, 60)} cannot be deleted"
            raise RequestError("NOT_ALLOWED", self._robot, problem, reason, "remove it on the machine")
        names = [one.name for one in self._library if one.file == entry.file]
        markers = [marker_file(entry.file), *(marker_file(entry.file, name) for name in names)]
        with self._writing(folder):
            for file in (entry.file, *markers):
                file.unlink(missing_ok=True)
        _make_lasting(folder)
        return names

    def folder_for(self, problem: str) -> Path:
        """Return the folder; raises RequestError, NOT_ALLOWED, where none is: `problem` is what needs it."""
        if self._folder is None:
            hint = "write {folder: …, upload: true} under motions"
            raise RequestError("NOT_ALLOWED", self._robot, problem, "no folder is set up for it", hint)
        return self._folder

    def _check_name(self, folder: Path, name: str, *, replaces: bool) -> None:
        is_named = NAME.fullmatch(name) and Path(name).suffix.lower() in MOTIONS.suffixes
        if not is_named or is_beside_motions(Path(name)):
            problem = f"'{shortened(name, 60)}' is no name for a motion's file"
            ends = listed(MOTIONS.suffixes)
            reason = f"{MAY_STAND}, and it ends in {ends}"
            raise RequestError("INVALID_REQUEST", self._robot, problem, reason, "rename it")
        alike = next((one.name for one in folder.iterdir() if one.name.casefold() == name.casefold()), None)
        if alike is not None and not (replaces and alike == name and _is_regular(folder / name)):
            raise self._exists(alike)

    def _exists(self, name: str) -> RequestError:
        problem, reason = f"{name} is there already", "an upload replaces nothing"
        return RequestError(
            "INVALID_REQUEST", self._robot, problem, reason, "rename it, or delete that one first"
        )

    @contextmanager
    def _room_for(self, folder: Path, name: str, write: Callable[[Path], None]) -> Iterator[Path]:
        """Write a file where the library does not look, and give its path; it is gone in the end."""
        with self._writing(folder):
            if sum(1 for _ in folder.iterdir()) >= MOST_FILES:
                what = f"{folder} holds {MOST_FILES} files"
                raise RequestError("NOT_ALLOWED", self._robot, what, "no more are taken", "delete some")
            scratch = Path(mkdtemp(prefix=SCRATCH, dir=folder))
        try:
            file = scratch / name
            with self._writing(folder):
                write(file)
            yield file
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _checked(self, file: Path, replaced: Path | None) -> list[Entry]:
        """Return what is in a file, all of which can be played, under names that no other file has taken."""
        entries = [*self._library.check(file)]
        motions = [entry.payload() for entry in entries]
        for motion in motions:
            motion["file"] = file.name
            if "reason" in motion:
                motion["reason"] = motion["reason"].replace(str(file), file.name)
        reasons = [motion["reason"] for motion in motions if "reason" in motion]
        known = {one.name.casefold(): one.name for one in self._library if one.file != replaced}
        taken = [known[one.name.casefold()] for one in entries if one.name.casefold() in known]
        if entries and not reasons and not is_motion(file):
            reason = "neither its suffix nor its beginning shows a motion"
            reasons.append(f"{file.name}: would be passed over in a folder; {reason}; convert it first")
        reasons += [f"{name}: there is a motion of this name; rename the file" for name in taken]
        if reasons or not entries:
            message = shortened("\n".join(reasons), LONGEST_REASON) or f"{file.name}: no motion is in it"
            raise RequestError.of("INVALID_MOTION", message, {"motions": motions})
        return entries

    @contextmanager
    def _writing(self, folder: Path) -> Iterator[None]:
        """Refuse what the system does not let the daemon write."""
        try:
            yield
        except OSError as error:
            problem, reason = f"{folder} cannot be written to", (error.strerror or str(error)).lower()
            hint = "make room on that disk" if error.errno in IS_FULL else "check it"
            raise RequestError("DISK_TROUBLE", self._robot, problem, reason, hint) from error


def _is_regular(path: Path) -> bool:
    """Whether it is a file, and neither a link nor a device."""
    return stat.S_ISREG(path.lstat().st_mode)


def _write(file: Path, content: bytes) -> None:
    with file.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def _remove_left(scratch: Path, now_s: float) -> None:
    """Remove the folder of an upload that was interrupted; one with anything else in it is no such folder."""
    with suppress(OSError):  # it is no folder, or another user's
        folder = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            status, files = os.fstat(folder), [*os.scandir(folder)]
            is_old = now_s - status.st_mtime > LEFT_AFTER_S
            if is_old and status.st_uid == os.geteuid() and len(files) <= 1:
                for file in files:
                    os.unlink(file.name, dir_fd=folder)
                scratch.rmdir()
        finally:
            os.close(folder)


def _make_lasting(folder: Path) -> None:
    """Have the system write a folder's list of files to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
