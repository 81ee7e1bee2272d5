"""Problems of a file, as `file:line: problem; reason; hint`, and the errors that carry them.

A reader collects problems as it meets them, and raises one `FormatError` that holds them all.

    ValueError
    ├── BadText          one text in a file; a reader turns it into a problem with its place
    └── FormatError      any unreadable or invalid file
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from motiond.text import LONGEST_VALUE, printable, shortened, with_short_quotes

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_PROBLEMS = 20
# Reading ends after so many: a flood of problems could take far more memory than the file that causes it.
MOST_NOTED = 1000
# Parts of messages quote what stands in a file, and that may be millions of characters.
LONGEST_PART = 1500


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
            object.__setattr__(self, part, _cut(getattr(self, part)))

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
    """Collects what is wrong with one file, to be raised at once."""

    file: str  # the file as the user named it
    found: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, line: int, problem: str, reason: str = "", hint: str = "") -> None:
        """Note a problem and go on reading; the thousandth raises `FormatError` with all of them."""
        self.found.append(Problem(self.file, line, problem, reason, hint))
        if len(self.found) >= MOST_NOTED:
            raise FormatError(self.found)

    def warn(self, line: int, problem: str, reason: str = "", hint: str = "") -> None:
        """Note an oddity with which the file is read all the same; after a thousand, no more are noted."""
        if len(self.warnings) < MOST_NOTED:
            self.warnings.append(str(Problem(self.file, line, problem, reason, hint)))

    def fail(self, line: int, problem: str, reason: str = "", hint: str = "") -> FormatError:
        """Note a problem after which nothing can be read, and return the error for the caller to raise."""
        self.add(line, problem, reason, hint)
        return FormatError(self.found)

    def raise_if_any(self) -> None:
        """Raise `FormatError` with all that was found, if anything was: once each, by files and lines."""
        if self.found:
            found = dict.fromkeys(self.found)
            files = list(dict.fromkeys(problem.file for problem in found))
            raise FormatError(sorted(found, key=lambda one: (files.index(one.file), one.line)))

    @property
    def oddities(self) -> tuple[str, ...]:
        """The warnings, once each."""
        return tuple(dict.fromkeys(self.warnings))


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


def _cut(part: str) -> str:
    """Return a part of a message, what it quotes cut, and the whole where it is still long."""
    if len(part) > LONGEST_VALUE:
        part = with_short_quotes(part)
    return shortened(part, LONGEST_PART)
