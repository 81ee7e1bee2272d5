"""Reads motions of any file: small ones here, others in a process of their own, which delays no stop.

Python's parsers keep the interpreter for as long as they like: a file of 300 MB of newlines made the daemon
deaf for seconds. A small file keeps it for some milliseconds at worst.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any

from motiond.formats import MAP_SUFFIX, FormatError, Problem, ReadOptions, load_motions, load_run
from motiond.formats.registry import is_motion_file
from motiond.formats.worker import FOUND, READ, put, taken
from motiond.text import printable

from ...ipc.stream_forks import start_beside
from .markers import SUFFIX, marker_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from motiond.formats import Motion, Run

SMALL_BYTES = 250_000
PATIENCE_S, BYTES_A_SECOND = 30.0, 1_000_000
END_WITHIN_S = 2.0
DEFAULTS = ReadOptions()


class MotionReader:
    """Reads motion files, and recordings to look at, those of any size within bounds of time and memory.

    - `small_bytes`: files of up to this size are read here
    - `patience_s`: so long a larger file may take, and its size by `BYTES_A_SECOND` besides
    - `end_within_s`: for the process to end by itself; one that hangs would keep files from being read again
    """

    def __init__(
        self,
        *,
        small_bytes: float = SMALL_BYTES,
        patience_s: float = PATIENCE_S,
        end_within_s: float = END_WITHIN_S,
    ) -> None:
        self._small_bytes = small_bytes
        self._patience_s, self._end_within_s = patience_s, end_within_s
        self._one_at_a_time = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def load_motions(self, path: Path, options: ReadOptions = DEFAULTS) -> list[Motion]:
        """Return every motion in a file, as `motiond.formats.load_motions` does.

        Raises FormatError also if the file takes more time or memory than there is.
        """
        if (size := _size_of(path)) <= self._small_bytes:
            return load_motions(path, options=options)
        motions: list[Motion] = self._ask(path, options, size)
        return motions

    def load_run(self, path: Path, points: int) -> Run:
        """Return what a recording holds, as `motiond.formats.load_run` does; raises FormatError likewise."""
        if (size := _size_of(path)) <= self._small_bytes:
            return load_run(path, points=points)
        run: Run = self._ask(path, points, size)
        return run

    def _ask(self, path: Path, how: ReadOptions | int, size: int) -> Any:
        with self._one_at_a_time:
            try:
                return self._answer(path, how, self._patience_s + size / BYTES_A_SECOND)
            except OSError as error:
                raise _unread(path, os.strerror(error.errno or 0), "see the system's limits") from error

    def rest(self) -> None:
        """End the process, where nothing is being read; the next file starts another one."""
        if self._one_at_a_time.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._one_at_a_time.release()

    def kill(self) -> None:
        """End the process now, whatever it reads."""
        if (process := self._process) is not None:
            process.kill()

    def _answer(self, path: Path, how: ReadOptions | int, patience_s: float) -> Any:
        requests = self._running()
        requests.settimeout(patience_s)
        request = put((path, how))
        try:
            socket.send_fds(requests, [READ], [request])
            kind, memories, _, _ = socket.recv_fds(requests, 1, 1)
        except TimeoutError as error:
            self.kill()
            self._end()
            raise _unread(path, f"it takes longer than {patience_s:.0f} s", "split the motion") from error
        except (BrokenPipeError, ConnectionResetError):
            kind, memories = b"", []
        finally:
            os.close(request)
        if not kind:
            raise _unread(
                path, f"its reader was ended ({self._end()}), as by want of memory", "split the motion"
            )
        if not memories:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))  # else it would have come
        (memory,) = memories
        try:
            answer = taken(memory)
        finally:
            os.close(memory)
        if kind == FOUND:
            return answer
        problems, number = answer
        raise FormatError(problems) from (None if number is None else OSError(number, os.strerror(number)))

    def _running(self) -> socket.socket:
        """Return where the process takes requests; start it where there is none."""
        if self._requests is not None and self._process is not None and self._process.poll() is None:
            return self._requests
        self._end()
        self._process, self._requests = start_beside("motiond.formats.worker")
        return self._requests

    def _end(self) -> int | None:
        """End the process, and return how it ended."""
        if self._requests is not None:
            self._requests.close()
            self._requests = None
        process, self._process = self._process, None
        if process is None:
            return None
        with suppress(subprocess.TimeoutExpired):
            return process.wait(self._end_within_s)
        process.kill()
        return process.wait()


def _size_of(path: Path) -> int:
    with suppress(OSError, ValueError):
        return path.stat().st_size
    return 0


def _unread(path: Path, reason: str, hint: str) -> FormatError:
    return FormatError([Problem(printable(str(path)), 0, "cannot be read", reason, hint)])


MOST_FILES = 20_000
"""In a folder: each is looked at whenever one changes, which takes seconds of ten times as many."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What stands in the configured places."""

    # files that are configured, there or not, and those in folders whose suffix is that of a motion
    motions: list[Path] = field(default_factory=list)
    # marker files in folders, and where those of configured files would be
    markers: list[Path] = field(default_factory=list)
    unlisted: dict[Path, str] = field(default_factory=dict)  # folders that cannot be listed, and why


def list_places(places: Iterable[Path], made_later: Path | None = None) -> Listing:
    """List files and folders, in their order; what is in a folder is sorted, hidden files are left out.

    `made_later`: a folder that is made with the first upload, and until then has nothing in it.
    """
    found = Listing()
    for place in places:
        try:
            if place == made_later and not place.exists():
                continue
            inside = _inside(place) if place.is_dir() else None
        except OSError as error:
            reason = error.strerror or str(error)
            hint = "remove some" if error.errno == errno.E2BIG else "check its rights"
            problem = Problem(printable(str(place)), 0, "cannot be listed", reason, hint)
            found.unlisted[place] = str(problem)
            continue
        if inside is None:
            found.motions.append(place)
            found.markers.append(marker_file(place))
            continue
        seen = [path for path in inside if not path.name.startswith(".")]
        found.motions.extend(path for path in seen if is_motion(path))
        found.markers.extend(path for path in seen if path.name.endswith(SUFFIX))
    return found


def is_motion(path: Path) -> bool:
    """Whether a file in a folder is a motion, by its name and, where that says little, by its content."""
    return not is_beside_motions(path) and is_motion_file(path)


def is_beside_motions(path: Path) -> bool:
    """Whether a file, by its name, is no motion but says something of motions."""
    return path.name.lower().endswith((SUFFIX, MAP_SUFFIX))


def _inside(folder: Path) -> list[Path]:
    inside = [*islice(folder.iterdir(), MOST_FILES + 1)]
    if len(inside) > MOST_FILES:
        raise OSError(errno.E2BIG, f"it holds more than {MOST_FILES:,} files", str(folder))
    return sorted(inside)
