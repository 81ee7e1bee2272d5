"""motiond in this process, and as a user or systemd starts it."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from motiond.daemon.cli.main import main
from tests.waiting import PATIENCE_S, started, still_running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from motiond.daemon.config.mqtt import MqttSettings
    from tests.daemon.rig import Rig

MOTIOND = Path(sys.executable).with_name("motiond")


def motiond(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run motiond to its end."""
    command = [str(MOTIOND), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def run_here(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run motiond in this process and give its exit code and what it wrote to stdout and stderr."""
    with pytest.raises(SystemExit) as ended, logging_as_before():
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, out, err


@contextmanager
def logging_as_before() -> Iterator[None]:
    """Keep how a program logs from the tests that follow in this process."""
    root, ours = logging.getLogger(), logging.getLogger("motiond")
    before = list(root.handlers), root.level, ours.level
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.handlers, level, our_level = before
        root.setLevel(level)
        ours.setLevel(our_level)


@contextmanager
def background(*arguments: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run motiond beside the test; what still runs at the end is terminated."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started([MOTIOND, *arguments], text=True, **(pipes | options)) as process:
        yield process


@contextmanager
def in_a_session(*arguments: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run motiond beside the test in a session of its own."""
    with background(*arguments, start_new_session=True, **options) as process:
        yield process


def streams_of(daemon: subprocess.Popen[Any]) -> list[psutil.Process]:
    """Return the stream processes of a program, which its fork server has forked."""
    processes = []
    for child in psutil.Process(daemon.pid).children():
        with suppress(psutil.NoSuchProcess):  # chronyc, which a daemon asks now and then
            processes += child.children()
    return processes


def all_of(daemon: subprocess.Popen[Any]) -> list[psutil.Process]:
    """Return all processes of a program but itself."""
    return psutil.Process(daemon.pid).children(recursive=True)


class Daemon:
    """`motiond run` in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def streams(self) -> list[psutil.Process]:
        return streams_of(self.process)

    async def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return await self.exit_code()

    async def exit_code(self) -> int:
        return await asyncio.to_thread(self.process.wait, PATIENCE_S)

    async def kill(self) -> None:
        self.process.kill()
        await self.exit_code()


@asynccontextmanager
async def running(rig: Rig, stderr: int | None = None) -> AsyncIterator[Daemon]:
    """Run a daemon; whatever happens, it and its stream processes have ended afterwards."""
    arguments = ["run", "-c", str(rig.config)]
    with subprocess.Popen([MOTIOND, *arguments], stderr=stderr, text=True) as process:  # noqa: ASYNC220 - it is short
        daemon = Daemon(process)
        try:
            yield daemon
        finally:
            if process.poll() is None:
                streams = daemon.streams()
                await daemon.kill()
                await gone(streams)


async def gone(processes: list[psutil.Process]) -> None:
    """Wait until processes have ended by themselves."""
    assert await asyncio.to_thread(still_running, processes) == []


def use(rig: Rig, settings: MqttSettings, stop_when_lost_s: float = 10.0) -> None:
    """Let a rig's daemon use a broker, and come back to it soon.

    That a busy machine keeps a broker from answering for a moment stops no motion, unless it is to.
    """
    rig.daemon["mqtt"] = {
        "broker": settings.broker,
        **({"listen": settings.listen} if settings.broker == "embedded" else {"protocol": settings.protocol}),
        "reconnect_min_s": 0.05,
        "reconnect_max_s": 0.2,
        "stop_when_lost_s": stop_when_lost_s,
    }
