"""Programs of motiond that a launcher has forked, as if they were started: what `subprocess.Popen` offers."""

from __future__ import annotations

import atexit
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, Self, TextIO

import orjson

from motiond.daemon.robots import stream_forks
from tests.lasting import LASTING
from tests.waiting import PATIENCE_S

MOTIOND = Path(sys.executable).with_name("motiond")
ANSWER_BYTES = 32


class _Launcher:
    """The launcher of this process.

    Attributes
    ----------
    orders : socket or None
        Where it takes orders; None until it is started.
    for_fork_servers : int or None
        The id of that of the fork servers.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.orders: socket.socket | None = None
        self.for_fork_servers: int | None = None

    def order(self, order: dict[str, Any], fds: list[int]) -> None:
        """Have a program forked; the launcher is started before the first."""
        if self.orders is None:
            self.orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "tests.daemon.launcher", str(theirs.fileno())],
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": os.getcwd(), "OPENBLAS_NUM_THREADS": "1"},  # noqa: PTH109
                    start_new_session=True,
                )
            self.for_fork_servers = orjson.loads(self.orders.recv(ANSWER_BYTES))
            LASTING.update({self._process.pid: False, self.for_fork_servers: False})
            atexit.register(self.end)
        socket.send_fds(self.orders, [orjson.dumps(order)], fds)

    def end(self) -> None:
        if self.orders is not None and self._process is not None:
            self.orders.close()
            self._process.wait(PATIENCE_S)


LAUNCHER = _Launcher()


class Program:
    """A program of motiond that runs beside the test.

    Parameters
    ----------
    *arguments : str
        Without the program's name.
    stdin, stdout, stderr : None, int or file
        As `subprocess.Popen` takes them; pipes are read as text.
    cwd : path, optional
    env : dict, optional
    pass_fds : tuple of int, optional
        What it has besides, by the same number.

    Attributes
    ----------
    stdout, stderr : TextIO or None
        What it writes, where that is a pipe.
    returncode : int or None
        None while it runs.
    """

    def __init__(
        self,
        *arguments: str,
        stdin: int | IO[Any] | None = subprocess.DEVNULL,
        stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: dict[str, str] | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> None:
        self.args = [str(MOTIOND), *arguments]
        self.returncode: int | None = None
        self._told, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ExitStack() as stack:
            stack.enter_context(theirs)
            given_in = _descriptor(stdin, 0, stack)
            given_out, self.stdout = _piped(stdout, 1, stack)
            if stderr == subprocess.STDOUT:
                given_err, self.stderr = given_out, None
            else:
                given_err, self.stderr = _piped(stderr, 2, stack)
            order = {
                "arguments": self.args,
                "folder": os.fspath(cwd or os.getcwd()),  # noqa: PTH109 - what a child inherits
                "environment": dict(os.environ if env is None else env),
                "passed": pass_fds,
                "by": os.getpid(),
            }
            LAUNCHER.order(order, [given_in, given_out, given_err, *pass_fds, theirs.fileno()])
        heard = self._heard(PATIENCE_S)
        assert heard, "the launcher forks nothing"
        self.pid: int = orjson.loads(heard)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _heard(self, patience_s: float) -> bytes | None:
        """What the launcher tells; None if it tells nothing."""
        if not select.select([self._told], [], [], max(0.0, patience_s))[0]:
            return None
        heard = self._told.recv(ANSWER_BYTES)
        assert heard, "the launcher has ended"
        return heard

    def poll(self) -> int | None:
        """Return how it has ended; None while it runs."""
        if self.returncode is None and (heard := self._heard(0.0)):
            self.returncode = orjson.loads(heard)
            self._told.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended."""
        if self.poll() is None and (heard := self._heard(PATIENCE_S if timeout is None else timeout)):
            self.returncode = orjson.loads(heard)
            self._told.close()
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or PATIENCE_S)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # buried, and not told of yet
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Read all that it still writes, and wait until it has ended."""
        deadline_s = time.monotonic() + (PATIENCE_S if timeout is None else timeout)
        read = {"stdout": "", "stderr": ""}
        with selectors.DefaultSelector() as pipes:
            for name in read:
                pipe = getattr(self, name)
                if pipe is not None and not pipe.closed:
                    pipes.register(pipe, selectors.EVENT_READ, name)
            chunks: dict[str, list[bytes]] = {name: [] for name in read}
            while pipes.get_map():
                ready = pipes.select(max(0.0, deadline_s - time.monotonic()))
                if not ready:
                    raise subprocess.TimeoutExpired(self.args, timeout or PATIENCE_S)
                for key, _ in ready:
                    came = os.read(key.fd, 1 << 16)
                    chunks[key.data].append(came)
                    if not came:
                        pipes.unregister(key.fileobj)
        self.wait(max(0.0, deadline_s - time.monotonic()))
        self._close()
        return b"".join(chunks["stdout"]).decode(), b"".join(chunks["stderr"]).decode()

    def end(self) -> None:
        """Terminate it if it still runs, or kill it at last."""
        self.terminate()
        try:
            self.communicate(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            self.communicate(PATIENCE_S)
            raise

    def _close(self) -> None:
        for pipe in (self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()


def fork_servers_at(orders: socket.socket) -> None:
    """Let the daemon of this process have its fork server forked by a launcher instead of starting it."""

    def started(command: list[str], *, start_new_session: bool, **options: Any) -> Program:
        program = Program(*command[1:], **options)
        assert start_new_session
        return program

    LAUNCHER.orders = orders
    there = {"DEVNULL": subprocess.DEVNULL, "TimeoutExpired": subprocess.TimeoutExpired}
    vars(stream_forks)["subprocess"] = SimpleNamespace(Popen=started, **there)


def _piped(wanted: int | IO[Any] | None, inherited: int, stack: ExitStack) -> tuple[int, TextIO | None]:
    """Give what the program writes to, and our end of that where it is a pipe."""
    if wanted != subprocess.PIPE:
        return _descriptor(wanted, inherited, stack), None
    ours, theirs = os.pipe()
    stack.callback(os.close, theirs)
    return theirs, os.fdopen(ours)


def _descriptor(wanted: int | IO[Any] | None, inherited: int, stack: ExitStack) -> int:
    if wanted is None:
        return inherited
    if wanted == subprocess.DEVNULL:
        nothing = os.open(os.devnull, os.O_RDWR)
        stack.callback(os.close, nothing)
        return nothing
    return wanted if isinstance(wanted, int) else wanted.fileno()
