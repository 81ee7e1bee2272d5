"""Choreonoid's standard body motion (.seq), format versions 1 to 4.

A file holds one motion. The specification is Choreonoid's manual, "Standard body motion file format", with
what Choreonoid's own reader knows besides: old version 1, and the snake_case keys of version 4.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import echoed, printable

from ..errors import MOST_PROBLEMS, FormatError, Problems
from ..io.text import utf8_text
from ..io.yaml.tree import Mapping, Sequence, as_number, line_of, read_tree
from ..model.motion import Motion
from .component import JOINTS, KEYS, Series, read_component
from .frames import KIND, as_it_stood
from .node import Field, Node, fields
from .regions import NotRows, cut_frames
from .rows import begins_with_plain_rows, cut_rows

if TYPE_CHECKING:
    from collections.abc import Mapping as AnyMapping

    from ..io.source import Source
    from ..io.yaml.tree import Value
    from .rows import Block

NAME, SUFFIXES = "seq", (".seq",)

NEWEST_VERSION = 4
# So many are read by YAML in no time, and rows need not be looked for in other layouts.
FEW_CHARACTERS = 10_000
TOP_KEYS = (KEYS - {"frames"}) | {"formatVersion", "components"}
NOT_INHERITED = {"type", "content", "purpose", "components", "formatVersion", "frames"}

_TOP_TYPE = re.compile(rb"""\btype["']?\s*:\s*["']?(?:CompositeSeq|BodyMotion)\b""")
# With sorted keys, the type stands after the rows, and so does version 1's `purpose`.
_SORTED_KEYS = [re.compile(rb"""\b%s["']?\s*:""" % key) for key in (b"components", b"frames")]


def sniff(head: bytes) -> bool:
    """Whether a file that begins like this states a body motion's type, or begins with its components."""
    return _TOP_TYPE.search(head) is not None or all(key.search(head) for key in _SORTED_KEYS)


def load(data: bytes, source: Source) -> list[Motion]:
    """Read the motion in a file. Raises `FormatError` with every problem found in it."""
    problems = Problems(source.name)
    text, name = utf8_text(data, problems, KIND), printable(source.path.stem)
    tried = len(text) > FEW_CHARACTERS and not begins_with_plain_rows(text)
    if tried and (motion := _by_regions(text, source, name)):
        return [motion]
    skeleton, blocks = cut_rows(text)
    left = len(skeleton) - skeleton.count(b"\n")
    if left > FEW_CHARACTERS and not tried and (motion := _by_regions(text, source, name)):
        return [motion]
    return [_Reader(problems).motion(_tree(text, skeleton, blocks, problems), name)]


def _by_regions(text: bytes, source: Source, name: str) -> Motion | None:
    """Read a file whose rows are in another layout; None where something is wrong or out of the ordinary."""
    problems = Problems(source.name)
    try:
        skeleton, regions = cut_frames(text)
        tree, claimed = read_tree(skeleton, problems, KIND, cuts=regions)
        return _Reader(problems).motion(tree, name) if claimed == len(regions) > 0 else None
    except (FormatError, NotRows):
        return None


def _tree(text: bytes, skeleton: bytes, blocks: AnyMapping[int, Block], problems: Problems) -> Value | None:
    first_try = Problems(problems.file)
    tree, claimed = read_tree(skeleton, first_try, KIND, cuts=blocks)
    if claimed < len(blocks):
        # Some of what looks like rows is quoted or literal text, so YAML reads the whole file.
        return read_tree(text, problems, KIND)[0]
    problems.found += first_try.found
    return tree


@dataclass(slots=True)
class _Reader:
    problems: Problems
    version: float = 1.0

    def motion(self, tree: Value | None, name: str) -> Motion:
        """Read the whole tree."""
        if tree is None:
            raise self.problems.fail(0, "is empty", "a .seq file holds a mapping", "copy the file again")
        if not isinstance(tree, Mapping):
            hint = "begin with `type: CompositeSeq`"
            raise self.problems.fail(line_of(tree, 1), "is no mapping", "a .seq file is one", hint)
        self.version = self._version(tree)
        top = Node(self.problems, "the top node", tree.line, fields(tree, self.version, self.problems))
        self._check_top(top)
        unknown = {one.key: as_it_stood(one.value, self.problems) for one in top.unknown(TOP_KEYS)}
        series = self._series(self._component_nodes(top))
        self._check_names(series)
        main = self._main(series, top)
        if main is None or self.problems.found:
            raise FormatError(self.problems.found)
        return self._assemble(name, main, series, unknown)

    def _version(self, tree: Mapping) -> float:
        key = "format_version" if "format_version" in tree.entries else "formatVersion"
        entry = tree.entries.get(key)
        if entry is None:
            return 1.0
        version = as_number(entry.value)
        if version is None or not 1 <= version < NEWEST_VERSION + 1:
            shown = Field(key, entry.line, entry.value).shown
            reason, hint = f"versions 1 to {NEWEST_VERSION} are read", "save the file in one of them"
            raise self.problems.fail(entry.line, f"{key} is {shown}", reason, hint)
        return version

    def _check_top(self, top: Node) -> None:
        self._must_be(top, "type", "BodyMotion" if self.version < 2 else "CompositeSeq")
        if self.version >= 2 and top.get("content"):
            self._must_be(top, "content", "BodyMotion")

    def _must_be(self, top: Node, key: str, value: str) -> None:
        found = top.get(key)
        rule = f"a motion of version {self.version:g} has {value}"
        if found is None:
            top.missing(key, rule)
        elif top.text(key) != value:
            top.wrong(found, rule)

    def _component_nodes(self, top: Node) -> list[Node]:
        components = top.get("components")
        if components is None:
            top.missing("components", "a motion has at least one")
            return []
        items = components.value.items if isinstance(components.value, Sequence) else []
        if not items:
            top.wrong(components, "it is a sequence of at least one component", "add one")
        inherited = {key: found for key, found in top.own.items() if key not in NOT_INHERITED}
        return [
            self._component_node(item, f"component {index}", components.line, inherited)
            for index, item in enumerate(items)
        ]

    def _component_node(self, item: Value, label: str, line: int, inherited: dict[str, Field]) -> Node:
        line = line_of(item, line)
        if not isinstance(item, Mapping):
            self.problems.add(line, f"{label} is no mapping", "a component has keys", "correct it")
            raise FormatError(self.problems.found)
        return Node(self.problems, label, line, fields(item, self.version, self.problems), inherited)

    def _series(self, nodes: list[Node]) -> list[Series]:
        series = []
        for node in nodes:
            if one := read_component(node, self.version):
                series.append(one)
            if len(self.problems.found) > MOST_PROBLEMS:
                break
        return series

    def _check_names(self, series: list[Series]) -> None:
        lines: dict[str, int] = {}
        for one in series:
            if one.name in lines:
                reason = f"the component on line {lines[one.name]} is the first"
                self.problems.add(one.line, f"{echoed(one.name)} stands twice", reason, "remove one of them")
            lines.setdefault(one.name, one.line)

    def _main(self, series: list[Series], top: Node) -> Series | None:
        """Return the series that has the motion's frames: the joints', else the first of a known type."""
        known = [one for one in series if one.times.size]
        if not known and not self.problems.found:
            self.problems.add(top.line, "no component is of a known type", "", f"add {JOINTS}")
        return next((one for one in known if one.name == JOINTS), known[0] if known else None)

    def _assemble(self, name: str, main: Series, series: list[Series], unknown: dict[str, Any]) -> Motion:
        joints = main.name == JOINTS
        return Motion(
            name=name,
            joint_names=main.part_labels if joints else (),
            frame_rate=main.frame_rate,
            times=main.times,
            positions=main.values if joints else np.empty((main.times.size, 0)),
            components={one.name: one.values for one in series if one.name != JOINTS},
            metadata={
                "format": NAME,
                "format_version": self.version,
                "components": {one.name: _about(one, main) for one in series},
                "unknown": unknown,
            },
            warnings=tuple(self.problems.warnings),
        )


def _about(series: Series, main: Series) -> dict[str, Any]:
    """Return what is known of a series besides its values; also its times, if they are not the motion's."""
    about = dict(series.about)
    if series.times.size and not np.array_equal(series.times, main.times):
        about |= {"times": series.times, "frame_rate": series.frame_rate}
    if series.part_labels:
        about["part_labels"] = series.part_labels
    return about
