"""SDFormat text to checked elements: worlds and models, with every included model in its place.

This module checks all that can be seen without knowing where things are: XML, versions, names, values,
includes. Follows SDFormat 1.4 to 1.12.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from motiond.text import echoed, listed, quoted

from ..errors import BadText
from ..io.xml.file import XmlFile
from ..io.xml.tree import line_of, parse_root
from ..registry import included_urdf
from .elements import (
    MODEL,
    WORLD,
    FrameElement,
    JointElement,
    LinkElement,
    ModelElement,
    Pose,
    WorldElement,
)
from .include import NEWEST_MINOR, OLDEST_MINOR, find, minor_version, unpacked
from .joint import read_joint
from .link import read_link
from .names import Names, with_own_frame_in_axes, with_own_names, world_with_own_names
from .node import Node, is_reserved
from .urdf import model_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..errors import Problems, Where
    from .elements import Element

# With the prefix as it is written, or with the namespace that a file binds it to.
PARAMETERS = re.compile(r"experimental:params|\{.*\}params", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a file and those it includes."""

    version: str  # of the file itself
    worlds: tuple[WorldElement, ...]  # the last one has no name and holds the model that is in no `<world>`
    problems: Problems  # of all files; the caller adds to them and raises them


class File(XmlFile):
    """Reads one file, with all it includes; `FormatError` is raised where it is none of the format at all."""

    def read(self, data: bytes) -> Document:
        """Read the whole file."""
        root = self._root(data)
        names = Names()
        worlds = [names.take("world", self._world(node)) for node in root.all("world")]
        models = self._top_models(root)
        if len(models) > 1:
            models[1].where.add(
                "a second <model> at the top of the file", "there is one", "put both in a <world>"
            )
        outside = WorldElement("", root.where, models=tuple(models[:1]))
        return Document(root.attribute("version"), (*worlds, outside), self.problems)

    def read_included(self, data: bytes, including: Node) -> ModelElement | None:
        """Read a file for its one model; return None if it holds a light or an actor."""
        if robot := included_urdf(data, self.source, self.problems, partial(self.spend, including)):
            return model_of(robot, including)
        root = self._root(data)
        tops = list(root.all("model", "include", "actor", "light", "world"))
        if len(tops) != 1 or tops[0].tag == "world":
            tags = listed([f"<{top.tag}>" for top in tops]) or "nothing"
            root.where.add(
                f"an included file with {tags} at its top", "it has one <model>, <actor> or <light>"
            )
            return None
        models = self._top_models(root)
        return models[0] if models else None

    def _root(self, data: bytes) -> Node:
        xml = parse_root(data, self.problems, "sdf", "an SDFormat file", free_prefixes=True)
        version = xml.get("version", "").strip()
        minor = minor_version(version)
        if minor is None:
            problem = f"unknown version {quoted(version)}" if version else "<sdf> has no 'version'"
            reason = f"1.{OLDEST_MINOR} to 1.{NEWEST_MINOR} are read"
            raise self.problems.fail(line_of(xml), problem, reason, 'write <sdf version="1.9">')
        return Node(xml, self.problems, minor)

    def _top_models(self, root: Node) -> list[ModelElement]:
        """Read the models at the top of the file, which have no neighbours to be placed by."""
        found = list(self._models(root))
        for model in found:
            if model.pose.relative_to:
                placed = quoted(model.pose.relative_to)
                model.where.add(
                    f"the <pose> of model '{echoed(model.name)}' is relative_to {placed}",
                    "a model at the top of a file has no neighbours",
                    "remove 'relative_to'",
                )
        return [replace(model, pose=Pose(model.pose.matrix)) for model in found]

    def _world(self, node: Node) -> WorldElement:
        self.spend(node)
        content = [
            element
            for tags in (("frame",), ("model", "include"), ("joint",))
            for child in node.all(*tags)
            if not (child.tag == "joint" and holds_the_world(child.where, child.name(), child.word("child")))
            for element in self._content(child, WORLD)
        ]
        frames = tuple(one for one in content if isinstance(one, FrameElement))
        models = tuple(one for one in content if isinstance(one, ModelElement))
        joints = tuple(one for one in content if isinstance(one, JointElement))
        return world_with_own_names(WorldElement(node.name(), node.where, frames, models, joints))

    def _models(self, parent: Node) -> Iterator[ModelElement]:
        """Return the models in an element, with included ones in their places."""
        for node in parent.all("model", "include"):
            model = self._model(node) if node.tag == "model" else self._include(node)
            if model is not None:
                yield model

    def _model(self, node: Node) -> ModelElement | None:
        self.spend(node)
        with self.deeper(node):
            content = tuple(
                element
                for child in node.all("link", "joint", "frame", "model", "include")
                for element in self._content(child)
            )
        name = node.name()
        model = ModelElement(
            name=name,
            where=node.where,
            minor=node.minor,
            pose=node.pose(),
            static=node.truth("static"),
            canonical_link=node.attribute("canonical_link"),
            placement_frame=node.attribute("placement_frame"),
            content=content,
        )
        return with_own_frame_in_axes(with_own_names(model)) if name else None

    def _content(self, node: Node, around: str = MODEL) -> tuple[Element, ...]:
        """Read a child of a `<model>`, or of the world; `around` is the frame of either."""
        if node.tag == "include":
            model = self._include(node)
            return _merged(model, node, around) if model and node.truth_attribute("merge") else _if_any(model)
        if node.tag == "model":
            return _if_any(self._model(node))
        if node.tag == "frame":
            return _if_any(self._frame(node))
        self.spend(node)
        if node.tag == "joint":
            return _if_any(read_joint(node))
        for shape in node.all("visual", "collision"):
            self.spend(shape)
        return _if_any(read_link(node, self.source))

    def _frame(self, node: Node) -> FrameElement | None:
        self.spend(node)
        name = node.name()
        return FrameElement(name, node.where, node.pose(), node.attribute("attached_to")) if name else None

    def _include(self, node: Node) -> ModelElement | None:
        """Read the model that an `<include>` means, and change it as the include says."""
        self.spend(node)
        if any(PARAMETERS.fullmatch(tag) for tag in node.tags()):
            node.where.warn(
                "<experimental:params> is not read",
                "it would change the included model",
                "change a copy of the model and include that",
            )
        pose, placement_frame = node.one("pose"), node.word("placement_frame")
        if placement_frame and pose is None:
            node.where.add(
                "an <include> with <placement_frame> has no <pose>", "it places that frame", "write <pose/>"
            )
        model = self._included(node)
        if model is None:
            return None
        if pose is not None:
            model = replace(model, pose=pose.own_pose())
        if placement_frame:
            model = replace(model, placement_frame=placement_frame)
        static = node.truth("static", default=model.static)
        return replace(model, name=self._include_name(node) or model.name, static=static, where=node.where)

    def _include_name(self, node: Node) -> str:
        name = node.word("name")
        if is_reserved(name):
            node.where.add(f"<name> {quoted(name)} is reserved", "it is SDFormat's own", "choose another")
        return name

    def _included(self, node: Node) -> ModelElement | None:
        uri = node.word("uri")
        if not uri:
            node.where.add(
                "an <include> has no <uri>", "it says what to include", "write <uri>model://…</uri>"
            )
            return None
        try:
            source = find(uri, self.source, self.problems.warnings, partial(self.bytes_of, node.where))
        except BadText as error:
            node.where.add(error.problem, error.reason, error.hint)
            return None
        return self.include(node, source, uri, partial(File.read_included, including=node))


def holds_the_world(where: Where, joint: str, child: str) -> bool:
    """Whether a joint of a world would carry the world; it is not read then, which is noted as an oddity."""
    if child == WORLD:
        what = f"joint '{echoed(joint)}' of a world has the world as its child"
        where.warn(what, "the world is fixed", "it is not read; swap the two")
    return child == WORLD


def _merged(model: ModelElement, node: Node, around: str) -> tuple[Element, ...]:
    """Return what an `<include>` puts into the scope of the frame `around`."""
    if around == WORLD and any(isinstance(one, LinkElement) for one in model.content):
        what = f"model '{echoed(model.name)}' cannot be merged into a world"
        node.where.add(what, "it has links, and a world has none of its own", "remove 'merge'")
        return ()
    return unpacked(model, around)


def _if_any(element: Element | None) -> tuple[Element, ...]:
    return () if element is None else (element,)
