"""Behaviour of the supervisor of a stream process, with a process that the tests play."""

from __future__ import annotations

import asyncio
import errno
import os
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.ipc import messages, ring
from motiond.daemon.robots.process import stream_supervisor
from motiond.daemon.robots.process.stream_supervisor import StreamSupervisor
from motiond.drivers.limits import ActuatorLimits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from motiond.daemon.ipc.messages import Command, Notice
    from motiond.daemon.telemetry.observer import Observer
    from motiond.formats.arrays import Floats

PATIENCE_S = 30.0


class Process:
    """Stands in for `StreamProcess`: sends the notices of a test, and keeps what it is sent."""

    pid, refusal = 4711, ""

    def __init__(self) -> None:
        fd = ring.create(1)
        self.writer, self.telemetry = ring.RingWriter(fd, 1), ring.RingReader(fd, 1)
        os.close(fd)
        self._notices: asyncio.Queue[Notice | None] = asyncio.Queue()
        self.sent: list[Command] = []
        self.numbers: list[int] = []
        self.killed = self.closed = self.hurried = False

    def notify(self, notice: Notice) -> None:
        self._notices.put_nowait(notice)

    async def notice(self) -> Notice | None:
        return await self._notices.get()

    def send(self, command: Command, _fds: tuple[int, ...] = (), number: int = 0) -> bool:
        self.sent.append(command)
        self.numbers.append(number)
        if isinstance(command, messages.Shutdown):
            self._notices.put_nowait(None)
        return True

    def hurry(self) -> None:
        self.hurried = True

    def kill(self) -> None:
        self.killed = True
        self._notices.put_nowait(None)

    async def close(self, _patience_s: float) -> int:
        self.closed = True
        self.writer.close()
        if self.hurried:
            return -messages.HURRY
        return -9 if self.killed else 0


