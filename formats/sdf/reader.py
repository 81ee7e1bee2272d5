"""SDFormat to robots, versions 1.4 to 1.12.

Robots are each model of each world, and the model at the file's top; models that joints of their world join
are one robot. `document` reads the text, `frames` knows where everything is and what it moves with, and this
module makes links, joints and frames of that. Names in nested models are joined by `::`, relative to the
robot's own model, and to the world where several models are one robot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import echoed, quoted

from ..arrays import Floats, frozen
from ..io.beginning import first_tag
from ..model.poses import inverse_pose
from ..model.robot import RobotModel
from ..model.structure import Coordinate, Frame, Joint, Link
from .document import File, holds_the_world
from .elements import IDENTITY, MODEL, WORLD, FrameElement, JointElement, LinkElement, ModelElement
from .frames import SCOPES, Frames, full

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..io.source import Source
    from ..model.shapes import Shape
    from ..model.structure import FrameKind
    from .document import Document
    from .elements import AxisElement, Element, WorldElement

NAME = "sdf"
SUFFIXES = (".sdf", ".world")


def sniff(head: bytes) -> bool:
    """Whether a file that begins like this has `<sdf>` as its first element."""
    return first_tag(head) == b"sdf"


def load(data: bytes, source: Source) -> list[RobotModel]:
    """Read the robots of an SDFormat file, with all the files it includes.

    Raises `FormatError` with every problem found in these files.
    """
    document = File(source).read(data)
    robots = [
        _Robot(models, joints, frames, document)
        for world in document.worlds
        for frames in [Frames(world)]
        for models, joints in _joined(world, frames)
    ]
    for robot in robots:
        robot.check()
    document.problems.raise_if_any()
    models = [robot.model() for robot in robots]
    return [replace(model, warnings=document.problems.oddities) for model in models]


@dataclass(frozen=True, slots=True)
class _Joined:
    """A joint, the scope of its names, and the full names of the links that it joins."""

    element: JointElement
    scope: str
    parent: str
    child: str

    @property
    def name(self) -> str:
        """Its full name."""
        return full(self.scope, self.element.name)

    @property
    def is_within_a_link(self) -> bool:
        """Whether both ends lead to one link."""
        return bool(self.parent) and self.parent == self.child


class _Robot:
    """Makes a robot of models and of joints of their world.

    Poses are asked for only after `check`, if no problems were found.
    """

    def __init__(
        self,
        models: Sequence[ModelElement],
        joints: Sequence[JointElement],
        frames: Frames,
        document: Document,
    ) -> None:
        self._models = models
        self._world_joints = joints
        self._scope = models[0].name if len(models) == 1 else ""
        self._frames = frames
        self._document = document
        self._inverses: dict[str, Floats] = {}
        self._elements = [found for model in models for found in _all_elements(model.name, model)]
        self._elements += [("", joint) for joint in joints]
        self._joints = [
            _Joined(element, scope, self._body(scope, element.parent), self._body(scope, element.child))
            for scope, element in self._elements
            if isinstance(element, JointElement)
        ]

    def check(self) -> None:
        """Note what is wrong with joints, now that it is known what they join."""
        self._check_names()
        coordinates = {joint.name: len(joint.element.axes) for joint in self._joints}
        for joint in self._joints:
            self._check_ends(joint)
            for axis in joint.element.axes:
                self._check_axis(joint, axis, coordinates)
        for scope, element in self._elements:
            if isinstance(element, LinkElement | JointElement):
                self._check_mounted(scope, element)

    def model(self) -> RobotModel:
        """Make the robot."""
        carriers = self._carriers()
        base = frozen(self._frames.pose(self._named(WORLD)).copy())
        ratios = {
            self._local(joint.name): joint.element.gearbox_ratio
            for joint in self._joints
            if joint.element.type == "gearbox"
        }
        return RobotModel(
            name=self._models[0].name,
            format=NAME,
            version=self._document.version,
            joints=tuple(self._joint(joint, carriers) for joint in self._joints),
            links=tuple(self._links(carriers)),
            frames=tuple(self._all_frames()),
            canonical_link=self._local(self._canonical()),
            base_pose=base,
            metadata={"gearbox_ratio": ratios} if ratios else {},
        )

    def _check_names(self) -> None:
        """Refuse a joint of the world that would have the name of something in the robot's only model."""
        others = {self._local(full(scope, element.name)) for scope, element in self._elements if scope}
        for joint in self._world_joints:
            if joint.name in others:
                joint.where.add(
                    f"joint name '{echoed(joint.name)}' is taken",
                    f"model '{echoed(self._scope)}', which it holds, has that name too",
                    "choose another",
                )

    def _canonical(self) -> str:
        """Return the full name of the canonical link; '' where there is none."""
        first = self._models[0]
        name = first.canonical_name()
        return full(first.name, name) if name else ""

    def _body(self, scope: str, name: str) -> str:
        """Return the full name of the body that a joint's end is part of; '' where there is none."""
        return WORLD if name == WORLD else self._frames.body(full(scope, name))

    def _check_ends(self, joint: _Joined) -> None:
        element = joint.element
        for end, name, body in (
            ("parent", element.parent, joint.parent),
            ("child", element.child, joint.child),
        ):
            if body not in {"", WORLD} and not self._frames.is_link(body):
                element.where.add(
                    f"joint '{echoed(element.name)}' has the {end} {quoted(name)}",
                    "it is part of a static model, which no joint holds",
                    "name a link, or world as the parent",
                )
        if joint.is_within_a_link:
            element.where.warn(
                f"joint '{echoed(element.name)}' joins {quoted(element.parent)} to {quoted(element.child)}",
                f"both are part of link '{echoed(self._local(joint.child))}'",
                "its coordinates move no link",
            )

    def _check_axis(self, joint: _Joined, axis: AxisElement, coordinates: Mapping[str, int]) -> None:
        if axis.expressed_in and not self._frames.has(full(joint.scope, axis.expressed_in)):
            given = quoted(axis.expressed_in)
            axis.where.add(
                f"an axis of joint '{echoed(joint.element.name)}' is expressed_in {given}",
                *self._frames.missing(joint.scope, axis.expressed_in, axis.where.problems),
            )
        if axis.mimic is None:
            return
        leader = full(joint.scope, axis.mimic.of)
        if leader == joint.name or coordinates.get(leader) != 1 or len(joint.element.axes) != 1:
            axis.where.add(
                f"joint '{echoed(joint.element.name)}' mimics {quoted(axis.mimic.of)}",
                "both must be joints of this model with one axis, and not the same",
                "name another joint",
            )

    def _check_mounted(self, scope: str, element: LinkElement | JointElement) -> None:
        for mounted in element.mounted:
            frame = mounted.pose.relative_to
            if not self._frames.has(full(scope, frame)):
                reason, guess = self._frames.missing(scope, frame, mounted.where.problems)
                mounted.where.warn(
                    f"the <pose> of {mounted.what} is relative_to {quoted(frame)}",
                    f"{reason}, so that it is left out",
                    guess or "name a frame, or remove 'relative_to'",
                )

    def _carriers(self) -> dict[str, _Joined]:
        """Return the joint that carries each link; a joint whose child is carried already closes a loop.

        In a ring of joints, no joint carries the model's canonical link if that is possible.
        """
        canonical = self._canonical()
        carriers: dict[str, _Joined] = {}
        roots: dict[str, str] = {}
        for joint in sorted(self._joints, key=lambda joint: joint.child == canonical):
            if joint.child not in carriers and _root(roots, joint.parent) != joint.child:
                carriers[joint.child] = joint
                roots[joint.child] = joint.parent
        for joint in self._joints:
            if carriers.get(joint.child) is not joint and not joint.is_within_a_link:
                joint.element.where.warn(
                    f"joint '{echoed(joint.element.name)}' closes a loop",
                    f"link '{echoed(self._local(joint.child))}' hangs on another joint or carries this one",
                    "its coordinates move no link",
                )
        return carriers

    def _links(self, carriers: Mapping[str, _Joined]) -> Iterator[Link]:
        for scope, element in self._elements:
            if isinstance(element, LinkElement):
                name = full(scope, element.name)
                pose = IDENTITY if name in carriers else self._between(WORLD, name)
                shapes = tuple(self._shapes(scope, element))
                yield Link(
                    self._local(name),
                    element.mass,
                    element.com,
                    element.inertia,
                    pose=pose,
                    shapes=shapes,
                    unseen=element.unseen,
                )

    def _shapes(self, scope: str, link: LinkElement) -> Iterator[Shape]:
        """Return what is drawn of a link, but for what is placed by a frame that there is none of."""
        for one in link.shapes:
            place, frame = one.pose.matrix, one.pose.relative_to
            if frame and not self._frames.has(full(scope, frame)):
                continue
            if frame:
                place = self._between(full(scope, link.name), full(scope, frame)) @ place
            yield replace(one.shape, pose=frozen(place @ one.shape.pose))

    def _joint(self, joint: _Joined, carriers: Mapping[str, _Joined]) -> Joint:
        element = joint.element
        axes = np.eye(3) if element.type == "ball" else np.reshape(self._axes(joint), (-1, 3))
        mimic = element.axes[0].mimic if element.axes else None
        return Joint(
            name=self._local(joint.name),
            type=element.type,
            parent=self._local(joint.parent),
            child=self._local(joint.child),
            axes=frozen(axes),
            coordinates=tuple(self._coordinate(joint, axis) for axis in element.axes),
            mimic=replace(mimic, of=self._local(full(joint.scope, mimic.of))) if mimic else None,
            parent_pose=self._between(joint.parent, joint.name),
            child_pose=self._between(joint.name, joint.child),
            pitch_m=element.pitch_m,
            closes_loop=carriers.get(joint.child) is not joint,
        )

    def _axes(self, joint: _Joined) -> list[Floats]:
        """Return the unit vector of each axis in the joint's frame."""
        axes = []
        for axis in joint.element.axes:
            given_in = full(joint.scope, axis.expressed_in) if axis.expressed_in else joint.name
            axes.append(self._between(joint.name, given_in)[:3, :3] @ axis.xyz)
        return axes

    def _coordinate(self, joint: _Joined, axis: AxisElement) -> Coordinate:
        name = self._local(full(joint.scope, axis.coordinate.name))
        return replace(axis.coordinate, name=name)

    def _all_frames(self) -> Iterator[Frame]:
        """Return the frame of each model, under its name too if it is nested, and the frames of the file."""
        for model in self._models:
            if not self._scope:
                yield self._frame(model.name, "model")
            yield self._frame(full(model.name, MODEL), "model")
        for scope, element in self._elements:
            name = full(scope, element.name)
            if isinstance(element, FrameElement):
                yield self._frame(name, "frame")
            elif isinstance(element, ModelElement):
                yield self._frame(name, "model")
                yield self._frame(full(name, MODEL), "model")
        for model in self._models:
            for name in self._frames.flattened(model.name):
                yield self._frame(name, "model")

    def _frame(self, name: str, kind: FrameKind) -> Frame:
        body = self._frames.body(name)
        if body == name:
            body = WORLD
        return Frame(self._local(name), kind, self._local(body), self._between(body, name))

    def _between(self, start: str, end: str) -> Floats:
        """Return the pose (4, 4) of `end` in the frame of `start` with all joints at zero."""
        return frozen(self._back(start) @ self._frames.pose(self._named(end)))

    def _back(self, name: str) -> Floats:
        """Return the inverse of a place's pose, shape (4, 4)."""
        if name not in self._inverses:
            self._inverses[name] = inverse_pose(self._frames.pose(self._named(name)))
        return self._inverses[name]

    def _named(self, name: str) -> str:
        """Return the place that a name stands for; to a robot, the world is its first model's frame."""
        return full(self._models[0].name, MODEL) if name == WORLD else name

    def _local(self, name: str) -> str:
        return name.removeprefix(full(self._scope, ""))


