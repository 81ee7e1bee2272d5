"""SKEL text to a tree of checked elements, with every value read.

This module checks all that can be seen without knowing other elements: XML, names, values, and what stands
twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import echoed, nearest, quoted

from ..io.xml_tree import line_of, parse_xml
from .elements import LOOKS, REPEATED, RULES

if TYPE_CHECKING:
    from ..arrays import Floats
    from ..errors import Problems
    from ..io.xml_tree import Xml
    from .elements import Rule, ValueType

# A bound beyond any real file.
MOST_ELEMENTS = 10_000
COUNTED = ("skeleton", "body", "joint", "visualization_shape", "collision_shape")
# Beyond any robot, and small enough that products of a few such numbers are finite.
MOST = 1e12
_WORD = re.compile(r"\S+", re.ASCII)
_FINITE = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_LIMIT = re.compile(rf"{_FINITE.pattern}|[-+]?inf(?:inity)?", re.ASCII | re.IGNORECASE)
_TRUTH = {"1": True, "true": True, "0": False, "false": False}
# How many numbers a value has; None where the joint's type determines it.
_COUNTS: dict[str, int | None] = {"number": 1, "limit": 1, "vector": 3, "pose": 6, "numbers": None}
_WORDS = {
    "number": f"a number up to {MOST:g}",
    "limit": "a number or an infinity",
    "truth": "1, true, 0 or false",
}


@dataclass(slots=True)
class Node:
    """One element."""

    problems: Problems
    tag: str
    line: int
    # its attributes and its child elements of text, as float, bool, str or array; a pose has 6 numbers. What
    # could not be read is left out.
    values: dict[str, Any] = field(default_factory=dict)
    # its child elements that hold elements, by name
    groups: dict[str, list[Node]] = field(default_factory=dict)

    def all(self, tag: str) -> list[Node]:
        """Return all groups of a name."""
        return self.groups.get(tag, [])

    def one(self, tag: str) -> Node | None:
        """Return the only group of a name, or None."""
        return next(iter(self.all(tag)), None)

    def pose(self) -> Floats:
        """Return its `<transformation>` as a new array, shape (4, 4); the identity without one."""
        six: Floats | None = self.values.get("transformation")
        return np.eye(4) if six is None else _matrix(six)

    def add(self, problem: str, reason: str = "", hint: str = "") -> None:
        """Note a problem with this element."""
        self.problems.add(self.line, problem, reason, hint)

    def warn(self, problem: str, reason: str = "", hint: str = "") -> None:
        """Note an oddity of this element."""
        self.problems.warn(self.line, problem, reason, hint)


def read_document(data: bytes, problems: Problems) -> Node:
    """Read a whole file and return its root; wrong values are noted in the problems.

    Raises `FormatError` if it is no XML, its root is not `<skel>`, or it has more elements than any file of
    use.
    """
    root = parse_xml(data, problems)
    if root.tag != "skel":
        problem, reason = f"the root element is <{root.tag}>", "a SKEL file has <skel> as its root"
        raise problems.fail(line_of(root), problem, reason, nearest(str(root.tag), ["skel"]))
    beyond = next(islice(root.iter(*COUNTED), MOST_ELEMENTS, None), None)
    if beyond is not None:
        problem = f"more than {MOST_ELEMENTS} skeletons, bodies, joints and shapes"
        reason = "no real robot is that large"
        raise problems.fail(line_of(beyond), problem, reason, "split the file")
    return _node(root, problems)


def _node(xml: Xml, problems: Problems, parent: str = "") -> Node:
    node = Node(problems, str(xml.tag), line_of(xml))
    rule = RULES.get(f"{parent}/{node.tag}") or RULES[node.tag]
    _read_attributes(node, rule, xml)
    _refuse_text(node, xml.text)
    for child in xml:
        if isinstance(child.tag, str):
            _read_child(node, rule, child)
        _refuse_text(node, child.tail)
    return node


def _read_attributes(node: Node, rule: Rule, xml: Xml) -> None:
    for key, text in xml.attrib.items():
        name = str(key)
        if name in rule.attributes:
            _read_value(node, node.line, name, str(text), rule.attributes[name])
        else:
            hint = "" if node.problems.is_full else nearest(name, rule.attributes)
            node.warn(f"attribute '{echoed(name)}' of <{node.tag}> is skipped", "SKEL does not know it", hint)


def _read_child(node: Node, rule: Rule, xml: Xml) -> None:
    tag, line = str(xml.tag), line_of(xml)
    if tag in rule.old:
        node.problems.warn(line, f"<{tag}> in <{node.tag}>", "an old spelling", f"write <{rule.old[tag]}>")
        tag = rule.old[tag]
    if tag in node.values and tag in LOOKS:
        node.problems.warn(
            line, f"<{tag}> stands twice in <{node.tag}>", "it says one thing", "the first is read"
        )
    elif tag in node.values or (tag in node.groups and tag not in REPEATED):
        node.problems.add(line, f"<{tag}> stands twice in <{node.tag}>", "it says one thing", "remove one")
    elif tag in rule.values:
        _read_value(node, line, tag, _text_of(xml), rule.values[tag])
    elif tag in rule.groups:
        # Each robot keeps the warnings of its own skeleton.
        problems = replace(node.problems, warnings=[]) if tag == "skeleton" else node.problems
        node.groups.setdefault(tag, []).append(_node(xml, problems, node.tag))
    elif tag in rule.skipped:
        node.problems.warn(line, f"<{tag}> in <{node.tag}> is skipped", rule.skipped[tag])
    elif tag not in rule.unused:
        hint = "" if node.problems.is_full else nearest(tag, (*rule.values, *rule.groups))
        node.problems.warn(line, f"<{tag}> in <{node.tag}> is skipped", "SKEL does not know it", hint)


def _text_of(xml: Xml) -> str:
    """Return an element's text without comments."""
    if not len(xml):
        return (xml.text or "").strip()
    return "".join([xml.text or "", *(child.tail or "" for child in xml)]).strip()


