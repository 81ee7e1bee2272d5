"""Keeps the results of robots without ever keeping the daemon waiting: files are used in threads."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from ..api import RequestError
from ..threads import DaemonThread
from .store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ..api import HistoryAnswer, PastResult

log = logging.getLogger(__name__)

MOST_WAITING = 1000
ANSWER_S = 3.0
"""So long reading may take."""
NO_FOLDER = "results are kept in memory alone; there is no folder for them; set XDG_STATE_HOME"
CLOSE_S = 1.0
"""So long the end of the daemon waits for what is not written yet."""


class History:
    """The last results of a daemon's robots. `file`: None keeps them in memory alone."""

    def __init__(self, file: Path | None = None) -> None:
        self._store = Store(file)
        self._jobs: deque[tuple[Callable[[], Any], asyncio.Future[Any] | None]] = deque(maxlen=MOST_WAITING)
        self._working: asyncio.Future[None] | None = None

    @classmethod
    def in_folder(cls, folder: Path | None, daemon_id: str) -> Self:
        """Return that of one daemon in the folder for state; where there is none, it says so."""
        if folder is not None:
            return cls(folder / f"history-{daemon_id}.sqlite3")
        history = cls()
        history._store.problem = NO_FOLDER
        return history

    def add(self, robot: str, result: Mapping[str, Any]) -> None:
        """Have a result written now, by a thread; where a disk hangs, the oldest that waits is lost."""
        self._ask(lambda: self._store.add(robot, result))

    async def answer(self, robot: str, limit: int, before: int | None) -> HistoryAnswer:
        """Return the last results of a robot, or the last before one.

        Raises RequestError: TIMEOUT, if the disk does not answer.
        """
        done = asyncio.get_running_loop().create_future()
        self._ask(lambda: self._store.newest(robot, limit + 1, before), done)
        try:
            async with asyncio.timeout(ANSWER_S):
                results: list[PastResult] = await done
        except TimeoutError:
            problem, reason = f"not read in {ANSWER_S:g} s", "the disk does not answer"
            raise RequestError("TIMEOUT", f"{robot}/history", problem, reason, "ask again") from None
        return {
            "results": results[:limit],
            "more": len(results) > limit,
            "problem": self._store.problem,
        }

    async def close(self) -> None:
        """Write what waits and close the file, as far as that is done soon."""
        self._ask(self._store.close)
        try:
            async with asyncio.timeout(CLOSE_S):
                while self._working is not None:
                    await asyncio.wait((self._working,))
        except TimeoutError:
            log.warning("history: %d results were not written; the disk does not answer", len(self._jobs))

    def _ask(self, job: Callable[[], Any], done: asyncio.Future[Any] | None = None) -> None:
        self._jobs.append((job, done))
        if self._working is None:
            self._start()

    def _start(self) -> None:
        """Begin at once, and not in the loop's next turn: the process may end before that."""
        loop = asyncio.get_running_loop()
        self._working = loop.run_in_executor(DaemonThread("history"), self._work, loop)
        self._working.add_done_callback(self._rest)

    def _rest(self, _: asyncio.Future[None]) -> None:
        """Go on with what came as the thread ended."""
        self._working = None
        if self._jobs:
            self._start()

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do in a thread what waits, one after the other."""
        while self._jobs:
            job, done = self._jobs.popleft()
            try:
                outcome = job()
            except Exception as error:
                if done is None:
                    log.exception("history: failed inside motiond")
                else:
                    _tell(loop, done, done.set_exception, error)
            else:
                if done is not None:
                    _tell(loop, done, done.set_result, outcome)


def _tell(
    loop: asyncio.AbstractEventLoop, done: asyncio.Future[Any], tell: Callable[[Any], None], what: Any
) -> None:
    """Tell who waits in the loop, unless that is over."""
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(lambda: None if done.done() else tell(what))
