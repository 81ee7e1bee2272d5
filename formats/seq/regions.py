"""Fast reading of rows in other layouts than Choreonoid's: JSON, block style, comments, rows wrapped.

All that stands under a key `frames` is cut out of the text where it consists of numbers, brackets, dashes and
comments alone, and is turned into JSON by a few replacements. What these replacements do not understand whole
is not guessed at: the file is then read as YAML, which also finds the words for what is wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..io.numbers import IN_NUMBERS, as_json, read_numbers
from .rows import CHUNK_BYTES, IN_ROWS, length_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import simdjson

    from ..arrays import Floats

_KEY = re.compile(rb"""frames["']?[ \t]*:""")
# Only single signs are repeated possessively: with a group, Python before 3.11.5 misses what matches.
_BEFORE_KEY = re.compile(rb"""[ ]*+(?:-[ ]++)*["']?""")
LONGEST_LEAD = 200
_BLANK_LINES = rb"[ \t]*+(?:(?<=[ \t\n])#[^\n]*+)?\r?\n"
_FIRST_DASH = re.compile(rb"(?:" + _BLANK_LINES + rb")+[ ]*+-[ \r\n]")
_FIRST_BRACKET = re.compile(rb"(?:" + _BLANK_LINES + rb")*[ \t]*+\[")
_RUN = re.compile(rb"(?:[-+0-9.eE,\[\] \t\r\n]++|(?<=[ \t\n])#[^\n]*+)*")
_TAB_BEFORE_COMMENT = re.compile(rb"\n[ -]*+\t[ \t]*+#")  # which YAML takes for an indentation in block style
_COMMENT = re.compile(rb" #[\t -~\x80-\xff]*")
# Besides the line feed, what YAML 1.1 takes for the end of a line, and what it does not allow in a text.
_NOT_IN_COMMENTS = re.compile(rb"\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf|\xef\xbf[\xbe\xbf]")
_ENDS_OF_ROWS = {False: re.compile(rb"\][ \t\r\n]*,"), True: re.compile(rb"\][ \t\r\n]*\][ \t\r\n]*,")}
# Signs that no row has, for what a dash begins: a row, a pose, any other item.
_ROW, _POSE, _ITEM = b"{", b"(", b"|"
_NOTHING_BEHIND = {sign: re.compile(rb"\%c[ ]*\n" % sign) for sign in b"{(|"}
_LINE_END_OF_OLD = b"\0"  # YAML ends a line at a carriage return by itself, too; no row holds a NUL
_TO_COMMAS = bytes.maketrans(_ROW + _POSE + _ITEM, b",,,")


class NotRows(Exception):
    """A region holds something besides the rows that are expected there."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a row: a time if `timed`, then `parts` numbers or poses."""

    timed: bool
    parts: int
    parts_rule: str  # why the file has so many, for messages, such as `numParts is 29`
    parts_key: str = ""  # the key that the row must agree with, or '' where the type fixes the number
    pose_width: int = 0  # the numbers of a pose; 0 where each part is a single number
    pose_format: str = ""

    @property
    def width(self) -> int:
        """The number of numbers in a row, including those in poses."""
        return self.timed + self.parts * max(self.pose_width, 1)

    @property
    def in_brackets(self) -> bytes:
        """The brackets and commas of a row, such as `[,[,,,,,,]]` for a time and a pose."""
        pose = b"[" + b"," * (self.pose_width - 1) + b"]" if self.pose_width else b""
        return b"[" + b",".join([b""] * self.timed + [pose] * self.parts) + b"]"

    @property
    def in_dashes_and_brackets(self) -> bytes:
        """The same of a row in block style whose poses are in flow style, with a sign for its beginning."""
        pose = b"[" + b"," * (self.pose_width - 1) + b"]"
        return _ROW + (_ITEM + pose) * self.parts if self.timed else _ROW + _ITEM.join([pose] * self.parts)

    @property
    def in_dashes(self) -> bytes:
        """The same of a row in block style, with signs for the beginnings of a row and of a pose."""
        pose = _ITEM * (self.pose_width - 1)
        if not self.pose_width:
            return _ROW + _ITEM * (self.timed + self.parts - 1)
        if self.timed:
            return _ROW + (_POSE + pose) * self.parts
        return _ROW + pose + (_POSE + pose) * (self.parts - 1)