def _refuse_text(node: Node, text: str | None) -> None:
    if text and not text.isspace():
        visible = text.strip()
        first = visible.splitlines()[0][:60]
        node.warn(f"text {first!r} in <{node.tag}> is skipped", "it holds elements", "write it as <!-- … -->")


def _read_value(node: Node, line: int, name: str, text: str, type_: ValueType) -> None:
    value = _value(text, type_)
    if value is None:
        what = f"{name} of <{node.tag}> is {quoted(text)}"
        node.problems.add(line, what, f"it is {_wanted(type_)}", "correct it")
    else:
        node.values[name] = value


def _value(text: str, type_: ValueType) -> Any:
    """Read a value; return None where it is wrong."""
    if type_ == "text":
        return text or None
    if type_ == "truth":
        return _TRUTH.get(text.lower())
    words, count = _WORD.findall(text), _COUNTS[type_]
    known, most = (_LIMIT, np.inf) if type_ == "limit" else (_FINITE, MOST)
    if len(words) != (count or max(1, len(words))) or not all(map(known.fullmatch, words)):
        return None
    numbers = [float(word) for word in words]
    if not all(-most <= number <= most for number in numbers):
        return None
    return numbers[0] if count == 1 else np.array(numbers)


def read_numbers(text: str) -> Floats | None:
    """Read some numbers that are finite and no larger than any robot needs; return None for anything else."""
    return None if (numbers := _value(text, "numbers")) is None else np.atleast_1d(numbers)


def _wanted(type_: ValueType) -> str:
    if type_ in _WORDS:
        return _WORDS[type_]
    return "a name" if type_ == "text" else f"{_COUNTS[type_] or 'some'} numbers up to {MOST:g}"


def _matrix(six: Floats) -> Floats:
    """Return the pose (4, 4) of x y z a b c in m and rad: R = Rx(a) Ry(b) Rz(c)."""
    (sa, sb, sc), (ca, cb, cc) = np.sin(six[3:]), np.cos(six[3:])
    return np.array(
        [
            [cb * cc, -cb * sc, sb, six[0]],
            [ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb, six[1]],
            [sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb, six[2]],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
