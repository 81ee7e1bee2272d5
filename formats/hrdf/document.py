"""HRDF text to a chain of checked elements, with every included file in its place.

This module checks all that can be seen without knowing an element's neighbours: XML, versions, names and
includes; `attributes` checks what stands in an element. Follows the HEBI Robot Configuration format 1.6.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from motiond.text import nearest, quoted

from ..io.mesh_file import mesh_of
from ..io.xml.element import Element as XmlElement
from ..io.xml.file import XmlFile
from ..io.xml.tree import parse_root
from ..registry import included_urdf
from .attributes import AttributeReader, is_known_to_version
from .elements import EITHER_OR, RULES, VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..errors import Problems, Where
    from ..model.robot import RobotModel
    from ..model.shapes import Mesh


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
    robot: RobotModel | None = None  # what an `<include>` of URDF means


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a file and those it includes."""

    version: str  # of the file itself
    values: Mapping[str, Any]  # the attributes of its `<robot>`
    chain: tuple[Element, ...]  # included files in place
    problems: Problems  # of all files; the caller adds to them and raises them


class File(XmlFile):
    """Reads one file, with all it includes; `FormatError` is raised where it is none of the format at all."""

    version: str
    attributes: AttributeReader

    def read(self, data: bytes) -> Document:
        """Read the whole file."""
        root = XmlElement(parse_root(data, self.problems, "robot", "an HRDF file"), self.problems)
        self.version = root.xml.get("version", VERSIONS[0])
        if self.version not in VERSIONS:
            problem, reason = f"unknown version {quoted(self.version)}", f"known are {', '.join(VERSIONS)}"
            raise self.problems.fail(root.where.line, problem, reason)
        self.attributes = AttributeReader(self.version)
        values = self.attributes.read(root, RULES["robot"])
        return Document(self.version, values, tuple(self._chain(root)), self.problems)

    def read_included(self, data: bytes, including: XmlElement) -> Document:
        """Read a file for its chain; URDF is one element, to which nothing can be attached."""
        robot = included_urdf(data, self.source, self.problems, partial(self.spend, including))
        if robot is None:
            return self.read(data)
        chain = (Element(including.tag, including.where, robot=robot),)
        return Document(self.version, {}, chain, self.problems)

    def _chain(self, parent: XmlElement) -> Iterator[Element]:
        """Return the elements in a `<robot>` or an `<output>`, with included files in their places."""
        for child in self._children(parent):
            self.spend(child)
            if child.tag == "include":
                yield from self._include(child)
            else:
                yield self._element(child)

    def _children(self, parent: XmlElement) -> Iterator[XmlElement]:
        """Return the elements that a parent may hold; all else in it is noted as a problem."""
        for where, text in parent.stray_texts():
            where.add(text, "HRDF holds elements and comments", "write a comment as <!-- … -->")
        return (child for child in parent.all() if self._may_hold(parent, child))

    def _may_hold(self, parent: XmlElement, child: XmlElement) -> bool:
        known, tag = RULES[parent.tag].children, child.tag
        if tag not in known:
            holds = (
                f"it holds {', '.join(f'<{name}>' for name in known)}" if known else "it holds no elements"
            )
            child.where.add(f"<{tag}> is not allowed in <{parent.tag}>", holds, nearest(tag, known))
            return False
        return is_known_to_version(self.version, RULES[tag].since, child.where, f"<{tag}>")

    def _element(self, element: XmlElement) -> Element:
        values, where = self.attributes.read(element, RULES[element.tag]), element.where
        path: str = values.get("mesh_path", "")
        mesh = mesh_of(path, self.source, where) if path else None
        made = Element(element.tag, where, values, self._outputs(element), mesh)
        _check_pairs(made)
        if "mesh_path" not in element.xml.attrib:
            for name in sorted({"mesh_rot", "mesh_trans"} & values.keys()):
                where.add(f"{name!r} without 'mesh_path'", "it places a mesh", "name the mesh or remove it")
        return made

    def _outputs(self, element: XmlElement) -> tuple[Output, ...]:
        children = list(self._children(element))
        if not children:
            return ()
        with self.deeper(element):
            outputs = tuple(
                Output(self._output_values(element, child), tuple(self._chain(child))) for child in children
            )
        if element.tag == "bracket" and len(children) > 1:
            children[1].where.add(
                "a second <output> in a <bracket>",
                "every bracket has one output",
                "leave it out, or use a <rigid-body>",
            )
        return outputs

    def _output_values(self, parent: XmlElement, output: XmlElement) -> Mapping[str, Any]:
        values = self.attributes.read(output, RULES["output"])
        for name in values:
            if parent.tag != "rigid-body":
                output.where.add(
                    f"{name!r} of an <output> in a <{parent.tag}>",
                    "only a <rigid-body> may place its outputs",
                    f"remove {name!r}",
                )
        return values

    def _include(self, element: XmlElement) -> tuple[Element, ...]:
        """Read an included file and return its chain."""
        list(self._children(element))
        path: str = self.attributes.read(element, RULES["include"]).get("path", "")
        read = partial(File.read_included, including=element)
        document = self.include(element, self.source.beside(path), path, read) if path else None
        if document is None:
            return ()
        if document.version != self.version:
            element.where.warn(
                f"a file of version {self.version} includes {quoted(path)} of version {document.version}",
                "the specification asks for the same",
                "each is read by its own version",
            )
        return document.chain


def _check_pairs(element: Element) -> None:
    for replaces, adds in EITHER_OR:
        if replaces in element.values and adds in element.values:
            element.where.add(
                f"<{element.kind}> has both {replaces!r} and {adds!r}",
                "one replaces what the other adds to",
                "keep one of them",
            )
