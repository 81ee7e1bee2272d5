"""What libyaml's errors mean to who wrote the file: a missing comma, a tab, a wrong indentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import yaml


class Explained(NamedTuple):
    """An error in the words of a message."""

    line: int  # counted from 0
    reason: str
    hint: str  # '' where there is no more to say


_INDENTED = "the line is indented differently than those it belongs to"
_CLOSED = "a bracket is closed where a value is expected"
_QUOTE = "put the text in quotes"
NO_BLANK = ("a blank is missing after the dash", "write `- ` before each item")
"""Why and fix of items such as `-[ 0, 1 ]`."""
# What each is known by: words of the error's context and problem, then the character at its place.
_KINDS = (
    (
        "did not find expected ',' or",
        "a comma is missing before this place, or a bracket after it",
        "add it",
    ),
    (
        "did not find expected node content ,",
        "a comma stands where a value is expected",
        "add the value before it, or remove the comma",
    ),
    ("did not find expected node content ]", _CLOSED, "remove it, or open one before it"),
    ("did not find expected node content }", _CLOSED, "remove it, or open one before it"),
    ("while parsing a block node did not", _INDENTED, "indent the keys of an item deeper than its dash"),
    ("character that cannot start any token", "no value without quotes begins like this", _QUOTE),
    ("expected alphabetic or numeric character", "no name of a value follows the sign", _QUOTE),
    (
        "found unknown escape character",
        "no such sign follows a backslash in double quotes",
        "write two backslashes for one, or put the text in single quotes",
    ),
    ("did not find expected '-' indicator", _INDENTED, "align the dashes of a list"),
    ("did not find expected key", _INDENTED, "align the keys of a mapping and the dashes of a list"),
    (
        "mapping values are not allowed",
        "a key stands where none may: it is indented too far, or it is the second on its line",
        "correct the indentation, or put a text with a colon in quotes",
    ),
    (
        "could not find expected ':'",
        "the line before is neither a key with a colon nor an item with a dash",
        "write `key: value` or `- item`",
    ),
)


def nests_too_deeply(error: yaml.MarkedYAMLError) -> bool:
    """Return whether libyaml gave up at its own bound of depth; it looks ahead of what it has reported.

    Since 0.2.6 it has one, of 1000 levels.
    """
    return "maximum nesting depth" in (error.problem or "")


def explained(error: yaml.MarkedYAMLError, text: bytes) -> Explained:
    """Return what is wrong with a text that libyaml could not read."""
    mark = error.problem_mark or error.context_mark
    line = mark.line if mark else 0
    problem = error.problem or ""
    reason = " ".join(part for part in (error.context, problem) if part)
    if mark is None:
        return Explained(line, reason, "")
    if "expected ':'" in problem and error.context_mark and _is_dash(text, error.context_mark):
        return Explained(error.context_mark.line, *NO_BLANK)
    if mark.index >= len(text.decode(errors="replace").rstrip(" \t\r\n-")):
        return Explained(line, reason, "is the file complete?")
    if _is_tab(problem, text, line, mark.column):
        return Explained(line, "a tab stands in the indentation", "indent with blanks")
    said = f"{reason} {_from(text, line, mark.column)[:1]}"
    for words, meaning, hint in _KINDS:
        if words in said:
            return Explained(line, meaning, hint)
    return Explained(line, reason, "")


def unreadable(error: yaml.reader.ReaderError, text: bytes) -> Explained:
    """Return what is wrong with a text that consists of no characters of YAML."""
    line = text.count(b"\n", 0, error.position)
    hint = "save it as UTF-8" if "UTF" in error.reason else "remove the character"
    return Explained(line, error.reason, hint)


def _is_tab(problem: str, text: bytes, line: int, column: int) -> bool:
    at_tab = "cannot start any token" in problem and _from(text, line, column).startswith("\t")
    return at_tab or "tab character that violates indentation" in problem


def _is_dash(text: bytes, mark: yaml.Mark) -> bool:
    """Whether a dash with a bracket right behind it stands at a place."""
    return _from(text, mark.line, mark.column).startswith("-[")


def _from(text: bytes, line: int, column: int) -> str:
    """Return what stands on a line from a column on."""
    lines = text.split(b"\n", line + 1)
    return lines[line].decode(errors="replace")[column:] if line < len(lines) else ""
