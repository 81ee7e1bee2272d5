"""A stream process as the daemon sees it: started, commanded, listened to, ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...ipc import ring
from ...ipc.channel import Channel, ChannelClosed
from ...ipc.forks import BORN, ENDED, REFUSED, REPORT, ForkRequest
from ...ipc.messages import HURRY, Setup, Shutdown

if TYPE_CHECKING:
    from ...ipc.messages import Chunk, Command, Notice, Target
    from ...ipc.stream_forks import StreamForks

KILL_PATIENCE_S = 5.0
REPORT_PATIENCE_S = 0.5
"""So long the fork server may take to report how a process has ended, where that can be seen nowhere else."""
MOST_UNREAD_BYTES = 32_768
"""Of targets that were sent since the last tick, before others wait; a socket takes 200 kB and more."""
_EXIT_CODE_AT = 49
"""Among the fields of /proc/PID/stat (proc(5)) that follow the process's name."""


class StreamProcess:
    """One run of one robot's stream process; `close` leaves no process, socket or shared memory behind.

    - `forks`: who forks it
    - `setup`: its first message

    - `pid`: the process's id, once it is there
    - `exit_code`: what it exited with (negative: the signal); None while it runs, and where that is not known
    - `refusal`: why it could not be started; '' otherwise
    - `telemetry`: what it records

    Raises OSError if the system has no descriptors, processes or memory left; then nothing stays.
    """

    def __init__(self, forks: StreamForks, setup: Setup) -> None:
        loop = asyncio.get_running_loop()
        self.pid: int | None = None
        self.exit_code: int | None = None
        self.refusal = ""
        self._forks = forks
        self._pidfd: int | None = None
        self._has_server, self._is_over, self._is_owed = True, False, False
        self._hurries = False
        self._ticks = self._unread_bytes = 0
        self._notices: asyncio.Queue[Notice | None] = asyncio.Queue()
        self._exited = asyncio.Event()
        with ExitStack() as at_once, ExitStack() as on_failure:
            self._channel, theirs = Channel.pair()
            on_failure.callback(self._channel.close)
            at_once.callback(theirs.close)
            self._reports, theirs_reports = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            on_failure.callback(self._reports.close)
            at_once.callback(theirs_reports.close)
            self._reports.setblocking(False)
            widths = len(setup.joints), setup.contact_slots
            ring_fd = ring.create(*widths)
            at_once.callback(os.close, ring_fd)
            self.telemetry = ring.RingReader(ring_fd, *widths)
            on_failure.callback(self.telemetry.close)
            self._channel.send(setup, (ring_fd,))
            loop.add_reader(self._channel.fileno(), self._read)
            on_failure.callback(loop.remove_reader, self._channel.fileno())
            loop.add_reader(self._reports.fileno(), self._receive)
            on_failure.callback(loop.remove_reader, self._reports.fileno())
            forks.fork(ForkRequest(setup.driver, setup.robot), theirs, theirs_reports)
            on_failure.pop_all()

    def _receive(self) -> None:
        """Receive from the fork server how the process does, up to its end or the server's."""
        loop = asyncio.get_running_loop()
        packet, fds, _flags, _address = socket.recv_fds(self._reports, REPORT.size, 1)
        kind, number = REPORT.unpack(packet) if packet else (b"", 0)
        if kind == BORN:
            self.pid, (self._pidfd,) = number, fds
            loop.add_reader(self._pidfd, self._note_end, self._pidfd)
            if self._hurries:
                self._signal(HURRY)
            return
        loop.remove_reader(self._reports.fileno())
        self._has_server = self._is_owed = False
        if kind == ENDED:
            self.exit_code = number
        elif kind == REFUSED:
            self.refusal = os.strerror(number)
        elif self._pidfd is not None and not self._is_over:  # the server has ended, and the process goes on
            return
        self._exited.set()

    def _note_end(self, pidfd: int) -> None:
        """Note that the process has ended; how, the system knows as well as a fork server that may hang."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(pidfd)
        self._is_over = True
        if self._has_server:
            with suppress(BlockingIOError):
                self._receive()
        if not self._has_server:
            self._exited.set()
            return
        self._is_owed = True
        self.exit_code = _exit_code_of(self.pid)
        if self.exit_code is None:
            loop.call_later(REPORT_PATIENCE_S, self._exited.set)
        else:
            self._exited.set()

    def send(self, command: Command, fds: tuple[int, ...] = (), number: int = 0) -> bool:
        """Send a command without waiting; False if the process has gone or does not listen."""
        try:
            self._channel.send(command, fds, number)
        except (ChannelClosed, OSError):
            return False
        return True

    def send_target(self, target: Target | Chunk) -> bool:
        """Send a target, unless so much may be unread that a stop would find no room; False then.

        A process receives all that was sent in each of its ticks.
        """
        if (ticks := self.telemetry.written) != self._ticks:
            self._ticks, self._unread_bytes = ticks, 0
        if self._unread_bytes > MOST_UNREAD_BYTES:
            return False
        try:
            self._unread_bytes += self._channel.send(target)
        except BlockingIOError:
            return False
        except (ChannelClosed, OSError):
            return True  # nobody waits for it any more
        return True

    async def notice(self) -> Notice | None:
        """Wait for the next notice; None, once, after the process has closed its end and all is read."""
        return await self._notices.get()

    def _read(self) -> None:
        try:
            while (received := self._channel.receive()) is not None:
                self._notices.put_nowait(received[0])  # type: ignore[arg-type] # it sends notices only
        except (ChannelClosed, OSError):
            asyncio.get_running_loop().remove_reader(self._channel.fileno())
            self._notices.put_nowait(None)

    def hurry(self) -> None:
        """End it at once if it still opens its driver; else nothing happens."""
        self._hurries = True
        self._signal(HURRY)

    def kill(self) -> None:
        """End it at once (SIGKILL), or the server that still owes it; safe at any time."""
        if self._exited.is_set():
            return
        if self._pidfd is None:
            self._forks.kill()
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self.pid is not None and self._pidfd is not None:
            with suppress(ProcessLookupError):
                self._forks.signal(self.pid, self._pidfd, number)

    async def close(self, patience_s: float) -> int | None:
        """Let it stop softly and exit, kill it after `patience_s`, free everything; give the exit code."""
        self.send(Shutdown())
        try:
            if not await self._exits_within(patience_s):
                self.kill()
                await self._exits_within(KILL_PATIENCE_S)
        finally:
            self._signal(signal.SIGKILL)
            self._free()
        return self.exit_code

    async def _exits_within(self, patience_s: float) -> bool:
        try:
            async with asyncio.timeout(patience_s):
                return await self._exited.wait()
        except TimeoutError:
            return False

    def _free(self) -> None:
        loop = asyncio.get_running_loop()
        for fd in (self._channel.fileno(), self._reports.fileno(), self._pidfd):
            if fd is not None:
                loop.remove_reader(fd)
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        if self._is_owed:
            self._forks.expect(self._reports)
        else:
            self._reports.close()
        self._channel.close()
        self._notices.put_nowait(None)


def _exit_code_of(pid: int | None) -> int | None:
    """Return how a process has ended that nobody has waited for yet; None where that cannot be seen.

    0 stands for what may not be seen as well, so it says nothing.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        status = int(fields[_EXIT_CODE_AT])
    except (OSError, ValueError, IndexError):
        return None
    return os.waitstatus_to_exitcode(status) if fields[0] == "Z" and status else None
