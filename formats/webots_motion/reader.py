"""Webots' motion file (.motion), version 1.0, to a motion.

There is no specification but Webots' own reader, `src/controller/c/motion.c`: a line that names the motors,
then a line for each key pose, with its time, a name that nothing uses, and a position for each motor, or `*`
where Webots leaves the motor alone. Between key poses, Webots goes on straight lines.
"""

from __future__ import annotations

import io
import re
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import echoed, listed, printable

from ..errors import MOST_PROBLEMS, Problems, Where
from ..io.joint_names import check_joint_names
from ..io.text import utf8_text
from ..model.motion import Motion
from ..model.timing import DEFAULT_RATE_HZ, frames_at

if TYPE_CHECKING:
    from ..arrays import Floats
    from ..io.source import Source

NAME, SUFFIXES = "webots_motion", (".motion",)

KIND = "a .motion file"
HEADER, VERSION = "#WEBOTS_MOTION", "V1.0"
# Webots counts milliseconds in an int of C.
LATEST_MS = 2**31 - 1

_TIME = re.compile(rb"(?:(?:(\d{1,10}):)?(\d{1,10}):)?(\d{1,10})")
_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def sniff(head: bytes) -> bool:
    """Whether a file begins as a motion file of Webots does."""
    return head.lstrip().startswith(b"#WEBOTS_MOTION,")


def load(data: bytes, source: Source) -> list[Motion]:
    """Read the motion in a file. Raises `FormatError` with every problem found in it."""
    problems = Problems(source.name)
    lines = io.BytesIO(utf8_text(data, problems, KIND))
    poses = _Poses(_motors(lines.readline().decode(), problems), problems)
    for number, line in enumerate(lines, 2):
        poses.read(line.strip(), number)
        if len(problems.found) > MOST_PROBLEMS:
            break
    return [poses.motion(printable(source.path.stem))]


def _motors(line: str, problems: Problems) -> tuple[str, ...]:
    """Read the first line, which names the motors."""
    header, *names = (cell.strip() for cell in line.split(","))
    if not line.strip():
        raise problems.fail(
            1 if line else 0, "begins with no header", f"{KIND} begins with {HEADER}", "add it"
        )
    if header != HEADER:
        what = f"begins with '{echoed(header)}'"
        raise problems.fail(1, what, f"{KIND} begins with {HEADER}", "correct it")
    version = names.pop(0) if names else ""
    if version != VERSION:
        reason = f"Webots has no other than {VERSION}"
        raise problems.fail(1, f"is of version '{echoed(version)}'", reason, "save it in that one")
    if names and not names[-1]:
        names.pop()
    if not names:
        hint = f"name them behind {VERSION}, on the same line"
        raise problems.fail(1, "names no motors", "a position is a motor's", hint)
    check_joint_names(names, Where(problems, 1))
    return tuple(names)


