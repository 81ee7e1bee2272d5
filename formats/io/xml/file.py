"""Files that may include each other: which may be included, and how much they may hold together."""

from __future__ import annotations

from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from motiond.text import quoted

from ...errors import FormatError, Problem, Problems
from ..foreign import foreign_format
from ..source import MOVE_IT, OTHER_SIZE
from .tree import MOST_MARKS, marks_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Self

    from ...errors import Where
    from ..source import Source
    from .element import Element

    T = TypeVar("T")

# Bounds beyond any real robot, so that files that include each other many times end in a message.
MOST_ELEMENTS = 10_000
MOST_NESTED = 60


class TooMuchError(FormatError):
    """A file exceeds the bounds, so that nothing more is read."""


@dataclass(slots=True)
class _Budget:
    """What may still follow, in all files together, and how deep elements and includes are nested now."""

    elements: int = MOST_ELEMENTS
    depth: int = 0
    size_bytes: int = OTHER_SIZE.most_bytes
    marks: int = MOST_MARKS


class XmlFile:
    """One file; each file that it includes is another of these, which shares its problems and its budget."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems = Problems(source.name)
        # the real paths and the names of the files that include each other down to this one
        self._trail: dict[Path, str] = {source.identity(): source.name}
        self._budget = _Budget()

    def spend(self, element: Element) -> None:
        """Count an element."""
        self._budget.elements -= 1
        if self._budget.elements < 0:
            raise _too_much(element.where, f"more than {MOST_ELEMENTS} elements")

    @contextmanager
    def deeper(self, element: Element) -> Iterator[None]:
        """Count what is read in the block as one level deeper."""
        self._budget.depth += 1
        if self._budget.depth > MOST_NESTED:
            raise _too_much(element.where, f"elements and includes nest deeper than {MOST_NESTED}")
        try:
            yield
        finally:
            self._budget.depth -= 1

    def bytes_of(self, where: Where, source: Source) -> bytes:
        """Read a file that this one refers to; it counts each time."""
        data = source.read()
        self._budget.size_bytes -= len(data)
        self._budget.marks -= marks_in(data)
        if self._budget.size_bytes < 0 or self._budget.marks < 0:
            most = f"more than {OTHER_SIZE.most_bytes // 10**6} MB, or {MOST_MARKS} tags and attributes"
            raise _too_much(where, most)
        return data

    def include(
        self, element: Element, source: Source, name: str, read: Callable[[Self, bytes], T | None]
    ) -> T | None:
        """Read a file that this one includes; return None where it cannot be read, which has been noted."""
        where = element.where
        try:
            if not self._may_include(where, source, name):
                return None
            data = self.bytes_of(where, source)
        except TooMuchError:
            raise
        except (FormatError, RuntimeError) as error:
            # Before Python 3.13, Path.resolve raises RuntimeError where symbolic links lead in a ring.
            reason, hint = "symbolic links lead in a ring", "check the path"
            if isinstance(error, FormatError):
                reason, hint = error.problems[0].reason, error.problems[0].hint
            where.add(f"cannot include {quoted(name)}", f"{source.name}: {reason}", hint)
            return None
        noted = len(self.problems.found)
        made = None
        try:
            with self.deeper(element):
                made = read(self._other(source), data)
        except TooMuchError:
            raise
        except FormatError:  # whose problems have been noted
            pass
        self._name_foreign(source, data, noted)
        return made

    def _name_foreign(self, source: Source, data: bytes, noted: int) -> None:
        """Replace what was noted of an included file, if it is of another format, by what it is."""
        found = self.problems.found[noted:]
        others = [one for one in found if one.file != source.name]
        if len(others) < len(found) and (foreign := foreign_format(data)):
            self.problems.found[noted:] = [*others, Problem(source.name, 0, *foreign)]

    def _may_include(self, where: Where, source: Source, name: str) -> bool:
        if not source.allowed():
            folders = ", ".join(str(folder) for folder in source.within)
            where.add(f"may not include {quoted(name)}", f"it lies outside of {folders}", MOVE_IT)
            return False
        if source.identity() in self._trail:
            start = list(self._trail).index(source.identity())
            ring = [*list(self._trail.values())[start:], source.name]
            where.add("files include each other in a ring", " -> ".join(ring), "remove one <include>")
            return False
        return True

    def _other(self, source: Source) -> Self:
        other = copy(self)
        other.source = source
        other.problems = Problems(source.name, self.problems.found, self.problems.warnings)
        other._trail = {**self._trail, source.identity(): source.name}  # noqa: SLF001 - of the same class
        return other


def _too_much(where: Where, what: str) -> FormatError:
    where.add(what, "counted with all included files", "no real robot is that large")
    return TooMuchError(where.problems.found)