class Listener:
    """Keeps what is reported, and fails at it when it is asked to."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.exits: list[str] = []
        self.records = 0
        self.batches: list[tuple[list[float], int]] = []
        self.fail_at: type[Any] | None = None

    def on_notice(self, notice: Notice) -> None:
        if self.fail_at is not None and isinstance(notice, self.fail_at):
            raise ZeroDivisionError
        self.notices.append(notice)

    def on_records(self, _observer: Observer) -> None:
        self.records += 1
        if self.fail_at is int:
            self.fail_at = None
            raise ZeroDivisionError

    def on_batch(self, records: Floats, lost: int) -> None:
        self.batches.append((records[:, 0].tolist(), lost))

    def on_exit(self, reason: str) -> None:
        self.exits.append(reason)


class Stage:
    """A supervisor with all that it deals with."""

    def __init__(self, timeout_s: float, beat_s: float | None) -> None:
        self.listener = Listener()
        self.processes: list[Process] = []
        self.failures: list[OSError] = []
        self.supervisor = StreamSupervisor(
            self._start,  # type: ignore[arg-type]
            1,
            period_s=0.01,
            timeout_s=timeout_s,
            patience_s=0.1,
            beat_s=beat_s,
        )

    def _start(self) -> Process:
        if self.failures:
            raise self.failures.pop(0)
        self.processes.append(Process())
        return self.processes[-1]

    async def until(self, holds: Callable[[], object]) -> None:
        deadline_s = asyncio.get_running_loop().time() + PATIENCE_S
        while not holds():
            assert asyncio.get_running_loop().time() < deadline_s
            await asyncio.sleep(0.002)

    async def until_records(self, count: int) -> None:
        await self.until(lambda: self.listener.records == count)


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_supervisor, "BACK_OFF_S", (0.0, 0.01))
    monkeypatch.setattr(stream_supervisor, "MISHAP_PAUSE_S", 0.01)


@asynccontextmanager
async def running(
    timeout_s: float = PATIENCE_S, beat_s: float | None = None, failures: tuple[OSError, ...] = ()
) -> AsyncIterator[Stage]:
    stage = Stage(timeout_s, beat_s)
    stage.failures += failures
    run = asyncio.create_task(stage.supervisor.run(stage.listener), name="supervisor")
    try:
        await stage.until(lambda: stage.processes)
        yield stage
    finally:
        stage.supervisor.leave()
        async with asyncio.timeout(PATIENCE_S):
            await run
        assert all(process.closed for process in stage.processes)


READY = messages.Ready(1000.0, [], ActuatorLimits.none(1).as_lists())


def beats(process: Process) -> int:
    return process.sent.count(messages.Heartbeat())


async def test_a_process_gets_heartbeats_while_it_is_on_line_and_only_then() -> None:
    async with running(beat_s=0.005) as stage:
        (process,) = stage.processes
        await asyncio.sleep(0.05)
        assert beats(process) == 0
        process.notify(READY)
        await stage.until(lambda: beats(process) > 2)
        process.notify(messages.Lost("the bus is lost"))
        await stage.until(lambda: len(stage.listener.notices) == 2)
        heard = beats(process)
        await asyncio.sleep(0.05)
        assert beats(process) == heard


async def test_the_numbers_of_commands_ascend_over_all_processes_and_heartbeats_have_none() -> None:
    async with running(beat_s=0.005) as stage:
        first = stage.processes[0]
        first.notify(READY)
        assert [stage.supervisor.send(messages.Stop()) for _ in range(2)] == [1, 2]
        await stage.until(lambda: beats(first) > 0)
        first.kill()
        await stage.until(lambda: len(stage.processes) == 2)
        assert stage.supervisor.send(messages.Stop()) > 2
        numbers = [number for process in stage.processes for number in process.numbers if number]
        assert numbers == sorted(set(numbers))
        assert {
            number
            for command, number in zip(first.sent, first.numbers, strict=True)
            if isinstance(command, messages.Heartbeat)
        } == {0}


LOST = messages.Lost("the bus is lost")


@pytest.mark.parametrize(
    ("notices", "hurried"),
    [([], True), ([READY, LOST], True), ([READY], False)],
    ids=["opening", "lost", "on line"],
)
async def test_a_process_is_hurried_to_its_end_unless_it_has_actuators_to_stop(
    notices: list[Notice], *, hurried: bool
) -> None:
    async with running() as stage:
        (process,) = stage.processes
        for notice in notices:
            process.notify(notice)
        await stage.until(lambda: len(stage.listener.notices) == len(notices))
    assert process.hurried is hurried
    assert process.sent == ([messages.Shutdown()] if not hurried or notices else process.sent)
    assert stage.listener.exits == [""]


async def test_a_process_that_shows_no_life_is_killed_and_another_is_started() -> None:
    async with running(timeout_s=0.1) as stage:
        stage.processes[0].notify(READY)
        stage.processes[0].writer.beat()
        await stage.until(lambda: len(stage.processes) == 2)
        assert stage.processes[0].killed
    (reason, last) = stage.listener.exits
    assert re.fullmatch(r"the stream process did not tick for \d+\.\d s and was killed", reason)
    assert last == ""


async def test_a_process_that_has_no_records_but_beats_is_let_be() -> None:
    async with running(timeout_s=2.0) as stage:
        (process,) = stage.processes
        process.notify(READY)
        for _ in range(300):  # one and a half times as long as it may be silent
            process.writer.beat()
            await asyncio.sleep(0.01)
        assert not process.killed
        assert stage.listener.records == 0


async def test_the_watch_goes_on_after_an_error(caplog: pytest.LogCaptureFixture) -> None:
    async with running(timeout_s=3.0) as stage:
        process, record = stage.processes[0], ring.Record(1)
        process.notify(READY)
        stage.listener.fail_at = int
        for expected in (1, 2):
            process.writer.put(record.data)
            await stage.until_records(expected)
        await stage.until(lambda: process.killed)
    assert ["ZeroDivisionError" in (record.exc_text or "") for record in caplog.records] == [True]


async def test_an_error_in_a_notice_ends_that_process_and_another_is_started() -> None:
    async with running() as stage:
        stage.listener.fail_at = messages.Ready
        stage.processes[0].notify(READY)
        await stage.until(lambda: len(stage.processes) == 2)
        assert stage.processes[0].closed
        stage.listener.fail_at = None
        stage.processes[1].notify(READY)
        await stage.until(lambda: stage.listener.notices == [READY])


async def test_a_process_that_cannot_be_started_is_told_of_and_tried_again() -> None:
    failures = OSError(errno.EMFILE, os.strerror(errno.EMFILE)), OSError(errno.ENOMEM, "no memory")
    async with running(failures=failures) as stage:
        assert stage.listener.exits == [
            (
                f"the stream process cannot be started; {reason}; tried again; "
                "check how many descriptors, processes and how much memory the daemon may have"
            )
            for reason in ("Too many open files", "no memory")
        ]
        stage.processes[0].notify(READY)
        await stage.until(lambda: stage.listener.notices == [READY])


async def test_every_record_is_passed_on_also_the_last_before_the_end_and_the_first_of_the_next_process() -> (
    None
):
    async with running() as stage:
        first, record = stage.processes[0], ring.Record(1)
        for _ in range(3):
            first.writer.put(record.data)
        await stage.until_records(1)
        first.writer.put(record.data)
        first.kill()
        await stage.until(lambda: len(stage.processes) == 2)
        for _ in range(2):
            stage.processes[1].writer.put(record.data)
        await stage.until_records(2)
        assert stage.listener.batches == [([0, 1, 2], 0), ([3], 0), ([0, 1], 0)]
