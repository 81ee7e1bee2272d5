"""Problems of a file, as `file:line: problem; reason; hint`, and the errors that carry them.

A reader collects problems as it meets them, and raises one `FormatError` that holds them all. Names that
come from outside are told `printable`, and lists of them end (`listed`).

    ValueError
    ├── BadText          one text in a file; a reader turns it into a problem with its place
    └── FormatError      any unreadable or invalid file
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import SequenceMatcher, get_close_matches
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

MOST_PROBLEMS = 20
# Reading ends after so many: a flood of problems could take far more memory than the file that causes it.
MOST_NOTED = 1000
# Parts of messages quote what stands in a file, and that may be millions of characters.
LONGEST_PART = 1500
# A value from a file is echoed so far: enough to find it.
LONGEST_VALUE = 60
MOST_LISTED, LONGEST_LISTED = 20, LONGEST_VALUE
# A guess may take milliseconds: comparing two names takes cubic time where they repeat few letters.
MOST_COUNTED, MOST_COMPARED, LONGEST_COMPARED = 500, 12, 50
LEAST_ALIKE = 0.5

# What acts on a terminal or ends a line, texts that change the direction of others, and half characters,
# which stand for bytes that are no UTF-8.
_UNPRINTABLE = re.compile("[\0-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# What messages quote, longer than it may be; a quote that something follows at once is a part of the value.
_QUOTED = re.compile(
    rf"""(?<![^\s(\[=])(?P<quote>['"])"""
    rf"""(?P<text>(?:(?!(?P=quote)(?![^\s;,.:)])).){{{LONGEST_VALUE + 1},}})(?P=quote)"""
    rf"""|<(?P<tag>[^<>\s]{{{LONGEST_VALUE + 1},}})>""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file.

    Attributes
    ----------
    file : str
        The file as the user named it.
    line : int
        Counted from 1; 0 where a line means nothing (a binary file, an empty one).
    problem, reason, hint : str
        The three parts of the message, cut where they are long; `reason` and `hint` may be empty.
    """

    file: str
    line: int
    problem: str
    reason: str = ""
    hint: str = ""

    def __post_init__(self) -> None:
        # A thousand problems with texts of 1 MB would be kept, were the texts cut when they are shown.
        for part in ("problem", "reason", "hint"):
            object.__setattr__(self, part, _with_short_quotes(getattr(self, part)))

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return printable(f"{where}: " + "; ".join(filter(None, (self.problem, self.reason, self.hint))))


class BadText(ValueError):
    """A text that is not the value it should be.

    Attributes
    ----------
    problem, reason, hint : str
        The parts of a message; the reader adds the place.
    """

    def __init__(self, problem: str, reason: str, hint: str = "") -> None:
        super().__init__("; ".join(part for part in (problem, reason, hint) if part))
        self.problem = problem
        self.reason = reason
        self.hint = hint


class FormatError(ValueError):
    """An unreadable or invalid file, with every problem found in it.

    Attributes
    ----------
    problems : tuple of Problem
        At least one, in the order of discovery. `str()` shows the first twenty.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:MOST_PROBLEMS]]
        if len(self.problems) > MOST_PROBLEMS:
            lines.append(f"{self.problems[0].file}: {len(self.problems) - MOST_PROBLEMS} more problems")
        super().__init__("\n".join(lines))


@dataclass(slots=True)
class Problems:
    """Collects what is wrong with one file, to be raised at once.

    Attributes
    ----------
    file : str
        The file as the user named it.
    """

    file: str
    found: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, line: int, problem: str, reason: str = "", hint: str = "") -> None:
        """Note a problem and go on reading; the thousandth raises `FormatError` with all of them."""
        self.found.append(Problem(self.file, line, problem, reason, hint))
        if len(self.found) >= MOST_NOTED:
            raise FormatError(self.found)

    def warn(self, line: int, problem: str, reason: str = "", hint: str = "") -> None:
        """Note an oddity with which the file is read all the same; after a thousand, no more are noted."""
        if not self.is_full:
            self.warnings.append(str(Problem(self.file, line, problem, reason, hint)))

    @property
    def is_full(self) -> bool:
        """Whether no more warnings are noted, so that none need be worded."""
        return len(self.warnings) >= MOST_NOTED

    def fail(self, line: int, problem: str, reason: str = "", hint: str = "") -> FormatError:
        """Note a problem after which nothing can be read, and return the error for the caller to raise."""
        self.add(line, problem, reason, hint)
        return FormatError(self.found)

    def raise_if_any(self) -> None:
        """Raise `FormatError` with all that was found, if anything was."""
        if self.found:
            raise FormatError(self.found)


@dataclass(frozen=True, slots=True)
class Where:
    """A line of a file, at which problems and oddities are noted."""

    problems: Problems
    line: int

    def __str__(self) -> str:
        return f"{self.problems.file}:{self.line}"

    def add(self, problem: str, reason: str = "", hint: str = "") -> None:
        """Note a problem here."""
        self.problems.add(self.line, problem, reason, hint)

    def warn(self, problem: str, reason: str = "", hint: str = "") -> None:
        """Note an oddity here."""
        self.problems.warn(self.line, problem, reason, hint)


def printable(text: str) -> str:
    """Return a text as it can go to a log, a terminal and JSON; the same where it can already.

    Control characters become escapes in hexadecimal, and so do the bytes of a file name that are no UTF-8.
    """
    return _UNPRINTABLE.sub(_escaped, text)


def quoted_briefly(message: str) -> str:
    """Return a message of one line or more in which what it quotes is cut, as it is in those of files."""
    return "\n".join(_QUOTED.sub(_short_quote, line) for line in message.split("\n"))


def _with_short_quotes(part: str) -> str:
    """Return a part of a message, what it quotes cut, and the whole where it is still long."""
    if len(part) > LONGEST_VALUE:
        part = _QUOTED.sub(_short_quote, part)
    return shortened(part, LONGEST_PART)


def _short_quote(found: re.Match[str]) -> str:
    if found["tag"]:
        return f"<{echoed(found['tag'])}>"
    text: str = found["text"]
    if not (text.startswith("/") and max(map(len, text.split("/"))) <= LONGEST_VALUE):  # a path is told whole
        text = echoed(text)
    return f"{found['quote']}{text}{found['quote']}"


def echoed(value: str) -> str:
    """Return a value from a file as messages echo it: where it is long, its first sixty characters."""
    return shortened(value, LONGEST_VALUE)


def quoted(value: str) -> str:
    """Return a value from a file in quotes, as messages echo it."""
    return repr(echoed(value))


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00  # the byte for which Python's names of files have it
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def shortened(text: str, longest: int) -> str:
    """Return a text, cut where it has more characters than that."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def listed(
    names: Collection[str], quote: str = "", more: int = 0, longest: int | None = LONGEST_LISTED
) -> str:
    """Return names as a message lists them: `a, b, c`, no more than twenty, and the number of the others.

    Parameters
    ----------
    quote : str
        Stands before and after each name.
    more : int
        How many there are besides.
    longest : int or None
        How many characters of a name are told; None where somebody may have to type it.
    """
    shown = [f"{quote}{shortened(name, longest or len(name))}{quote}" for name in islice(names, MOST_LISTED)]
    more += len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def nearest(word: str, known: Collection[str]) -> str:
    """Return the nearest known word as `did you mean 'X5-1'?`, or '' where none is near.

    Of very many words only those that begin alike count, and of these those with the same letters.
    """
    if len(word) > LONGEST_COMPARED:
        return ""
    folded = word.casefold()
    if len(known) > MOST_COUNTED:
        alike = (name for name in known if name[:2].casefold() == folded[:2])
        known = list(islice(alike, MOST_COUNTED))
    by_folded = {name.casefold(): name for name in known if len(name) <= LONGEST_COMPARED}
    found = get_close_matches(folded, _with_like_letters(folded, by_folded), n=1, cutoff=LEAST_ALIKE)
    return f"did you mean '{by_folded[found[0]]}'?" if found else ""


def _with_like_letters(word: str, known: Iterable[str]) -> list[str]:
    """Return the words that have the most letters in common with one, in whatever order."""
    matcher = SequenceMatcher(b=word)

    def share(other: str) -> float:
        matcher.set_seq1(other)
        return matcher.quick_ratio()

    return nlargest(MOST_COMPARED, known, key=share)
