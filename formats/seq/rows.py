"""Rows of numbers, fast: the part of a .seq file that is nearly all of it.

In comes a file's text, out come the text without its rows and the rows as arrays. Choreonoid writes each
frame on a line of its own as a flow sequence. Runs of such lines are cut out but for their first, which stays
to show YAML where they belong, and read by simdjson; what is no JSON in them is left to the YAML reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import simdjson

    from ..arrays import Floats

# Cutting is worth while from a few rows on; the bound on chunks bounds the memory.
FEWEST_ROWS = 8
CHUNK_BYTES = 1 << 17
FIRST_PIECE_BYTES = 1 << 9

_NUMBERS = rb"[-+.0-9eE, \t]*+"
_ROW = rb"\[" + _NUMBERS + rb"(?:\[" + _NUMBERS + rb"\]" + _NUMBERS + rb")*+\][ \t]*+\r?\n"
_BLOCK_START = re.compile(
    rb"^(?P<prefix> *+- ++)" + _ROW + rb"(?:(?P=prefix)" + _ROW + rb"){%d}+" % (FEWEST_ROWS - 1),
    re.MULTILINE,
)
_ONE_ROW = re.compile(_ROW)
_BETWEEN_BRACKETS = b"0123456789+-.eE \t\r"
_IN_ROWS = _BETWEEN_BRACKETS + b"[],\n"


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines that begin with the same prefix and hold one row each.

    Attributes
    ----------
    text : memoryview
        The lines whole, in the file's own memory.
    prefix : bytes
        The indentation and the dash.
    """

    text: memoryview
    prefix: bytes

    def chunks(self) -> Iterator[bytes]:
        """Give the lines in pieces of bounded size."""
        start = 0
        while start < len(self.text):
            piece = bytes(self.text[start : start + CHUNK_BYTES])
            end = piece.rfind(b"\n") + 1
            if not end:
                # One row longer than a chunk: its end must be found.
                piece = bytes(self.text[start:])
                end = piece.find(b"\n") + 1
            yield piece[:end]
            start += end


def cut_rows(text: bytes) -> tuple[bytes, dict[int, Block]]:
    """Cut runs of rows out of a file.

    Parameters
    ----------
    text : bytes
        UTF-8 without byte order mark.

    Returns
    -------
    skeleton : bytes
        The text with an empty line for each row that was cut out, so that lines keep their numbers.
    blocks : dict of int to Block
        By the character of the skeleton at which the row that stands for the block begins.
    """
    kept: list[bytes] = []
    blocks: dict[int, Block] = {}
    view, characters, done = memoryview(text), 0, 0
    while found := _BLOCK_START.search(text, done):
        prefix, start = found["prefix"], found.start()
        end = _end_of_rows(text, found.end(), prefix)
        before = text[done : start + len(prefix)]
        characters += _length(before)
        blocks[characters] = Block(view[start:end], prefix)
        first_end = text.index(b"\n", start) + 1
        first = text[start + len(prefix) : first_end] + b"\n" * text.count(b"\n", first_end, end)
        characters += len(first)
        kept += (before, first)
        done = end
    kept.append(text[done:])
    return b"".join(kept), blocks


def _end_of_rows(text: bytes, end: int, prefix: bytes) -> int:
    """Give where a run of rows ends, some of which, up to `end`, are known."""
    size = FIRST_PIECE_BYTES
    while end < len(text):
        # A row longer than a piece makes the piece longer.
        piece_end = text.rfind(b"\n", end, end + size) + 1 or text.find(b"\n", end) + 1
        if not _are_rows(text[end:piece_end], prefix):
            while text.startswith(prefix, end) and (
                row := _ONE_ROW.match(text, end + len(prefix), piece_end)
            ):
                end = row.end()
            return end
        # Pieces grow, so that a file of many short runs is not looked at many times.
        end, size = piece_end, min(2 * size, CHUNK_BYTES)
    return end


def _are_rows(piece: bytes, prefix: bytes) -> bool:
    """Whether each line begins as a row and holds nothing that a row may not; how it nests is seen later."""
    start = prefix + b"["
    return (
        piece.startswith(start)
        and piece.count(b"\n" + start) == piece.count(b"\n") - 1
        and not piece.translate(None, _IN_ROWS)
    )


def read_chunk(chunk: bytes, prefix: bytes, shape: bytes, parser: simdjson.Parser) -> Floats | None:
    """Read the rows of a chunk, if each has the given shape and holds nothing but JSON numbers.

    Parameters
    ----------
    shape : bytes
        What a row is without its numbers, such as `[,[,,,,,,]]` for a time and a pose.

    Returns
    -------
    ndarray, shape (rows, numbers), or None
        None where a row is otherwise; the YAML reader then finds out which, and why.
    """
    rows = chunk.count(b"\n")
    shapes = chunk.translate(None, _BETWEEN_BRACKETS)
    # The length first: many short rows times a long shape would be much memory.
    if len(shapes) != (len(shape) + 1) * rows or shapes != (shape + b"\n") * rows:
        return None
    json = b"[" + chunk[len(prefix) :].replace(b"\n" + prefix, b",") + b"]"
    try:
        numbers = cast("simdjson.Array", parser.parse(json)).as_buffer(of_type="d")
    except (ValueError, TypeError, RuntimeError):
        return None
    array: Floats = np.frombuffer(numbers, np.float64).reshape(rows, -1)
    return array


def _length(text: bytes) -> int:
    return len(text) if text.isascii() else len(text.decode())
