"""The elements of an XML file, as every reader walks them: names, attributes, texts, values, and lines.

Comments and processing instructions are skipped, also within a text. What cannot be read is noted as a
problem and replaced by its default, so that reading goes on; what the format does not know is noted as an
oddity.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, TypeVar

from motiond.text import echoed, nearest, quoted

from ...errors import BadText, Where
from .tree import line_of
from .values import parse_bound, parse_number, parse_truth, parse_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Self

    from ...arrays import Floats
    from ...errors import Problems
    from .tree import Xml

T = TypeVar("T")

# After so many, what is unknown is ignored without a warning: each takes a guess at what was meant.
MOST_WARNINGS = 100
# What is called so, or nearly, where a joint has its limits, must not go unread: nothing would limit it.
LIMITS = frozenset(["limit", "lower", "upper", "position", "velocity", "effort", "force", "min", "max"])


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The attributes and child elements that an element may have."""

    attributes: frozenset[str]
    elements: frozenset[str]
    limits: str = ""  # where its limits stand, as messages say it; '' where it is not about any


def words(attributes: str, elements: str = "", elsewhere: str = "", limits: str = "") -> Vocabulary:
    """Return a vocabulary; `elsewhere` are elements that the format knows and robots do not need."""
    return Vocabulary(frozenset(attributes.split()), frozenset(f"{elements} {elsewhere}".split()), limits)


