"""HRDF text to a chain of checked elements, with every included file in its place.

This module checks all that can be seen without knowing an element's neighbours: XML, versions, names and
includes; `attributes` checks what stands in an element. Follows the HEBI Robot Configuration format 1.6.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from motiond.text import nearest, quoted

from ..errors import BadText, FormatError, Problems, Where
from ..io.mesh_file import find_mesh
from ..io.xml_tree import MOST_INCLUDED, Allowance, line_of, parse_xml
from .attributes import AttributeReader, is_known_to_version
from .elements import EITHER_OR, RULES, VERSIONS
from .formula import WHITESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ..io.source import Source
    from ..io.xml_tree import Xml
    from ..model.shapes import Mesh

# Bounds beyond any real robot, so that files that include each other many times end in a message.
MOST_ELEMENTS = 10_000
MOST_NESTED = 60


@dataclass(frozen=True, slots=True)
class Output:
    """An `<output>` and the chain attached to it; `values` are its `rot` and `trans`, where given."""

    values: Mapping[str, Any]
    chain: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """One robot element."""

    kind: str  # its name in the file: `rigid-body`
    where: Where
    # its attributes as float, array (3,) or (3, 3), or str. An enum has the case of the specification.
    values: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[Output, ...] = ()  # empty where the file has no `<output>` in it
    mesh: Mesh | None = None  # the file that its `mesh_path` names


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a file and those it includes."""

    version: str  # of the file itself
    values: Mapping[str, Any]  # the attributes of its `<robot>`
    chain: tuple[Element, ...]  # included files in place
    problems: Problems  # of all files; the caller adds to them and raises them


def read_document(data: bytes, source: Source) -> Document:
    """Read a file and all it includes.

    Raises `FormatError` if the file cannot be read at all: it is no XML, no HRDF, or of an unknown version.
    Other problems are collected in the document.
    """
    problems = Problems(source.name)
    file = _File(source, problems, {source.identity(): source.name}, _Budget())
    try:
        return file.read(data)
    except _TooMuchError:
        raise FormatError(problems.found) from None


class _TooMuchError(Exception):
    """A file exceeds the bounds, which has been noted, so that nothing more is read."""


@dataclass(slots=True)
class _Budget:
    """What may still follow."""

    elements: int = MOST_ELEMENTS
    included: Allowance = field(default_factory=Allowance)


