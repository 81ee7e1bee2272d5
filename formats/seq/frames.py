"""The frames of one .seq component, read into an array with a row for each, and the line of each row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import simdjson

from motiond.text import echoed

from ..arrays import Floats, Integers, frozen
from ..errors import MOST_PROBLEMS
from ..io.yaml.tree import Mapping, Scalar, Sequence, as_scalar, line_of, number, read_tree
from .regions import Layout, NotRows, Region
from .rows import Block, read_chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..errors import Problems
    from ..io.yaml.tree import Value

KIND = "a .seq file"


@dataclass(frozen=True, slots=True)
class Frames:
    """Rows of numbers."""

    values: Floats  # shape (frames, width)
    line_of: Callable[[int], int]  # returns the line of the file on which a row begins


def read_frames(frames: Sequence, layout: Layout, problems: Problems) -> Frames | None:
    """Read the rows of a component; None where some are wrong, which has been noted. May raise `NotRows`."""
    reader = _Reader(layout, layout.in_brackets, problems)
    if isinstance(frames.cut, Region):
        return reader.region(frames.cut)
    before = len(problems.found)
    for item in frames.items:
        if isinstance(item, Sequence) and isinstance(item.cut, Block):
            reader.block(item.cut, item.line)
        else:
            reader.row(item, line_of(item, frames.line))
        if len(problems.found) > MOST_PROBLEMS:
            break
    return reader.frames() if len(problems.found) == before else None


@dataclass(slots=True)
class _Reader:
    layout: Layout
    shape: bytes
    problems: Problems
    parser: simdjson.Parser = field(default_factory=simdjson.Parser)
    count: int = 0
    arrays: list[Floats] = field(default_factory=list)
    lines: list[Integers] = field(default_factory=list)
    # Rows that were read by YAML and are not in an array yet.
    loose: list[float] = field(default_factory=list)
    loose_lines: list[int] = field(default_factory=list)

    def region(self, region: Region) -> Frames:
        """Read rows that were cut out all together."""
        for array in region.arrays(self.layout, self.parser):
            self.arrays.append(array)
            self.count += len(array)
        return Frames(self._joined(), lambda row: region.line_of(row, self.layout))

    def block(self, block: Block, line: int) -> None:
        """Read rows that were cut out of the text."""
        for chunk in block.chunks():
            array = read_chunk(chunk, block.prefix, self.shape, self.parser)
            rows = chunk.count(b"\n")
            if array is None:
                self._chunk_by_yaml(chunk, line)
            else:
                self._gather()
                self.arrays.append(array)
                self.lines.append(np.arange(line, line + rows))
                self.count += rows
            line += rows
            if len(self.problems.found) > MOST_PROBLEMS:
                return

    def _chunk_by_yaml(self, chunk: bytes, line: int) -> None:
        rows, _ = read_tree(chunk, self.problems, KIND, line)
        if isinstance(rows, Sequence):
            for row in rows.items:
                self.row(row, line_of(row, line))

    def row(self, row: Value, line: int) -> None:
        """Read one row as YAML gives it."""
        values = self._items(row, line)
        self.count += 1
        self.loose += values
        self.loose_lines.append(line)

    def frames(self) -> Frames:
        """Return all rows that were read."""
        self._gather()
        lines = np.concatenate(self.lines)
        return Frames(self._joined(), lambda row: int(lines[row]))

    def _joined(self) -> Floats:
        values = np.empty((self.count, self.layout.width))
        end = self.count
        # Each array is released as soon as it is copied, so that the numbers are never twice in memory.
        while self.arrays:
            array = self.arrays.pop()
            values[end - len(array) : end] = array
            end -= len(array)
        return values

    def _gather(self) -> None:
        if self.loose_lines and len(self.loose) == len(self.loose_lines) * self.layout.width:
            self.arrays.append(np.array(self.loose).reshape(len(self.loose_lines), -1))
            self.lines.append(np.array(self.loose_lines))
        self.loose, self.loose_lines = [], []

    def _items(self, row: Value, line: int) -> list[float]:
        if not isinstance(row, Sequence):
            return self._wrong(
                line, "is no sequence", "a frame is a sequence of numbers", "write it as [ ... ]"
            )
        count = self.layout.timed + self.layout.parts
        if self.layout.pose_width:
            return self._poses(row, count, line)
        if len(row.items) != count and not _lacks_comma(row):
            return self._miscounted(line, len(row.items), count, "number")
        return self._numbers(row, line)

    def _poses(self, row: Sequence, count: int, line: int) -> list[float]:
        timed, poses = row.items[: self.layout.timed], row.items[self.layout.timed :]
        nested = [pose for pose in poses if isinstance(pose, Sequence)]
        if len(nested) < len(poses):
            rule = "each pose is a sequence of its own, also a single one"
            return self._wrong(line, "has numbers where poses belong", rule, "write it as [ [ ... ] ]")
        if len(row.items) != count:
            return self._miscounted(line, len(poses), self.layout.parts, "pose")
        values = self._numbers(Sequence(line, timed), line)
        for pose in nested:
            if len(pose.items) != self.layout.pose_width and not _lacks_comma(pose):
                problem = f"has a pose of {len(pose.items)} numbers"
                reason = f"{self.layout.pose_format} has {self.layout.pose_width}"
                return self._wrong(pose.line, problem, reason, "correct the pose or the format")
            values += self._numbers(pose, line)
        return values

    def _numbers(self, row: Sequence, line: int) -> list[float]:
        values = [value for value in row.items if isinstance(value, float)]
        if len(values) < len(row.items):
            strange = next(value for value in row.items if not isinstance(value, float))
            problem = (
                f"holds '{echoed(strange.text)}'"
                if isinstance(strange, Scalar)
                else "holds more than numbers"
            )
            reason, hint = "values are finite numbers", "write a number"
            if _lacks_comma(row):
                reason, hint = "numbers have a comma between them", "add it"
            if ";" in getattr(strange, "text", ""):
                hint = "write it for the semicolon"
            return self._wrong(line_of(strange, line), problem, reason, hint)
        return values

    def _miscounted(self, line: int, count: int, wanted: int, noun: str) -> list[float]:
        problem = f"has {count} {noun}{'' if count == 1 else 's'}"
        time = " and hasFrameTime adds the time" if self.layout.timed and noun == "number" else ""
        difference = abs(wanted - count)
        noun = ("value" if noun == "number" else "pose") + ("" if difference == 1 else "s")
        hint = f"add the missing {noun}" if count < wanted else f"remove the extra {noun}"
        if self.layout.parts_key:
            hint += f" or correct {self.layout.parts_key}"
        return self._wrong(line, problem, self.layout.parts_rule + time, hint)

    def _wrong(self, line: int, problem: str, reason: str, hint: str) -> list[float]:
        self.problems.add(line, f"row {self.count} {problem}", reason, hint)
        return []


def _lacks_comma(row: Sequence) -> bool:
    """Whether two numbers stand side by side or beside a semicolon, which are one text to YAML."""
    texts = (
        item.text.replace(";", " ").split() for item in row.items if isinstance(item, Scalar) and item.plain
    )
    return any(len(words) > 1 and all(number(word) is not None for word in words) for words in texts)


def as_it_stood(value: Value, problems: Problems) -> Any:
    """Return a value as plain data, numbers in a regular shape as an array. May raise `NotRows`."""
    plain = _plain(value, problems)
    if not isinstance(plain, list) or not plain or not _all_numbers(plain):
        return plain
    try:
        return frozen(np.array(plain, np.float64))
    except ValueError:
        return plain


def _plain(value: Value, problems: Problems) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(entry.value, problems) for key, entry in value.entries.items()}
    if isinstance(value, Sequence):
        return [_plain(item, problems) for item in _expanded(value, problems)]
    return as_scalar(value)


def _expanded(sequence: Sequence, problems: Problems) -> Iterator[Value]:
    """Return the items of a sequence, including the rows that were cut out of it."""
    if isinstance(sequence.cut, Region):
        rows, _ = read_tree(sequence.cut.text, problems, KIND, sequence.cut.line)
        if not isinstance(rows, Sequence):
            raise NotRows
        sequence = rows
    for item in sequence.items:
        if isinstance(item, Sequence) and isinstance(item.cut, Block):
            line = item.line
            for chunk in item.cut.chunks():
                rows, _ = read_tree(chunk, problems, KIND, line)
                yield from rows.items if isinstance(rows, Sequence) else ()
                line += chunk.count(b"\n")
        else:
            yield item


def _all_numbers(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, list) and all(map(_all_numbers, value)))
