"""Bounds of what a YAML file may hold, checked before libyaml's composer meets it.

A file of a kilobyte can stand for billions of values, as each alias repeats what its anchor names and that
may hold aliases itself. Whoever walks through the values, as every check does, would never return. Here each
alias counts as what it repeats, so that a file is refused in a time that grows with its bytes alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from typing import NoReturn

CHARACTERS_A_VALUE = 40
"""A longer text counts as several values, since a few aliases of a long one are as large."""


class YamlBoundError(ValueError):
    """A file that holds more than it may; the parts of the message are attributes. `line`: counted from 1."""

    def __init__(self, line: int, problem: str, reason: str, hint: str) -> None:
        super().__init__(f"line {line}: {problem}; {reason}; {hint}")
        self.line = line
        self.problem, self.reason, self.hint = problem, reason, hint


@dataclass(slots=True)
class _Extent:
    """How much a value is with all that its aliases repeat, and how deeply it nests."""

    values: int = 1
    levels: int = 0
    anchor: str | None = None

    def add(self, inner: _Extent) -> None:
        self.values += inner.values
        self.levels = max(self.levels, inner.levels + 1)


@dataclass(slots=True)
class YamlBounds:
    """How much a YAML document may hold."""

    values: int = 100_000
    levels: int = 64
    directives: int = 10
    aliases: bool = True
    _open: list[_Extent] = field(default_factory=list, init=False)
    _anchors: dict[str, _Extent] = field(default_factory=dict, init=False)
    _total: int = field(default=0, init=False)

    def check(self, data: bytes, loader: type[yaml.CSafeLoader] = yaml.CSafeLoader) -> None:
        """Refuse a document that holds too much.

        Raises YamlBoundError. Raises yaml.YAMLError if the document is none.
        """
        self._open, self._anchors, self._total = [_Extent()], {}, 0
        if data.startswith(b"%") + data.count(b"\n%") > self.directives:
            reason = f"a document has at most {self.directives}"
            raise YamlBoundError(1, "too many lines begin with %", reason, "leave them out")
        for event in yaml.parse(data, loader):
            self._take(event)

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._repeat(event)
        elif isinstance(event, yaml.ScalarEvent):
            extent = _Extent(1 + len(event.value) // CHARACTERS_A_VALUE)
            self._count(event, 1)
            self._close(extent, event.anchor)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._count(event, 1)
            self._open.append(_Extent(anchor=event.anchor))
            if len(self._open) - 1 > self.levels:
                self._refuse_levels(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            extent = self._open.pop()
            self._close(extent, extent.anchor)

    def _close(self, extent: _Extent, anchor: str | None) -> None:
        self._open[-1].add(extent)
        if anchor is not None:
            self._anchors[anchor] = extent

    def _repeat(self, alias: yaml.AliasEvent) -> None:
        """Count an alias as what it repeats; one that refers to nothing is left to the composer."""
        name = f"*{alias.anchor:.60}"
        if not self.aliases:
            self._refuse(alias, f"{name} is an alias", "this file takes none", "write it out")
        if any(outer.anchor == alias.anchor for outer in self._open):
            self._refuse(alias, f"{name} repeats what it stands in", "that never ends", "write it out")
        extent = self._anchors.get(alias.anchor or "")
        if extent is None:
            return
        if len(self._open) - 1 + extent.levels > self.levels:
            self._refuse_levels(alias)
        self._count(alias, extent.values, f"{name} repeats {extent.values} values; ")
        self._open[-1].add(extent)

    def _count(self, event: yaml.Event, values: int, reason: str = "") -> None:
        self._total += values
        if self._total > self.values:
            self._refuse(event, "holds too much", f"{reason}{self.values} values are read", "shorten it")

    def _refuse_levels(self, event: yaml.Event) -> NoReturn:
        self._refuse(event, "nests too deeply", f"{self.levels} levels do", "flatten it")

    def _refuse(self, event: yaml.Event, problem: str, reason: str, hint: str) -> NoReturn:
        line = event.start_mark.line + 1 if event.start_mark else 1
        raise YamlBoundError(line, problem, reason, hint)
