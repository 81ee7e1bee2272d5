"""YAML, read into a tree that knows its lines and is bounded for any input.

The tree consists of `Mapping`, `Sequence`, `Scalar` and float. Numbers follow the core schema of YAML 1.2
(`1e5`, `.5`, `1.`, `+1`; `010` is ten and `1:30` no number), unlike those of PyYAML's own loader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from motiond.text import echoed, nearest, quoted

from ...errors import MOST_PROBLEMS
from .errors import explained, nests_too_deeply, unreadable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from collections.abc import Mapping as AnyMapping

    from ...errors import FormatError, Problems

MOST_DEPTH = 32
TOO_DEEP = ("nested too deeply", f"{MOST_DEPTH} levels are read", "write it flatter")
MOST_SCALAR_CHARACTERS = 10_000
# Each takes some hundred bytes and ten microseconds; rows that were cut out count as one value.
MOST_VALUES = 2_000_000
# A file may repeat a pose by an alias; the bound keeps aliases of aliases from exploding.
MOST_ALIASED_VALUES = 100_000

CORE_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")
)
CONSTANTS = {"": None, "~": None} | {
    spelling: value
    for name, value in (("null", None), ("true", True), ("false", False))
    for spelling in (name, name.capitalize(), name.upper())
}
INTEGER = re.compile(r"[-+]?[0-9]+")
BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar that is no number, or the value of a key; `plain` if it has no quotes."""

    text: str
    line: int
    plain: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    """A sequence."""

    line: int
    items: list[Value]
    # what stands for rows that were cut out of the text; `read_tree` was given it for this place
    cut: Any = None


@dataclass(frozen=True, slots=True)
class Entry:
    """The value of a key, and the line of the key."""

    line: int
    value: Value


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping in which each key stands once."""

    line: int
    entries: dict[str, Entry] = field(default_factory=dict)


Value: TypeAlias = float | Scalar | Sequence | Mapping


def number(text: str) -> float | None:
    """Return the value of a plain scalar; None where YAML 1.2 has it as no number, or it is not finite."""
    if INTEGER.fullmatch(text):
        # Adding zero turns -0.0 into 0.0, as an integer zero has no sign.
        value = float(text) + 0.0
    elif DECIMAL.fullmatch(text):
        value = float(text)
    elif BASED.fullmatch(text):
        value = float(int(text, 0)) if len(text) < 200 else float("inf")
    else:
        return None
    return value if abs(value) != float("inf") else None


def as_number(value: Value) -> float | None:
    """Return a value as a number; None where it is none."""
    if isinstance(value, Scalar):
        return number(value.text) if value.plain else None
    return value if isinstance(value, float) else None


def as_scalar(value: float | Scalar) -> float | str | bool | None:
    """Return a scalar's value by the core schema of YAML 1.2."""
    if isinstance(value, float) or not value.plain:
        return value if isinstance(value, float) else value.text
    if value.text in CONSTANTS:
        return CONSTANTS[value.text]
    plain_number = number(value.text)
    return value.text if plain_number is None else plain_number


def line_of(value: Value, otherwise: int) -> int:
    """Return the line of a value; numbers in sequences do not keep theirs."""
    return otherwise if isinstance(value, float) else value.line


def warn_of_unknown(mapping: Mapping, known: Collection[str], kind: str, problems: Problems) -> None:
    """Warn of keys that mean nothing; `kind`: what messages call such a mapping, with its article."""
    for key, entry in mapping.entries.items():
        if key not in known:
            # A guess takes time.
            guess = nearest(key, known) if len(problems.warnings) < MOST_PROBLEMS else ""
            reason = f"{kind} has {', '.join(sorted(known))}"
            problems.warn(entry.line, f"unknown key {quoted(key)}", reason, guess or "it is passed over")


def read_tree(
    text: bytes,
    problems: Problems,
    kind: str,
    first_line: int = 1,
    cuts: AnyMapping[int, Any] | None = None,
) -> tuple[Value | None, int]:
    """Read a YAML document, of which rows were cut out; return it and how many cuts are sequences in it.

    - `kind`: what messages call such a file, with its article
    - `cuts`: by the character where each begins
    """
    events = iter(yaml.parse(text, Loader=yaml.CSafeLoader))
    builder = _Builder(events, problems, kind, first_line, cuts or {})
    try:
        return builder.document(), builder.claimed
    except yaml.MarkedYAMLError as error:
        line, reason, hint = explained(error, text)
        if nests_too_deeply(error):
            raise problems.fail(line + first_line, *TOO_DEEP) from error
        raise problems.fail(line + first_line, "not valid YAML", reason, hint) from error
    except yaml.reader.ReaderError as error:
        line, reason, hint = unreadable(error, text)
        raise problems.fail(line + first_line, "not valid YAML", reason, hint) from error


