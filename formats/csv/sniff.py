"""Whether a text is a table, by its looks."""

from __future__ import annotations

import re

from .header import COMMENT

SEPARATORS = (b";", b"\t", b",", None)
_NUMBER = re.compile(rb"""["']?[-+]?(?:(?:\d+[.,]?\d*|[.,]\d+)(?:e[-+]?\d+)?|nan|inf)["']?""", re.IGNORECASE)
# How lines of YAML and XML begin.
_STRUCTURE = re.compile(rb"\s*(?:[\[{<]|-\s|---|[^,;\t]*:(?:\Z|\s+(?:[^,;\t]*\Z|[\[{|>])))")
_LINE_END = re.compile(rb"\r\n?")
_LONGEST_KEY = 200
# Titles and units may stand before the rows.
_MOST_LINES = 60
_LONGEST_NUMBER = 64


def sniff(head: bytes) -> bool:
    """Whether a file that begins like this has rows of numbers."""
    lines = [
        line
        for line in _LINE_END.sub(b"\n", head).split(b"\n")
        if line.strip() and not line.lstrip().startswith(COMMENT)
    ]
    return any(_is_table(lines[:_MOST_LINES], separator) for separator in SEPARATORS)


def _is_table(lines: list[bytes], separator: bytes | None) -> bool:
    """Whether two lines have as many columns, and the second has numbers; what stands before them is text.

    Without a separator, both are numbers side by side; a single column takes a third line.
    """
    columns = rows = 0
    for count, line in enumerate(lines, 1):
        if _STRUCTURE.match(line[:_LONGEST_KEY]):
            return False
        cells = line.split(separator)
        numbers = sum(map(_is_number, cells))
        rows = (rows if len(cells) == columns else 0) + 1 if separator or numbers == len(cells) else 0
        if rows > 1 and numbers and (len(cells) > 1 or (not separator and count > 2)):
            return True
        columns = len(cells)
    return False


def _is_number(cell: bytes) -> bool:
    found = len(cell) < _LONGEST_NUMBER and _NUMBER.fullmatch(cell.strip())
    return bool(found)
