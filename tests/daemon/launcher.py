"""Has loaded motiond once, and forks it for each test that wants the program: loading it costs a second.

Started as `python -m tests.daemon.launcher SOCKET_FD` by `tests/daemon/launched.py` alone. All that runs ends
when the tests have closed their end. A launcher for fork servers, which is forked before anything is loaded
that these would not load, does the same for the daemons.
"""

from __future__ import annotations

import atexit
import gc
import os
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import orjson
from setproctitle import setproctitle

from motiond.daemon.stream import fork_server, process
from motiond.drivers.registry import driver_class

if TYPE_CHECKING:
    from collections.abc import Callable

LOADED = (
    "concurrent.futures.thread",
    "encodings.idna",
    "motiond.daemon.cli.completion",
    "motiond.daemon.cli.main",
    "motiond.daemon.cli.output",
    "motiond.daemon.cli.playback",
    "motiond.daemon.cli.request",
    "motiond.daemon.cli.run",
    "motiond.daemon.cli.tree",
    "motiond.daemon.client.play",
    "motiond.daemon.config.settings",
    "motiond.daemon.http.server",
    "motiond.daemon.log.lines",
    "motiond.daemon.robots.assembly",
    "motiond.daemon.robots.stream_forks",
    "motiond.daemon.service.daemon",
    "motiond.drivers.sim.driver",
    "motiond.formats.hrdf.reader",
    "motiond.formats.sdf.reader",
    "motiond.formats.seq.reader",
    "motiond.formats.skel.reader",
    "motiond.formats.xmdi.reader",
    "motiond.formats.xmdi.writer",
    "tests.daemon.launched",
    "typer",
)
"""What most programs load."""
TITLE = "motiond launcher of tests"
SILENCE_OF_MEMBERS = "MOTIOND_TESTS_SILENCE_OF_MEMBERS_S"
"""The variable that says how long a daemon bears to hear nothing of the others of a group, in s."""
ORDER_BYTES = 1 << 17
ORDER_FDS = 5
"""Standard input, output and errors, what a fork server is asked on, and where the launcher tells of it."""


class Launcher:
    """Serves orders, and tells of each program first its id and then how it has ended.

    Parameters
    ----------
    orders : socket
    begin : callable
        Is what was ordered, given its arguments; returns the exit code.
    """

    def __init__(self, orders: socket.socket, begin: Callable[[list[str]], int]) -> None:
        self._orders = orders
        self._begin = begin
        self._programs: dict[int, tuple[int, socket.socket]] = {}
        self._poller = select.poll()
        self._poller.register(orders, select.POLLIN)

    def serve(self) -> int:
        """Fork a program for each order; the launcher's exit code."""
        gc.freeze()
        while True:
            for fd, _ in self._poller.poll():
                if fd in self._programs:
                    self._bury(fd)
                    continue
                order, fds, _flags, _address = socket.recv_fds(self._orders, ORDER_BYTES, ORDER_FDS)
                if not order:
                    self._kill_all()
                    return 0
                if self._fork(fds):
                    _end(self._begin(_become(orjson.loads(order), fds)))

    def _fork(self, fds: list[int]) -> bool:
        """Fork, and tell of it; whether this is the process that was forked."""
        told = socket.socket(fileno=fds.pop())
        pid = os.fork()
        if pid == 0:
            self._forget(told)
            return True
        for fd in fds:
            os.close(fd)
        pidfd = os.pidfd_open(pid)
        self._programs[pidfd] = pid, told
        self._poller.register(pidfd, select.POLLIN)
        told.send(orjson.dumps(pid))
        return False

    def _bury(self, pidfd: int) -> None:
        pid, told = self._programs.pop(pidfd)
        self._poller.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(pid, 0)
        with suppress(BrokenPipeError):  # a daemon that was killed
            told.send(orjson.dumps(os.waitstatus_to_exitcode(status)))
        told.close()

    def _kill_all(self) -> None:
        for pid, _ in self._programs.values():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _forget(self, told: socket.socket) -> None:
        """Close what is the launcher's alone."""
        told.close()
        self._orders.close()
        for pidfd, (_, other) in self._programs.items():
            os.close(pidfd)
            other.close()


def _become(order: dict[str, Any], fds: list[int]) -> list[str]:
    """Become what was ordered, and give its arguments."""
    for fd, number in zip(fds, (0, 1, 2, *order["passed"]), strict=True):
        os.dup2(fd, number)
        if fd != number:
            os.close(fd)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = order["arguments"]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    fork_server.SERVER_TITLE += f" of {order['by']}"
    arguments: list[str] = order["arguments"][1:]
    return arguments


def _end(code: int) -> NoReturn:
    """End as any program does, but for what is loaded: to take it down would copy it first."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def serve_fork_servers(orders: socket.socket) -> int:
    """Fork what daemons would start as `python -m motiond.daemon.stream SOCKET_FD`."""
    gc.disable()
    driver_class("sim")  # which nearly all of them load for their first robot
    return Launcher(orders, lambda arguments: process.main(int(arguments[-1]))).serve()


def serve_programs(orders: socket.socket, fork_servers: socket.socket) -> int:
    """Fork programs of motiond, whose daemons have their fork servers forked."""
    for name in LOADED:
        import_module(name)
    launched, cli = sys.modules["tests.daemon.launched"], sys.modules["motiond.daemon.cli.main"]

    def begin(arguments: list[str]) -> int:
        launched.fork_servers_at(fork_servers)
        if silence_s := os.environ.get(SILENCE_OF_MEMBERS):
            bounds = vars(import_module("motiond.daemon.fleet.group_start"))
            bounds |= {"SILENCE_S": float(silence_s), "CONFIRM_S": float(silence_s)}
        try:
            cli.main(arguments)
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 1
        return 0

    return Launcher(orders, begin).serve()


def serve(orders: socket.socket) -> int:
    """Serve both, in two processes; the id of that of the fork servers is told first."""
    setproctitle(
        TITLE
    )  # it looks for its place among the arguments and the environment when it is called first
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        orders.close()
        ours.close()
        return serve_fork_servers(theirs)
    theirs.close()
    orders.send(orjson.dumps(pid))
    return serve_programs(orders, ours)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests decide
    sys.exit(serve(socket.socket(fileno=int(sys.argv[1]))))
