"""What stands above the rows of a table: comments, OpenSim's header, titles and units; and the separator."""

from __future__ import annotations

import csv
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from motiond.text import echoed, printable

from ..model.motion import FASTEST_FRAME_RATE, RATE_RULE
from .titles import is_unit, read_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..errors import Problems

MOST_COLUMNS, LONGEST_TITLE = 10_000, 200
# More than so many columns take; a line is cut into cells at once.
LONGEST_LINE = 4_000_000
TOO_LONG = f"a line has at most {LONGEST_LINE:,}", "check that it is the right file"
# A licence may stand above the titles.
MOST_LINES = 1000
# So many may well have the values 0, 1, 2, … in a first row.
FEW_COLUMNS = 3
COMMENT = (b"#", b"%", b"//")
BLANKS, SEPARATORS = b" ", (b";", b"\t", b",")
# Of a cell, as strict as JSON but for what `as_json` also knows.
NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_DECIMAL_COMMA = re.compile(rb"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_DECIMAL_POINTS = "numbers have decimal points"
_SEMICOLONS = "sep=';', "
_LIKE_NUMBER = re.compile(
    rb"[-+]?(?:(?:\d+[.,]?\d*|[.,]\d+)(?:e[-+]?\d+)?|nan|inf(?:inity)?)?", re.IGNORECASE
)
# A name or a remark, and none of the words for a number that is missing.
_WORD = re.compile(rb"(?!(?:nan?|n/a|none|null|inf(?:inity)?)\Z)[^\W\d]", re.IGNORECASE)
_RATE = re.compile(
    rb"[#%/\s]*(?:frame[_ ]?)?(?:rate|fps|frequency)(?:[_ ]hz)?"
    rb"\s*[:=]\s*([\d.]+(?:e[-+]?\d+)?)\s*(?:hz|fps|/s)?\s*",
    re.IGNORECASE,
)
_END_OF_OPENSIM = re.compile(rb"^endheader\s*?$", re.MULTILINE | re.IGNORECASE)
_OPENSIM_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Header:
    """What is known of a table before its rows are read."""

    separator: bytes  # BLANKS stands for any number of them
    columns: int
    start: int  # where the rows begin in the text
    line: int  # on which the first row stands
    titles: tuple[str, ...] = ()
    titles_line: int = 0
    units: tuple[str, ...] = ()
    rate_hz: float | None = None
    # Columns whose first cell is a word.
    texts: frozenset[int] = frozenset()
    # Of OpenSim: its keys in lower case, with what the first line calls the file under ''.
    keys: dict[str, str] = field(default_factory=dict)
    # Whether a separator stands behind the last cell of each row.
    has_trailing: bool = False


def read_header(text: bytes, problems: Problems) -> Header:
    """Read down to the first row. Raises `FormatError` if there is none, or it cannot be found."""
    reader = _Reader(problems)
    reader.opensim(text)
    for line, start, content in _lines(text, reader.start, reader.line):
        if len(content) > LONGEST_LINE:
            raise problems.fail(line, f"a line has {len(content):,} bytes", *TOO_LONG)
        if header := reader.take(line, start, content):
            return header
    line = max(reader.titles_line, 1)
    hint = (
        f"the first stands within {MOST_LINES} lines" if text.count(b"\n") > MOST_LINES else "check the file"
    )
    raise problems.fail(line, "has no rows of numbers", "a table has a row for each time", hint)


def decimal_points(separator: bytes) -> tuple[str, str]:
    """Return why a number with a decimal comma is none, and what makes points of them all."""
    read = "read_csv('IN.csv', {}decimal=',').to_csv('OUT.csv', index=False)"
    if separator == b",":
        return _DECIMAL_POINTS, f"in pandas `{read.format('')}`"
    return _DECIMAL_POINTS, f"`sed 's/,/./g' IN.csv > OUT.csv`, or in pandas `{read.format(_SEMICOLONS)}`"


def split_cells(line: bytes, separator: bytes) -> list[bytes]:
    """Return the cells of a line, without blanks around them and quotes."""
    if b'"' in line:
        text = line.decode("utf-8", "surrogateescape").strip(" \r")
        found = csv.reader([text], delimiter=separator.decode(), skipinitialspace=True, strict=True)
        with suppress(csv.Error):  # of a quote that does not end, say, which then is no number
            return [cell.strip().encode("utf-8", "surrogateescape") for cell in next(found, [])]
    if separator == BLANKS:
        return line.split()
    return [cell.strip() for cell in line.split(separator)]


def _lines(text: bytes, start: int, line: int) -> Iterator[tuple[int, int, bytes]]:
    """Return the first lines with something on them, with their number and place."""
    for number in range(line, line + MOST_LINES):
        if start >= len(text):
            return
        end = text.find(b"\n", start) + 1 or len(text)
        content = text[start:end].strip(b"\r\n")
        if content.strip():
            yield number, start, content
        start = end


@dataclass(slots=True)
class _Reader:
    problems: Problems
    start: int = 0
    line: int = 1
    separator: bytes = b""
    rate_hz: float | None = None
    keys: dict[str, str] = field(default_factory=dict)
    comment: tuple[int, bytes] = (0, b"")
    titles: list[bytes] = field(default_factory=list)
    titles_line: int = 0
    units: list[bytes] = field(default_factory=list)

    def opensim(self, text: bytes) -> None:
        """Read the header of OpenSim's files, if there is one."""
        found = _END_OF_OPENSIM.search(text, 0, _OPENSIM_BYTES)
        if not found:
            return
        head = text[: found.start()]
        pairs = (row.strip().partition(b"=" if b"=" in row else b" ") for row in head.split(b"\n"))
        self.keys = {_text(key).strip().lower(): _text(value).strip().lower() for key, _, value in pairs}
        self.keys[""] = _text(head.split(b"\n", 1)[0].strip()).lower()
        self.start, self.line = found.end(), head.count(b"\n") + 1

    def take(self, line: int, start: int, content: bytes) -> Header | None:
        """Take a line; return the header if it is the first row."""
        if content.lstrip().startswith(COMMENT):
            self._comment(line, content)
            return None
        if content[:4].lower() == b"sep=" and not self.titles:
            self.separator = content[4:5] if content[4:5] in SEPARATORS else b""
            return None
        self.separator = self.separator or _separator(content)
        cells = split_cells(content, self.separator)
        if len(cells) > MOST_COLUMNS:
            raise self.problems.fail(
                line, f"has {len(cells)} columns", f"{MOST_COLUMNS} are read", "remove some"
            )
        if not self.titles and _count_up(cells):
            what = f"counts its {len(cells)} columns"
            self.problems.warn(line, what, "it is taken for titles, not for a row", "remove it")
        elif _are_numbers(cells) or (self.titles and any(map(_is_number, cells))):
            return self._header(line, start, cells)
        else:
            self._titles_or_units(line, cells)
        return None

    def _titles_or_units(self, line: int, cells: list[bytes]) -> None:
        if not self.titles:
            self.titles, self.titles_line = cells, line
        elif not self.units and self._may_be_units(cells):
            self.units = cells
        else:
            shown = echoed(" ".join(map(_text, cells)))
            hint = "remove what stands above the titles, or begin it with #"
            problem, reason = f"'{shown}' is no row of numbers", "one stands below the titles"
            raise self.problems.fail(line, problem, reason, hint)

    def _comment(self, line: int, content: bytes) -> None:
        if len(content) < LONGEST_TITLE and (found := _RATE.fullmatch(content.strip())):
            self._rate(line, found[1])
        else:
            self.comment = line, content.lstrip().lstrip(b"#%/").strip()

    def _rate(self, line: int, number: bytes) -> None:
        rate = float(number) if NUMBER.fullmatch(number) else 0.0
        if not 0 < rate <= FASTEST_FRAME_RATE:
            self.problems.add(line, f"the rate is {number.decode()} rows/s", RATE_RULE, "correct it")
        else:
            self.rate_hz = rate

    def _may_be_units(self, cells: list[bytes]) -> bool:
        texts = [_text(cell) for cell in cells]
        return len(cells) == len(self.titles) and all(map(is_unit, texts)) and any(texts)

    def _header(self, line: int, start: int, cells: list[bytes]) -> Header:
        if comma := next(filter(_DECIMAL_COMMA.fullmatch, cells), b""):
            advice = decimal_points(self.separator)
            raise self.problems.fail(line, f"holds '{echoed(_text(comma))}'", *advice)
        if not self.titles:
            self._titles_of_comment(len(cells))
        columns, titles = len(cells), self.titles
        has_trailing = (
            columns > 1 and not cells[-1] and (not titles or len(titles) < columns or not titles[-1])
        )
        if titles and not titles[-1] and (has_trailing or len(titles) == columns + 1):
            titles = titles[:-1]
        columns = len(titles) or columns - has_trailing
        return Header(
            self.separator,
            columns,
            start,
            line,
            tuple(self._title(cell) for cell in titles),
            self.titles_line,
            tuple(map(_text, self.units[:columns])),
            self.rate_hz,
            frozenset(index for index, cell in enumerate(cells[:columns]) if _WORD.match(cell)),
            self.keys,
            has_trailing,
        )

    def _titles_of_comment(self, columns: int) -> None:
        """Take the last comment for the titles if there is one for each column, and a time among them."""
        line, content = self.comment
        cells = split_cells(content, self.separator)
        if len(cells) == columns > 1 and any(_is_time(cell) for cell in cells):
            self.titles, self.titles_line = cells, line

    def _title(self, cell: bytes) -> str:
        title = _text(cell)
        if len(title) > LONGEST_TITLE:
            problem, reason = f"a title has {len(title)} characters", f"it has at most {LONGEST_TITLE}"
            self.problems.add(self.titles_line, problem, reason, "shorten it")
            return title[:LONGEST_TITLE]
        return title


def _text(cell: bytes) -> str:
    return printable(cell.decode(errors="replace"))


def _is_time(cell: bytes) -> bool:
    return len(cell) < LONGEST_TITLE and read_title(_text(cell)).role == "time"


def _separator(line: bytes) -> bytes:
    """Return what stands between the cells of a line."""
    bare = re.sub(rb'"[^"]*"', b"", line).strip(b" \r")
    return next((mark for mark in SEPARATORS if mark in bare), BLANKS)


def _is_number(cell: bytes) -> bool:
    return bool(cell) and _LIKE_NUMBER.fullmatch(cell) is not None


def _are_numbers(cells: list[bytes]) -> bool:
    """Whether all cells are numbers, or empty, but not all of them."""
    return any(cells) and all(_LIKE_NUMBER.fullmatch(cell) for cell in cells)


def _count_up(cells: list[bytes]) -> bool:
    """Whether cells are 0, 1, 2, …, as columns are called that have no names."""
    return len(cells) > FEW_COLUMNS and cells == [b"%d" % number for number in range(len(cells))]
