"""A play request and the wait for its end: what `motiond play` does.

The first Ctrl-C asks for a soft stop and waits on, the second ends the wait.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TextColumn

from .session import NoAnswer, ask, play_and_wait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from ..config.mqtt import MqttSettings


class Playing:
    """One play, from the request to the result.

    Parameters
    ----------
    settings : MqttSettings
        The broker that the daemon is connected to.
    robot : str
    console : Console
        Where the progress is shown, if it is a terminal.
    """

    def __init__(self, settings: MqttSettings, robot: str, console: Console) -> None:
        self._settings = settings
        self._robot = robot
        self._console = console
        self._interrupted = False
        self._stops: list[asyncio.Task[dict[str, Any]]] = []

    async def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Play and give the result.

        Raises
        ------
        RequestError
            If the request was refused.
        NoAnswer
            If the daemon does not answer, or no longer.
        """
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}")
        try:
            with self._stopping_on_interrupt(), self._progress(*columns) as progress:
                shown = progress.add_task(str(request["motion"]), total=1.0, state="")
                async with aclosing(play_and_wait(self._settings, self._robot, request)) as reports:
                    async for report in reports:
                        if report.subject == "result":
                            return report.data
                        self._stop_if_interrupted()
                        state, done = report.data["state"], report.data.get("progress", 0.0)
                        progress.update(shown, completed=done, state=state)
            raise NoAnswer(f"{self._robot}: no result; the daemon has gone; ask `motiond status`")
        finally:
            await asyncio.gather(*self._stops, return_exceptions=True)

    def _progress(self, *columns: TextColumn | BarColumn) -> Progress:
        terminal = self._console.is_terminal
        return Progress(*columns, console=self._console, transient=True, disable=not terminal)

    @contextmanager
    def _stopping_on_interrupt(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            loop.remove_signal_handler(signal.SIGINT)
            self._interrupted = True
            self._console.print(f"{self._robot}: stopping softly; Ctrl-C again stops the waiting only")
            self._stop_if_interrupted()

        loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    def _stop_if_interrupted(self) -> None:
        """Ask for a stop; again for each state, as the first may have come before the motion began."""
        if self._interrupted:
            stop = ask(self._settings, self._robot, "stop")
            self._stops.append(asyncio.create_task(stop, name="play.stop"))
