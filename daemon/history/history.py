"""Keeps the results of robots without ever keeping the daemon waiting: files are used in threads."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
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
        self._working: asyncio.Task[None] | None = None

    @classmethod
    def in_folder(cls, folder: Path | None, daemon_id: str) -> Self:
        """Return that of one daemon in the folder for state; where there is none, it says so."""
        if folder is not None:
            return cls(folder / f"history-{daemon_id}.sqlite3")
        history = cls()
        history._store.problem = NO_FOLDER
        return history

    def add(self, robot: str, result: Mapping[str, Any]) -> None:
        """Add a result as it is reported; where a disk hangs, the oldest that waits is lost."""
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
        working = self._working
        if working is not None and (await asyncio.wait((working,), timeout=CLOSE_S))[1]:
            log.warning("history: %d results were not written; the disk does not answer", len(self._jobs))
            working.cancel()
            await asyncio.wait((working,))

    def _ask(self, job: Callable[[], Any], done: asyncio.Future[Any] | None = None) -> None:
        self._jobs.append((job, done))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work(), name="history")

    async def _work(self) -> None:
        """Do one job after the other, each in a thread that no program waits for."""
        loop = asyncio.get_running_loop()
        while self._jobs:
            job, done = self._jobs.popleft()
            try:
                outcome = await loop.run_in_executor(DaemonThread("history"), job)
            except Exception as error:
                if done is None:
                    log.exception("history: failed inside motiond")
                elif not done.done():
                    done.set_exception(error)
            else:
                if done is not None and not done.done():
                    done.set_result(outcome)
