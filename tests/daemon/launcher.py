"""Has loaded motiond once, and forks it for each test that wants the program: loading it costs a second.

Started as `python -m tests.daemon.launcher SOCKET_FD` by `tests/daemon/launched.py` alone. All that runs ends
when the tests have closed their end.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
from importlib import import_module
from typing import Any

import orjson

from motiond.daemon.cli.main import main

LOADED = (
    "concurrent.futures.thread",
    "encodings.idna",
    "motiond.daemon.client.play",
    "motiond.daemon.config.settings",
    "motiond.daemon.http.server",
    "motiond.daemon.log.lines",
    "motiond.daemon.robots.assembly",
    "motiond.daemon.robots.stream_forks",
    "motiond.daemon.service.daemon",
    "motiond.drivers.sim.driver",
    "motiond.formats.hrdf.reader",
    "motiond.formats.seq.reader",
)
"""What most programs load besides the command line."""
ORDER_BYTES = 1 << 17
ORDER_FDS = 4
"""Standard input, output and errors, and where the launcher tells of the program."""


class Launcher:
    """Serves orders, and tells of each program first its id and then how it has ended."""

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders
        self._programs: dict[int, tuple[int, socket.socket]] = {}
        self._poller = select.poll()
        self._poller.register(orders, select.POLLIN)

    def serve(self) -> list[str] | None:
        """Fork a program for each order; its arguments there, and None here once the tests have ended."""
        for name in LOADED:
            import_module(name)
        gc.freeze()
        while True:
            for fd, _ in self._poller.poll():
                if fd in self._programs:
                    self._bury(fd)
                    continue
                order, fds, _flags, _address = socket.recv_fds(self._orders, ORDER_BYTES, ORDER_FDS)
                if not order:
                    self._kill_all()
                    return None
                arguments = self._fork(orjson.loads(order), fds)
                if arguments is not None:
                    return arguments

    def _fork(self, order: dict[str, Any], fds: list[int]) -> list[str] | None:
        told = socket.socket(fileno=fds.pop())
        pid = os.fork()
        if pid == 0:
            self._forget(told)
            return _begin(order, fds)
        for fd in fds:
            os.close(fd)
        pidfd = os.pidfd_open(pid)
        self._programs[pidfd] = pid, told
        self._poller.register(pidfd, select.POLLIN)
        told.send(orjson.dumps(pid))
        return None

    def _bury(self, pidfd: int) -> None:
        pid, told = self._programs.pop(pidfd)
        self._poller.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(pid, 0)
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


def _begin(order: dict[str, Any], fds: list[int]) -> list[str]:
    """Become what was ordered."""
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = order["arguments"]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments: list[str] = order["arguments"][1:]
    return arguments


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests decide
    ordered = Launcher(socket.socket(fileno=int(sys.argv[1]))).serve()
    if ordered is not None:
        main(ordered)