class Element:
    """An element of a file; `xml` is lxml's."""

    # Of the elements whose attributes and children are checked, by name.
    vocabulary: ClassVar[Mapping[str, Vocabulary]] = {}
    # Elements that must hold a number; any other that is empty has its default, with a warning.
    needed: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, xml: Xml, problems: Problems) -> None:
        self.xml = xml
        self.problems = problems
        self.tag = str(xml.tag)
        self._children = [(tag, child) for child in xml if isinstance(tag := child.tag, str)]
        if known := self.vocabulary.get(self.tag):
            self._warn_of_unknown(known)

    @property
    def where(self) -> Where:
        """The line that it begins on."""
        return Where(self.problems, line_of(self.xml))

    @property
    def text(self) -> str:
        """All text that stands in it outside of its child elements."""
        xml = self.xml
        if not len(xml):
            return (xml.text or "").strip()
        return "".join([xml.text or "", *(child.tail or "" for child in xml)]).strip()

    @property
    def is_empty(self) -> bool:
        """Whether it holds neither text nor elements."""
        return not self.text and not self._children

    def stray_texts(self) -> Iterator[tuple[Where, str]]:
        """Return each text between its child elements: where it stands, and its first line as messages do."""
        texts = ((self.xml.text, self.xml), *((child.tail, child) for child in self.xml))
        for text, before in texts:
            if text and (visible := text.strip()):
                line = line_of(before) + text[: text.index(visible)].count("\n")
                yield Where(self.problems, line), f"text {quoted(visible.splitlines()[0])} in <{self.tag}>"

    def attribute(self, name: str) -> str:
        """Return the text of an attribute, or ''."""
        value = self.xml.get(name)
        return value.strip() if value else ""

    def required(self, name: str) -> str:
        """Return a required attribute; note a problem and return '' if it is missing."""
        value = self.attribute(name)
        if not value:
            self.where.add(f"<{self.tag}> has no {name!r}", "it is required", f'write {name}="…"')
        return value

    def tags(self) -> set[str]:
        """Return the names of its child elements."""
        return {tag for tag, _ in self._children}

    def all(self, *tags: str) -> Iterator[Self]:
        """Return its child elements, or those of some names, in document order."""
        return (self.child(xml) for tag, xml in self._children if not tags or tag in tags)

    def one(self, tag: str) -> Self | None:
        """Return the only child of a name; of several the first, with a warning."""
        found = [xml for name, xml in self._children if name == tag]
        if len(found) > 1:
            where = Where(self.problems, line_of(found[1]))
            what = f"a second <{tag}> in <{self.tag}>"
            if tag in LIMITS:
                where.add(what, "there is one", "remove one")
            else:
                where.warn(what, "there is one", "the first is read")
        return self.child(found[0]) if found else None

    def child(self, xml: Xml) -> Self:
        """Return a child element."""
        return type(self)(xml, self.problems)

    def word(self, tag: str) -> str:
        """Return the text of a child, or ''."""
        child = self.one(tag)
        return child.value(str, "") if child else ""

    def number(self, tag: str, default: float) -> float:
        """Read the number in a child."""
        return self._scalar(tag, parse_number, default)

    def limit(self, tag: str, default: float) -> float:
        """Read the limit in a child, which may be an infinity; an empty one is a problem."""
        child = self.one(tag)
        if child and child.is_empty:
            child.where.add(f"<{tag}> is empty", "it would limit nothing", "write a number, or remove it")
            return default
        return child.value(parse_bound, default) if child else default

    def truth(self, tag: str, *, default: bool = False) -> bool:
        """Read the truth value in a child."""
        return self._scalar(tag, parse_truth, default)

    def vector(self, tag: str, default: Floats) -> Floats:
        """Read the vector in a child, shape (3,)."""
        child = self.one(tag)
        return child.value(parse_vector, default) if child else default

    def value(self, parse: Callable[[str], T], default: T) -> T:
        """Read its own text; note why it cannot be read, and return the default."""
        for tag, _ in self._children:
            self.where.add(f"<{tag}> in <{self.tag}>", "it holds a value alone", "remove it")
        try:
            return parse(self.text)
        except BadText as error:
            self.where.add(f"<{self.tag}> {error.problem}", error.reason, error.hint)
            return default

    def attribute_value(self, name: str, parse: Callable[[str], T], default: T) -> T:
        """Read an attribute, as `value` does a text; the default without it."""
        text = self.xml.get(name)
        try:
            return default if text is None else parse(text.strip())
        except BadText as error:
            self.where.add(f"{name!r} of <{self.tag}>: {error.problem}", error.reason, error.hint)
            return default

    def _scalar(self, tag: str, parse: Callable[[str], T], default: T) -> T:
        child = self.one(tag)
        if child is None:
            return default
        if child.is_empty:
            if tag in self.needed:
                child.where.add(f"<{tag}> is empty", "it must hold a value", "write it")
            else:
                child.where.warn(f"<{tag}> is empty", "it holds a value", f"{default} is taken")
            return default
        return child.value(parse, default)

    def _warn_of_unknown(self, known: Vocabulary) -> None:
        for name in map(str, self.xml.attrib):
            if name not in known.attributes and not _is_foreign(name):
                what = f"unknown attribute {quoted(name)} of <{self.tag}>"
                self._note(self.where, what, name, known, known.attributes)
        for tag, child in self._children:
            if tag not in known.elements and not _is_foreign(tag):
                what = f"unknown element <{echoed(tag)}> in <{self.tag}>"
                self._note(Where(self.problems, line_of(child)), what, tag, known, known.elements)
        if known.elements and self.text:
            for where, text in islice(self.stray_texts(), MOST_WARNINGS):
                if self.tag == "limit":
                    where.add(text, "it would limit nothing", "write lower and upper")
                else:
                    where.warn(text, "it holds elements", "write a comment as <!-- … -->")

    def _note(self, where: Where, what: str, name: str, known: Vocabulary, near: frozenset[str]) -> None:
        few = len(where.problems.warnings) < MOST_WARNINGS
        hint = nearest(name, sorted(near)) if few else ""
        if known.limits and (name in LIMITS or (few and nearest(name, near & LIMITS))):
            where.add(what, "it would limit nothing", hint or self._right_place(name, known))
        elif few:
            where.warn(what, "it is not read", hint)

    def _right_place(self, name: str, known: Vocabulary) -> str:
        """Return what to do about a limit that stands as an attribute or an element where it is none."""
        if name in known.elements:
            return f"write <{name}>…</{name}>"
        if name in known.attributes:
            return f'write {name}="…"'
        return "name it lower or upper" if self.tag == "limit" else f"put it into {known.limits}"


def _is_foreign(name: str) -> bool:
    """Whether a name has a prefix, which marks extensions of other programs: `gz:system`."""
    return ":" in name or "{" in name
