"""What libyaml's errors mean to who wrote the file: a missing comma, a tab, a wrong indentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import yaml


class Explained(NamedTuple):
    """An error in the words of a message.

    Attributes
    ----------
    line : int
        Counted from 0.
    why, mend : str
        The parts of the message; `mend` is '' where there is no more to say.
    """

    line: int
    why: str
    mend: str


_INDENTED = "the line is indented differently than those it belongs to"
_KINDS = (
    (
        "did not find expected ',' or",
        "a comma is missing before this place, or a bracket after it",
        "add it",
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
    """Return whether libyaml gave up at its own bound of depth; it looks ahead of what it has told.

    Since 0.2.6 it has one, of 1000 levels.
    """
    return "maximum nesting depth" in (error.problem or "")


def explained(error: yaml.MarkedYAMLError, text: bytes) -> Explained:
    """Return what is wrong with a text that libyaml could not read."""
    mark = error.problem_mark or error.context_mark
    line = mark.line if mark else 0
    problem = error.problem or ""
    why = " ".join(part for part in (error.context, problem) if part)
    if mark is None:
        return Explained(line, why, "")
    if mark.index >= len(text.decode(errors="replace").rstrip()):
        return Explained(line, why, "is the file complete?")
    if _is_tab(problem, text, line, mark.column):
        return Explained(line, "a tab stands in the indentation", "indent with blanks")
    for words, meaning, mend in _KINDS:
        if words in problem:
            return Explained(line, meaning, mend)
    return Explained(line, why, "")


def _is_tab(problem: str, text: bytes, line: int, column: int) -> bool:
    lines = text.split(b"\n", line + 1)
    before = lines[line].decode(errors="replace") if line < len(lines) else ""
    at_tab = "cannot start any token" in problem and before[column : column + 1] == "\t"
    return at_tab or "tab character that violates indentation" in problem
