"""URDF to a robot, versions 1.0 to 1.2.

A file holds one robot: a tree of links, each hung on another by a joint, whose frame is that of the link it
carries. `link` and `joint` read one of each, and this module connects them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from motiond.text import echoed, nearest, quoted

from ..errors import MOST_PROBLEMS, FormatError, Problem
from ..io.beginning import is_urdf
from ..io.foreign import XACRO
from ..io.xml.file import XmlFile
from ..io.xml.tree import line_of, parse_root
from ..model.robot import RobotModel
from .elements import Node
from .joint import calibration, read_joint, soft_limits
from .link import read_link
from .materials import Materials
from .transmission import read_reductions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..io.source import Source
    from ..model.structure import Joint, Link

NAME, SUFFIXES = "urdf", (".urdf",)

VERSION = "1.0"
_VERSIONS = re.compile(r"1(\.\d{1,3})?", re.ASCII)
_XACRO_TAG = re.compile(r"xacro:|\{[^}]*\bxacro\b[^}]*\}")
_ASKING = re.compile(r"\$[{(]")
# What had no prefix before 2014.
_OLD_XACRO = ("property", "macro", "include")


def sniff(head: bytes) -> bool:
    """Whether a file that begins like this has `<robot>` as its first element, with URDF or xacro in it."""
    return is_urdf(head)


def load(data: bytes, source: Source) -> list[RobotModel]:
    """Read the robot of a URDF file. Raises `FormatError` with every problem found in it."""
    file = XmlFile(source)
    problems = file.problems
    root = Node(parse_root(data, problems, "robot", "a URDF file", free_prefixes=True), problems)
    _refuse_xacro(root)
    robot = _Robot(file, root).model()
    if problems.found and source.path.suffix.lower() == ".xacro":  # a part of a robot, without any macro
        raise FormatError([Problem(source.name, 0, *XACRO)])
    problems.raise_if_any()
    return [replace(robot, warnings=problems.oddities)]


def _refuse_xacro(root: Node) -> None:
    """Refuse what xacro has not expanded yet: to skip it would be to read a part of the robot."""
    old = (child.xml for child in root.all(*_OLD_XACRO))
    tagged = (xml for xml in root.xml.iter("*") if _XACRO_TAG.match(str(xml.tag)))
    asking = (xml for xml in root.xml.iter("*") if any(map(_ASKING.search, map(str, xml.attrib.values()))))
    if (xml := next(chain(tagged, old, asking), None)) is not None:
        raise root.problems.fail(line_of(xml), *XACRO)


@dataclass(slots=True)
class _Robot:
    """Reads one robot: its links, then the joints that carry them."""

    file: XmlFile
    root: Node
    links: dict[str, Link] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)  # of every link
    joints: dict[str, Joint] = field(default_factory=dict)
    joint_nodes: dict[str, Node] = field(default_factory=dict)
    carriers: dict[str, Joint] = field(default_factory=dict)  # by the link that the joint carries

    def model(self) -> RobotModel:
        """Read the robot; what is wrong is noted."""
        name = self.root.required("name")
        version = self.root.attribute("version") or VERSION
        if not _VERSIONS.fullmatch(version):
            what = f"version is '{echoed(version)}'"
            self.root.where.add(what, "1.0 to 1.2 are read", 'write version="1.0"')
        self._read_links()
        noted = len(self.root.problems.found)
        self._read_joints()
        if noted == len(self.root.problems.found):
            self._check_tree()
        self._check_mimics()
        return RobotModel(
            name=name,
            format=NAME,
            version=version,
            joints=tuple(self.joints.values()),
            links=tuple(self.links.values()),
            frames=(),
            canonical_link=next(self._roots(), ""),
            metadata=self._metadata(),
        )

    def _read_links(self) -> None:
        materials = Materials(self.root)
        for node in self.root.all("link"):
            self.file.spend(node)
            name = node.required("name")
            if name in self.nodes:
                self._complain_of_twin(node, "link", name, self.nodes)
            link = read_link(node, name, self.file, materials)
            if name and name not in self.nodes:
                self.nodes[name], self.links[name] = node, link
        if "link" not in self.root.tags():
            self.root.where.add("<robot> has no <link>", "it needs one at least", "add one")

    def _read_joints(self) -> None:
        for node in self.root.all("joint"):
            self.file.spend(node)
            name = node.required("name")
            if name and name in self.joint_nodes:
                self._complain_of_twin(node, "joint", name, self.joint_nodes)
            self.joint_nodes.setdefault(name, node)
            parent, child = self._end(node, name, "parent"), self._end(node, name, "child")
            joint = read_joint(node, name, parent, child)
            if child in self.carriers:
                other = self.joint_nodes[self.carriers[child].name].where.line
                what = f"joint '{echoed(name)}' has child '{echoed(child)}'"
                reason = f"joint '{echoed(self.carriers[child].name)}' on line {other} carries it"
                node.where.add(what, reason, "a robot is a tree; remove one of them")
            elif joint is not None:
                self.joints.setdefault(name, joint)
                self.carriers[child] = joint

    def _complain_of_twin(self, node: Node, kind: str, name: str, others: dict[str, Node]) -> None:
        reason = f"first on line {others[name].where.line}"
        node.where.add(f"{kind} '{echoed(name)}' stands twice", reason, "give each its own name")

    def _end(self, node: Node, name: str, tag: str) -> str:
        """Return the link at a joint's end; note a problem where there is none."""
        end = node.one(tag)
        if end is None:
            what = f"joint '{echoed(name)}' has no <{tag}>"
            node.where.add(what, "it connects two links", f'write <{tag} link="…"/>')
            return ""
        link = end.required("link")
        if link and link not in self.links:
            what = f"joint '{echoed(name)}' has {tag} '{echoed(link)}'"
            end.where.add(what, "no link of the robot has that name", self._guess(link, self.links))
        return link

    def _guess(self, name: str, known: Collection[str]) -> str:
        """Return what was meant by a name, unless much is wrong already: a guess takes time."""
        return nearest(name, known) if len(self.root.problems.found) < MOST_PROBLEMS else ""

    def _roots(self) -> Iterator[str]:
        return (link for link in self.links if link not in self.carriers)

    def _check_tree(self) -> None:
        """Note what makes of the links no tree: rings, and every root but the first."""
        root = next(self._roots(), "")
        for link in self._roots():
            if link != root:
                first = f"link '{echoed(root)}' on line {self.nodes[root].where.line} does neither"
                self.nodes[link].where.add(
                    f"link '{echoed(link)}' hangs on no joint", first, "a robot has one root; add a joint"
                )
        settled: set[str] = set()
        for link in self.carriers:
            trail: dict[str, None] = {}
            while link in self.carriers and link not in settled and link not in trail:
                trail[link] = None
                link = self.carriers[link].parent  # noqa: PLW2901 - walks up to the root
            if link in trail:
                ring = [*trail][[*trail].index(link) :]
                where = self.joint_nodes[self.carriers[link].name].where
                path = " -> ".join(map(echoed, [link, *reversed(ring)]))
                where.add("links carry each other in a ring", path, "a robot is a tree; remove a joint")
            settled.update(trail)

    def _check_mimics(self) -> None:
        for joint in self.joints.values():
            if joint.mimic is None:
                continue
            leader = self.joints.get(joint.mimic.of)
            what = f"joint '{echoed(joint.name)}' mimics {quoted(joint.mimic.of)}"
            where = self.joint_nodes[joint.name].where
            if joint.mimic.of not in self.joint_nodes:
                where.add(what, "no joint has that name", self._guess(joint.mimic.of, self.joints))
            elif leader is joint or (leader and len(leader.coordinates) != 1):
                where.add(what, "it follows another joint with one coordinate", "name one")

    def _metadata(self) -> dict[str, Any]:
        nodes = [(joint, self.joint_nodes[joint.name]) for joint in self.joints.values()]
        noted: dict[str, dict[str, Any]] = {
            "reductions": dict(read_reductions(self.root, self.joints, self.file)),
            "soft_limits": {joint.name: soft_limits(node, joint) for joint, node in nodes},
            "calibration": {joint.name: calibration(node) for joint, node in nodes},
        }
        stated = {key: {name: one for name, one in of.items() if one} for key, of in noted.items()}
        return {key: of for key, of in stated.items() if of}
