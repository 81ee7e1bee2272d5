"""Keeps one robot's stream process alive: starts it, listens to it, watches that it ticks, starts another."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ...ipc.messages import HURRY, Failed, Heartbeat, Lost, Ready, Recover, Recovered, Reset, Shutdown
from ...telemetry import Observer

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.formats.arrays import Floats

    from ...ipc.messages import Chunk, Command, Notice, Target
    from .stream_process import StreamProcess


log = logging.getLogger(__name__)

OPEN_TIMEOUT_S = 30.0
BACK_OFF_S = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
STEADY_S = 30.0
WATCH_SLACK_S = 5.0
MISHAP_PAUSE_S = 1.0
START_HINT = "check how many descriptors, processes and how much memory the daemon may have"


class Listener(Protocol):
    """Receives what the stream process does."""

    def on_notice(self, notice: Notice) -> None:
        """Take a notice."""

    def on_records(self, observer: Observer) -> None:
        """Receive that the records have been read, once in every period."""

    def on_batch(self, records: Floats, lost: int) -> None:
        """Take every record of the process, in batches, with how many were lost before each (`Tap`)."""

    def on_exit(self, reason: str) -> None:
        """Receive that the process has ended; `reason` is empty if it was asked to."""


class StreamSupervisor:
    """One robot's stream process, from the first start to the last end.

    - `start`: starts a stream process
    - `joints`: how many joints its records hold
    - `period_s`: how often its records are read
    - `timeout_s`: how long it may go without a tick before it is killed
    - `patience_s`: how long it may take to end by itself
    - `beat_s`: how often it is sent a heartbeat while it is on line; None for never
    - `keep_every_s`: as of `Observer`

    - `observer`: what the present process's records say
    - `sent`: the number of the last command; they ascend over all processes
    """

    def __init__(
        self,
        start: Callable[[], StreamProcess],
        joints: int,
        *,
        period_s: float,
        timeout_s: float,
        patience_s: float,
        beat_s: float | None = None,
        keep_every_s: float | None = None,
    ) -> None:
        self.observer: Observer | None = None
        self.sent = 0
        self._start = start
        self._joints = joints
        self._period_s = period_s
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        self._beat_s, self._keep_every_s = beat_s, keep_every_s
        self._process: StreamProcess | None = None
        self._leaving = asyncio.Event()
        self._due = asyncio.Event()
        self._recovery: Recover | None = None
        self._ended_by_us = ""
        self._pulse, self._records, self._heard_s = 0, 0, 0.0
        self._opening = True
        self._hurried = False

    @property
    def stuck(self) -> bool:
        """Whether the process has been silent for longer than the watch would ever let it."""
        return self._process is not None and self._silent_s() > self._allowed_s() + WATCH_SLACK_S

    @property
    def pid(self) -> int | None:
        """The present process's id."""
        return self._process.pid if self._process else None

    def send(self, command: Command, fds: tuple[int, ...] = ()) -> int:
        """Send a command, and return its number, which `Changed.after` acknowledges; 0 if nobody takes it."""
        self.sent += 1
        return self.sent if self._process is not None and self._process.send(command, fds, self.sent) else 0

    def send_target(self, target: Target | Chunk) -> bool:
        """Send a target, which has no number; False where the process has not read enough before it."""
        return self._process is None or self._process.send_target(target)

    def leave(self) -> None:
        """Let the process stop softly and end, at once if it still opens its driver; start no other."""
        self._leaving.set()
        self._due.set()
        self.send(Shutdown())
        if self._process is not None and self._opening:
            self._hurried = True
            self._process.hurry()

    def restart(self) -> None:
        """Let the process stop softly and end; another is started at once."""
        self.send(Shutdown())
        self._due.set()

    def try_again(self) -> None:
        """Let actuators that are lost be looked for at once, by the process or by another."""
        self.send(Reset())
        self._due.set()

    def recover(self, command: Recover) -> None:
        """Let errors of actuators go: by the process, or by the next before it opens its driver."""
        self._recovery = command
        self.send(command)
        self._due.set()

    def forget_recovery(self) -> None:
        """Let nothing be done about errors later."""
        self._recovery = None

    async def run(self, listener: Listener) -> None:
        """Keep a process running until `leave`, which alone ends this; what goes wrong is tried again."""
        loop = asyncio.get_running_loop()
        failures = 0
        while not self._leaving.is_set():
            started_s = loop.time()
            try:
                failed = await self._live(listener)
            except Exception:
                log.exception("a stream process was not listened to; another is started")
                failed = True
            lasted = loop.time() - started_s > STEADY_S
            failures = failures + 1 if failed and not lasted else 0
            await self._pause(BACK_OFF_S[min(failures, len(BACK_OFF_S) - 1)])

    async def _live(self, listener: Listener) -> bool:
        """Go through one run of the process; return whether it failed."""
        self._ended_by_us = ""
        self._opening = True
        self._due.clear()
        try:
            process = self._process = self._start()
        except OSError as error:
            listener.on_exit(_not_started(error.strerror or str(error)))
            return True
        self._note_pulse(0)
        self._records = 0
        if self._recovery is not None:
            process.send(self._recovery)
        observer = self.observer = Observer(
            process.telemetry, self._joints, keep_every_s=self._keep_every_s, tap=listener.on_batch
        )
        watch = partial(self._watch, process, observer, listener)
        helpers = [asyncio.create_task(_repeat(self._period_s, watch), name="stream.watch")]
        if self._beat_s is not None:
            helpers.append(asyncio.create_task(_repeat(self._beat_s, self._beat), name="stream.beat"))
        said = ""
        try:
            while (notice := await process.notice()) is not None:
                said = notice.message if isinstance(notice, Failed) else said
                self._note_opening(notice, observer)
                observer.take()
                listener.on_notice(notice)
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.wait(helpers)
            exit_code = await process.close(self._patience_s)
            try:
                observer.take()
            finally:
                process.telemetry.close()
                self._process = self.observer = None
                refused = process.refusal and _not_started(process.refusal)
                listener.on_exit(refused or said or self._ended_by_us or self._why(exit_code))
        return exit_code != 0

    def _beat(self) -> None:
        """Let a process that is on line know that the daemon serves requests; others would only queue it."""
        if not self._opening and self._process is not None:
            self._process.send(Heartbeat())

    def _watch(self, process: StreamProcess, observer: Observer, listener: Listener) -> None:
        """Kill the process if it shows no life; read its records."""
        if process.telemetry.pulse != self._pulse:
            self._note_pulse(process.telemetry.pulse)
        elif self._silent_s() > self._allowed_s():
            self._ended_by_us = self._ended_by_us or (
                f"the stream process did not tick for {self._silent_s():.1f} s and was killed"
            )
            process.kill()
        written = process.telemetry.written
        observer.take()
        if written != self._records:
            self._records = written
            listener.on_records(observer)

    def _note_opening(self, notice: Notice, observer: Observer) -> None:
        """Be patient while the process looks for its actuators; learn the names of what they may touch."""
        if isinstance(notice, Lost):
            self._opening = True
            self._note_pulse(self._pulse)
        elif isinstance(notice, Ready):
            self._opening = False
            observer.bodies = notice.bodies
            self._note_pulse(self._pulse)
        elif isinstance(notice, Recovered):
            self.forget_recovery()
            self._note_pulse(self._pulse)

    def _why(self, exit_code: int | None) -> str:
        if exit_code == 0 or (self._hurried and exit_code == -HURRY):
            return ""
        if exit_code is None:
            return "the stream process ended, and how is not known, as its fork server has ended, or hangs"
        how = f"killed by signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
        return f"the stream process ended unasked ({how})"

    def _note_pulse(self, pulse: int) -> None:
        self._pulse, self._heard_s = pulse, asyncio.get_running_loop().time()

    def _silent_s(self) -> float:
        return asyncio.get_running_loop().time() - self._heard_s

    def _allowed_s(self) -> float:
        is_busy = self._opening or not self._pulse or self._recovery
        return OPEN_TIMEOUT_S if is_busy else self._timeout_s

    async def _pause(self, duration_s: float) -> None:
        """Wait, but not once another process is due."""
        try:
            async with asyncio.timeout(duration_s):
                await self._due.wait()
        except TimeoutError:
            return


def _not_started(reason: str) -> str:
    return f"the stream process cannot be started; {reason}; tried again; {START_HINT}"


async def _repeat(period_s: float, act: Callable[[], None]) -> None:
    """Act again and again until cancelled; what an act raises is logged, and it is tried again."""
    while True:
        await asyncio.sleep(period_s)
        try:
            act()
        except Exception:
            log.exception("%r failed; it goes on", act)
            await asyncio.sleep(MISHAP_PAUSE_S)
