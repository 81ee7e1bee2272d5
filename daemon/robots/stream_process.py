"""A stream process as the daemon sees it: started, commanded, listened to, ended.

Whatever happens, `close` leaves no process, no socket and no shared memory behind.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import deque
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..ipc import ring
from ..ipc.channel import Channel, ChannelClosed
from ..ipc.messages import HURRY, Setup, Shutdown

if TYPE_CHECKING:
    from ..ipc.messages import Command, Notice

LEAN = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""No threads of numpy's: its matrices are small here, and threads cost a fifth of each start. And no look
through all that is installed for plugins of pydantic's."""


class StreamProcess:
    """One run of one robot's stream process.

    Parameters
    ----------
    setup : Setup
        What it is told first.

    Attributes
    ----------
    telemetry : RingReader
        What it records.

    Raises
    ------
    OSError
        If the system has no descriptors, processes or memory left; then nothing stays.
    """

    def __init__(self, setup: Setup) -> None:
        loop = asyncio.get_running_loop()
        self._notices: deque[Notice] = deque()
        self._arrived, self._exited = asyncio.Event(), asyncio.Event()
        self._open = True
        with ExitStack() as at_once, ExitStack() as on_failure:
            self._channel, theirs = Channel.pair()
            on_failure.callback(self._channel.close)
            at_once.callback(theirs.close)
            ring_fd = ring.create(len(setup.joints))
            at_once.callback(os.close, ring_fd)
            self.telemetry = ring.RingReader(ring_fd, len(setup.joints))
            on_failure.callback(self.telemetry.close)
            self._channel.send(setup, (ring_fd,))
            self._process = subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter
                [sys.executable, "-P", "-m", "motiond.daemon.stream", str(theirs.fileno()), setup.robot],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, **LEAN},
                start_new_session=True,  # a terminal that closes must not end it in mid-motion
            )
            on_failure.callback(self._process.wait)
            on_failure.callback(self._process.kill)
            self._pidfd = os.pidfd_open(self._process.pid)
            on_failure.callback(os.close, self._pidfd)
            loop.add_reader(self._channel.fileno(), self._read)
            on_failure.callback(loop.remove_reader, self._channel.fileno())
            loop.add_reader(self._pidfd, self._exited.set)
            on_failure.pop_all()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """What it exited with (negative: the signal); None while it runs."""
        return self._process.poll()

    def send(self, command: Command, fds: tuple[int, ...] = ()) -> bool:
        """Send a command without waiting; False if the process has gone or does not listen."""
        try:
            self._channel.send(command, fds)
        except (ChannelClosed, BlockingIOError, OSError):
            return False
        return True

    async def notice(self) -> Notice | None:
        """Wait for the next notice; None once the process has closed its end and all is read."""
        while not self._notices:
            if not self._open:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        return self._notices.popleft()

    def _read(self) -> None:
        try:
            while (received := self._channel.receive()) is not None:
                self._notices.append(received[0])  # type: ignore[arg-type] # it sends notices only
        except (ChannelClosed, OSError):
            self._open = False
            asyncio.get_running_loop().remove_reader(self._channel.fileno())
        self._arrived.set()

    def hurry(self) -> None:
        """End it at once if it still opens its driver; else nothing happens."""
        self._process.send_signal(HURRY)

    def kill(self) -> None:
        """End it at once (SIGKILL); safe at any time."""
        if self._process.poll() is None:
            self._process.kill()

    async def close(self, patience_s: float) -> int:
        """Let it stop softly and exit, kill it after `patience_s`, free everything; give the exit code."""
        self.send(Shutdown())
        try:
            async with asyncio.timeout(patience_s):
                await self._exited.wait()
        except TimeoutError:
            pass
        finally:
            self.kill()
            exit_code = self._process.wait()
            self._free()
        return exit_code

    def _free(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._channel.fileno())
        loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._channel.close()
        self._open = False
        self._arrived.set()
