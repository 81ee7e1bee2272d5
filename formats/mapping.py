"""Reads motion maps, the files that say how the columns of motions become the joints of a robot.

`docs/motions.md` describes the file. What is misspelt in it would move hardware the wrong way, so that
nothing unknown is passed over.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from motiond.text import listed, nearest, quoted

from .errors import BadText, Problems
from .io.source import OTHER_SIZE, SizeBound, Source
from .io.text import utf8_text
from .io.yaml.tree import Mapping, Scalar, Sequence, as_number, read_tree
from .model.mapping import UNITS, MappedJoint, MotionMap
from .model.motion import FASTEST_FRAME_RATE, RATE_RULE

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from collections.abc import Sequence as AnySequence

    from .io.yaml.tree import Entry, Value
    from .model.mapping import Column, Unit

KIND = "a motion map"
SIZE = SizeBound(1_000_000, KIND, OTHER_SIZE.hint)
KEYS = ("rate", "units", "topic", "joints", "ignore")
KEYS_OF_JOINT = ("from", "sign", "offset", "unit")
OTHERS = "others"
FURTHEST = 1e6  # beyond, an offset is a mistake in any unit

T = TypeVar("T")


def load_map(path: str | os.PathLike[str]) -> MotionMap:
    """Read a motion map.

    Raises `FormatError` if the file cannot be read or is invalid, with every problem found in it.
    """
    source = Source(Path(path))
    problems = Problems(source.name)
    root, _ = read_tree(utf8_text(source.read(SIZE), problems, KIND), problems, KIND)
    if not isinstance(root, Mapping):
        reason = f"it is a mapping of {listed(KEYS)}"
        raise problems.fail(1, f"is not {KIND}", reason, "write `joints:`, and under it `joint: column`")
    reader = _Reader(problems, source.path.name)
    joints, lines = reader.joints(root)
    ignored, ignores_others = reader.ignored(root, lines)
    rate_hz, topic = reader.value(root, "rate", _rate), reader.value(root, "topic", _text)
    units = reader.value(root, "units", _unit)
    reader.refuse_unknown(root, KEYS)
    problems.raise_if_any()
    return MotionMap(joints, ignored, ignores_others, units, rate_hz, topic)


class _Reader:
    """Reads the parts of a map, and notes what is wrong with each."""

    def __init__(self, problems: Problems, file: str) -> None:
        self._problems, self._file = problems, file

    def joints(self, root: Mapping) -> tuple[dict[str, MappedJoint], dict[Column, int]]:
        """Return the joints, and the line on which each column is used first."""
        joints: dict[str, MappedJoint] = {}
        lines: dict[Column, int] = {}
        for name, entry in self._entries(root, "joints").items():
            if not name.strip():
                self._problems.add(entry.line, "a joint has no name", "joints stand on the left", "write it")
            if joint := self._joint(name, entry.line, entry.value):
                joints[name] = joint
                lines.setdefault(joint.column, entry.line)
        return joints, lines

    def ignored(self, root: Mapping, used: dict[Column, int]) -> tuple[frozenset[Column], bool]:
        """Return the columns that are left out, and whether all others are."""
        entry = root.entries.get("ignore")
        if entry is None:
            return frozenset(), False
        if isinstance(entry.value, Scalar) and entry.value.text == OTHERS:
            if not used:
                reason = "no joint uses any, so that every column would be left out"
                self._problems.add(entry.line, "`ignore: others` has no others", reason, "list joints")
            return frozenset(), True
        if not isinstance(entry.value, Sequence):
            problem, reason = "ignore is no list", f"it is columns in [ ], or `{OTHERS}`"
            self._problems.add(entry.line, problem, reason, "write `ignore: [led]`")
            return frozenset(), False
        columns = [self._checked(entry.line, "ignore", item, _column) for item in entry.value.items]
        for column in columns:
            if column in used:
                reason = f"a joint takes it on line {used[column]}"
                self._problems.add(entry.line, f"column {_shown(column)} is ignored", reason, "remove one")
        return frozenset(column for column in columns if column is not None), False

    def value(self, node: Mapping, key: str, parse: Callable[[Value], T]) -> T | None:
        """Return the value of a key, or None where there is none or it is wrong."""
        entry = node.entries.get(key)
        return None if entry is None else self._checked(entry.line, key, entry.value, parse)

    def refuse_unknown(self, node: Mapping, known: AnySequence[str]) -> None:
        """Note keys that mean nothing."""
        for key, entry in node.entries.items():
            if key not in known:
                reason, hint = f"known are {listed(known)}", nearest(key, known) or "remove it"
                self._problems.add(entry.line, f"unknown key {quoted(key)}", reason, hint)

    def _entries(self, root: Mapping, key: str) -> dict[str, Entry]:
        entry = root.entries.get(key)
        if entry is None:
            return {}
        if not isinstance(entry.value, Mapping):
            reason = "each line under it is `joint: column`"
            self._problems.add(entry.line, f"{key} is no mapping", reason, "write `elbow: J2` under it")
            return {}
        return entry.value.entries

    def _joint(self, name: str, line: int, value: Value) -> MappedJoint | None:
        if not isinstance(value, Mapping):
            column = self._checked(line, f"joint {quoted(name)}", value, _column)
            return None if column is None else MappedJoint(column, place=f"{self._file}:{line}")
        self.refuse_unknown(value, KEYS_OF_JOINT)
        if "from" not in value.entries:
            problem, reason = f"joint {quoted(name)} has no `from`", "it names the column"
            self._problems.add(line, problem, reason, "write `{from: J2, …}`")
        column = self.value(value, "from", _column)
        sign, offset = self.value(value, "sign", _sign), self.value(value, "offset", _offset)
        unit = self.value(value, "unit", _unit)
        if column is None:
            return None
        return MappedJoint(column, sign or 1.0, offset or 0.0, unit, f"{self._file}:{line}")

    def _checked(self, line: int, what: str, value: Value, parse: Callable[[Value], T]) -> T | None:
        try:
            return parse(value)
        except BadText as error:
            self._problems.add(line, f"{what} is {error.problem}", error.reason, error.hint)
            return None


def _column(value: Value) -> Column:
    """Return a column by its name or, of a number without quotes, by its number."""
    number = as_number(value)
    if number is not None and (number < 0 or number != int(number)):
        raise BadText(_told(value), "columns are counted 0, 1, 2, …", "put a name in quotes")
    return int(number) if number is not None else _text(value)


def _text(value: Value) -> str:
    if not isinstance(value, Scalar) or not value.text.strip() or (value.plain and value.text in _NOTHING):
        raise BadText(_told(value), "it is a name", "write it, a number in quotes")
    return value.text


def _rate(value: Value) -> float:
    return _number(value, lambda rate: 0 < rate <= FASTEST_FRAME_RATE, f"in rows/s, {RATE_RULE}")


def _sign(value: Value) -> float:
    return _number(value, lambda sign: abs(sign) == 1, "it is 1 or -1")


def _offset(value: Value) -> float:
    return _number(
        value, lambda offset: abs(offset) <= FURTHEST, f"it is a number of at most {FURTHEST:,.0f}"
    )


def _number(value: Value, is_right: Callable[[float], bool], reason: str) -> float:
    number = as_number(value)
    if number is None or not is_right(number):
        raise BadText(_told(value), reason, "correct it")
    return number


def _unit(value: Value) -> Unit:
    text = value.text if isinstance(value, Scalar) else ""
    if text not in UNITS:
        raise BadText(_told(value), f"it is {listed(UNITS)}", nearest(text, UNITS) or "correct it")
    return text


_NOTHING = ("", "~", "null")


def _told(value: Value) -> str:
    if isinstance(value, Mapping | Sequence):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    if isinstance(value, float):
        return f"{value:g}"
    if as_number(value) is not None:
        return value.text
    return quoted(value.text) if value.text or not value.plain else "empty"


def _shown(column: Column | None) -> str:
    return quoted(column) if isinstance(column, str) else str(column)
