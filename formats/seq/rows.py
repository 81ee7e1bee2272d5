"""Fast reading of rows of numbers, which are nearly all of a .seq file.

Choreonoid writes each frame as a flow sequence on a line of its own. Runs of such lines are cut out of the
text, all but their first, which shows YAML where they belong, and are read by simdjson; what is not JSON in
them is left to the YAML reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..io.numbers import IN_NUMBERS, as_json, read_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    import simdjson

    from ..arrays import Floats

# From so many rows on, cutting saves time. The size of chunks bounds the memory.
FEWEST_ROWS = 8
CHUNK_BYTES = 1 << 17
FIRST_PIECE_BYTES = 1 << 9

_NUMBERS = rb"[-+.0-9eE, \t]*+"
_ROW = rb"\[" + _NUMBERS + rb"(?:\[" + _NUMBERS + rb"\]" + _NUMBERS + rb")*\][ \t]*+\r?\n"
_BLOCK_START = re.compile(
    rb"^(?P<prefix> *+- ++)" + _ROW + rb"(?:(?P=prefix)" + _ROW + rb"){%d}" % (FEWEST_ROWS - 1),
    re.MULTILINE,
)
_ONE_ROW = re.compile(_ROW)
IN_ROWS = IN_NUMBERS + b"[],\n"


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines that begin with the same prefix and hold a row each."""

    text: memoryview  # the whole lines, in the memory of the file's text
    prefix: bytes  # the indentation and the dash

    def chunks(self) -> Iterator[bytes]:
        """Return the lines in pieces of bounded size."""
        start = 0
        while start < len(self.text):
            piece = bytes(self.text[start : start + CHUNK_BYTES])
            end = piece.rfind(b"\n") + 1
            if not end:
                # A row longer than a chunk: find its end.
                piece = bytes(self.text[start:])
                end = piece.find(b"\n") + 1
            yield piece[:end]
            start += end


def begins_with_plain_rows(text: bytes) -> bool:
    """Whether rows stand below the first key `frames` as Choreonoid writes them."""
    line = text.find(b"\n", text.find(b"frames")) + 1
    return _BLOCK_START.match(text, line) is not None


def cut_rows(text: bytes) -> tuple[bytes, dict[int, Block]]:
    """Return a file with empty lines for all rows of a run but its first, and the runs by its character."""
    kept: list[bytes] = []
    blocks: dict[int, Block] = {}
    view, characters, done = memoryview(text), 0, 0
    while found := _BLOCK_START.search(text, done):
        prefix, start = found["prefix"], found.start()
        end = _end_of_rows(text, found.end(), prefix)
        before = text[done : start + len(prefix)]
        characters += length_of(before)
        blocks[characters] = Block(view[start:end], prefix)
        first_end = text.index(b"\n", start) + 1
        first = text[start + len(prefix) : first_end] + b"\n" * text.count(b"\n", first_end, end)
        characters += len(first)
        kept += (before, first)
        done = end
    kept.append(text[done:])
    return b"".join(kept), blocks


def _end_of_rows(text: bytes, end: int, prefix: bytes) -> int:
    """Return the end of a run of rows, which is at `end` or later."""
    size = FIRST_PIECE_BYTES
    while end < len(text):
        # A piece holds at least one row, however long.
        piece_end = text.rfind(b"\n", end, end + size) + 1 or text.find(b"\n", end) + 1
        if not _are_rows(text[end:piece_end], prefix):
            while text.startswith(prefix, end) and (
                row := _ONE_ROW.match(text, end + len(prefix), piece_end)
            ):
                end = row.end()
            return end
        # Pieces begin small and grow, so that in a file of many short runs little is looked at twice.
        end, size = piece_end, min(2 * size, CHUNK_BYTES)
    return end


def _are_rows(piece: bytes, prefix: bytes) -> bool:
    """Whether each line begins as a row and has its characters alone, but perhaps the last one."""
    start = prefix + b"["
    return (
        piece.startswith(start)
        and piece.rstrip().endswith(b"]")
        and piece.count(b"\n" + start) == piece.count(b"\n") - 1
        and not piece.translate(None, IN_ROWS)
    )


def read_chunk(chunk: bytes, prefix: bytes, shape: bytes, parser: simdjson.Parser) -> Floats | None:
    """Read a chunk, shape (rows, numbers), if each row has the brackets and commas given; None if not."""
    array = _read_json(chunk, prefix, shape, parser)
    return _read_json(as_json(chunk), prefix, shape, parser) if array is None else array


def _read_json(chunk: bytes, prefix: bytes, shape: bytes, parser: simdjson.Parser) -> Floats | None:
    rows = chunk.count(b"\n")
    shapes = chunk.translate(None, IN_NUMBERS)
    # The length first, as many short rows times a long shape would take much memory.
    if len(shapes) != (len(shape) + 1) * rows or shapes != (shape + b"\n") * rows:
        return None
    json = b"[" + chunk[len(prefix) :].replace(b"\n" + prefix, b",") + b"]"
    array = read_numbers(json, parser)
    # An empty row has the brackets and commas of a row of one number.
    width = max(1, len(shape.translate(None, b"[]")) + 1)
    return array.reshape(rows, width) if array is not None and array.size == rows * width else None


def length_of(text: bytes) -> int:
    """Return the number of characters of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.decode())