@dataclass(frozen=True, slots=True)
class Region:
    """All rows of a series."""

    text: bytes
    indent: bytes | None  # what stands before the dash of each row; None where the rows stand in brackets
    line: int  # the line on which the text begins

    def arrays(self, layout: Layout, parser: simdjson.Parser) -> Iterator[Floats]:
        """Yield the rows, in arrays of shape (rows, numbers). Raises `NotRows` if there is anything else."""
        for chunk in self._chunks(nested=layout.pose_width > 0):
            plain = _plain(chunk)
            if self.indent is not None and b"\t" in chunk and _TAB_BEFORE_COMMENT.search(chunk):
                raise NotRows
            try:
                array = self._array(plain, layout, parser)
            except NotRows:
                array = self._array(as_json(plain), layout, parser)
            yield array

    def _array(self, plain: bytes, layout: Layout, parser: simdjson.Parser) -> Floats:
        if self.indent is None:
            json, count = _in_brackets(plain, layout.in_brackets, b",")
        elif re.match(rb"\s*-[ ]+\[", plain):
            rows = _without_dashes(plain, self.indent)
            json, count = _in_brackets(rows, layout.in_brackets, _ROW)
        else:
            json, count = _in_dashes(plain, self.indent, layout)
        return _numbers(json, count, layout.width, parser)

    def line_of(self, row: int, layout: Layout) -> int:
        """Return the line on which a row begins."""
        plain = _plain(self.text)
        if self.indent is None:
            brackets = row * (1 + (layout.parts if layout.pose_width else 0)) + 1
            begins = [found.start() for found in re.finditer(rb"\[", plain)][brackets]
        else:
            starts = re.finditer(rb"\n" + self.indent + rb"-[ \n]", plain)
            begins = next(found.start() for number, found in enumerate(starts) if number == row) + 1
        return self.line + plain.count(b"\n", 0, begins)

    def _chunks(self, *, nested: bool) -> Iterator[bytes]:
        """Yield the text of whole rows, in pieces of bounded size."""
        in_brackets = self.indent is None
        if in_brackets:
            start, end, boundary = 1, len(self.text) - 1, _ENDS_OF_ROWS[nested]
        else:
            start, end = 0, len(self.text)
            boundary = re.compile(rb"\r?\n" + (self.indent or b"") + rb"-[ \r\n]")
        while start < end:
            found = boundary.search(self.text, start + CHUNK_BYTES, end)
            stop = end if found is None else found.end() - 1 if in_brackets else found.start()
            yield self.text[start:stop]
            start = stop + 1 if found and in_brackets else stop


def cut_frames(text: bytes) -> tuple[bytes, dict[int, Region]]:
    """Return a file with `[ ]` for what stands under keys `frames`, and that by the place of its bracket."""
    if not text.isascii() and _NOT_IN_COMMENTS.search(text):
        return text, {}
    kept: list[bytes] = []
    regions: dict[int, Region] = {}
    characters, done, line = 0, 0, 1
    while key := _KEY.search(text, done):
        start, end, indent = _bounds(text, key, done)
        placeholder = (b"[" if indent is None else b" [") if start < end else b""
        before = text[done:start]
        kept += (before, placeholder)
        characters += length_of(before) + len(placeholder)
        line += before.count(b"\n")
        if start < end:
            ends = b"\n" * text.count(b"\n", start, end)
            # The region's own line ends; a bracket closes on its line, what is in block style on the first.
            rest = ends + b"]" if indent is None else b"]" + ends
            regions[characters - 1] = Region(text[start:end], indent, line)
            kept.append(rest)
            characters += len(rest)
            line += len(ends)
        done = end
    kept.append(text[done:])
    return b"".join(kept), regions


def _bounds(text: bytes, key: re.Match[bytes], done: int) -> tuple[int, int, bytes | None]:
    """Return where the rows below a key begin and end, and their indentation; an empty span without rows."""
    if bracket := _FIRST_BRACKET.match(text, key.end()):
        start = bracket.end() - 1
        stop = _end_of_run(text, start)
        end = text.rfind(b"]", start, stop) + 1
        commented = b"#" in text[max(start, text.rfind(b"\n", start, end)) : end]
        if not end or commented or text.count(b"[", start, end) != text.count(b"]", start, end):
            return stop, stop, None
        return start, end, None
    dash = _FIRST_DASH.match(text, key.end())
    lead = _lead(text, key.start(), done)
    if dash is None or lead is None:
        return key.end(), key.end(), None
    indent = dash[0][:-2].rpartition(b"\n")[2]
    if len(indent) < lead:
        return key.end(), key.end(), None
    stop = _end_of_run(text, dash.end())
    end = _end_of_rows(text, dash.end(), stop)
    return (key.end(), end, indent) if end else (stop, stop, None)


def _lead(text: bytes, key: int, done: int) -> int | None:
    """Return the column of a key in block style; None where something else stands before it on its line."""
    begin = text.rfind(b"\n", max(done, key - LONGEST_LEAD), key) + 1
    found = _BEFORE_KEY.fullmatch(text, begin, key) if begin or not key else None
    return len(found[0].rstrip(b"\"'")) if found else None


def _end_of_run(text: bytes, start: int) -> int:
    """Return where something begins that is neither a part of rows nor a comment."""
    end = start
    while end < len(text):
        stop = text.rfind(b"\n", end, end + CHUNK_BYTES) + 1 or min(end + CHUNK_BYTES, len(text))
        if _plain(text[end:stop]).translate(None, IN_ROWS):
            run = _RUN.match(text, end, stop)
            if run and run.end() < stop:
                return run.end()
        end = stop
    return end