@dataclass(slots=True)
class _Builder:
    events: Iterator[Any]
    problems: Problems
    kind: str
    first_line: int
    cuts: AnyMapping[int, Any]
    claimed: int = 0
    # How many of the collections around what is read now are in flow style, where a dash begins no row.
    in_flow: int = 0
    values: int = 0
    aliased: int = 0
    anchors: dict[str, tuple[Value, int]] = field(default_factory=dict)

    def document(self) -> Value | None:
        root: Value | None = None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise self._fail(event, "a second document begins", f"{self.kind} is one", "remove it")
                root = self._node(next(self.events), 0)
        return root

    def _node(self, event: Any, depth: int) -> Value:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        self._check(event, depth)
        before = self.values
        self.values += 1
        value = self._new(event, depth)
        if event.anchor:
            self.anchors[event.anchor] = (value, self.values - before)
        return value

    def _new(self, event: Any, depth: int) -> Value:
        if isinstance(event, yaml.ScalarEvent):
            return Scalar(event.value, self._line(event), not event.style)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(event, depth)
        return self._mapping(event, depth)

    def _sequence(self, start: Any, depth: int) -> Sequence:
        cut = self.cuts.get(start.start_mark.index)
        if self.in_flow and getattr(cut, "indent", None) is not None:
            cut = None
        self.claimed += cut is not None
        self.in_flow += bool(start.flow_style)
        items: list[Value] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            value = self._node(event, depth + 1)
            plain_number = number(value.text) if isinstance(value, Scalar) and value.plain else None
            items.append(value if plain_number is None else plain_number)
        self.in_flow -= bool(start.flow_style)
        return Sequence(self._line(start), items, cut)

    def _mapping(self, start: Any, depth: int) -> Mapping:
        mapping = Mapping(self._line(start))
        self.in_flow += bool(start.flow_style)
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            value = self._node(next(self.events), depth + 1)
            if not isinstance(key, Scalar):
                raise self._fail(event, "a key is no name", "keys are plain names", "write a name")
            if key.text in mapping.entries:
                first = mapping.entries[key.text].line
                self.problems.add(
                    key.line,
                    f"{echoed(key.text)} stands twice",
                    f"first on line {first}",
                    "remove one of them",
                )
            else:
                mapping.entries[key.text] = Entry(key.line, value)
        self.in_flow -= bool(start.flow_style)
        return mapping

    def _alias(self, event: Any) -> Value:
        if event.anchor not in self.anchors:
            raise self._fail(
                event,
                f"alias *{echoed(event.anchor)} refers to nothing complete",
                "an anchor ends before its alias",
                "write the value out",
            )
        value, size = self.anchors[event.anchor]
        self.values += size
        self.aliased += size
        if self.aliased > MOST_ALIASED_VALUES:
            raise self._fail(
                event,
                f"alias *{echoed(event.anchor)} repeats too much",
                f"aliases may stand for {MOST_ALIASED_VALUES} values in all",
                "write the values out",
            )
        return value

    def _check(self, event: Any, depth: int) -> None:
        if depth > MOST_DEPTH:
            raise self._fail(event, *TOO_DEEP)
        if self.values >= MOST_VALUES:
            problem, reason = "holds too much besides rows", f"{MOST_VALUES} values are read"
            raise self._fail(event, problem, reason, "write each row in [ ], on a line of its own")
        if event.tag and event.tag not in CORE_TAGS:
            # Behind such a tag are the bytes of the number.
            hint = "write float(x), or .tolist() of an array" if "numpy" in event.tag else "remove the tag"
            raise self._fail(event, f"unknown tag {echoed(event.tag)}", f"{self.kind} holds plain data", hint)
        if isinstance(event, yaml.ScalarEvent) and len(event.value) > MOST_SCALAR_CHARACTERS:
            raise self._fail(
                event,
                f"a value of {len(event.value)} characters",
                f"{MOST_SCALAR_CHARACTERS} are read",
                "shorten it",
            )

    def _line(self, event: Any) -> int:
        return int(event.start_mark.line) + self.first_line

    def _fail(self, event: Any, problem: str, reason: str, hint: str) -> FormatError:
        return self.problems.fail(self._line(event), problem, reason, hint)
