"""One robot's recordings, read: to be played, looked at and sent. Files are read in threads."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from motiond.formats import FormatError
from motiond.formats.io import Topic
from motiond.text import echoed, listed, printable, shortened

from ...api import RequestError
from ...planning import MotionReader, stamp_of
from ...recording import SUFFIX, locked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from motiond.formats import Run

    from ...api import PlaySource
    from ...planning import Entry, MotionLibrary
    from ...recording import RecordingFolder

POINTS = 4_000
LONGEST_REASON = 3_500
KEPT_S = 60.0
"""So long what was read is kept, for who asks again."""


class RecordedMotions:
    """The recordings of one robot, for those who read them.

    - `robot`: the robot's name, for messages
    - `folder`: where they lie
    - `library`: plans what is to be played of them, as it plans its own motions
    """

    def __init__(self, robot: str, folder: RecordingFolder, library: MotionLibrary) -> None:
        self._robot = robot
        self._folder = folder
        self._library = library
        self._reader = MotionReader()
        self._planning: tuple[tuple[Any, ...], asyncio.Task[tuple[Entry, ...]]] | None = None

    # -- to be played ---------------------------------------------------------------------------------------

    async def entry_of(self, motion: str, source: PlaySource, until_s: float) -> Entry | None:
        """Return a motion that has to be read first; None where the library has it as it is.

        - `motion`: of the library, or a recording of the robot by its name, with or without `.mcap`; where it
          holds several motions, `_1` and so on stands behind its name
        - `source`: `feedback` for what was measured
        - `until_s`: until when by the loop's clock it may take

        Raises RequestError: UNKNOWN_MOTION; INVALID_REQUEST, if it is no recording; BUSY while it is written,
        or takes longer to read than a client waits.
        """
        known = self._library.get(motion)
        if known is None:
            path = await asyncio.to_thread(self._find, motion)
        elif source == "reference":
            return None
        elif known.file.suffix.lower() == SUFFIX:
            path = known.file
        else:
            problem, reason = f"{motion} has no feedback", "it is no recording"
            raise RequestError("INVALID_REQUEST", self._robot, problem, reason, "leave `source` out")
        entries = await self._planned(path, source, until_s)
        entry = _chosen(self._robot, motion.removesuffix(SUFFIX), path, entries)
        return _with_advice(entry, path) if source == "feedback" else entry

    def _find(self, motion: str) -> Path:
        """Return the file of a recording, which may hold several motions."""
        names = [motion, *re.findall(r"^(.+)_\d+$", motion)]
        for name in names:
            try:
                return self._folder.place(name)
            except RequestError as error:
                if error.code != "UNKNOWN_RECORDING":
                    raise
        problem, reason, hint = self._library.unknown(motion)
        if "/" in motion or motion.endswith(SUFFIX):
            problem = f"no recording '{echoed(motion)}'"
            reason = "recordings of the robot are played by their names, and other files as motions"
            hint = "list them by `recordings`, or put the file into a folder of `motions`, or upload it there"
        raise RequestError("UNKNOWN_MOTION", self._robot, problem, reason, hint)

    async def _planned(self, path: Path, source: PlaySource, until_s: float) -> tuple[Entry, ...]:
        """Return the motions of a recording, read and planned for the limits of now."""
        key = (path, await asyncio.to_thread(stamp_of, path), source, id(self._library.joint_map))
        if self._planning is None or self._planning[0] != key:
            if self._planning is not None and not self._planning[1].done():
                problem, reason = f"{path.name} cannot be read now", "another recording is being read"
                raise RequestError("BUSY", self._robot, problem, reason, "play it again")
            reading = asyncio.create_task(self._read(path, source), name=f"{self._robot}.recorded")
            self._planning = key, reading
            asyncio.get_running_loop().call_later(KEPT_S, self._forget, reading)
        _, reading = self._planning
        await asyncio.wait((reading,), timeout=max(0.0, until_s - asyncio.get_running_loop().time()))
        if not reading.done():
            problem = f"{path.name} is still being read"
            raise RequestError("BUSY", self._robot, problem, "it is long", "play it again in a moment")
        return reading.result()

    async def _read(self, path: Path, source: PlaySource) -> tuple[Entry, ...]:
        topic = Topic.FEEDBACK if source == "feedback" else None
        return await asyncio.to_thread(self._checked, path, topic)

    def _checked(self, path: Path, topic: str | None) -> tuple[Entry, ...]:
        try:
            with locked(path):
                return self._library.check(path, topic)
        except OSError as error:
            raise self._unread(path, error) from error

    def _forget(self, reading: asyncio.Task[tuple[Entry, ...]]) -> None:
        if self._planning is not None and self._planning[1] is reading and reading.done():
            reading.exception()  # which nobody may have waited for
            self._planning = None

    # -- to be looked at ------------------------------------------------------------------------------------

    async def opened(self, name: str) -> tuple[BinaryIO, str]:
        """Open a recording for the caller, who closes it; nothing removes it before. Return its name, too.

        Raises RequestError: UNKNOWN_RECORDING, or BUSY while it is being written.
        """
        return await asyncio.to_thread(self._opened, name)

    def _opened(self, name: str) -> tuple[BinaryIO, str]:
        path = self._folder.place(name)
        try:
            return locked(path, follows=False), path.name
        except OSError as error:
            raise self._unread(path, error) from error

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


def _chosen(robot: str, motion: str, path: Path, entries: Sequence[Entry]) -> Entry:
    """Return the motion of this name, or the only one."""
    found = next((entry for entry in entries if entry.name == motion), None)
    if found is not None or len(entries) == 1:
        return found or entries[0]
    problem = f"{path.stem} holds {len(entries)} motions"
    reason = f"there are {listed([entry.name for entry in entries])}"
    raise RequestError("UNKNOWN_MOTION", robot, problem, reason, "play one of them")


def _with_advice(entry: Entry, path: Path) -> Entry:
    """Say how the feedback of a recording becomes a motion that can be played, where it breaks limits."""
    if not entry.violations:
        return entry
    how = f"--topic {Topic.FEEDBACK} --drop JointEffort --smooth 0.005 --write"
    command = f"motiond edit {printable(path.name)} smooth.seq {how}"
    advice = f"{entry.name}: it is as it was measured, with its noise; `{command}` takes that away"
    return replace(entry, reason=f"{entry.reason}\n{advice}")
