"""The mappings of a .seq file, by key: in either spelling, and with what a component takes from the top node.

Values are checked, and each has its line for messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from motiond.text import echoed

from ..errors import Problem
from ..io.yaml.tree import Mapping, Scalar, Sequence, as_number

if TYPE_CHECKING:
    from ..errors import Problems
    from ..io.yaml.tree import Value

SNAKE_CASE = {
    "format_version": "formatVersion",
    "frame_rate": "frameRate",
    "num_frames": "numFrames",
    "num_parts": "numParts",
    "part_labels": "partLabels",
    "has_frame_time": "hasFrameTime",
    "is_root_relative": "isRootRelative",
    "se3_format": "SE3Format",
}
TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True)
class Field:
    """A key as the file spells it, with its line and value."""

    key: str
    line: int
    value: Value

    @property
    def shown(self) -> str:
        """The value as messages show it."""
        if isinstance(self.value, Scalar) and self.value.text:
            text = echoed(self.value.text)
            return f"'{text}'" if as_number(self.value) is None else text
        if isinstance(self.value, Mapping):
            return "a mapping"
        return "a sequence" if isinstance(self.value, Sequence) and self.value.items else "empty"


@dataclass(frozen=True, slots=True)
class Node:
    """The top node or a component."""

    problems: Problems
    label: str  # the node's name in messages
    line: int
    # own, inherited: by camelCase key; a component takes every key that it lacks from the top node
    own: dict[str, Field]
    inherited: dict[str, Field] = field(default_factory=dict)

    def get(self, key: str) -> Field | None:
        """Return the field of a key, or None where neither the node nor the top node has it."""
        return self.own.get(key) or self.inherited.get(key)

    def text(self, key: str) -> str:
        """Return the text of a node's own key, or '' where there is none."""
        found = self.own.get(key)
        return found.value.text if found and isinstance(found.value, Scalar) else ""

    def number(
        self, key: str, lowest: float, highest: float, rule: str, *, whole: bool = False
    ) -> float | None:
        """Return a number within bounds; None where the key is missing or its value was noted as wrong."""
        found = self.get(key)
        if found is None:
            return None
        value = as_number(found.value)
        if value is None or not lowest <= value <= highest or (whole and not value.is_integer()):
            self.wrong(found, rule)
            return None
        return value

    def truth(self, key: str) -> bool:
        """Return a truth value; false where the key is missing or its value was noted as wrong."""
        found = self.get(key)
        if found is None:
            return False
        text = found.value.text.lower() if isinstance(found.value, Scalar) else ""
        if text not in TRUTH:
            self.wrong(found, "it is true or false")
        return TRUTH.get(text, False)

    def wrong(self, found: Field, rule: str, hint: str = "correct it") -> None:
        """Note that a value breaks a rule, once for all nodes that share the value."""
        problem = Problem(self.problems.file, found.line, f"{found.key} is {found.shown}", rule, hint)
        if problem not in self.problems.found:
            self.problems.found.append(problem)

    def missing(self, key: str, reason: str) -> None:
        """Note that a key is missing."""
        self.problems.add(self.line, f"{self.label} has no {key}", reason, f"add {key}")

    def unknown(self, known: set[str], *, warn: bool = True) -> list[Field]:
        """Return the fields that the format does not know, and warn of them if wanted."""
        unknown = [found for name, found in self.own.items() if name not in known]
        for found in unknown if warn else ():
            self.problems.warn(
                found.line, f"unknown key {echoed(found.key)}", "no version has it", "kept in metadata"
            )
        return unknown


def fields(mapping: Mapping, version: float, problems: Problems) -> dict[str, Field]:
    """Return a mapping's fields by camelCase key; version 1 knows no other spelling."""
    found: dict[str, Field] = {}
    for key, entry in mapping.entries.items():
        name = SNAKE_CASE.get(key, key)
        if version < 2 and key in SNAKE_CASE and name != "formatVersion":
            reason = f"version 1 spells it {name}"
            problems.add(entry.line, f"{key} stands in a version 1 file", reason, "correct key or version")
        if name in found:
            reason = f"{found[name].key} on line {found[name].line} says it already"
            problems.add(entry.line, f"{key} stands beside {found[name].key}", reason, "remove one of them")
        else:
            found[name] = Field(key, entry.line, entry.value)
    return found
