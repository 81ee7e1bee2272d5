"""Biovision's BVH, motions of a skeleton, to a motion with a column for each channel.

The format has no specification; it is read as M. Meredith and S. Maddock describe it in "Motion Capture File
Formats Explained", University of Sheffield, 2001: a hierarchy of joints with their channels, then frames with
a number for each channel. Rotations are in degrees; for lengths there is no unit.
"""

from __future__ import annotations

import io
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import echoed, listed, printable

from ..errors import MOST_PROBLEMS, FormatError, Problems
from ..io.text import utf8_text
from ..model.motion import FASTEST_FRAME_RATE, FRAME_RATE_RULE, SLOWEST_FRAME_RATE, Motion
from .rows import read_rows, take_out_turns
from .skeleton import Skeleton

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from ..arrays import Floats
    from ..io.source import Source
    from .skeleton import Column

    Lines: TypeAlias = Iterator[tuple[int, bytes]]

NAME, SUFFIXES = "bvh", (".bvh",)

KIND = "a BVH file"
# The series that joint positions are, where what a file says of it is noted.
JOINTS = "JointDisplacement"

_COUNT = re.compile(rb"Frames\s*:\s*(\d{1,18})")
_PERIOD = re.compile(rb"Frame Time\s*:\s*((?:\d{1,9}\.?\d{0,30}|\.\d{1,30})(?:[eE][-+]?\d{1,2})?)")


def sniff(head: bytes) -> bool:
    """Whether a file begins as BVH does."""
    return re.match(rb"\s*HIERARCHY\s", head) is not None


def load(data: bytes, source: Source) -> list[Motion]:
    """Read the motion in a file. Raises `FormatError` with every problem found in it."""
    problems = Problems(source.name)
    text = io.BytesIO(utf8_text(data, problems, KIND))
    lines = ((number, line.strip()) for number, line in enumerate(text, 1) if not line.isspace())
    columns, start = _read_hierarchy(lines, problems)
    stated = _read_count(lines, start, problems)
    rate, number = _read_rate(lines, start, source.options.rate_hz, problems)
    problems.raise_if_any()
    values = read_rows(text.read(), number + 1, len(columns), problems)
    if not len(values):
        raise problems.fail(start, "has no frames", "nothing would move", "is the file complete?")
    _take_out_turns(values, columns, start, problems)
    values *= [np.pi / 180.0 if column.is_angle else 1.0 for column in columns]
    if lengths := sum(not column.is_angle for column in columns):
        what, reason = f"{lengths} channels are lengths", "BVH has no unit for them, and they are read as m"
        problems.warn(start, what, reason, "give them a `unit` in a motion map, or ignore them")
    metadata = {"format": NAME, "units": {column.name: "deg" for column in columns if column.is_angle}}
    return [
        Motion(
            name=printable(source.path.stem),
            joint_names=tuple(column.name for column in columns),
            frame_rate=rate,
            times=np.arange(len(values)) / rate,
            positions=values,
            metadata=metadata | _compared(len(values), stated, start, problems),
            warnings=tuple(problems.warnings),
        )
    ]


def _read_hierarchy(lines: Lines, problems: Problems) -> tuple[list[Column], int]:
    """Read the lines down to MOTION; return a column for each channel, and the line of MOTION."""
    number, line = next(lines, (0, b""))
    if line != b"HIERARCHY":
        what = f"begins with '{echoed(line.decode())}'" if line else "is empty"
        raise problems.fail(number, what, f"{KIND} begins with HIERARCHY", "is it the right file?")
    skeleton = Skeleton(problems)
    for number, line in lines:
        if line == b"MOTION":
            return skeleton.end(number), number
        skeleton.read(line.decode(), number)
        if len(problems.found) > MOST_PROBLEMS:
            raise FormatError(problems.found)
    raise problems.fail(number, "ends without MOTION", "the frames follow it", "is the file complete?")


def _read_count(lines: Lines, start: int, problems: Problems) -> int:
    number, line = next(lines, (start, b""))
    found = _COUNT.fullmatch(line)
    if found is None:
        what = f"'{echoed(line.decode())}' follows MOTION"
        raise problems.fail(number, what, "the number of frames does", "write `Frames: 100`, say")
    return int(found[1])


def _read_rate(lines: Lines, start: int, rate_hz: float | None, problems: Problems) -> tuple[float, int]:
    """Read the time of a frame; return the rate, and the line.

    Where the time is 0, the rate is the one that was asked for.
    """
    number, line = next(lines, (start, b""))
    found = _PERIOD.fullmatch(line)
    if found is None:
        what = f"'{echoed(line.decode())}' follows the number of frames"
        raise problems.fail(number, what, "the time of one does", "write `Frame Time: 0.01`, say")
    period = Decimal(found[1].decode())
    rate = rate_of(period) if period else rate_hz or 0.0
    if not SLOWEST_FRAME_RATE <= rate <= FASTEST_FRAME_RATE:
        what = f"the time of a frame is {found[1].decode()} s"
        hint = "correct it; where it is 0, say the rate: `--file-rate HZ`"
        problems.add(number, what, FRAME_RATE_RULE, hint)
    return rate, number


def rate_of(period: Decimal) -> float:
    """Return the rate of a frame's time in s, which is rounded or cut: 30 for 0.0333333, 120 for 0.00833.

    It is the whole number that such a time stands for, if it can stand for a single one.
    """
    exact = float(1 / period)
    last_digit = Decimal((0, (1,), int(period.as_tuple().exponent)))
    for most in (last_digit / 2, last_digit):
        near = [whole for whole in _around(exact) if abs(1 / Decimal(whole) - period) <= most]
        if exact.is_integer() or len(near) > 1:
            return exact
        if near:
            return float(near[0])
    return exact


def _around(rate: float) -> list[int]:
    return [whole for whole in range(round(rate) - 1, round(rate) + 2) if whole > 0]


def _take_out_turns(values: Floats, columns: list[Column], start: int, problems: Problems) -> None:
    """Make angles continuous in place, which start over at half a turn: a joint would race round."""
    jumps = {
        column.name: count
        for index, column in enumerate(columns)
        if column.is_angle and (count := take_out_turns(values[:, index]))
    }
    if jumps:
        count = sum(jumps.values())
        what = f"{count} jump{'s' if count > 1 else ''} by whole turns are taken out of {listed(jumps)}"
        reason = "angles start over after a turn, and a joint would race round"
        problems.warn(start, what, reason, "check that no joint turns on beyond its limits")


def _compared(frames: int, stated: int, start: int, problems: Problems) -> dict[str, Any]:
    """Warn of a number of frames that is not theirs; return what notes one that is greater."""
    if stated == frames:
        return {}
    what = f"Frames is {stated} and there are {frames}"
    problems.warn(start, what, "those that there are count", "correct it if none are missing")
    return {"components": {JOINTS: {"frames_stated": stated}}} if stated > frames else {}