class _File:
    """Reads one file; each included file is read by another of these, which shares its problems and budget.

    `trail`: the real paths and the names of the files that include each other down to this one, which is the
    last.
    """

    def __init__(
        self, source: Source, problems: Problems, trail: dict[Path, str], budget: _Budget, depth: int = 0
    ) -> None:
        self._source = source
        self._problems = problems
        self._trail = trail
        self._budget = budget
        self._depth = depth
        self._version: str
        self._attributes: AttributeReader

    def read(self, data: bytes) -> Document:
        """Read the whole file."""
        root = self._parse(data)
        self._version = self._checked_version(root)
        self._attributes = AttributeReader(self._problems, self._version)
        values = self._attributes.read(root, RULES["robot"])
        return Document(self._version, values, tuple(self._chain(root)), self._problems)

    def _parse(self, data: bytes) -> Xml:
        root = parse_xml(data, self._problems)
        if root.tag != "robot":
            raise self._problems.fail(
                line_of(root),
                f"the root element is <{root.tag}>",
                "an HRDF file has <robot> as its root",
                nearest(str(root.tag), ["robot"]),
            )
        return root

    def _checked_version(self, root: Xml) -> str:
        version = root.get("version", VERSIONS[0])
        if version not in VERSIONS:
            raise self._problems.fail(
                line_of(root), f"unknown version {quoted(version)}", f"known are {', '.join(VERSIONS)}"
            )
        return version

    def _chain(self, parent: Xml) -> Iterator[Element]:
        """Return the elements in a `<robot>` or an `<output>`, with included files in their places."""
        for child in self._children(parent):
            self._budget.elements -= 1
            if self._budget.elements < 0:
                raise self._too_much(child, f"more than {MOST_ELEMENTS} elements")
            if child.tag == "include":
                yield from self._include(child)
            else:
                yield self._element(child)

    def _children(self, parent: Xml) -> Iterator[Xml]:
        """Return the elements that a parent may hold; all else in it is noted as a problem."""
        self._refuse_text(parent.text, line_of(parent), parent)
        for child in parent:
            if isinstance(child.tag, str) and self._may_hold(parent, child):
                yield child
            self._refuse_text(child.tail, line_of(child), parent)

    def _may_hold(self, parent: Xml, child: Xml) -> bool:
        known = RULES[str(parent.tag)].children
        where, tag = self._where(child), str(child.tag)
        if tag not in known:
            holds = (
                f"it holds {', '.join(f'<{name}>' for name in known)}" if known else "it holds no elements"
            )
            where.add(f"<{tag}> is not allowed in <{parent.tag}>", holds, nearest(tag, known))
            return False
        return is_known_to_version(self._version, RULES[tag].since, where, f"<{tag}>")

    def _refuse_text(self, text: str | None, line: int, parent: Xml) -> None:
        """Note text as a problem; the line is that of the tag before it."""
        if text and (visible := text.strip(WHITESPACE)):
            line += text[: text.index(visible)].count("\n")
            first = visible.splitlines()[0][:60]
            hint = "write a comment as <!-- … -->" if first.startswith("#") else ""
            self._problems.add(
                line, f"text {first!r} in <{parent.tag}>", "HRDF holds elements and comments", hint
            )

    def _element(self, xml: Xml) -> Element:
        rule, kind = RULES[str(xml.tag)], str(xml.tag)
        values = self._attributes.read(xml, rule)
        where = self._where(xml)
        mesh = _mesh(where, self._source, values.get("mesh_path", ""))
        element = Element(kind, where, values, self._outputs(xml), mesh)
        _check_pairs(element)
        if "mesh_path" not in xml.attrib:
            for name in sorted({"mesh_rot", "mesh_trans"} & values.keys()):
                element.where.add(
                    f"{name!r} without 'mesh_path'", "it places a mesh", "name the mesh or remove it"
                )
        return element

    def _outputs(self, xml: Xml) -> tuple[Output, ...]:
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise self._too_much(xml, f"elements nest deeper than {MOST_NESTED}")
        children = list(self._children(xml))
        outputs = tuple(
            Output(self._output_values(xml, child), tuple(self._chain(child))) for child in children
        )
        self._depth -= 1
        if xml.tag == "bracket" and len(children) > 1:
            self._where(children[1]).add(
                "a second <output> in a <bracket>",
                "every bracket has one output",
                "leave it out, or use a <rigid-body>",
            )
        return outputs

    def _output_values(self, parent: Xml, output: Xml) -> Mapping[str, Any]:
        values = self._attributes.read(output, RULES["output"])
        for name in values:
            if parent.tag != "rigid-body":
                self._where(output).add(
                    f"{name!r} of an <output> in a <{parent.tag}>",
                    "only a <rigid-body> may place its outputs",
                    f"remove {name!r}",
                )
        return values

    def _include(self, xml: Xml) -> tuple[Element, ...]:
        """Read an included file and return its chain."""
        self._refuse_children(xml)
        path: str = self._attributes.read(xml, RULES["include"]).get("path", "")
        source = self._source.beside(path) if path else None
        if source is None:
            return ()
        try:
            if not self._may_include(xml, source):
                return ()
            return self._included(xml, source, self._bytes_of(xml, source))
        except (FormatError, RuntimeError) as error:
            # Before Python 3.13, Path.resolve raises RuntimeError where symbolic links lead in a ring.
            reason = (
                error.problems[0].reason
                if isinstance(error, FormatError)
                else "symbolic links lead in a ring"
            )
            self._where(xml).add(
                f"cannot include {quoted(path)}",
                f"{source.name}: {reason}",
                "paths start at this file's folder",
            )
            return ()

    def _refuse_children(self, xml: Xml) -> None:
        for _ in self._children(xml):
            pass

    def _may_include(self, xml: Xml, source: Source) -> bool:
        where = self._where(xml)
        if not source.allowed():
            folders = ", ".join(str(folder) for folder in source.within)
            where.add(f"may not include {source.name!r}", f"it lies outside of {folders}", "move it there")
            return False
        if source.identity() in self._trail:
            start = list(self._trail).index(source.identity())
            ring = [*list(self._trail.values())[start:], source.name]
            where.add("files include each other in a ring", " -> ".join(ring), "remove one <include>")
            return False
        if len(self._trail) > MOST_NESTED:
            raise self._too_much(xml, f"files include each other deeper than {MOST_NESTED}")
        return True

    def _included(self, xml: Xml, source: Source, data: bytes) -> tuple[Element, ...]:
        problems = Problems(source.name, self._problems.found, self._problems.warnings)
        file = _File(
            source, problems, {**self._trail, source.identity(): source.name}, self._budget, self._depth
        )
        try:
            document = file.read(data)
        except FormatError:
            return ()
        if document.version != self._version:
            self._where(xml).warn(
                f"a file of version {self._version} includes {source.name!r} of version {document.version}",
                "the specification asks for the same",
                "each is read by its own version",
            )
        return document.chain

    def _where(self, xml: Xml) -> Where:
        return Where(self._problems, line_of(xml))

    def _bytes_of(self, xml: Xml, source: Source) -> bytes:
        """Read a file that this one refers to."""
        data = source.read()
        if not self._budget.included.take(data):
            raise self._too_much(xml, MOST_INCLUDED)
        return data

    def _too_much(self, xml: Xml, what: str) -> type[_TooMuchError]:
        self._where(xml).add(what, "counted with all included files", "no real robot is that large")
        return _TooMuchError


def _check_pairs(element: Element) -> None:
    for replaces, adds in EITHER_OR:
        if replaces in element.values and adds in element.values:
            element.where.add(
                f"<{element.kind}> has both {replaces!r} and {adds!r}",
                "one replaces what the other adds to",
                "keep one of them",
            )


def _mesh(where: Where, source: Source, path: str) -> Mesh | None:
    """Find the mesh that a file names; one that cannot be shown is noted as an oddity."""
    if not path:
        return None
    if "://" in path:
        where.warn(
            f"mesh {quoted(path)} is not shown", "nothing is fetched from the network", "save it in a file"
        )
        return None
    try:
        return find_mesh(source.beside(path))
    except BadText as error:
        where.warn(f"mesh {quoted(path)} is not shown", error.reason, error.hint)
        return None
