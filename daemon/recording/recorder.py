"""Records one robot: takes what happens, without ever waiting, and has it written in a thread."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from ..api import RequestError
from ..clock import unix_less_monotonic, utc
from ..ipc.ring import COLUMN, in_states
from ..ipc.states import ACTIVE
from ..threads import DaemonThread
from .files import SETPOINT_S, Recording
from .summary import RecordingSummary, list_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from motiond.formats.arrays import Floats

    from ..api import ListedRecording, RecordingReport, Why
    from ..config.recording import RecordingSettings
    from .files import Part, RecordingFiles

log = logging.getLogger(__name__)

WRITE_S = 0.25
"""How often what waits is written."""
MOST_WAITING = 32_000_000
"""In bytes: what waits while the disk is slow; beyond it ticks are lost."""
SOON = MOST_WAITING // 8
SHOW_S = 1.0
RETRY_S = 30.0
"""So long nothing is recorded by itself after trouble with the disk."""
END_S = 5.0
"""So long the end of a recording may take before the daemon ends without it."""
ANSWER_S = 4.0
SLOW = "the disk was too slow"
SHUTS_DOWN = "the daemon shuts down"
REPORT_BYTES = 1000
"""What a report that waits counts for."""
Answer = TypeVar("Answer")
_SEQUENCE = COLUMN["sequence"]
_RECORDED = frozenset({"state", "event", "result"})


class Recorder:
    """Records one robot: all the time, each motion, or what is asked for.

    - `robot`: its name, for messages
    - `files`: what writes the files
    - `report`: publishes a report; whether it only renews the one before
    - `warn`: publishes an event
    """

    def __init__(
        self,
        robot: str,
        settings: RecordingSettings,
        files: RecordingFiles,
        report: Callable[[RecordingReport, bool], None],
        warn: Callable[[str], None],
    ) -> None:
        self.folder = files.folder
        self._robot, self._when, self._files = robot, settings.when, files
        self._report, self._warn = report, warn
        self._recording: Recording | None = None
        self._problem = ""
        self._retry_s = self._shown_s = -math.inf
        self._parts: list[Part] = []
        self._waiting = 0
        self._writing: asyncio.Future[None] | None = None
        # the first tick that the disk was too slow for, and how many
        self._missing: tuple[int, int] | None = None
        self._has_news = False
        self._due = asyncio.Event()
        self._written = asyncio.Event()
        self._state: Mapping[str, Any] | None = None
        self._tick_s = 0.0
        self._playing: dict[str, tuple[Path | None, bool]] = {}  # its motion's file, whether beside another
        self._has_moved = False

    # -- what happens ---------------------------------------------------------------------------------------

    def take(self, records: Floats, _lost: int, /) -> None:
        """Take the next records of the ring (`Tap`); those that are lost show in their numbers."""
        self._tick_s = float(records[-1, SETPOINT_S])
        if self._recording is None and self._when == "always" and self._may_try:
            self._begin("always", "")
        if self._recording is None:
            return
        self._has_moved = self._has_moved or bool(in_states(records, ACTIVE).any())
        if self._waiting + records.nbytes > MOST_WAITING:
            first = int(records[0, _SEQUENCE]) if self._missing is None else self._missing[0]
            ticks = int(records[-1, _SEQUENCE]) + 1 - first  # negative where numbers began again
            self._missing = first, max(0, ticks)
            return
        self._put_missing()
        self._put(self._files.add, records)
        self._waiting += records.nbytes
        if self._waiting > SOON:
            self._due.set()

    def name_bodies(self, bodies: Sequence[str]) -> None:
        """Take what can touch, by the numbers in contacts."""
        self._files.bodies = tuple(bodies)

    def note(self, subject: str, data: Mapping[str, Any]) -> None:
        """Take a report of the robot."""
        if subject == "state":
            self._state = data
        has_room = self._waiting + REPORT_BYTES <= MOST_WAITING
        if self._recording is not None and subject in _RECORDED and has_room:
            self._put(self._files.add_report, subject, data, self._now_ns(self._recording))
            self._waiting += REPORT_BYTES

    def play(self, goal_id: str, motion: str, file: Path | None, *, beside: bool = False) -> None:
        """Take that a goal begins; `file` is its motion's, `beside`: whether it plays beside others."""
        self._playing[goal_id] = file, beside
        if self._when == "motion" and self._recording is None:
            self._begin("motion", motion)
        elif self._recording is not None and file is not None:
            self._put(self._files.attach_motion, goal_id, file)

    def played(self, goal_id: str, code: str) -> None:
        """Take that a goal has ended, after its result."""
        if goal_id not in self._playing:
            return
        _file, beside = self._playing.pop(goal_id)
        self._put(self._files.leave_motion, goal_id)
        self._has_moved |= beside and code != "INVALID_GOAL"  # ticks have the state of what it was beside
        if not self._playing and self._recording is not None and self._recording.why == "motion":
            self.end(code, is_void=not self._has_moved)

    def teach(self) -> None:
        """Take that the robot is to be taught by hand; that is recorded, so that no crash loses it."""
        if self._recording is None and self._may_try:
            self._begin("teaching", "taught")

    def taught(self) -> None:
        """Take that the robot is not taught any more, or was not at all."""
        if self._recording is not None and self._recording.why == "teaching":
            self.end("teaching has ended", is_void=not self._has_moved)

    @property
    def file(self) -> str | None:
        """The name of the file that is written; None where it will not stay, as nothing has moved."""
        recording = self._recording
        if recording is None or (recording.why in {"motion", "teaching"} and not self._has_moved):
            return None
        return recording.file

    def show(self, *, renews: bool = False) -> None:
        """Report what is recorded; whether there is no more to say than that it goes on."""
        self._shown_s = asyncio.get_running_loop().time()
        self._report(self._payload(), renews)

    def _payload(self) -> RecordingReport:
        now = self._recording
        return {
            "recording": now is not None,
            "file": now.file if now else None,
            "why": now.why if now else None,
            "since_utc": utc(now.began_unix_s) if now else None,
            "ticks": now.ticks if now else 0,
            "gaps": now.gaps if now else 0,
            "bytes": now.size if now else 0,
            "problem": self._problem or None,
        }

    def listed(self) -> ListedRecording | None:
        """Return what is being written as a list has it."""
        now = self._recording
        if now is None or not now.is_open:
            return None
        began_utc, duration_s = utc(now.began_unix_s), round(now.duration_s, 3)
        summary = RecordingSummary(began_utc, duration_s, now.ticks, now.gaps, now.why)
        return list_entry(now.file, now.size, summary, is_written=True)

    # -- what is asked --------------------------------------------------------------------------------------

    async def start(self, name: str = "", why: Why = "request") -> Recording:
        """Record from the next tick on; what was recorded by itself ends.

        Raises RequestError: BUSY, if something is recorded that was asked for; DISK_TROUBLE.
        """
        now = self._recording
        if now is not None and now.why in {"request", "teaching"}:
            is_taught = now.why == "teaching"
            hint = "it ends with the teaching" if is_taught else "stop it first, by `record/stop`"
            reason = f"{now.file} is being written"
            raise RequestError("BUSY", self._robot, "it is recorded already", reason, hint, file=now.file)
        self.end("another recording was asked for")
        recording = self._begin(why, name)
        await self._until(lambda: recording.is_open or recording.has_ended)
        if recording.problem:
            raise RequestError.of("DISK_TROUBLE", recording.problem)
        return recording

    async def stop(self) -> Recording:
        """End what is recorded, and return it once its file is whole.

        Raises RequestError: NOT_RECORDING; BUSY, while the robot is taught; or DISK_TROUBLE.
        """
        recording = self._recording
        if recording is None:
            hint = "start it by `record/start`"
            raise RequestError("NOT_RECORDING", self._robot, "it is not recorded", hint=hint)
        if recording.why == "teaching":
            problem, reason = "its recording goes on", "it keeps what is taught by hand from being lost"
            raise RequestError("BUSY", self._robot, problem, reason, "it ends with the teaching")
        self.end("it was stopped on request")
        await self._until(lambda: recording.has_ended)
        if recording.problem:
            raise RequestError.of("DISK_TROUBLE", recording.problem)
        return recording

    async def _until(self, holds: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(ANSWER_S):
                while not holds():
                    await self._written.wait()
        except TimeoutError as error:
            raise self._unanswered("the report `recording` shows it") from error

    # -- one recording --------------------------------------------------------------------------------------

    def _begin(self, why: Why, name: str) -> Recording:
        unix_s = time.time()
        offset_s = unix_s - self._tick_s if self._files.is_virtual else unix_less_monotonic()
        file = self.folder.file_name(name, unix_s)
        recording = self._recording = Recording(why, name, offset_s, unix_s, file)
        self._has_moved, self._missing = False, None
        self._put(self._files.begin)
        if self._state is not None:
            self.note("state", self._state)
        for goal_id, (playing, _) in self._playing.items():
            if playing is not None:
                self._put(self._files.attach_motion, goal_id, playing)
        self._announce()
        return recording

    def end(self, reason: str, *, is_void: bool = False) -> None:
        """End what is recorded, if anything is; `is_void`: without leaving a file."""
        if self._recording is not None:
            self._put_missing()
            self._put(self._files.end, reason, is_void)
            self._recording = None
            self._announce()

    def _put_missing(self) -> None:
        if self._missing is not None:
            self._put(self._files.add_gap, *self._missing, SLOW)
            self._missing = None

    def _put(self, act: Callable[..., None], *arguments: Any) -> None:
        if self._recording is not None:
            self._parts.append((self._recording, act, arguments))

    def _announce(self) -> None:
        """Have a beginning or an end written and reported at once."""
        self._has_news = True
        self._due.set()

    def _now_ns(self, recording: Recording) -> int:
        now_s = self._tick_s if self._files.is_virtual else time.monotonic()
        return round((now_s + recording.offset_s) * 1e9)

    @property
    def _may_try(self) -> bool:
        return asyncio.get_running_loop().time() >= self._retry_s

    # -- the thread -----------------------------------------------------------------------------------------

    async def in_folder(self, act: Callable[..., Answer], *arguments: Any) -> Answer:
        """Do something with the folder that is asked for; raises RequestError: TIMEOUT, if the disk hangs."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._in_thread(act, *arguments)
        except TimeoutError as error:
            raise self._unanswered("ask again") from error

    async def _in_thread(self, act: Callable[..., Answer], *arguments: Any) -> Answer:
        """Do something with the folder in a thread that nobody waits for at the daemon's end."""
        thread = DaemonThread(f"{self._robot}.recordings")
        return await asyncio.get_running_loop().run_in_executor(thread, act, *arguments)

    def _unanswered(self, hint: str) -> RequestError:
        what, reason = f"not done in {ANSWER_S:g} s", "the disk does not answer"
        return RequestError("TIMEOUT", self._robot, what, reason, hint)

    async def repair(self) -> None:
        """Make whole files of what a crash has left."""
        try:
            await self._in_thread(self.folder.repair_all)
        except Exception:
            log.exception("%s: recordings could not be repaired", self._robot)

    async def run(self) -> None:
        """Write until cancelled; then what is recorded is ended."""
        self.show()
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(WRITE_S if self._recording is not None else None):
                        await self._due.wait()
                self._due.clear()
                await self._write()
        finally:
            self.end(SHUTS_DOWN)
            try:
                async with asyncio.timeout(END_S):
                    await self._write()
            except TimeoutError:
                log.warning("%s: the recording is not ended after %g s; the disk hangs", self._robot, END_S)

    async def _write(self) -> None:
        """Have all that waits written, once what was written before is: being cancelled does not end that."""
        if self._writing is not None:
            await asyncio.wait((self._writing,))
        parts, self._parts = self._parts, []
        has_news, self._has_news = self._has_news, False
        waiting, now = self._waiting, self._recording
        loop = asyncio.get_running_loop()
        recordings = dict.fromkeys([*(whose for whose, *_ in parts), *filter(None, (now,))])
        thread = DaemonThread(f"{self._robot}.recording")
        try:
            self._writing = loop.run_in_executor(thread, self._files.write, now, parts)
            await asyncio.shield(self._writing)
        except Exception as error:
            log.exception("%s: failed inside motiond", self._robot)
            for recording in recordings:
                recording.has_ended = True
                recording.problem = self.folder.trouble(error, has_begun=recording.is_open)
        finally:
            self._waiting -= waiting
        for recording in recordings:
            self._look(recording)
        self._written.set()
        self._written.clear()
        if has_news or now is not self._recording:
            self.show()
        elif now is not None and loop.time() >= self._shown_s + SHOW_S:
            self.show(renews=True)

    def _look(self, recording: Recording) -> None:
        """Take what has become of a recording."""
        if not recording.problem:
            self._problem = "" if recording.size else self._problem
            return
        if recording is self._recording:
            self._recording = None
            self._retry_s = asyncio.get_running_loop().time() + RETRY_S
        is_known = recording.why == "always" and recording.problem == self._problem
        if not (is_known or recording.is_reported):
            self._warn(recording.problem.removeprefix(f"{self._robot}: "))
        self._problem, recording.is_reported = recording.problem, True
