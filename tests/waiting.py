"""Waits of tests, each with an end: what does not come fails the test, with what came in its place."""

from __future__ import annotations

import io
import os
import select
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import psutil

    Seen = TypeVar("Seen")

PATIENCE_S = 240.0
"""Far longer than anything takes on a machine whose processors are shared by many more processes."""
PAUSE_S = 0.02


class Awaited(io.StringIO):
    """An output that a thread writes, and of which a text is awaited.

    Parameters
    ----------
    text : str
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self._came = threading.Event()

    @property
    def has_come(self) -> bool:
        return self._text in self.getvalue()

    def write(self, text: str, /) -> int:
        written = super().write(text)
        if self.has_come:
            self._came.set()
        return written

    def wait(self) -> None:
        """Wait until the text has come."""
        assert self._came.wait(PATIENCE_S), f"no '{self._text}'; there came:\n{self.getvalue()}"


def eventually(
    what: str, look: Callable[[], Seen], holds: Callable[[Seen], object], patience_s: float = PATIENCE_S
) -> Seen:
    """Look again and again until what is seen holds, and give it."""
    deadline_s = time.monotonic() + patience_s
    while not holds(seen := look()):
        if time.monotonic() > deadline_s:
            raise AssertionError(f"{what}: not in {patience_s:g} s; seen last: {seen!r}")
        time.sleep(PAUSE_S)
    return seen


def still_running(
    processes: Iterable[psutil.Process], patience_s: float = PATIENCE_S
) -> list[psutil.Process]:
    """Wait until processes have ended, and give those that have not.

    Process 1, which orphans are left to, may take seconds to bury them: they have ended all the same.
    """
    left, deadline_s = [], time.monotonic() + patience_s
    for process in processes:
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(process.pid)
            try:
                remaining_s = max(0.0, deadline_s - time.monotonic())
                if process.is_running() and not select.select([descriptor], [], [], remaining_s)[0]:
                    left.append(process)
            finally:
                os.close(descriptor)
    return left


def lines_until(stream: IO[Any] | None, part: str, patience_s: float = PATIENCE_S) -> list[str]:
    """Return the lines that a program writes from now on, up to the one that contains a text.

    They are read byte by byte, so that whoever reads on finds all that follows.
    """
    assert stream is not None

    def has_come(text: str) -> bool:
        return text.endswith("\n") and part in text

    return output_until(stream.fileno(), has_come, f"'{part}'", patience_s, at_once=1).splitlines()


def output_until(
    descriptor: int,
    holds: Callable[[str], bool],
    what: str,
    patience_s: float = PATIENCE_S,
    at_once: int = 4096,
) -> str:
    """Return all that comes from a pipe or a terminal until it holds."""
    seen, deadline_s = bytearray(), time.monotonic() + patience_s
    while not holds(text := seen.decode(errors="replace")):
        try:
            came = _read(descriptor, deadline_s, at_once)
        except TimeoutError as error:
            raise AssertionError(f"no {what} in {patience_s:g} s; there came:\n{text}") from error
        if not came:
            raise AssertionError(f"no {what} up to the end; there came:\n{text}")
        seen += came
    return text


def _read(descriptor: int, deadline_s: float, most: int) -> bytes:
    """Read what has come; nothing at the end."""
    if not select.select([descriptor], [], [], max(0.0, deadline_s - time.monotonic()))[0]:
        raise TimeoutError
    try:
        return os.read(descriptor, most)
    except OSError:  # how Linux says that the other end of a terminal is closed
        return b""


@contextmanager
def started(command: Sequence[object], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Run a program beside the test; what still runs at the end is terminated, or killed at last."""
    process = subprocess.Popen([str(word) for word in command], **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate(timeout=PATIENCE_S)
            raise
