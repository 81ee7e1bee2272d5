"""Starts the fork server, and asks it for stream processes; another one is started when it has gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from .forks import LEAN, ForkRequest

if TYPE_CHECKING:
    from collections.abc import Iterable

END_PATIENCE_S = 5.0
OWES_S = 0.4
"""A server that has not reported for so long how a process ended hangs; it is started again after 0.5 s."""


def start_beside(module: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start a module of ours as a process, and return it with our end of the socket pair that it serves."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        try:
            process = subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter
                [sys.executable, "-P", "-m", module, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, **LEAN},
                start_new_session=True,  # a terminal that closes must not end it
            )
        except BaseException:
            ours.close()
            raise
    return process, ours


class StreamForks:
    """The fork server of one daemon; a context manager that ends it.

    Stream processes go on without it, but how they end is then not known.
    """

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._owed: list[tuple[socket.socket, float]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int | None:
        """The server's id; None while there is none."""
        return None if self._server is None else self._server.pid

    def start(self) -> socket.socket:
        """Return where the server takes requests; start it if there is none, without waiting for it.

        Raises OSError if the system has no descriptors, processes or memory left.
        """
        if self._requests is not None and self._server is not None and self._server.poll() is None:
            return self._requests
        self.end()
        self._server, self._requests = start_beside("motiond.daemon.stream")
        self._requests.setblocking(False)
        return self._requests

    def load(self, drivers: Iterable[str]) -> None:
        """Let the server load drivers meanwhile, so that the first process with each is ready sooner.

        Where the server does not take that, it loads them with the first process. Raises OSError if there is
        no server to be had.
        """
        server = self.start()
        with suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            for driver in drivers:
                server.send(ForkRequest(driver).encode())

    def fork(self, request: ForkRequest, channel: socket.socket, report: socket.socket) -> None:
        """Ask for a process, without waiting for it.

        - `channel`: its end of the channel
        - `report`: where the server reports on it

        Raises OSError if there is no server to be had, or it does not listen.
        """
        if self._hangs():
            self.kill()
            self.end()
        packet, fds = request.encode(), (channel.fileno(), report.fileno())
        try:
            socket.send_fds(self.start(), [packet], fds)
        except (BrokenPipeError, ConnectionResetError):  # it has just ended
            self.end()
            socket.send_fds(self.start(), [packet], fds)

    def expect(self, report: socket.socket) -> None:
        """Take a socket on which the server has yet to report how a process ended."""
        self._owed.append((report, time.monotonic()))

    def _hangs(self) -> bool:
        """Whether the server has owed the report of an ended process for too long."""
        owed, self._owed = self._owed, []
        for report, since_s in owed:
            try:
                report.recv(1)
                report.close()
            except BlockingIOError:
                self._owed.append((report, since_s))
        return any(time.monotonic() - since_s > OWES_S for _, since_s in self._owed)

    def signal(self, _pid: int, pidfd: int, number: signal.Signals) -> None:
        """Send a process a signal. Raises ProcessLookupError if it has ended."""
        signal.pidfd_send_signal(pidfd, number)

    def kill(self) -> None:
        """End a server that does not answer, at once."""
        if self._server is not None:
            self._server.kill()

    def end(self) -> None:
        """End the server; any number of times."""
        for report, _ in self._owed:
            report.close()
        self._owed = []
        if self._requests is not None:
            self._requests.close()
            self._requests = None
        if self._server is not None:
            try:
                self._server.wait(END_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
            self._server = None
