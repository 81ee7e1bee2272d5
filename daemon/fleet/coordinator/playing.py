"""A start of a group from the command line: shown while it lasts, and stopped by Ctrl-C.

Before the commit, the first Ctrl-C lets all robots go; after it, it asks all for a soft stop and waits on.
The second ends the waiting.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .conversation import conversing
from .start import EXPIRES_S, Coordinator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from ...config.mqtt import MqttSettings
    from .outcomes import End
    from .start import GroupPlay


class Interrupted(Exception):
    """Ctrl-C came before anything was committed."""

    exit_code: ClassVar[int] = 130


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a start of a group ended.

    Attributes
    ----------
    group, start : str
        The group and the start's id.
    start_at : float or None
        Unix time in s of the first row.
    ends : list of End
        Of each member.
    """

    group: str
    start: str
    start_at: float | None
    ends: list[End]

    @property
    def is_successful(self) -> bool:
        """Whether each member has played to the end."""
        return all(one.code == "SUCCESSFUL" for one in self.ends)

    def payload(self) -> dict[str, Any]:
        """Return it for JSON."""
        robots = [
            {
                "robot": one.robot,
                "motion": one.motion,
                "code": one.code,
                "message": one.message,
                "result": one.result,
            }
            for one in self.ends
        ]
        return {"group": self.group, "start": self.start, "start_at": self.start_at, "robots": robots}


class GroupPlaying:
    """One start, from the request to the end of all members.

    Parameters
    ----------
    settings : MqttSettings
        The broker at which the daemons are.
    asked : GroupPlay
    console : Console
        Where it is shown, if it is a terminal.
    """

    def __init__(self, settings: MqttSettings, asked: GroupPlay, console: Console) -> None:
        self._settings = settings
        self._asked = asked
        self._console = console
        self._stopping: asyncio.Task[None] | None = None

    async def run(self) -> Outcome:
        """Play, and return how it ended.

        Raises
        ------
        RequestError
            If nobody plays.
        NoAnswer
            If there is no broker, or no longer.
        Interrupted
            If Ctrl-C came before the commit.
        """
        async with conversing(self._settings) as conversation:
            start = Coordinator(conversation, self._asked)
            async with start.leases:
                return await self._run(start)

    async def _run(self, start: Coordinator) -> Outcome:
        beginning = asyncio.create_task(start.begin(), name="fleet.begin")
        try:
            with self._stopping_on_interrupt(start, beginning):
                await asyncio.wait((beginning,))
                if beginning.cancelled():
                    raise Interrupted(
                        f"{self._asked.group}: interrupted; nobody plays; {_whether_let_go(start)}"
                    )
                beginning.result()
                with self._console.status("") as shown:
                    while not await start.watch.next():
                        shown.update(self._told(start))
            return Outcome(self._asked.group, start.id, start.start_at, start.watch.ends())
        finally:
            beginning.cancel()
            await asyncio.wait((beginning,))
            if self._stopping is not None:
                await asyncio.wait((self._stopping,))

    def _told(self, start: Coordinator) -> str:
        phases = ", ".join(f"{count} {phase}" for phase, count in start.watch.phases().items())
        return f"{self._asked.group}: {self._asked.motion}; {phases}"

    @contextmanager
    def _stopping_on_interrupt(self, start: Coordinator, beginning: asyncio.Task[None]) -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            loop.remove_signal_handler(signal.SIGINT)
            if not start.is_committed:
                beginning.cancel()
                return
            group = self._asked.group
            told = f"{group}: all stop softly; Ctrl-C again stops the waiting only"
            self._console.print(told, markup=False, highlight=False, soft_wrap=True)
            self._stopping = asyncio.create_task(self._stop(start), name="fleet.stop")

        loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    async def _stop(self, start: Coordinator) -> None:
        for line in await start.stop():
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def _whether_let_go(start: Coordinator) -> str:
    if start.may_be_reserved:
        return f"the broker has not confirmed that all were let go; a reservation ends after {EXPIRES_S:g} s"
    return "all were let go"
