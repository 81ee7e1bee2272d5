"""A request to play or to go somewhere, and the wait for its end: what `motiond play` does.

The first Ctrl-C asks for a soft stop and waits on, the second ends the wait.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rich.progress import BarColumn, Progress, TextColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.progress import TaskID

    from motiond.client import Daemon, Report, Result


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a motion ended, and how what followed it did."""

    result: Result
    last: Report | None = None

    def lines(self) -> Iterator[tuple[bool, str]]:
        """Yield what to say of the motion and of what followed: whether it went well, and the text."""
        result = self.result
        yield from ((True, warning) for warning in result.warnings)
        yield result.is_successful, f"{result.motion} ended with {result.code}; {result.message}"
        if self.last is not None:
            yield self._of_what_followed(self.last.subject, self.last.data)

    def _of_what_followed(self, subject: str, data: dict[str, Any]) -> tuple[bool, str]:
        if subject == "result":
            text = f"{data['motion']} ended with {data['code']}; {data['message']}"
            return data["code"] == "SUCCESSFUL", text
        if subject == "event":
            return False, f"not parked; {data['message']}"
        if data["motion"] is not None:
            return True, f"plays {data['motion']} now"
        if data["state"] != "idle":
            return False, f"{data['state']}; {data['message'] or 'by request'}"
        if self.result.follows == "release" and not data["torque"]:
            return True, "torque is off"
        return False, f"`on_end: {self.result.follows}` was not heard of; ask `motiond status`"


class Playing:
    """One motion, from the request to the end of what follows it."""

    ended_by: ClassVar[tuple[signal.Signals, ...]] = ()
    """What stops it besides Ctrl-C, unless this program was begun to ignore it, as `nohup` does."""
    columns: ClassVar[tuple[TextColumn | BarColumn, ...]] = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[state]}"),
    )

    def __init__(self, daemon: Daemon, robot: str, console: Console) -> None:
        self._robot = daemon.robot(robot)
        self._console = console
        self._interrupted = False
        self._stops: list[asyncio.Task[dict[str, Any]]] = []

    async def run(self, verb: str, request: dict[str, Any]) -> Outcome:
        """Play, or go there, and return how it ended.

        Raises
        ------
        Refused, NoAnswer
        """
        last: Report | None = None
        try:
            with self._stopping_on_interrupt(), self._progress() as progress:
                shown = progress.add_task("", total=1.0, state="")
                async with self._robot.goal(verb, request) as goal:
                    self._begin()
                    async for report in goal.progress():
                        self._show(progress, shown, report)
                    result = await goal.result()
                    async for last in goal.aftermath():
                        self._show(progress, shown, last)
            return Outcome(result, last)
        finally:
            await asyncio.gather(*self._stops, return_exceptions=True)

    def _show(self, progress: Progress, shown: TaskID, report: Report) -> None:
        if report.subject == "state":
            self._stop_if_interrupted()
            motion, done = report.data["motion"] or "", report.data.get("progress", 1.0)
            progress.update(shown, completed=done, state=report.data["state"], description=motion)

    def _begin(self) -> None:
        """Do what comes with the beginning: nothing."""

    def _progress(self) -> Progress:
        terminal = self._console.is_terminal
        return Progress(*self.columns, console=self._console, transient=True, disable=not terminal)

    @contextmanager
    def _stopping_on_interrupt(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            loop.remove_signal_handler(signal.SIGINT)
            self._interrupted = True
            self._stop_if_interrupted()
            with suppress(OSError):  # whose terminal may be closed
                self._console.print(
                    f"{self._robot.name}: stopping softly; Ctrl-C again stops the waiting only"
                )

        heeded = [one for one in self.ended_by if signal.getsignal(one) is not signal.SIG_IGN]
        for number in (signal.SIGINT, *heeded):
            loop.add_signal_handler(number, interrupt)
        try:
            yield
        finally:
            for number in (signal.SIGINT, *heeded):
                loop.remove_signal_handler(number)

    def _stop_if_interrupted(self) -> None:
        """Ask for a stop; again for each state, as the first may have come before the motion began."""
        if self._interrupted and not (self._stops and not self._stops[-1].done()):
            self._stops.append(asyncio.create_task(self._stop(), name="play.stop"))

    async def _stop(self) -> dict[str, Any]:
        return await self._robot.stop()


class Following(Playing):
    """One follow of a leader, until Ctrl-C, or for so many seconds."""

    ended_by = (signal.SIGTERM, signal.SIGHUP)
    columns = (TextColumn("{task.description}"),)

    def __init__(self, daemon: Daemon, robot: str, console: Console, for_s: float | None) -> None:
        super().__init__(daemon, robot, console)
        self._for_s = for_s

    def _begin(self) -> None:
        if self._for_s is not None:
            asyncio.get_running_loop().call_later(self._for_s, self._end)

    def _end(self) -> None:
        self._interrupted = True
        self._stop_if_interrupted()

    async def _stop(self) -> dict[str, Any]:
        return await self._robot.request("follow/stop")

    def _show(self, progress: Progress, shown: TaskID, report: Report) -> None:
        if report.subject == "state":
            self._stop_if_interrupted()
            if (follow := report.data.get("follow")) is not None:
                with suppress(OSError):  # its terminal may be closed
                    progress.update(shown, description=f"{self._robot.name}: {_of(follow)}", refresh=True)


def _of(follow: dict[str, Any]) -> str:
    """Return what a robot does that follows another."""
    if not follow["has_reached_leader"]:
        return f"on its way to {follow['leader']}"
    lag, clipped = (
        follow["lag"],
        f", {follow['clipped']} targets beyond its limits" if follow["clipped"] else "",
    )
    behind = f", {lag['value']:+.4f} {lag['unit']} behind at {lag['joint']}" if lag else ""
    return f"goes with {follow['leader']}{behind}{clipped}"
