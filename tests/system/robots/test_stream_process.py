"""Real stream processes: the contract, what may be missing, and what becomes of the one that forks them."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import subprocess
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from motiond.daemon.clock import chrony
from motiond.daemon.ipc import messages
from motiond.daemon.ipc.stream_forks import StreamForks
from motiond.daemon.robots.process import stream_process
from motiond.daemon.robots.process.stream_process import StreamProcess
from motiond.daemon.stream.locks import DeviceLocks
from tests.daemon.rig import Rig
from tests.daemon.robots.stream_contract import StreamProcessContract
from tests.daemon.stream.test_loop import setup_of
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable

FAILING: dict[str, tuple[object, str]] = {
    "a socket": (socket, "socketpair"),
    "shared memory": (os, "memfd_create"),
    "its size": (os, "ftruncate"),
    "who forks it": (subprocess, "Popen"),
}


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def fail(number: int, *_: Any, **__: Any) -> None:
    raise OSError(number, os.strerror(number))


def open_files() -> set[str]:
    files = Path("/proc/self/fd").iterdir()
    return {f"{file.name} {file.readlink()}" for file in files if file.exists()}


def open_children() -> set[psutil.Process]:
    below = psutil.Process().children(recursive=True)
    return {one for one in below if one.is_running() and one.name() != chrony.PROGRAM}


def ended(process: StreamProcess) -> Callable[[], bool]:
    return lambda: process.exit_code is not None


async def until(holds: Callable[[], object], what: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s, f"{what}: not in {PATIENCE_S:g} s"
        await asyncio.sleep(0.005)


class TestStreamProcess(StreamProcessContract):
    """Real ones."""


@pytest.mark.parametrize("what", FAILING)
async def test_nothing_stays_of_a_process_for_which_something_is_missing(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    before = open_files(), open_children()
    owner, name = FAILING[what]
    monkeypatch.setattr(owner, name, partial(fail, errno.EMFILE))
    with StreamForks() as forks, pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
        StreamProcess(forks, setup_of())
    monkeypatch.undo()
    assert (open_files(), open_children()) == before


async def test_a_stream_process_has_one_thread_and_is_listed_with_its_robot(tmp_path: Path) -> None:
    rig, before = Rig(tmp_path), open_children()
    async with rig.running():
        await rig.until_state("idle")
        (stream,) = open_children() - before
        assert (stream.num_threads(), stream.cmdline()[0]) == (1, "motiond stream arm")


async def test_who_was_to_load_drivers_may_have_ended() -> None:
    with StreamForks() as forks:
        forks.start()
        first = forks.pid
        assert first is not None
        forks.kill()
        await asyncio.to_thread(os.waitid, os.P_PID, first, os.WEXITED | os.WNOWAIT)
        forks.load(["sim"])
        process = StreamProcess(forks, setup_of())
        assert isinstance(await process.notice(), messages.Ready)
        assert await process.close(PATIENCE_S) == 0
        process.telemetry.close()


async def test_how_a_process_ended_is_known_at_once_though_who_forked_it_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream_process, "REPORT_PATIENCE_S", PATIENCE_S)
    with StreamForks() as forks:
        process = StreamProcess(forks, setup_of())
        assert isinstance(await process.notice(), messages.Ready)
        assert process.pid is not None
        assert forks.pid is not None
        hangs = forks.pid
        os.kill(hangs, signal.SIGSTOP)
        os.kill(process.pid, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE_S / 2):  # neither of the two waits is waited for
            while await process.notice() is not None:  # it may have reported its state before
                pass
            assert await process.close(PATIENCE_S) == -signal.SIGKILL
        process.telemetry.close()
        os.kill(hangs, signal.SIGCONT)


async def test_a_robot_whose_process_is_killed_while_its_fork_server_hangs_is_back_by_another_server(
    rig: Rig,
) -> None:
    with StreamForks() as forks:
        async with rig.running(forks) as registry:
            await rig.until_state("idle")
            hangs, stream = forks.pid, registry.members["arm"].robot.stream
            assert hangs is not None
            assert stream.pid is not None
            os.kill(hangs, signal.SIGSTOP)
            os.kill(stream.pid, signal.SIGKILL)
            lost = await rig.until("event", lambda data: data["kind"] == "stream_lost")
            await rig.until_state("idle", since=rig.place_of(lost))
            assert forks.pid != hangs
    assert lost["message"] == "the stream process ended unasked (killed by signal 9)"


@pytest.mark.parametrize("inherited", [signal.SIG_DFL, signal.SIG_IGN])
async def test_a_process_that_is_forked_too_late_to_be_of_use_ends_before_it_opens_its_driver(
    inherited: signal.Handlers, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(partial(signal.signal, messages.HURRY, signal.signal(messages.HURRY, inherited)))
    plant = str(tmp_path / "plant.bin")
    elsewhere = DeviceLocks([f"plant:{plant}"])
    assert elsewhere.take() is None
    with StreamForks() as forks, closing(elsewhere):
        forks.start()
        assert forks.pid is not None
        os.kill(forks.pid, signal.SIGSTOP)
        process = StreamProcess(forks, setup_of(options={"plant": plant}))
        process.hurry()
        os.kill(forks.pid, signal.SIGCONT)
        await until(ended(process), "its end")
        assert await process.close(PATIENCE_S) == -messages.HURRY
        process.telemetry.close()
