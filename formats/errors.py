"""Problems of a file, as `file:line: what; why; how to mend`, and the errors that carry them.

A reader collects problems as it meets them, and raises one `FormatError` that holds them all.

    ValueError
    ├── BadText          one text in a file; a reader turns it into a problem with its place
    └── FormatError      any unreadable or invalid file
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_PROBLEMS = 20
# Reading ends after so many: a flood of problems could take far more memory than the file that causes it.
MOST_NOTED = 1000


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file.

    Attributes
    ----------
    file : str
        The file as the user named it.
    line : int
        Counted from 1; 0 where a line means nothing (a binary file, an empty one).
    what, why, mend : str
        The three parts of the message; `why` and `mend` may be empty.
    """

    file: str
    line: int
    what: str
    why: str = ""
    mend: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: " + "; ".join(part for part in (self.what, self.why, self.mend) if part)


class BadText(ValueError):
    """A text that is not the value it should be.

    Attributes
    ----------
    what, why, mend : str
        The parts of a message; the reader adds the place.
    """

    def __init__(self, what: str, why: str, mend: str = "") -> None:
        super().__init__("; ".join(part for part in (what, why, mend) if part))
        self.what = what
        self.why = why
        self.mend = mend


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

    def add(self, line: int, what: str, why: str = "", mend: str = "") -> None:
        """Note a problem and go on reading; the thousandth raises `FormatError` with all of them."""
        self.found.append(Problem(self.file, line, what, why, mend))
        if len(self.found) >= MOST_NOTED:
            raise FormatError(self.found)

    def warn(self, line: int, what: str, why: str = "", mend: str = "") -> None:
        """Note an oddity with which the file is read all the same; after a thousand, no more are noted."""
        if not self.is_full:
            self.warnings.append(str(Problem(self.file, line, what, why, mend)))

    @property
    def is_full(self) -> bool:
        """Whether no more warnings are noted, so that none need be worded."""
        return len(self.warnings) >= MOST_NOTED

    def fail(self, line: int, what: str, why: str = "", mend: str = "") -> FormatError:
        """Note a problem after which nothing can be read, and return the error for the caller to raise."""
        self.add(line, what, why, mend)
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

    def add(self, what: str, why: str = "", mend: str = "") -> None:
        """Note a problem here."""
        self.problems.add(self.line, what, why, mend)

    def warn(self, what: str, why: str = "", mend: str = "") -> None:
        """Note an oddity here."""
        self.problems.warn(self.line, what, why, mend)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the nearest known word as `did you mean 'X5-1'?`, or '' where none is near."""
    by_folded = {name.casefold(): name for name in known}
    found = get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.5)
    return f"did you mean '{by_folded[found[0]]}'?" if found else ""
