"""Keeps one robot's stream process alive: starts it, listens to it, watches that it ticks, starts another.

A process that does not tick is killed; after a failure the next start waits longer each time, until one has
lasted.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from ..ipc.messages import Failed, Lost, Ready, Shutdown
from ..telemetry.observer import Observer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ipc.messages import Command, Notice
    from .stream_process import StreamProcess


OPEN_TIMEOUT_S = 30.0
BACK_OFF_S = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
STEADY_S = 30.0
WATCH_SLACK_S = 5.0


class Listener(Protocol):
    """Who is told what the stream process does."""

    def on_notice(self, notice: Notice) -> None:
        """Take a notice."""

    def on_records(self, observer: Observer) -> None:
        """Take note that the records have been read, once in every telemetry period."""

    def on_exit(self, why: str) -> None:
        """Take note that the process has ended; `why` is empty if it was told to."""


class StreamSupervisor:
    """One robot's stream process, from the first start to the last end.

    Parameters
    ----------
    start : callable
        Starts a stream process.
    joints : int
        How many joints its records hold.
    period_s : float
        How often its records are read.
    timeout_s : float
        How long it may go without a tick before it is killed.
    patience_s : float
        How long it may take to end by itself.

    Attributes
    ----------
    observer : Observer or None
        What the present process's records say.
    """

    def __init__(
        self,
        start: Callable[[], StreamProcess],
        joints: int,
        period_s: float,
        timeout_s: float,
        patience_s: float,
    ) -> None:
        self.observer: Observer | None = None
        self._start = start
        self._joints = joints
        self._period_s = period_s
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        self._process: StreamProcess | None = None
        self._leaving = asyncio.Event()
        self._ended_by_us = ""
        self._pulse, self._records, self._heard_s = 0, 0, 0.0
        self._opening = False

    @property
    def stuck(self) -> bool:
        """Whether the process has been silent for longer than the watch would ever let it."""
        return self._process is not None and self._silent_s() > self._allowed_s() + WATCH_SLACK_S

    @property
    def pid(self) -> int | None:
        """The present process's id."""
        return self._process.pid if self._process else None

    def send(self, command: Command, fds: tuple[int, ...] = ()) -> bool:
        """Send a command; False if nobody takes it."""
        return self._process is not None and self._process.send(command, fds)

    def leave(self) -> None:
        """Let the process stop softly and end, and start no other."""
        self._leaving.set()
        self.send(Shutdown())

    def restart(self) -> None:
        """Let the process stop softly and end; another is started at once."""
        self.send(Shutdown())

    async def run(self, listener: Listener) -> None:
        """Keep a process running until `leave`."""
        loop = asyncio.get_running_loop()
        failures = 0
        while not self._leaving.is_set():
            started_s = loop.time()
            failed = await self._live(listener)
            lasted = loop.time() - started_s > STEADY_S
            failures = failures + 1 if failed and not lasted else 0
            await self._pause(BACK_OFF_S[min(failures, len(BACK_OFF_S) - 1)])

    async def _live(self, listener: Listener) -> bool:
        """Go through one run of the process; tell whether it failed."""
        self._ended_by_us = ""
        self._opening = False
        process = self._process = self._start()
        self._note_pulse(0)
        self._records = 0
        observer = self.observer = Observer(process.telemetry, self._joints)
        watching = asyncio.create_task(self._watch(process, observer, listener), name="stream.watch")
        said = ""
        try:
            while (notice := await process.notice()) is not None:
                said = notice.message if isinstance(notice, Failed) else said
                self._note_opening(notice)
                observer.take()
                listener.on_notice(notice)
        finally:
            watching.cancel()
            await asyncio.wait((watching,))
            exit_code = await process.close(self._patience_s)
            observer.take()
            process.telemetry.close()
            self._process = self.observer = None
            listener.on_exit(said or self._ended_by_us or _why(exit_code))
        return exit_code != 0

    async def _watch(self, process: StreamProcess, observer: Observer, listener: Listener) -> None:
        """Read the records for ever; kill the process if they stop coming."""
        while True:
            await asyncio.sleep(self._period_s)
            observer.take()
            if process.telemetry.written != self._records:
                self._records = process.telemetry.written
                listener.on_records(observer)
            if process.telemetry.pulse != self._pulse:
                self._note_pulse(process.telemetry.pulse)
            elif self._silent_s() > self._allowed_s():
                self._ended_by_us = (
                    f"the stream process did not tick for {self._silent_s():.1f} s and was killed"
                )
                process.kill()
                return

    def _note_opening(self, notice: Notice) -> None:
        """Be patient while the process looks for its actuators."""
        if isinstance(notice, Lost):
            self._opening = True
            self._note_pulse(self._pulse)
        elif isinstance(notice, Ready):
            self._opening = False
            self._note_pulse(self._pulse)

    def _note_pulse(self, pulse: int) -> None:
        self._pulse, self._heard_s = pulse, asyncio.get_running_loop().time()

    def _silent_s(self) -> float:
        return asyncio.get_running_loop().time() - self._heard_s

    def _allowed_s(self) -> float:
        return OPEN_TIMEOUT_S if self._opening or not self._pulse else self._timeout_s

    async def _pause(self, duration_s: float) -> None:
        try:
            async with asyncio.timeout(duration_s):
                await self._leaving.wait()
        except TimeoutError:
            return


def _why(exit_code: int) -> str:
    if exit_code == 0:
        return ""
    how = f"killed by signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
    return f"the stream process ended unasked ({how})"
