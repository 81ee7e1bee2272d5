"""One element of an SDFormat file, read by attribute and child.

What cannot be read is noted as a problem and replaced by its default, so that reading goes on; what SDFormat
does not know is noted as an oddity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from motiond.text import echoed, nearest, quoted

from ..arrays import Floats, frozen
from ..errors import Where
from ..io.xml_tree import line_of
from .elements import IDENTITY, VOCABULARY, WORLD, Mounted, Pose
from .values import ValueProblem, parse_number, parse_pose, parse_truth, parse_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from ..errors import Problems
    from ..io.xml_tree import Xml
    from .elements import Vocabulary

    T = TypeVar("T")

SCOPES = "::"
# After so many, unknown names are ignored without a warning.
MOST_WARNINGS = 100
# The first version in which `::` in a name means a scope and nothing else.
SCOPES_SINCE = 8


class Node:
    """An XML element; `minor` is the second number of its file's version."""

    def __init__(self, xml: Xml, problems: Problems, minor: int) -> None:
        self.xml = xml
        self.minor = minor
        self.tag = str(xml.tag)
        self.where = Where(problems, line_of(xml))
        self._children = [child for child in xml if isinstance(child.tag, str)]
        if self.tag in VOCABULARY:
            self._warn_of_unknown(VOCABULARY[self.tag])

    @property
    def text(self) -> str:
        """The text before the first child."""
        return (self.xml.text or "").strip()

    def attribute(self, name: str) -> str:
        """Return the text of an attribute, or ''."""
        value = self.xml.get(name)
        return value.strip() if value else ""

    def tags(self) -> set[str]:
        """Return the names of the children."""
        return {str(child.tag) for child in self._children}

    def all(self, *tags: str) -> list[Node]:
        """Return the children of some names, in document order."""
        return [self._child(child) for child in self._children if child.tag in tags]

    def one(self, tag: str) -> Node | None:
        """Return the only child of a name; of several the first, with a warning."""
        found = [child for child in self._children if child.tag == tag]
        if len(found) > 1:
            where = Where(self.where.problems, line_of(found[1]))
            where.warn(f"a second <{tag}> in <{self.tag}>", "there is one", "the first is read")
        return self._child(found[0]) if found else None

    def word(self, tag: str) -> str:
        """Return the text of a child, or ''."""
        child = self.one(tag)
        return child.text if child else ""

    def number(self, tag: str, default: float, *, infinite: bool = False) -> float:
        """Read the number in a child."""
        child = self.one(tag)
        if child is None or not child.text:
            return default
        return child.value(lambda text: parse_number(text, infinite=infinite), default)

    def truth(self, tag: str, *, default: bool = False) -> bool:
        """Read the truth value in a child."""
        child = self.one(tag)
        return child.value(parse_truth, default) if child is not None and child.text else default

    def truth_attribute(self, name: str) -> bool:
        """Read an attribute that is a truth value; false without it."""
        text = self.attribute(name)
        try:
            return parse_truth(text) if text else False
        except ValueProblem as error:
            self.where.add(f"{name!r} of <{self.tag}>: {error.problem}", error.reason)
            return False

    def vector(self, default: Floats) -> Floats:
        """Read this element's own text as a vector."""
        return self.value(parse_vector, default)

    def pose(self) -> Pose:
        """Read the `<pose>` in this element; the identity without one."""
        child = self.one("pose")
        return child.own_pose() if child else Pose()

    def own_pose(self) -> Pose:
        """Read this element as a `<pose>`."""
        form, degrees = self.attribute("rotation_format") or "euler_rpy", self.attribute("degrees")
        matrix = self.value(
            lambda text: parse_pose(text, form, degrees=parse_truth(degrees or "false")), IDENTITY
        )
        # Before 1.7, `frame` was what is `relative_to` now.
        return Pose(frozen(matrix), self.attribute("relative_to") or self.attribute("frame"))

    def value(self, parse: Callable[[str], T], default: T) -> T:
        """Read this element's text; note why it cannot be read, and return the default."""
        try:
            return parse(self.text)
        except ValueProblem as error:
            self.where.add(f"<{self.tag}> {error.problem}", error.reason, error.hint)
            return default

    def required(self, name: str) -> str:
        """Return a required attribute; note a problem and return '' if it is missing."""
        value = self.attribute(name)
        if not value:
            self.where.add(f"<{self.tag}> has no {name!r}", "it is required", f'write {name}="…"')
        return value

    def name(self) -> str:
        """Return the name, or ''; note a problem if it is missing, reserved or looks like a scope."""
        name = self.required("name")
        if is_reserved(name):
            self.where.add(
                f"<{self.tag}> name {quoted(name)} is reserved",
                "world and names that begin and end with `__` are SDFormat's own",
                "choose another",
            )
        elif SCOPES in name and self.minor >= SCOPES_SINCE:
            self.where.add(
                f"<{self.tag}> name {quoted(name)} has '{SCOPES}' in it",
                f"since SDFormat 1.{SCOPES_SINCE} that joins the names of nested models",
                "choose another, or nest a <model>",
            )
        return name

    def mounted(self, tag: str) -> Iterator[tuple[Node, Mounted]]:
        """Check the names and poses of all children of a name, and return each with its place."""
        seen = set[str]()
        for child in self.all(tag):
            pose, name = child.pose(), child.name()
            if name and name in seen:
                child.where.add(
                    f"{tag} name '{echoed(name)}' is taken", f"another {tag} of this {self.tag} has it"
                )
            seen.add(name)
            yield child, Mounted(f"{tag} '{echoed(name)}'", child.where, pose)

    def _child(self, xml: Xml) -> Node:
        return Node(xml, self.where.problems, self.minor)

    def _warn_of_unknown(self, known: Vocabulary) -> None:
        for name in map(str, self.xml.attrib):
            if name not in known.attributes and not _is_foreign(name):
                self._warn(
                    self.where, f"unknown attribute {quoted(name)} of <{self.tag}>", name, known.attributes
                )
        for child in self._children:
            tag = str(child.tag)
            if tag not in known.elements and not _is_foreign(tag):
                where = Where(self.where.problems, line_of(child))
                self._warn(where, f"unknown element <{tag}> in <{self.tag}>", tag, known.elements)

    def _warn(self, where: Where, what: str, name: str, known: frozenset[str]) -> None:
        if len(where.problems.warnings) < MOST_WARNINGS:
            where.warn(what, "it is not read", nearest(name, sorted(known)))


def is_reserved(name: str) -> bool:
    """Whether a name is SDFormat's own, and so not for the elements of a file."""
    return name == WORLD or (len(name) > 3 and name.startswith("__") and name.endswith("__"))


def _is_foreign(name: str) -> bool:
    """Whether a name has a prefix, which marks extensions of other programs: `gz:system`."""
    return ":" in name or "{" in name
