"""Stream processes inside the test's own process, on virtual time.

`VirtualForks` stands in for `StreamForks`. A process is a coroutine of its own (a greenlet) that runs the
real `stream`, from the locks on its devices to its exit code; where it would wait, the event loop goes on.
Signals act as on a process.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import itertools
import logging
import os
import socket
from contextlib import contextmanager, suppress
from signal import SIG_IGN, SIGABRT, SIGCONT, SIGKILL, SIGSTOP, Signals
from typing import TYPE_CHECKING, NoReturn

from greenlet import GreenletExit, getcurrent, greenlet

from motiond.daemon.ipc.channel import Channel
from motiond.daemon.ipc.forks import BORN, ENDED, REFUSED, REPORT
from motiond.daemon.ipc.messages import HURRY
from motiond.daemon.ipc.stream_forks import StreamForks
from motiond.daemon.stream.locks import DeviceLocks, wait_readable
from motiond.daemon.stream.process.devices import ShutdownRequested
from motiond.daemon.stream.process.process import Machine, stream
from motiond.daemon.stream.timing.clocks import Clock, VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from motiond.daemon.ipc.forks import ForkRequest
    from motiond.daemon.ipc.messages import Setup

log = logging.getLogger(__name__)

FIRST_PID = 4_194_305  # more than any process of the system has


class VirtualForks(StreamForks):
    """Runs stream processes in this process."""

    def __init__(self, machine: Callable[[VirtualProcess, float], VirtualMachine] | None = None) -> None:
        super().__init__()
        self.make_machine = machine or VirtualMachine
        self.processes: dict[int, VirtualProcess] = {}
        self.refusals: list[int] = []
        self.opens_in_s = 0.0
        self._pids = itertools.count(FIRST_PID)

    def start(self) -> socket.socket:
        """Refuse: there is no server."""
        raise AssertionError("there is no fork server on virtual time")

    def fork(self, request: ForkRequest, channel: socket.socket, reports: socket.socket) -> None:  # noqa: ARG002
        if self.refusals:
            reports.send(REPORT.pack(REFUSED, self.refusals.pop(0)))
            return
        process = VirtualProcess(next(self._pids), self, channel.dup(), reports.dup())
        self.processes[process.pid] = process

    def signal(self, pid: int, _pidfd: int, number: Signals) -> None:
        self.send_signal(pid, number)

    def send_signal(self, pid: int, number: Signals) -> None:
        if pid not in self.processes:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
        self.processes[pid].take(number)

    def kill(self) -> None:
        """End what has not begun, as no server forks it any more."""
        for process in [*self.processes.values()]:
            process.forget()

    def end(self) -> None:
        for process in [*self.processes.values()]:
            process.take(SIGKILL)


class VirtualProcess:
    """A stream process that is none."""

    def __init__(self, pid: int, forks: VirtualForks, channel: socket.socket, reports: socket.socket) -> None:
        self.pid = pid
        self.loop = asyncio.get_running_loop()
        self._forks = forks
        self._channel = channel
        self._told = reports
        self._machine = forks.make_machine(self, forks.opens_in_s)
        self._code = 0
        self._run = greenlet(self._main)
        self._run.process = self
        self._ended_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        socket.send_fds(reports, [REPORT.pack(BORN, pid)], [self._ended_fd])
        self._is_stopped = self._is_due = False
        self._timer: asyncio.Handle | None = self.loop.call_soon(self._wake)
        self._watched: Sequence[int] = ()

    # -- what it does ---------------------------------------------------------------------------------------

    def _main(self) -> None:
        try:
            self._code = stream(Channel(self._channel), self._machine)
        except GreenletExit:
            pass
        except SystemExit as error:
            self._code = error.code if isinstance(error.code, int) else 1
        except BaseException:
            log.exception("stream process %d", self.pid)
            self._code = 1

    def wait(self, deadline_s: float, fds: Sequence[int] = ()) -> list[int]:
        """Let the loop go on until a time, or until a descriptor can be read; return those that can."""
        if ready := wait_readable(fds, 0.0):
            return ready
        if deadline_s > self.loop.time():
            self._timer = self.loop.call_at(deadline_s, self._wake)
            self._watched = fds
            for fd in fds:
                self.loop.add_reader(fd, self._wake)
            self._run.parent.switch()
        return wait_readable(fds, 0.0)

    def sleep(self, duration_s: float) -> None:
        self.wait(self.loop.time() + duration_s)

    def abort(self) -> NoReturn:
        self._code = -SIGABRT
        raise GreenletExit

    def run_first(self) -> None:
        """Run until it waits again, before who called goes on: as on another core."""
        self._wake()

    def _wake(self) -> None:
        self._rest()
        self._is_due = self._is_stopped
        if not self._is_stopped:
            self._go_on()

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for fd in self._watched:
            self.loop.remove_reader(fd)
        self._watched = ()

    def _go_on(self, error: BaseException | None = None) -> None:
        self._rest()
        self._run.parent = getcurrent()
        if error is None:
            self._run.switch()
        else:
            self._run.throw(error)
        if self._run.dead:
            self._end()

    def _end(self) -> None:
        """Free what the kernel would, and report the end."""
        self._rest()
        self._machine.close()
        self._channel.close()
        with suppress(OSError):
            self._told.send(REPORT.pack(ENDED, self._code))
        self._told.close()
        os.eventfd_write(self._ended_fd, 1)
        os.close(self._ended_fd)
        del self._forks.processes[self.pid]
        if self._code < 0:
            gc.collect()  # the kernel frees at once what a process held that was killed

    # -- what is done to it ---------------------------------------------------------------------------------

    def take(self, number: Signals) -> None:
        if number == SIGSTOP:
            self._is_stopped = True
        elif number == SIGCONT:
            self._is_stopped = False
            if self._is_due:
                self._timer = self.loop.call_soon(self._wake)
        elif number != HURRY or self._machine.on_hurry is None:
            self._code = -number
            self._go_on(GreenletExit())
        elif self._machine.on_hurry is not SIG_IGN:
            self._go_on(ShutdownRequested())

    def forget(self) -> None:
        if not self._run:
            self._code = -SIGKILL
            self._go_on(GreenletExit())


class VirtualMachine(Machine):
    """The machine of one process: its time is the loop's."""

    def __init__(self, process: VirtualProcess, opens_in_s: float) -> None:
        self.on_hurry: object = None
        self._process = process
        self._opens_in_s = opens_in_s
        self._locks: list[DeviceLocks] = []

    def clock(self, kind: str) -> Clock:
        """Return a clock: the loop's, or one that runs ahead of it while something moves."""
        return RunningAhead(self._process) if kind == "virtual" else LoopClock(self._process)

    def locks(self, devices: Iterable[str]) -> DeviceLocks:
        """Return locks on devices, which last as long as the process; none is taken yet."""
        self._locks.append(DeviceLocks(devices))
        return self._locks[-1]

    def wait(self, fds: Sequence[int], timeout_s: float) -> list[int]:
        """Wait until one of some descriptors can be read, for so long at most; return those that can."""
        return self._process.wait(self._process.loop.time() + timeout_s, fds)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Take as long as opening a driver takes; the process may be interrupted meanwhile."""
        self.on_hurry = ShutdownRequested
        try:
            self.wait((), self._opens_in_s)
            yield
        finally:
            self.on_hurry = SIG_IGN

    def make_punctual(self, _setup: Setup) -> list[str]:
        """Do nothing: virtual time is punctual."""
        return []

    def close(self) -> None:
        for locks in self._locks:
            locks.close()


class LoopClock:
    """The loop's time, in a process that lets the loop go on while it waits."""

    def __init__(self, process: VirtualProcess) -> None:
        self.suspends_s = 0.0
        self._process = process
        self.now = process.loop.time

    def suspended_s(self) -> float:
        """Return for how long the machine is said to have been suspended."""
        return self.suspends_s

    def sleep_until(self, deadline_s: float) -> None:
        self._process.wait(deadline_s)

    def rest_until(self, deadline_s: float) -> None:
        self.sleep_until(deadline_s)

    def listen_until(self, fd: int, deadline_s: float) -> None:
        """Let the loop go on until a message has come, or until a time."""
        self._process.wait(deadline_s, (fd,))

    def wait_readable(self, fd: int, deadline_s: float) -> None:
        """Let the loop go on until a message has come, or until a time."""
        self.listen_until(fd, deadline_s)


class RunningAhead(VirtualClock):
    """Time that passes at once while something moves, and with the loop's at rest."""

    def __init__(self, process: VirtualProcess) -> None:
        super().__init__()
        self._process = process
        self._loop = process.loop

    def sleep_until(self, deadline_s: float) -> None:
        """Let time pass to the deadline at once; the loop has its turn."""
        super().sleep_until(deadline_s)
        self._process.wait(self._loop.time() + 1e-6)

    def rest_until(self, deadline_s: float) -> None:
        """Let the loop go on for as long as there is to the deadline."""
        self._process.wait(self._loop.time() + max(0.0, deadline_s - self.time_s))
        super().sleep_until(deadline_s)

    def wait_readable(self, fd: int, deadline_s: float) -> None:
        """Wait for a message for as long as there is to the deadline; with a message no time passes."""
        if not self._process.wait(self._loop.time() + max(0.0, deadline_s - self.time_s), (fd,)):
            super().sleep_until(deadline_s)
