"""The real program, forked from one that has loaded it, and else as a user or systemd starts it."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from motiond.daemon.cli.main import main
from tests.daemon.launched import LAUNCHER, MOTIOND, Program
from tests.waiting import PATIENCE_S, still_running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from motiond.daemon.config.mqtt import MqttSettings
    from tests.daemon.rig import Rig


def motiond(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run motiond to its end."""
    with background(*arguments) as process:
        out, err = process.communicate(PATIENCE_S)
    assert process.returncode is not None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


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
def background(*arguments: object, **options: Any) -> Iterator[Program]:
    """Run motiond beside the test; what still runs at the end is terminated."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = Program(*map(str, arguments), **(pipes | options))
    try:
        yield process
    finally:
        process.end()


@contextmanager
def in_a_session(*arguments: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run motiond beside the test in a session of its own, which what is forked cannot have."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [str(MOTIOND), *map(str, arguments)]
    with subprocess.Popen(command, text=True, start_new_session=True, **(pipes | options)) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate(timeout=PATIENCE_S)


def streams_of(daemon: Program | subprocess.Popen[Any]) -> list[psutil.Process]:
    """Return the stream processes of a program, which its fork server has forked."""
    found = []
    for child in [*psutil.Process(daemon.pid).children(), *_fork_servers_of(daemon)]:
        with suppress(psutil.NoSuchProcess):  # chronyc, which a daemon asks now and then
            found += child.children()
    return found


def all_of(daemon: Program) -> list[psutil.Process]:
    """Return all processes of a program but itself."""
    started = psutil.Process(daemon.pid).children(recursive=True)
    return [*started, *_fork_servers_of(daemon), *streams_of(daemon)]


def _fork_servers_of(daemon: Program | subprocess.Popen[Any]) -> Iterator[psutil.Process]:
    """Yield the fork servers that a launcher has forked for a program."""
    if LAUNCHER.for_fork_servers is not None:
        for child in psutil.Process(LAUNCHER.for_fork_servers).children():
            with suppress(psutil.NoSuchProcess):
                named = child.cmdline()[:1]  # One that is about to end has no command line any more.
                if any(name.endswith(f" of {daemon.pid}") for name in named):
                    yield child


class Daemon:
    """`motiond run` in a process of its own."""

    def __init__(self, process: Program | subprocess.Popen[str]) -> None:
        self.process = process

    def streams(self) -> list[psutil.Process]:
        """Return its stream processes."""
        return streams_of(self.process)

    async def end(self) -> int:
        """Ask it to end and give its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return await self.exit_code()

    async def exit_code(self) -> int:
        return await asyncio.to_thread(self.process.wait, PATIENCE_S)

    async def kill(self) -> None:
        self.process.kill()
        await self.exit_code()


@asynccontextmanager
async def running(rig: Rig, stderr: int | None = None, *, is_forked: bool = True) -> AsyncIterator[Daemon]:
    """Run a daemon; whatever happens, it and its stream processes have ended afterwards.

    One that is not forked is what the system tells of: its command line, and its environment.
    """
    arguments = ["run", "-c", str(rig.config)]
    started = (
        Program(*arguments, stderr=stderr)
        if is_forked
        else subprocess.Popen([MOTIOND, *arguments], stderr=stderr, text=True)  # noqa: ASYNC220 - it is short
    )
    with started as process:
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
