"""Rows of numbers, which are nearly all of a table, joined to JSON and read by simdjson.

Lines that are not plain numbers between separators take a slower way, on which they are made so, or what is
wrong with them is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import simdjson

from motiond.text import echoed

from ..errors import MOST_PROBLEMS
from ..io.numbers import IN_NUMBERS, as_json, read_numbers
from .header import BLANKS, COMMENT, LONGEST_LINE, NUMBER, TOO_LONG, decimal_points, split_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..arrays import Floats, Integers
    from ..errors import Problems
    from .header import Header

# The size of chunks bounds the memory.
CHUNK_BYTES = 1 << 17


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table."""

    values: Floats  # shape (rows, columns)
    lines: Integers  # shape (rows,); on which each stands


def read_rows(text: bytes, header: Header, problems: Problems, skipped: frozenset[int]) -> Rows:
    """Read all rows, without the columns that are skipped; notes what is wrong with them."""
    reader = _Reader(header, problems, skipped)
    line = header.line
    for chunk in _chunks(text, header.start):
        if len(chunk) > LONGEST_LINE:
            problems.add(line, f"a line has {len(chunk):,} bytes", *TOO_LONG)
            break
        line += reader.chunk(chunk, line)
        if len(problems.found) > MOST_PROBLEMS:
            break
    return reader.rows()


def _chunks(text: bytes, start: int) -> Iterator[bytes]:
    """Return whole lines in pieces of bounded size, the last with a line end."""
    while start < len(text):
        end = text.rfind(b"\n", start, start + CHUNK_BYTES) + 1 or text.find(b"\n", start) + 1 or len(text)
        piece = text[start:end]
        yield piece if piece.endswith(b"\n") else piece + b"\n"
        start = end


@dataclass(slots=True)
class _Reader:
    header: Header
    problems: Problems
    skipped: frozenset[int]
    parser: simdjson.Parser = field(default_factory=simdjson.Parser)
    arrays: list[Floats] = field(default_factory=list)
    lines: list[Integers] = field(default_factory=list)

    @property
    def width(self) -> int:
        return self.header.columns - len(self.skipped)

    def chunk(self, chunk: bytes, line: int) -> int:
        """Read some lines, the first of which has that number, and return how many they are."""
        array = None if self.skipped else self._plain(chunk)
        if array is None:
            texts = chunk.split(b"\n")[:-1]
            self._one_by_one(texts, line)
            return len(texts)
        self._keep(array, np.arange(line, line + len(array)))
        return len(array)

    def rows(self) -> Rows:
        """Return all rows that were read."""
        values, end = np.empty((sum(map(len, self.arrays)), self.width)), 0
        lines = np.concatenate(self.lines) if self.lines else np.empty(0, np.int64)
        end = len(values)
        # Each array is released as soon as it is copied, so that the numbers are never twice in memory.
        while self.arrays:
            array = self.arrays.pop()
            values[end - len(array) : end] = array
            end -= len(array)
        return Rows(values, lines)

    def _keep(self, array: Floats, lines: Integers) -> None:
        self.arrays.append(array)
        self.lines.append(lines)

    def _plain(self, chunk: bytes) -> Floats | None:
        """Read lines that hold numbers and separators alone; None if they do not."""
        separator = self.header.separator
        if separator == BLANKS:
            chunk = b"\n".join(b",".join(line.split()) for line in chunk.split(b"\n"))
        elif separator != b",":
            if b"," in chunk:
                return None
            chunk = chunk.replace(separator, b",")
        if self.header.has_trailing:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b",\n", b"\n")
        return self._json(chunk)

    def _json(self, lines: bytes) -> Floats | None:
        """Read lines of numbers with commas between them."""
        rows = lines.count(b"\n")
        marks = lines.translate(None, IN_NUMBERS)
        # The length first, as many short rows times many columns would take much memory.
        if len(marks) != self.width * rows or marks != (b"," * (self.width - 1) + b"\n") * rows:
            return None
        json = b"[" + lines[:-1].replace(b"\n", b",") + b"]"
        array = read_numbers(json, self.parser)
        if array is None:
            array = read_numbers(as_json(json), self.parser)
        # Where a cell is empty, there may be fewer.
        return (
            array.reshape(rows, self.width) if array is not None and array.size == rows * self.width else None
        )

    def _one_by_one(self, texts: list[bytes], line: int) -> None:
        rows: list[list[bytes]] = []
        numbers: list[int] = []
        for number, text in enumerate(texts, line):
            if not text.strip() or text.lstrip().startswith(COMMENT):
                continue
            if cells := self._cells(text, number):
                rows.append(cells)
                numbers.append(number)
        if not rows:
            return
        array = self._json(b"\n".join(map(b",".join, rows)) + b"\n")
        if array is None:
            values = [self._numbers(cells, number) for cells, number in zip(rows, numbers, strict=True)]
            array = np.array(values).reshape(len(rows), self.width)
        self._keep(array, np.array(numbers))

    def _cells(self, text: bytes, line: int) -> list[bytes]:
        """Return the cells that are read; none, if there are not as many as columns, which is noted."""
        cells, columns = split_cells(text, self.header.separator), self.header.columns
        if len(cells) == columns + 1 and not cells[-1]:
            cells.pop()
        if len(cells) != columns:
            self._ragged(cells, line)
            return []
        return [cell for index, cell in enumerate(cells) if index not in self.skipped]

    def _ragged(self, cells: list[bytes], line: int) -> None:
        columns = self.header.columns
        halves = len(cells) in {2 * columns, 2 * columns - 1} and self.header.separator == b","
        if halves and all(cell.lstrip(b"+-").isdigit() for cell in cells):
            reason = f"{columns} numbers with decimal commas look like cells"
            hint = "save it with decimal points, or with `;` between the cells"
            self.problems.add(line, f"a row has {len(cells)} cells", reason, hint)
            return
        where = f"line {self.header.titles_line or self.header.line}"
        noun = "cell" if len(cells) == 1 else "cells"
        reason = f"{where} has {columns}"
        self.problems.add(
            line, f"a row has {len(cells)} {noun}", reason, "give each column one value in each row"
        )

    def _numbers(self, cells: list[bytes], line: int) -> list[float]:
        """Return the numbers of a row; those that are none are noted."""
        wrong = [index for index, cell in enumerate(cells) if not _is_finite(cell)]
        if not wrong:
            return [float(cell) for cell in cells]
        cell, index = cells[wrong[0]], self._column(wrong[0])
        titles = self.header.titles
        named = f"column '{echoed(titles[index])}'" if titles else f"column {index + 1}"
        holds = f"holds '{echoed(cell.decode(errors='replace'))}'" if cell else "is empty"
        more = f", and {len(wrong) - 1} more are as wrong" if len(wrong) > 1 else ""
        if cell.count(b",") == 1 and NUMBER.fullmatch(cell.replace(b",", b".")):
            self.problems.add(line, f"{named} {holds}", *decimal_points(self.header.separator))
        else:
            hint = "fill it in, or remove the row"
            self.problems.add(line, f"{named} {holds}{more}", "each cell is a finite number", hint)
        return [float(cell) if _is_finite(cell) else np.nan for cell in cells]

    def _column(self, index: int) -> int:
        """Return which column of the file is that of those that are read."""
        kept = (column for column in range(self.header.columns) if column not in self.skipped)
        return next(column for at, column in enumerate(kept) if at == index)


def _is_finite(cell: bytes) -> bool:
    return NUMBER.fullmatch(cell) is not None and abs(float(cell)) < float("inf")