def _end_of_rows(text: bytes, start: int, end: int) -> int:
    """Return the end of the last whole line that is more than blanks, dashes and comments; 0 if none is."""
    if end < len(text):
        end = text.rfind(b"\n", start, end) + 1
    while end > start:
        begin = text.rfind(b"\n", start, end - 1) + 1 or start
        if _plain(text[begin - 1 : end]).strip(b" \t\r\n-"):
            return end
        end = begin
    return 0


def _plain(chunk: bytes) -> bytes:
    """Return the text without comments and carriage returns at the end of lines."""
    if b"\r" in chunk:
        chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", _LINE_END_OF_OLD)
    if b"#" in chunk:
        chunk = _COMMENT.sub(b"", chunk.replace(b"\t#", b" #").replace(b"\n#", b"\n #"))
    return chunk


def _in_brackets(rows: bytes, shape: bytes, between: bytes) -> tuple[bytes, int]:
    """Return rows in brackets, with a sign between them, as JSON, and their number; each has the shape."""
    shapes = rows.translate(None, IN_NUMBERS + b"\n")
    count, rest = divmod(len(shapes) + 1, len(shape) + 1)
    if rest or shapes != between.join([shape] * count):
        raise NotRows
    return b"[" + rows.translate(_TO_COMMAS) + b"]", count


def _without_dashes(plain: bytes, indent: bytes) -> bytes:
    """Return rows in brackets, each with a dash, with a sign between them."""
    marked = plain.replace(b"\n" + indent + b"- ", b"\n" + _ROW)
    if b"\t" in marked or _has_empty_dash(marked):
        raise NotRows
    return marked.lstrip().removeprefix(_ROW)


def _in_dashes(plain: bytes, indent: bytes, layout: Layout) -> tuple[bytes, int]:
    """Return the numbers of rows in block style as JSON, and how many rows they are."""
    if plain.translate(None, b"0123456789+-.eE, \n[]"):
        raise NotRows
    mixed = b"[" in plain
    row, pose, item = _marks(plain, indent, layout, mixed=mixed)
    marked = plain.replace(row, b"\n" + _ROW)
    if pose:
        marked = marked.replace(pose, b"\n" + _POSE)
    wanted = layout.in_dashes_and_brackets if mixed else layout.in_dashes
    marked = marked.replace(item, b"\n" + _ITEM)
    shapes = marked.translate(None, IN_NUMBERS + b"\n")
    count, rest = divmod(len(shapes), len(wanted))
    if rest or shapes != wanted * count or _has_empty_dash(marked):
        raise NotRows
    return b"[" + marked.lstrip().translate(_TO_COMMAS)[1:] + b"]", count


def _has_empty_dash(marked: bytes) -> bool:
    """Whether a dash stands alone on its line, so that YAML looks at the indentation of the next one."""
    return any(sign in marked and pattern.search(marked) for sign, pattern in _NOTHING_BEHIND.items())


def _marks(plain: bytes, indent: bytes, layout: Layout, *, mixed: bool) -> tuple[bytes, bytes, bytes]:
    """Return what begins a row, a pose and any other item; b'' for a pose where nothing else does."""
    levels = 2 if mixed or layout.timed or not layout.pose_width else 3
    row = _mark(plain, indent, levels)
    dashes = [_column_of(row, at) for at, byte in enumerate(row) if byte == ord("-")]
    if dashes != sorted(set(dashes)):
        raise NotRows
    if mixed or not layout.pose_width:
        return row, b"", _dash_at(dashes[1])
    if layout.timed:
        pose = _mark(plain, b" " * dashes[1], 2)
        number = _column_of(pose, pose.rindex(b"-"))
        if number <= dashes[1]:
            raise NotRows
        return row, pose, _dash_at(number)
    pose = b"\n" + b" " * dashes[1] + row[row.index(b"-", row.index(b"-") + 1) :]
    return row, pose, _dash_at(dashes[2])


def _mark(plain: bytes, indent: bytes, dashes: int) -> bytes:
    """Return the first line's beginning that has so many dashes, the first of them so far in."""
    found = re.search(rb"\n" + indent + rb"-" + rb"[ \n]+-" * (dashes - 1) + rb"[ ]+", plain)
    if found is None:
        raise NotRows
    return found[0]


def _column_of(mark: bytes, at: int) -> int:
    return at - mark.rindex(b"\n", 0, at) - 1


def _dash_at(column: int) -> bytes:
    return b"\n" + b" " * column + b"- "


def _numbers(json: bytes, rows: int, width: int, parser: simdjson.Parser) -> Floats:
    array = read_numbers(json, parser)
    if array is None or array.size != rows * width:  # `[ ]` looks like `[ 1 ]`
        raise NotRows
    return array.reshape(rows, width)