@dataclass(slots=True)
class _Poses:
    """The key poses of a file, as they are read line by line."""

    names: tuple[str, ...]
    problems: Problems
    times_ms: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))  # NaN where the motor is left alone
    lines: array[int] = field(default_factory=lambda: array("q"))
    empty_line: int = 0  # the first one after the header

    def read(self, line: bytes, number: int) -> None:
        """Read a line, which holds a pose or nothing."""
        if not line:
            self.empty_line = self.empty_line or number
            return
        if self.empty_line and (not self.lines or self.lines[-1] < self.empty_line):
            what, reason = "poses follow an empty line", "Webots reads no further than that"
            self.problems.warn(number, what, reason, "they are read; remove the empty line")
        cells = [cell.strip() for cell in line.split(b",")]
        time_ms = self._time_ms(cells[0], number)
        values = self._values(cells[2:], number)
        if time_ms is not None and values is not None:
            self.times_ms.append(time_ms)
            self.values.extend(values)
            self.lines.append(number)

    def _time_ms(self, cell: bytes, number: int) -> int | None:
        found = _TIME.fullmatch(cell)
        minutes, seconds, milliseconds = (int(part or 0) for part in found.groups()) if found else (0, 0, -1)
        time_ms = (60 * minutes + seconds) * 1000 + milliseconds
        shown = echoed(cell.decode())
        if not 0 <= time_ms <= LATEST_MS:
            reason = f"it is minutes:seconds:milliseconds, at most {LATEST_MS} ms"
            self.problems.add(number, f"the time is '{shown}'", reason, "correct it")
            return None
        if self.times_ms and time_ms <= self.times_ms[-1]:
            what, reason = f"the pose at {shown} is not after that on line {self.lines[-1]}", "times increase"
            self.problems.add(number, what, reason, "correct their order")
            return None
        return time_ms

    def _values(self, cells: list[bytes], number: int) -> list[float] | None:
        if cells and not cells[-1]:
            cells.pop()
        if len(cells) != len(self.names):
            what = f"the pose has {len(cells)} positions for {len(self.names)} motors"
            reason = "behind its time and its name, a pose has one for each"
            self.problems.add(number, what, reason, "write * where a motor keeps its position")
            return None
        wrong = next((cell for cell in cells if cell != b"*" and not _NUMBER.fullmatch(cell)), None)
        values = [] if wrong is not None else [np.nan if cell == b"*" else float(cell) for cell in cells]
        if wrong is None and np.isinf(values).any():
            wrong = cells[int(np.flatnonzero(np.isinf(values))[0])]
        if wrong is not None:
            reason = "it is a finite number, or * where the motor keeps its position"
            self.problems.add(number, f"a position is '{echoed(wrong.decode())}'", reason, "correct it")
            return None
        return values

    def motion(self, name: str) -> Motion:
        """Return the motion of all poses. Raises `FormatError` if something was wrong."""
        self.problems.raise_if_any()
        if not self.times_ms:
            raise self.problems.fail(1, "has no pose", "nothing would move", "add one")
        positions = np.frombuffer(self.values).reshape(len(self.times_ms), len(self.names))
        moved = self._moved(positions)
        positions = self._held(positions[:, moved], [self.names[column] for column in moved])
        self.problems.raise_if_any()
        times, rate = frames_at(np.array(self.times_ms) / 1000, DEFAULT_RATE_HZ)
        return Motion(
            name=name,
            joint_names=tuple(self.names[column] for column in moved),
            frame_rate=rate,
            times=times,
            positions=positions,
            metadata={"format": NAME},
            warnings=tuple(self.problems.warnings),
        )

    def _moved(self, positions: Floats) -> list[int]:
        """Return the columns of the motors that have a position in any pose."""
        moved = ~np.isnan(positions).all(axis=0)
        still = [name for name, moves in zip(self.names, moved, strict=True) if not moves]
        if not moved.any():
            self.problems.add(1, "no motor has a position", "every pose has * for all", "write positions")
        elif still:
            quoted = listed(still, "'")
            what = f"motor {quoted} has no position in any pose"
            self.problems.warn(1, what, "every pose has *", "it is no joint of the motion")
        return [column for column, moves in enumerate(moved.tolist()) if moves]

    def _held(self, positions: Floats, names: list[str]) -> Floats:
        """Return positions in which each motor keeps its last one where it is left alone."""
        alone = np.isnan(positions)
        for column in np.flatnonzero(alone[0]).tolist():
            first = int(np.argmin(alone[:, column]))
            what = f"motor '{echoed(names[column])}' has no position before line {self.lines[first]}"
            reason = "where it is until then, Webots leaves open"
            self.problems.add(self.lines[0], what, reason, "write one in the first pose")
        last = np.where(alone, 0, np.arange(len(positions))[:, None])
        held: Floats = np.take_along_axis(positions, np.maximum.accumulate(last, axis=0), axis=0)
        resumed = alone[:-1] & (held[1:] != held[:-1])
        for column in np.flatnonzero(resumed.any(axis=0)).tolist():
            line = self.lines[int(np.argmax(resumed[:, column])) + 1]
            what = f"motor '{echoed(names[column])}' moves on after *"
            reason = "Webots keeps it still until this pose, and then steps"
            self.problems.warn(line, what, reason, "it moves here from the pose before")
        return held
