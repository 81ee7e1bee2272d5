"""A motion to Webots' motion file (.motion), version 1.0: each row a key pose.

What is written keeps to what Webots' own reader, `src/controller/c/motion.c`, takes: whole milliseconds, and
lines no longer than its buffer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import orjson

from ..errors import FormatError, Problem
from ..io.writers.digits import ALL_DIGITS, CHUNK_NUMBERS, check_digits, rounded_within
from ..io.writers.motion_writing import joint_names, unwritable, written_series
from ..io.writers.output import replacing
from ..model.interpolation import SAME_TIME_S
from .reader import HEADER, LATEST_MS, VERSION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from ..arrays import Floats, Integers
    from ..model.motion import Motion

OPTIONS: frozenset[str] = frozenset()
LONGEST_LINE = 4095


def dump(
    motion: Motion, path: Path, *, precision: int | None = ALL_DIGITS, drop: Collection[str] = ()
) -> None:
    """Write a motion, as `dump_motion` does."""
    check_digits(precision)
    times_ms = np.rint(1000 * motion.times)
    is_inexact = np.any(np.abs(times_ms / 1000 - motion.times) > SAME_TIME_S)
    times = {"times": "a .motion file has whole milliseconds"} if is_inexact else {}
    reason = "a .motion file holds joint positions alone"
    written_series(motion, (), path, drop, reason=reason, others=times)
    _check(motion, path, times_ms)
    with replacing(path) as out:
        for number, line in enumerate(_lines(motion, times_ms.astype(np.int64), precision), 1):
            if len(line) > LONGEST_LINE:
                what, reason = (
                    f"line {number} has {len(line)} bytes",
                    f"Webots reads {LONGEST_LINE} of a line",
                )
                raise FormatError([Problem(str(path), 0, what, reason, "write fewer digits or joints")])
            out.write(line)


def _check(motion: Motion, path: Path, times_ms: Floats) -> None:
    problems: list[tuple[str, ...]] = []
    if not 0 <= times_ms[0] <= times_ms[-1] <= LATEST_MS:
        what = f"the motion goes from {motion.times[0]:g} s to {motion.times[-1]:g} s"
        problems.append((what, f"a .motion file goes from 0 to {LATEST_MS / 1000:.0f} s", "shift its times"))
    if np.any(np.diff(times_ms) <= 0):
        problems.append(
            ("two rows would have one time", "a .motion file has whole milliseconds", "resample it")
        )
    problems += [
        (f"joint '{name}' cannot stand in the first line", "names lie between commas", "rename it")
        for name in joint_names(motion)
        if "," in name or name != " ".join(name.split()) or not name
    ]
    if found := [*unwritable(motion, path), *(Problem(str(path), 0, *parts) for parts in problems)]:
        raise FormatError(found)


def _lines(motion: Motion, times_ms: Integers, precision: int | None) -> Iterator[bytes]:
    yield ",".join([HEADER, VERSION, *joint_names(motion)]).encode() + b"\n"
    ends = motion.positions.min(axis=0), motion.positions.max(axis=0)
    step = max(1, CHUNK_NUMBERS // motion.positions.shape[1])
    for start in range(0, times_ms.size, step):
        piece = slice(start, start + step)
        values = rounded_within(motion.positions[piece], precision, *ends)
        listed = orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)
        rows = zip(times_ms[piece].tolist(), listed[2:-2].split(b"],["), strict=True)
        for number, (time_ms, row) in enumerate(rows, start + 1):
            yield b"%s,Pose%d,%s\n" % (_time(time_ms), number, row)


def _time(time_ms: int) -> bytes:
    seconds, milliseconds = divmod(time_ms, 1000)
    return b"%02d:%02d:%03d" % (*divmod(seconds, 60), milliseconds)
