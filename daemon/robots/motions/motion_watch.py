"""Watches folders of motions: what is written there is read once it has been quiet for a while."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import re
import stat
from itertools import islice
from typing import TYPE_CHECKING, NoReturn

from motiond.text import printable

from ...api import RequestError
from ...planning import MOST_FILES, stamp_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from pathlib import Path

    from ...planning import Stamp

log = logging.getLogger(__name__)

QUIET_S = 0.3
BATCH_S = 1.0
LOOK_PERIOD_S = 0.05
TRY_AGAIN_S = 2.0
IDLE_S = 5.0
"""So often it is looked whether the folder is still the one that is watched."""


class MotionWatch:
    """Has the motions of one robot read whenever something in its watched folders has changed.

    - `robot`: the robot's name, for messages
    - `load`: reads what has changed; it gets what says which files may be read
    - `is_incomplete`: whether something could not be read for a reason that will pass, so that it has to be
      read again
    """

    def __init__(
        self,
        robot: str,
        folders: tuple[Path, ...],
        load: Callable[[Callable[[Path], bool]], Awaitable[None]],
        is_incomplete: Callable[[], bool],
    ) -> None:
        self._robot = robot
        self._folders = folders
        self._load = load
        self._is_incomplete = is_incomplete
        self._reads_again = False
        self._unsettled: dict[Path, tuple[Stamp, float]] = {}
        self._seen: dict[Path, dict[Path, Stamp]] = {}
        self._logged: dict[Path, set[str]] = {}
        self._came = asyncio.Event()

    async def run(self) -> NoReturn:
        """Watch until cancelled; what cannot be watched, or fails, is tried again, and logged once."""
        logged = ""
        while True:
            try:
                await self._run()
            except Exception as error:  # robots play on, whatever becomes of the watch
                if repr(error) != logged:
                    log.exception("%s: the watch of its motions failed inside motiond", self._robot)
                logged = repr(error)
            await asyncio.sleep(TRY_AGAIN_S)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for folder in self._folders:
                tasks.create_task(self._keep_watching(folder), name=f"{self._robot}.watch")
            while True:
                await self._came.wait()
                await self._settle()

    async def _keep_watching(self, folder: Path) -> NoReturn:
        logged = self._logged.setdefault(folder, set())
        while True:
            try:
                await self._watch(folder)
                logged.clear()
            except Exception as error:
                reason = why_unwatched(error)
                if (known := reason or repr(error)) not in logged:
                    problem, defect = reason or "is not watched; it is tried again", None if reason else error
                    log.warning("%s: %s: %s", self._robot, printable(str(folder)), problem, exc_info=defect)
                logged.add(known)
                await self._look_unwatched(folder)
                await asyncio.sleep(TRY_AGAIN_S)

    async def _look_unwatched(self, folder: Path) -> None:
        """Note what has changed in a folder that is not watched at the moment."""
        with contextlib.suppress(Exception):  # the watch has failed over it already, and said so
            await self._look(folder)

    async def _look(self, folder: Path) -> None:
        """Note what has changed in a folder since it was looked at."""
        before = self._seen.get(folder, {})
        self._seen[folder] = now = await asyncio.to_thread(_inside, folder)
        paths = before.keys() | now.keys()
        await self._note(path for path in paths if before.get(path) != now.get(path))

    async def _watch(self, folder: Path) -> None:
        """Watch a folder until another one has taken its place."""
        from watchfiles import awatch  # noqa: PLC0415 - whoever watches nothing loads nothing of it

        watched = await asyncio.to_thread(_identity, folder)
        changes = awatch(
            folder,
            watch_filter=None,
            debounce=50,
            step=50,
            rust_timeout=round(1000 * IDLE_S),
            yield_on_timeout=True,
            recursive=False,
        )
        changing = asyncio.ensure_future(anext(changes))
        try:
            # Changes before the watch had begun are not reported.
            await asyncio.sleep(LOOK_PERIOD_S)
            await self._look(folder)
            while True:
                names = [os.path.basename(path) for _, path in await changing]  # noqa: PTH119 - of thousands
                changing = asyncio.ensure_future(anext(changes))
                await self._note(folder / name for name in names)
                if await asyncio.to_thread(_identity, folder) != watched:
                    return
        finally:
            changing.cancel()
            await asyncio.wait((changing,))
            if not changing.cancelled():
                changing.exception()  # asyncio would log one that nobody has asked for
            await changes.aclose()

    async def _note(self, paths: Iterable[Path]) -> None:
        """Note that files have changed just now; those beyond `MOST_FILES` are not waited for."""
        room = max(0, MOST_FILES - len(self._unsettled))
        stamps = await asyncio.to_thread(_stamps_of, islice(paths, room))
        now_s = asyncio.get_running_loop().time()
        self._unsettled |= {path: (stamp, now_s) for path, stamp in stamps.items()}
        if self._unsettled:
            self._came.set()

    async def _settle(self) -> None:
        """Have files read that have changed and are quiet: together, as each reading publishes a whole list.

        They wait for others that are being written, but for `BATCH_S` at most.
        """
        loop = asyncio.get_running_loop()
        if self._reads_again:
            await self._read()
        quiet_s: float | None = None
        while self._unsettled or quiet_s is not None:
            await asyncio.sleep(LOOK_PERIOD_S)
            if self._drop_quiet(await asyncio.to_thread(_stamps_of, [*self._unsettled])):
                quiet_s = quiet_s or loop.time()
            if quiet_s is not None and (not self._unsettled or loop.time() - quiet_s >= BATCH_S):
                quiet_s = None
                await self._read()
        self._came.clear()

    def _drop_quiet(self, stamps: dict[Path, Stamp]) -> bool:
        """Take out what has been quiet for long enough; return whether there was any."""
        now_s, before = asyncio.get_running_loop().time(), len(self._unsettled)
        for path, stamp in stamps.items():
            known, since_s = self._unsettled[path]
            if stamp != known:
                self._unsettled[path] = stamp, now_s
            elif now_s - since_s >= QUIET_S:
                del self._unsettled[path]
        return len(self._unsettled) < before

    async def _read(self) -> None:
        try:
            await self._load(self._may_read)
        except RequestError as error:  # the robot leaves, or somebody else has them read
            log.info("%s", error)
        except Exception:
            log.exception("%s: the motions could not be read", self._robot)
        self._reads_again = self._is_incomplete()
        if self._reads_again:
            asyncio.get_running_loop().call_later(TRY_AGAIN_S, self._came.set)

    def _may_read(self, path: Path) -> bool:
        return path.parent in self._folders and path not in self._unsettled


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    return status.st_dev, status.st_ino


def _inside(folder: Path) -> dict[Path, Stamp]:
    return _stamps_of(islice(folder.iterdir(), MOST_FILES))


def _stamps_of(paths: Iterable[Path]) -> dict[Path, Stamp]:
    return {path: stamp_of(path) for path in paths}


_TRIED_AGAIN = "is not watched; {}; it is tried again; {}"
_NOT_UTF8 = (
    "a name is no UTF-8; each change of that file has the folder watched from the beginning; rename it"
)
_OF_WATCHFILES = "WatchfilesRustInternalError"  # the module is loaded by those alone who watch
_LOOK = "look at the folder"
_NO_FOLDER, _NO_RIGHT = "name a folder that is there", "let the user that motiond runs as read it"
_HINTS = {
    errno.ENOENT: "make the folder",
    errno.ENOTDIR: _NO_FOLDER,
    errno.ELOOP: _NO_FOLDER,
    errno.EACCES: _NO_RIGHT,
    errno.EPERM: _NO_RIGHT,
    errno.EMFILE: "raise fs.inotify.max_user_instances",
    errno.ENOSPC: "raise fs.inotify.max_user_watches",
}
_CODE = re.compile(r"\(os error (\d+)\)")  # as watchfiles words what the system says


def why_unwatched(error: Exception) -> str:
    """Return the message for a failure to watch a folder; '' where only a traceback can explain it.

    - `error`: of the system, or of watchfiles, whose own are `RuntimeError` and come in groups
    """
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    said = str(error)
    if isinstance(error, UnicodeError) or said.startswith("Unable to decode path"):
        return _NOT_UTF8
    code = error.errno if isinstance(error, OSError) else None
    if code is None and (found := _CODE.search(said)):
        code = int(found[1])
    if code is None and "watch limit" in said:
        code = errno.ENOSPC
    if code in _HINTS:
        return _TRIED_AGAIN.format(os.strerror(code), _HINTS[code])
    if isinstance(error, OSError):
        return _TRIED_AGAIN.format(error.strerror or said, _LOOK)
    return _TRIED_AGAIN.format(said, _LOOK) if type(error).__name__ == _OF_WATCHFILES else ""
