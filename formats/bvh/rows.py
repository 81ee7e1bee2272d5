"""The frames of a BVH file: on each line a number for each channel.

NumPy reads them all at once. Where it cannot, or something is wrong, they are read line by line.
"""

from __future__ import annotations

import io
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import echoed

from ..errors import MOST_PROBLEMS

if TYPE_CHECKING:
    from ..arrays import Floats
    from ..errors import Problems

# In degrees, or in any unit of length.
MOST_VALUE = 1e9
TURN_DEG = 360.0

_IN_NUMBERS = b"0123456789+-.eE \t\v\f\r"
_RULE = f"it holds numbers from {-MOST_VALUE:g} to {MOST_VALUE:g}"


def read_rows(text: bytes, first_line: int, width: int, problems: Problems) -> Floats:
    """Return the frames, shape (frames, channels). Raises `FormatError` with what is wrong."""
    values = _at_once(text, width)
    if values is not None:
        return values
    rows = _Rows(width, problems)
    for number, line in enumerate(io.BytesIO(text), first_line):
        if not line.isspace():
            rows.read(line.strip(), number)
        if len(problems.found) > MOST_PROBLEMS:
            break
    return rows.values()


def _at_once(text: bytes, width: int) -> Floats | None:
    if not text.strip() or text.translate(None, _IN_NUMBERS + b"\n"):
        return None
    try:
        values = np.loadtxt(io.BytesIO(text), comments=None, ndmin=2)
    except ValueError:
        return None
    return values if values.shape[1] == width and np.abs(values).max() <= MOST_VALUE else None


@dataclass(slots=True)
class _Rows:
    """Frames, as they are read line by line."""

    width: int
    problems: Problems
    numbers: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))

    def read(self, line: bytes, number: int) -> None:
        """Read a frame."""
        self.lines.append(number)
        words = line.split(None, self.width)
        if len(words) != self.width:
            has = f"{'more than ' if len(words) > self.width else ''}{min(len(words), self.width)}"
            what, reason = f"the frame has {has} numbers", f"there are {self.width} channels"
            self.problems.add(number, what, reason, "write one for each, on one line")
            return
        numbers = _numbers(line, words)
        if numbers is None:
            wrong = next(word for word in words if _numbers(word, [word]) is None).decode()
            self.problems.add(number, f"the frame holds '{echoed(wrong)}'", _RULE, "correct it")
        else:
            self.numbers.extend(numbers)

    def values(self) -> Floats:
        """Return the frames. Raises `FormatError` if any was wrong."""
        self.problems.raise_if_any()
        if not self.lines:
            return np.empty((0, self.width))
        values: Floats = np.frombuffer(self.numbers).reshape(len(self.lines), self.width)
        furthest = np.maximum(values.max(axis=1), -values.min(axis=1))
        for row in np.flatnonzero(furthest > MOST_VALUE).tolist():
            what = f"the frame holds a number as far from 0 as {furthest[row]:g}"
            self.problems.add(self.lines[row], what, _RULE, "correct it")
        self.problems.raise_if_any()
        return values


def take_out_turns(angles: Floats) -> int:
    """Make angles continuous in place, in degrees, shape (frames,); return how many jumps they had.

    From one frame to the next, an angle goes the shorter way round.
    """
    turns = np.rint(np.diff(angles) / TURN_DEG)
    if jumps := int(np.count_nonzero(turns)):
        angles[1:] -= TURN_DEG * np.cumsum(turns)
    return jumps


def _numbers(line: bytes, words: list[bytes]) -> list[float] | None:
    """Return the numbers of a line that consists of these words; None where one is no decimal number."""
    try:
        return None if line.translate(None, _IN_NUMBERS) else [*map(float, words)]
    except ValueError:
        return None
