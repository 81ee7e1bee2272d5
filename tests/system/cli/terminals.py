"""A terminal of a user: motiond on a pseudo-terminal, whose screen is read as a person reads it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pyte

from tests.daemon.programs import MOTIOND
from tests.waiting import PATIENCE_S, started

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAUSE_S = 0.05


class Terminal:
    """A pseudo-terminal with a program on it.

    Attributes
    ----------
    sent : bytearray
        All that the program has written, as it did.
    modes_before : list
        How the terminal treated what comes and goes before the program was on it.
    """

    def __init__(self, master: int, slave: int, columns: int, lines: int) -> None:
        self.sent = bytearray()
        self._master, self._slave = master, slave
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.process: subprocess.Popen[Any]
        self.resize(columns, lines)
        self.modes_before = self.modes

    @property
    def modes(self) -> list[Any]:
        """How the terminal treats what comes and goes."""
        return termios.tcgetattr(self._slave)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display]

    @property
    def widest(self) -> int:
        return max(map(len, self.lines))

    def resize(self, columns: int, lines: int) -> None:
        self._screen.resize(lines, columns)
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def hang_up(self) -> int:
        """Close the window; return the exit code of the program, once it has ended."""
        os.close(self._slave)
        os.close(self._master)
        return self.process.wait(PATIENCE_S)

    def until(self, holds: Callable[[str], object], what: str = "what is waited for") -> str:
        """Read on until what stands on the screen holds, and give it."""
        deadline_s = time.monotonic() + PATIENCE_S
        while not holds(shown := "\n".join(self.lines)):
            if self.process.poll() is not None:
                raise AssertionError(f"no {what} up to the end; {self.ended()}; the screen:\n{shown}")
            if time.monotonic() > deadline_s:
                raise AssertionError(f"no {what} in {PATIENCE_S:g} s; the screen:\n{shown}")
            self._read(PAUSE_S)
        return shown

    def shows(self, *texts: str) -> str:
        """Wait until all of these stand on the screen."""
        return self.until(lambda shown: all(text in shown for text in texts), f"'{', '.join(texts)}'")

    def sends(self, holds: Callable[[bytearray], object], what: str) -> None:
        """Read on until all that was written holds; the system may hand over the last after the end."""
        deadline_s = time.monotonic() + PATIENCE_S
        while not holds(self.sent):
            assert time.monotonic() < deadline_s, f"no {what} in {PATIENCE_S:g} s; {self.sent[-200:]!r}"
            self._read(PAUSE_S)

    def ended(self) -> tuple[int, str]:
        """Wait until the program has ended; return its exit code, and what it wrote to stderr."""
        deadline_s = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline_s, "\n".join(self.lines)
            self._read(PAUSE_S)
        self._read(0.0)
        stderr = self.process.stderr
        assert stderr is not None
        return self.process.returncode, stderr.read()

    def _read(self, wait_s: float) -> None:
        while select.select([self._master], [], [], wait_s)[0]:
            data = os.read(self._master, 65536)
            self.sent += data
            self._stream.feed(data)
            wait_s = 0.0


@contextmanager
def on_terminal(*arguments: object, columns: int = 100, lines: int = 30) -> Iterator[Terminal]:
    """Run motiond on a terminal of its own."""
    master, slave = pty.openpty()
    try:
        terminal = Terminal(master, slave, columns, lines)
        dropped = {"COLUMNS", "LINES", "MOTIOND_CONFIG", "MOTIOND_BROKER"}
        environment = {name: value for name, value in os.environ.items() if name not in dropped}
        with started(
            (MOTIOND, *arguments),
            stdin=slave,
            stdout=slave,
            stderr=subprocess.PIPE,
            text=True,
            env=environment | {"TERM": "xterm-256color", "PYTHONUTF8": "1"},
            preexec_fn=_take_terminal,
        ) as terminal.process:
            yield terminal
    finally:
        for descriptor in (master, slave):
            with suppress(OSError):  # it has hung up
                os.close(descriptor)


def _take_terminal() -> None:
    """Have Ctrl-C, another size and the terminal's end told to the program, as a shell's terminal does."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
