"""Forks stream processes from one that has loaded what they need: they start at once, and share memory.

Whatever becomes of it, those that it has forked go on.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
from contextlib import suppress
from typing import NamedTuple

from setproctitle import setproctitle

from motiond.drivers import DriverConfigError, driver_class

from ...ipc.forks import BORN, ENDED, REFUSED, REPORT, REQUEST_BYTES, ForkRequest, decode
from ..locks import TITLE

SERVER_TITLE = "motiond fork server"
SHARED_DRIVERS = frozenset({"dynamixel", "feetech", "sim"})
"""What is loaded before a fork; vendors' libraries and plugins may start threads, which no fork copies."""


class _Child(NamedTuple):
    """A process that was forked, and the socket on which its start and end are reported."""

    pid: int
    reports: socket.socket


class ForkServer:
    """Serves the daemon's requests."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._poller = select.poll()
        self._poller.register(requests, select.POLLIN)
        self._children: dict[int, _Child] = {}

    def serve(self) -> int | None:
        """Fork a process for each request, until the daemon has closed its end.

        Returns in each forked process the descriptor of its channel; here None.
        """
        setproctitle(SERVER_TITLE)
        while True:
            for fd, _ in self._poller.poll():
                if fd in self._children:
                    self._report_end(fd)
                    continue
                packet, fds, _flags, _address = socket.recv_fds(self._requests, REQUEST_BYTES, 2)
                if not packet:
                    return None
                request = decode(packet)
                _load(request.driver)
                if request.robot is None:
                    continue
                channel, reports = fds
                if self._fork(request, socket.socket(fileno=reports)):
                    return channel
                os.close(channel)

    def _fork(self, request: ForkRequest, reports: socket.socket) -> bool:
        """Fork, and report it; return whether this is the process that was forked."""
        gc.freeze()  # else a look for what is gone would copy all of it
        try:
            pid = os.fork()
        except OSError as error:
            _report(reports, REFUSED, error.errno or 0)
            reports.close()
            return False
        if pid == 0:
            reports.close()
            self._forget()
            os.setsid()  # a terminal that closes must not end it in mid-motion
            setproctitle(f"{TITLE} {request.robot}")
            return True
        try:
            pidfd = os.pidfd_open(pid)
        except OSError as error:  # a process that could not be ended must not go on
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            _report(reports, REFUSED, error.errno or 0)
            reports.close()
            return False
        _report(reports, BORN, pid, pidfd)
        self._children[pidfd] = _Child(pid, reports)
        self._poller.register(pidfd, select.POLLIN)
        return False

    def _report_end(self, pidfd: int) -> None:
        """Report how a process has ended."""
        self._poller.unregister(pidfd)
        os.close(pidfd)
        pid, reports = self._children.pop(pidfd)
        _, status = os.waitpid(pid, 0)
        _report(reports, ENDED, os.waitstatus_to_exitcode(status))
        reports.close()

    def _forget(self) -> None:
        """Close what is the server's alone."""
        self._requests.close()
        for pidfd, (_, reports) in self._children.items():
            os.close(pidfd)
            reports.close()


def _load(driver: str) -> None:
    """Load what processes with a driver share."""
    if driver in SHARED_DRIVERS:
        with suppress(DriverConfigError):  # the process will report it when it makes its driver
            driver_class(driver)


def _report(reports: socket.socket, what: bytes, number: int, *fds: int) -> None:
    with suppress(OSError):  # the daemon has gone, or listens no longer
        socket.send_fds(reports, [REPORT.pack(what, number)], fds)
