"""A start of a group from the command line: shown while it lasts, and stopped by Ctrl-C.

Before the commit, the first Ctrl-C releases all robots; after it, it asks all for a soft stop and waits on.
The second ends the waiting.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from motiond.client import NoAnswer

from .start import EXPIRES_S, coordinating

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from ...config.mqtt import MqttSettings
    from .outcomes import End
    from .start import Coordinator, GroupPlay


class Interrupted(Exception):
    """Ctrl-C came before anything was committed."""

    exit_code: ClassVar[int] = 130


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a start of a group ended; `start_at` is the Unix time of the first row.

    `failure` says why it was not followed to its end, if it was not.
    """

    group: str
    start: str
    start_at: float | None
    robots: list[End]
    failure: str | None = None

    @property
    def is_successful(self) -> bool:
        """Whether each member has played to the end."""
        return all(end.code == "SUCCESSFUL" for end in self.robots)


class GroupPlaying:
    """One start, from the request to the end of all members; a terminal shows it meanwhile."""

    def __init__(self, settings: MqttSettings, play: GroupPlay, console: Console) -> None:
        self._settings = settings
        self._play = play
        self._console = console
        self._stopping: asyncio.Task[None] | None = None

    async def run(self) -> Outcome:
        """Play, and return how it ended.

        Raises
        ------
        RequestError
            If no robot plays.
        NoAnswer
            If there is no broker, or no longer before the commit.
        Interrupted
            If Ctrl-C came before the commit.
        """
        async with coordinating(self._settings, self._play) as start:
            return await self._run(start)

    async def _run(self, start: Coordinator) -> Outcome:
        group = self._play.group
        beginning = asyncio.create_task(start.begin(), name="fleet.begin")
        try:
            with self._stopping_on_interrupt(start, beginning):
                await asyncio.wait((beginning,))
                if beginning.cancelled():
                    raise Interrupted(f"{group}: interrupted; no robot plays; {_whether_released(start)}")
                beginning.result()
                failure = await self._follow(start)
            return Outcome(group, start.id, start.start_at, start.outcomes.ends(), failure)
        finally:
            beginning.cancel()
            await asyncio.wait((beginning,))
            if self._stopping is not None:
                await asyncio.wait((self._stopping,))

    async def _follow(self, start: Coordinator) -> str | None:
        """Show the phases until all have ended; return why that is not known."""
        with self._console.status("") as shown:
            try:
                while not await start.outcomes.next():
                    phases = start.outcomes.phases().items()
                    counts = ", ".join(f"{count} {phase}" for phase, count in phases)
                    shown.update(f"{self._play.group}: {self._play.motion}; {counts}")
            except NoAnswer as error:
                return str(error)
        return None

    @contextmanager
    def _stopping_on_interrupt(self, start: Coordinator, beginning: asyncio.Task[None]) -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            loop.remove_signal_handler(signal.SIGINT)
            if not start.is_committed:
                beginning.cancel()
                return
            self._print(f"{self._play.group}: all stop softly; Ctrl-C again stops the waiting only")
            self._stopping = asyncio.create_task(self._stop(start), name="fleet.stop")

        loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    async def _stop(self, start: Coordinator) -> None:
        for line in await start.stop():
            self._print(line)

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def _whether_released(start: Coordinator) -> str:
    if start.may_be_reserved:
        return f"not all have confirmed that they are released; a reservation ends after {EXPIRES_S:g} s"
    return "all are released"
