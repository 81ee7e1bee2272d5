"""Reads a robot's motions in a thread, one reading at a time, without anybody having to wait for its end."""

from __future__ import annotations

import asyncio
import gc
import logging
from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, Any

from ...api import RequestError
from ...threads import DaemonThread
from ..session import SHUTS_DOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from ...planning import MotionLibrary

log = logging.getLogger(__name__)

FILES_AT_ONCE = 500
"""After so many files, what was read is taken out of the garbage collector's full passes."""
AT_ONCE = 2
"""So many robots' motions are read at once: a thread for each would keep the event loop from its turn."""
FIRST_S = 2.0
"""A robot begins without the motions that take longer to read and to check."""
TURN_S = 1.0
"""Whoever reads for longer, as from a network drive that does not answer, no longer keeps others waiting."""


class MotionLoader:
    """Keeps one robot's library up to date.

    - `robot`: the robot's name, for messages
    - `on_loaded`: called in the event loop whenever the library has been read, also if nobody waits for it
      any more
    - `turns`: of all robots that take turns in reading; by default it waits for no other
    """

    def __init__(
        self,
        robot: str,
        library: MotionLibrary,
        on_loaded: Callable[[], None],
        turns: asyncio.Semaphore | None = None,
    ) -> None:
        self._robot = robot
        self._library = library
        self._on_loaded = on_loaded
        self._turns = turns or asyncio.Semaphore(AT_ONCE)
        self._in_turn: asyncio.Task[None] | None = None
        self._done: asyncio.Future[None] | None = None
        self._first: asyncio.Task[None] | None = None
        self._reading = False
        self._leaving = Event()
        self._kept = 0

    async def load(self, may_read: Callable[[Path], bool] | None = None) -> None:
        """Read what is new or has changed.

        - `may_read`: which files may be read, where nobody has asked for it (`MotionLibrary.load_all`)

        Raises RequestError: BUSY while the motions are being read; OFFLINE, at once, if the robot leaves
        meanwhile.
        """
        if self._reading:
            problem, reason = "the motions are being read already", "one reading follows another"
            raise RequestError("BUSY", self._robot, problem, reason, "wait until they are published")
        done = self._done = asyncio.get_running_loop().create_future()
        if self._leaving.is_set():
            self.leave()
        else:
            self._reading = True
            name = f"{self._robot}.motions"
            self._in_turn = asyncio.create_task(self._read_in_turn(name, done, may_read), name=name)
        await done

    async def _read_in_turn(
        self, name: str, done: asyncio.Future[None], may_read: Callable[[Path], bool] | None
    ) -> None:
        async with self._turns:
            loop, ended = asyncio.get_running_loop(), asyncio.Event()
            loop.run_in_executor(DaemonThread(name), self._work, loop, done, may_read, ended)
            with suppress(TimeoutError):
                async with asyncio.timeout(TURN_S):
                    await ended.wait()

    async def load_again(self, may_read: Callable[[Path], bool] | None = None) -> None:
        """Read what has changed until now, after the reading that is under way, if any; else as `load`.

        Raises RequestError: OFFLINE, if the robot leaves meanwhile.
        """
        while self._reading and self._done is not None and not self._done.done():
            await asyncio.wait((self._done,))
        await self.load(may_read)

    async def load_first(self) -> None:
        """Read all motions, or begin to, and list those that are still being read.

        A robot that has none of them can still go to postures, and try again.
        """
        reading = self._log_failure(self.load())
        self._first = asyncio.create_task(reading, name=f"{self._robot}.first_motions")
        await asyncio.wait((self._first,), timeout=FIRST_S)
        if not self._first.done():
            self._library.list_unread()
            self._on_loaded()

    async def check_again(self) -> None:
        """Plan all motions again, after the reading that is under way, if any: the limits have changed."""
        await self._log_failure(self.load_again())

    async def _log_failure(self, reading: Coroutine[Any, Any, None]) -> None:
        try:
            await reading
        except RequestError as error:
            log.info("%s", error)
        except Exception:
            log.exception("%s: the motions could not be read", self._robot)

    def leave(self) -> None:
        """Read no more, and let `load` end now; the file that is being read is read in vain."""
        self._leaving.set()
        self._library.end_reading()
        if self._done is not None and not self._done.done():
            self._done.set_exception(
                RequestError("OFFLINE", self._robot, "the motions were not read", SHUTS_DOWN)
            )

    def _work(
        self,
        loop: asyncio.AbstractEventLoop,
        done: asyncio.Future[None],
        may_read: Callable[[Path], bool] | None,
        ended: asyncio.Event,
    ) -> None:
        error: Exception | None = None

        def stopped() -> bool:
            self._keep_for_good(FILES_AT_ONCE)
            return self._leaving.is_set()

        try:
            self._library.load_all(stopped, may_read)
            self._keep_for_good(FILES_AT_ONCE if self._kept else 1)
        except Exception as failure:  # noqa: BLE001 - raised to whoever waits
            error = failure
        with suppress(RuntimeError):  # the loop is closed: the program ends
            loop.call_soon_threadsafe(self._finish, done, error, ended)

    def _finish(self, done: asyncio.Future[None], error: Exception | None, ended: asyncio.Event) -> None:
        self._reading = False
        ended.set()
        if error is None and not self._leaving.is_set():
            try:
                self._on_loaded()
            except Exception as failure:  # noqa: BLE001 - likewise
                error = failure
        if done.done():
            if error is not None:
                log.error("%s: the motions could not be read", self._robot, exc_info=error)
        elif error is not None:
            done.set_exception(error)
        else:
            done.set_result(None)

    def _keep_for_good(self, least: int) -> None:
        """Take what there is now out of the garbage collector's full passes, in which a stop would wait.

        With ten thousand motions a pass takes tenths of a second. A motion that is replaced is freed all the
        same, as nothing in it refers back to it. Whatever else refers back to itself in this moment is never
        freed, so that this is for many new files alone, and not for each `reload`.

        - `least`: how many files must have been read since the last time
        """
        if self._library.files_read - self._kept >= least:
            self._kept = self._library.files_read
            gc.collect(1)
            gc.freeze()
