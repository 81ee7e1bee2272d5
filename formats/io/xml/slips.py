"""Fixes slips that XML forbids and that other readers of robot files let pass, each with a warning.

A comment may hold `--`, and the declaration `<?xml …?>` may follow comments and blank lines, and name the
version 0.0, as Bullet's robots do. Every line keeps its number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...errors import Problems

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CLOSING = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
_OPENING = re.compile(b"|".join(map(re.escape, _CLOSING)))
_DECLARATION = re.compile(rb"<\?xml\s[^<>?]*\?>")
_NO_VERSION = re.compile(rb"((?:\xef\xbb\xbf)?<\?xml\s+version\s*=\s*[\"'])0\.0(?=[\"'])")
_BLANKS = re.compile(rb"\s*")
_NOT_A_LINE_END = re.compile(rb"[^\n]")


def repaired(data: bytes, problems: Problems) -> bytes:
    """Return a file without the slips; the same where it has none."""
    return _with_a_version(_with_declaration_first(_with_plain_comments(data, problems), problems), problems)


def _with_plain_comments(data: bytes, problems: Problems) -> bytes:
    """Return a file in whose comments blanks stand for the dashes, where there are two in a row."""
    if b"<!--" not in data:
        return data
    plain: bytearray | None = None
    counted, line = 0, 1
    for start, end in _spans(data):
        first, last = start + 4, end - 3
        # A dash before the end makes two of it.
        slip = data.find(b"--", first, last + 1)
        if slip < 0 or not data.startswith(b"<!--", start):
            continue
        line += data.count(b"\n", counted, slip)
        counted = slip
        problems.warn(line, "'--' in a comment", "XML ends comments by it", "write - there")
        plain = bytearray(data) if plain is None else plain
        plain[first:last] = data[first:last].replace(b"-", b" ")
    return data if plain is None else bytes(plain)


def _with_declaration_first(data: bytes, problems: Problems) -> bytes:
    begin = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    start = _end_of_blanks(data, begin)
    while data.startswith(b"<!--", start):
        end = data.find(b"-->", start + 4)
        if end < 0:
            return data
        start = _end_of_blanks(data, end + 3)
    found = _DECLARATION.match(data, start)
    if not found or start == begin:
        return data
    line = data.count(b"\n", 0, start) + 1
    problems.warn(line, "<?xml …?> does not come first", "XML wants nothing before it", "move it to the top")
    moved, place = found[0].replace(b"\n", b" "), _NOT_A_LINE_END.sub(b" ", found[0])
    return b"".join([data[:begin], moved, data[begin:start], place, data[found.end() :]])


def _with_a_version(data: bytes, problems: Problems) -> bytes:
    if not (found := _NO_VERSION.match(data)):
        return data
    problems.warn(1, "version 0.0 of XML", "there is none", 'write <?xml version="1.0"?>')
    return b"".join([found[1], b"1.0", data[found.end() :]])


def _end_of_blanks(data: bytes, start: int) -> int:
    found = _BLANKS.match(data, start)
    return found.end() if found else start


def _spans(data: bytes) -> Iterator[tuple[int, int]]:
    """Return where each comment, CDATA section and instruction begins and ends, up to one without an end."""
    at = 0
    while found := _OPENING.search(data, at):
        closing = _CLOSING[found[0]]
        end = data.find(closing, found.end())
        if end < 0:
            return
        at = end + len(closing)
        yield found.start(), at
