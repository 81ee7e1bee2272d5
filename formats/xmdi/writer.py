"""A motion to XMDI: its rows reduced to key frames.

The specification is J.-P. Egger's "XML Motion Data Interchange Format", 1.0, 2004; the elements' names, which
its copies have lost, are those that `reader` reads. Lines between the key frames are never further from the
rows than a tolerance. Frames are steps of Webots also where rows lie closer together; the attribute
`rows_per_frame` then says how many rows a frame has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import orjson
from lxml import etree

from ..errors import FormatError, Problem
from ..io.source import ReadOptions
from ..io.writers.digits import ALL_DIGITS, check_digits, rounded_within
from ..io.writers.motion_writing import joint_names, unwritable, written_series
from ..io.writers.output import replacing
from ..model.editing import is_even
from ..model.interpolation import interpolate
from .reader import FRAME_DECIMALS, MOST_ROWS_PER_FRAME, ROWS_PER_FRAME, frames_of_rows, on_rows

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from ..arrays import Floats, Indices
    from ..io.xml.tree import Xml
    from ..model.motion import Motion

# Of choosing key rows; each takes time for all rows.
MOST_ROUNDS = 50
OPTIONS = frozenset({"tolerance", "frame_period_s"})
# In rad or m; below the resolution of any encoder.
DEFAULT_TOLERANCE = 1e-6


def dump(
    motion: Motion,
    path: Path,
    *,
    tolerance: float | None = None,
    frame_period_s: float | None = None,
    precision: int | None = ALL_DIGITS,
    drop: Collection[str] = (),
) -> None:
    """Write a motion, as `dump_motion` does."""
    if tolerance is None:
        tolerance = DEFAULT_TOLERANCE
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"tolerance is {tolerance}; it is a number of rad or m from 0 up")
    period_s = (ReadOptions() if frame_period_s is None else ReadOptions(frame_period_s)).frame_period_s
    check_digits(precision)
    reason = "XMDI holds joint positions alone"
    written_series(motion, (), path, drop, reason=reason, aside=("unknown",))
    root = _document(motion, path, tolerance, period_s, precision)
    with replacing(path) as out:
        out.write(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))


def key_rows(frames: Floats, values: Floats, tolerance: float) -> Indices:
    """Return the numbers of rows so that the lines between them pass all other rows within a tolerance.

    Rows are added where a line is furthest off, in all gaps at once, until none is too far (Douglas and
    Peucker, "Algorithms for the reduction of the number of points", Cartographica 10(2), 1973). What zigzags
    from row to row would take a round for each; after many rounds, all rows that are too far off are added.
    """
    keys = np.unique([0, len(frames) - 1])
    rounds = 0
    while True:
        # As the reader does it, for a tolerance of 0 leaves out only what it makes of the lines to the bit.
        line = interpolate(frames, frames[keys], values[keys], "linear")
        with np.errstate(over="ignore"):
            off = np.abs(values - line)
        off[np.signbit(values) != np.signbit(line)] += np.finfo(float).tiny
        worst = np.maximum.reduceat(off, keys)
        gap = np.repeat(np.arange(len(keys)), np.diff(keys, append=len(frames)))
        rows = np.flatnonzero((off > tolerance) & (off == worst[gap]))
        if not rows.size:
            return keys
        rounds += 1
        if rounds < MOST_ROUNDS:
            # Of rows as far off in a gap, the first is taken.
            rows = rows[np.unique(gap[rows], return_index=True)[1]]
        else:
            rows = np.flatnonzero(off > tolerance)
        keys = np.union1d(keys, rows)


def _document(motion: Motion, path: Path, tolerance: float, period_s: float, precision: int | None) -> Xml:
    _check(motion, path)
    frames = _frames_of(motion, period_s)
    rows_per_frame = _rows_per_frame(motion, period_s)
    _check_frames(frames, rows_per_frame, path)
    exact = on_rows(frames, rows_per_frame)
    further = motion.metadata.get("servos", {})
    root = etree.Element("xmdi")
    xml = etree.SubElement(etree.SubElement(root, "motions"), "motion")
    try:
        for key, value in _attributes(motion, period_s).items():
            xml.set(key, value)
        for name, column in zip(joint_names(motion), motion.positions.T, strict=True):
            keys = key_rows(exact, column, tolerance)
            servo = etree.SubElement(xml, "servo", {"name": name, **further.get(name, {})})
            positions = rounded_within(column[keys], precision, column.min(), column.max())
            etree.SubElement(servo, "position").text = _text(positions)
            etree.SubElement(servo, "frames").text = _text(frames[keys])
    except ValueError as error:
        problem, reason = "a name or an attribute cannot stand in XML", "it holds a control character"
        raise FormatError([Problem(str(path), 0, problem, reason, "rename it")]) from error
    return root


def _attributes(motion: Motion, period_s: float) -> dict[str, str]:
    attributes = {"name": motion.name, **motion.metadata.get("attributes", {})}
    rows_per_frame = _rows_per_frame(motion, period_s)
    if rows_per_frame != 1:
        attributes[ROWS_PER_FRAME] = _text(np.array([rows_per_frame]))
    return attributes


def _rows_per_frame(motion: Motion, period_s: float) -> float:
    return round(motion.frame_rate * period_s, FRAME_DECIMALS)


def _frames_of(motion: Motion, period_s: float) -> Floats:
    """Return the frame of each row; where rows are even, as the reader will count them."""
    if is_even(motion):
        with np.errstate(divide="ignore", invalid="ignore"):  # no rows to a frame are refused
            return frames_of_rows(motion.times.size, _rows_per_frame(motion, period_s))
    return np.round(motion.times / period_s, FRAME_DECIMALS)


def _check(motion: Motion, path: Path) -> None:
    problems = unwritable(motion, path)
    if motion.times[0] < 0:
        what = f"the motion begins at {motion.times[0]:g} s"
        problems.append(Problem(str(path), 0, what, "XMDI begins at 0", "shift its times"))
    if problems:
        raise FormatError(problems)


def _check_frames(frames: Floats, rows_per_frame: float, path: Path) -> None:
    """Refuse what would be written and could not be read again."""
    least, most = 1 / MOST_ROWS_PER_FRAME, MOST_ROWS_PER_FRAME
    if not least <= rows_per_frame <= most:
        problem, reason = f"a frame would have {rows_per_frame:g} rows", f"it has {least:g} to {most:g}"
    elif not (np.isfinite(frames).all() and np.all(np.diff(frames) > 0)):
        problem, reason = "two rows would have one frame", f"frames have {FRAME_DECIMALS} decimals"
    else:
        return
    raise FormatError([Problem(str(path), 0, problem, reason, "choose another frame period or rate")])


def _text(numbers: Floats) -> str:
    """Return numbers in their shortest decimal form, separated by blanks."""
    listed = orjson.dumps(np.ascontiguousarray(numbers), option=orjson.OPT_SERIALIZE_NUMPY).decode()
    return " ".join(word.removesuffix(".0") for word in listed[1:-1].split(","))