def _joined(world: WorldElement, frames: Frames) -> Iterator[tuple[list[ModelElement], list[JointElement]]]:
    """Return the models of each robot in a world, and the joints of the world that hold them."""
    joined_to: dict[str, str] = {}
    held = []
    for joint in world.joints:
        if holds_the_world(joint.where, joint.name, frames.body(joint.child)):
            continue
        bodies = (frames.body(name) for name in (joint.parent, joint.child) if name != WORLD)
        ends = [body.partition(SCOPES)[0] for body in bodies if body not in {"", WORLD}]
        held.append((joint, ends))
        roots = [_root(joined_to, end) for end in ends]
        if len(set(roots)) > 1:
            joined_to[roots[1]] = roots[0]
    robots: dict[str, tuple[list[ModelElement], list[JointElement]]] = {}
    for model in world.models:
        robots.setdefault(_root(joined_to, model.name), ([], []))[0].append(model)
    for joint, ends in held:
        if ends:
            robots[_root(joined_to, ends[0])][1].append(joint)
    yield from robots.values()


def _all_elements(scope: str, model: ModelElement) -> Iterator[tuple[str, Element]]:
    """Return the elements in a model, depth first, each with its scope."""
    for element in model.content:
        yield scope, element
        if isinstance(element, ModelElement):
            yield from _all_elements(full(scope, element.name), element)


def _root(carried_by: dict[str, str], link: str) -> str:
    """Return the link that carries a link in the end, and shorten the way there."""
    way = []
    while link in carried_by:
        way.append(link)
        link = carried_by[link]
    carried_by.update(dict.fromkeys(way, link))
    return link
