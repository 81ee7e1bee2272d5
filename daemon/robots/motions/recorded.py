"""One robot's recordings, read: to be played, looked at and sent. Files are read in threads."""

from __future__ import annotations

import asyncio
import fcntl
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, BinaryIO

from motiond.formats import FormatError
from motiond.text import shortened

from ...api import RequestError
from ...planning import MotionReader
from ...recording import locked

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.formats import Run

    from ...recording import RecordingFolder

POINTS = 4_000
LONGEST_REASON = 3_500


class RecordedMotions:
    """The recordings of one robot, for those who read them.

    - `robot`: the robot's name, for messages
    - `folder`: where they lie
    """

    def __init__(self, robot: str, folder: RecordingFolder) -> None:
        self._robot = robot
        self._folder = folder
        self._reader = MotionReader()

    async def opened(self, name: str) -> tuple[BinaryIO, str]:
        """Open a recording for the caller, who closes it; nothing removes it before. Return its name, too.

        Raises RequestError: UNKNOWN_RECORDING, or BUSY while it is being written.
        """
        return await asyncio.to_thread(self._opened, name)

    def _opened(self, name: str) -> tuple[BinaryIO, str]:
        path = self._folder.place(name)
        with ExitStack() as opened:
            try:
                file = opened.enter_context(open(path, "rb", opener=_opener))
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError as error:
                raise self._unread(path, error) from error
            opened.pop_all()
        return file, path.name

    async def run(self, name: str) -> Run:
        """Return what a recording holds, thinned; raises RequestError as `opened`, or if it is damaged."""
        return await asyncio.to_thread(self._run, name)

    def _run(self, name: str) -> Run:
        path = self._folder.place(name)
        try:
            with locked(path):
                return self._reader.load_run(path, POINTS)
        except FormatError as error:
            raise RequestError.of("INVALID_MOTION", shortened(str(error), LONGEST_REASON)) from error
        except OSError as error:
            raise self._unread(path, error) from error
        finally:
            self._reader.rest()

    def end(self) -> None:
        """Let whatever is being read in a thread end soon; nothing comes of it."""
        self._reader.kill()

    def _unread(self, path: Path, error: OSError) -> RequestError:
        reason = (error.strerror or str(error)).lower()
        return RequestError("BUSY", self._robot, f"{path.name} cannot be read", reason, "try again")


def _opener(path: str, flags: int) -> int:
    """Open a file itself, and not what a symbolic link in its place leads to."""
    return os.open(path, flags | os.O_NOFOLLOW)
