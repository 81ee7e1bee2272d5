"""DART SKEL to robots, version 1.0.

Each skeleton is a robot; the specification is DART's "SKEL file format". `joint` reads one
joint, `inertia` one body, and this module connects bodies by joints.

A body's transformation places it in the skeleton with all coordinates at zero, and a joint's places the joint
in its child. A body that is no joint's child is free: it gets a free joint to the world. Joints are ordered
as in the file, but each after those that carry its parent.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import echoed, nearest

from ..arrays import Floats, frozen
from ..errors import MOST_PROBLEMS
from ..io.beginning import first_tag
from ..io.xml.file import XmlFile
from ..io.xml.tree import parse_root
from ..model.poses import inverse_pose
from ..model.robot import RobotModel
from .elements import Node
from .inertia import read_link
from .joint import free_joint, read_joint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..errors import Where
    from ..io.source import Source
    from ..model.structure import Joint

NAME, SUFFIXES = "skel", (".skel",)

VERSION = "1.0"
DEFAULT_TIME_STEP_S = 0.001
DEFAULT_GRAVITY = (0.0, 0.0, -9.8)


def sniff(head: bytes) -> bool:
    """Whether a file that begins like this has `<skel>` as its first element."""
    return first_tag(head) == b"skel"


def load(data: bytes, source: Source) -> list[RobotModel]:
    """Read every skeleton in a file. Raises `FormatError` with every problem found in it."""
    file = XmlFile(source)
    document = Node(parse_root(data, file.problems, "skel", "a SKEL file"), file.problems)
    version = document.attribute("version") or VERSION
    if version.partition(".")[0] != VERSION.partition(".")[0]:
        document.where.add(
            f"version is '{echoed(version)}'", f"{VERSION} is read", "save the file in that version"
        )
    world = _world(document)
    physics = _physics(world)
    found = [*_skeletons(world), *(_skeletons(document) if world is not document else ())]
    skeletons = [_Skeleton(file, node) for node in found]
    robots = [skeleton.robot(version, physics) for skeleton in skeletons]
    file.problems.raise_if_any()
    _warn_of_twins(found)
    return [
        replace(robot, warnings=(*file.problems.oddities, *node.problems.oddities))
        for robot, node in zip(robots, found, strict=True)
    ]


def _skeletons(parent: Node) -> list[Node]:
    """Return the skeletons in an element, of which each robot keeps the warnings of its own."""
    problems = parent.problems
    return [Node(xml, replace(problems, warnings=[])) for xml in parent.xml.iterchildren("skeleton")]


def _world(document: Node) -> Node:
    """Return the element that holds the skeletons."""
    world, bare = document.one("world"), list(document.all("skeleton"))
    if world is None and not bare:
        document.where.add("<skel> has no <world>", "it holds the skeletons", "add one")
    for node in bare:
        node.where.warn("<skeleton> stands outside of <world>", "a SKEL file has a world", "move it there")
    return world or document


def _physics(world: Node) -> dict[str, object]:
    physics = world.one("physics")
    time_step_s, gravity = DEFAULT_TIME_STEP_S, np.array(DEFAULT_GRAVITY)
    if physics:
        time_step_s, gravity = physics.number("time_step", time_step_s), physics.vector("gravity", gravity)
        if time_step_s <= 0:
            problem, hint = f"time_step is {time_step_s:g}", "write a time in s above 0"
            physics.where.add(problem, "time goes on", hint)
    return {
        "world": world.attribute("name") or "Unknown world",
        "time_step_s": time_step_s,
        "gravity": frozen(gravity),
    }


def _warn_of_twins(skeletons: list[Node]) -> None:
    lines: dict[str, int] = {}
    for node in skeletons:
        name = node.name()
        if name in lines:
            reason = f"the skeleton on line {lines[name]} has that name"
            node.where.warn(f"another skeleton '{echoed(name)}'", reason, "give each its own")
        lines.setdefault(name, node.where.line)


def _root_name(number: int) -> str:
    return f"root({number})" if number else "root"


@dataclass(frozen=True, slots=True)
class _Carrier:
    """The joint above a body; `joint` is None where it could not be read."""

    node: Node
    name: str
    parent: str  # the body that the joint hangs on
    joint: Joint | None


@dataclass(slots=True)
class _Skeleton:
    """Reads one skeleton: its bodies, then the joints that carry them."""

    file: XmlFile
    node: Node
    bodies: dict[str, Node] = field(default_factory=dict)
    # shape (4, 4); where each body is in the skeleton with all coordinates at zero
    places: dict[str, Floats] = field(default_factory=dict)
    carriers: dict[str, _Carrier] = field(default_factory=dict)  # by the body that is the joint's child
    joints: dict[str, int] = field(default_factory=dict)  # the line of every joint by name
    # names for joints of bodies that nothing carries, each given once
    root_names: Iterator[str] = field(default_factory=lambda: map(_root_name, count()))

    def robot(self, version: str, physics: Mapping[str, object]) -> RobotModel:
        """Read the skeleton; what is wrong is noted."""
        self.file.spend(self.node)
        self._read_bodies()
        self._find_carriers()
        mobile = self.node.truth("mobile", default=not self.node.truth("immobile"))
        bodies = self.bodies.items()
        weightless = tuple(name for name, body in bodies if not body.truth("gravity", default=True))
        return RobotModel(
            name=self.node.name(),
            format=NAME,
            version=version,
            joints=tuple(self._joints()),
            links=tuple(read_link(name, body, self.file) for name, body in bodies),
            frames=(),
            canonical_link=next(iter(self.bodies), ""),
            base_pose=frozen(self.node.pose()),
            metadata={**physics, "immobile": not mobile, "weightless": weightless},
        )

    def _read_bodies(self) -> None:
        for body in self.node.all("body"):
            self.file.spend(body)
            name = body.name()
            if name in self.bodies:
                first = self.bodies[name].where.line
                body.where.add(
                    f"body '{echoed(name)}' stands twice", f"first on line {first}", "give each its own name"
                )
                continue
            self.bodies[name] = body
            self.places[name] = body.pose()
        if not self.bodies:
            self.node.where.add(
                f"skeleton '{echoed(self.node.name())}' has no <body>", "it needs one at least", "add one"
            )

    def _find_carriers(self) -> None:
        for node in self.node.all("joint"):
            self.file.spend(node)
            parent, child = node.word("parent"), node.word("child")
            name = node.attribute("name") or f"{child or 'Unknown'}_joint"
            if name in self.joints:
                reason = f"first on line {self.joints[name]}"
                node.where.add(f"joint '{echoed(name)}' stands twice", reason, "give each its own name")
            self.joints.setdefault(name, node.where.line)
            joint = read_joint(node, name)
            if self._is_connected(node.where, name, parent, child):
                self.carriers.setdefault(child, _Carrier(node, name, parent, joint))

    def _is_connected(self, where: Where, name: str, parent: str, child: str) -> bool:
        """Whether a joint has a body to carry; problems with either end are noted."""
        for end, body in (("parent", parent), ("child", child)):
            if not body:
                where.add(f"joint '{echoed(name)}' has no <{end}>", "it connects two bodies", "name a body")
            elif body not in self.bodies and (end, body) != ("parent", "world"):
                reason = "no body of the skeleton has that name"
                guess = nearest(body, self.bodies) if len(where.problems.found) < MOST_PROBLEMS else ""
                where.add(f"joint '{echoed(name)}' has {end} '{echoed(body)}'", reason, guess)
        if child in self.carriers:
            other = self.carriers[child]
            reason = f"joint '{echoed(other.name)}' on line {other.node.where.line} carries it"
            where.add(f"joint '{echoed(name)}' has child '{echoed(child)}'", reason, "remove one of them")
        return child in self.bodies

    def _joints(self) -> Iterator[Joint]:
        for body in self._carried_order():
            if body not in self.carriers:
                yield self._free_joint(body)
            elif joint := self._joint(self.carriers[body], body):
                yield joint

    def _carried_order(self) -> list[str]:
        """Return the bodies, each after those that carry it."""
        order: dict[str, None] = {}
        for body in (*self.carriers, *self.bodies):
            trail: dict[str, None] = {}
            while body in self.bodies and body not in order and body not in trail:
                trail[body] = None
                body = self._parent(body)  # noqa: PLW2901 - walks up to the root
            if body in trail:
                self._complain_of_ring([*trail][[*trail].index(body) :])
            order.update(dict.fromkeys(reversed(trail)))
        return [*order]

    def _parent(self, body: str) -> str:
        return self.carriers[body].parent if body in self.carriers else ""

    def _complain_of_ring(self, ring: list[str]) -> None:
        path = " -> ".join([*ring, ring[0]])
        problem, hint = "bodies carry each other in a ring", "hang one of them on the world"
        self.carriers[ring[0]].node.where.add(problem, path, hint)

    def _joint(self, carrier: _Carrier, body: str) -> Joint | None:
        if carrier.joint is None:
            return None
        above = self.places.get(carrier.parent, np.eye(4))
        inside = carrier.node.pose()
        return replace(
            carrier.joint,
            parent=carrier.parent,
            child=body,
            parent_pose=frozen(inverse_pose(above) @ self.places[body] @ inside),
            child_pose=frozen(inverse_pose(inside)),
        )

    def _free_joint(self, body: str) -> Joint:
        """Return the joint of a body that nothing carries, named as DART does."""
        name = next(name for name in self.root_names if name not in self.joints)
        self.joints[name] = self.bodies[body].where.line
        # Where a body is called `world`, that name does not stand for the world.
        parent = "" if "world" in self.bodies else "world"
        place = frozen(self.places[body].copy())
        return replace(free_joint(name), parent=parent, child=body, parent_pose=place)
