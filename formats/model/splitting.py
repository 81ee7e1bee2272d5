"""A robot of the joints that a format has: every other joint becomes a row of simple ones.

The new joints have the coordinates of the old one, so the same positions put every link, and every frame, in
the same place. Their names are those of the coordinates; links and joints that are added get new ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import frozen
from .poses import identity_pose, inverse_pose
from .structure import Coordinate, Joint, Link, Mimic

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from ..arrays import Floats
    from .robot import RobotModel
    from .structure import Frame, JointType

WORLD = "world"
# What physics needs to move a part that has no mass: in kg and kg·m².
LEAST_MASS_KG, LEAST_INERTIA_KG_M2 = 1e-6, 1e-9


@dataclass(frozen=True, slots=True)
class Split:
    """A robot whose joints are simple.

    Attributes
    ----------
    model : RobotModel
        What nothing carries is a root: its pose is in the model's frame, as are joints whose parent is ''.
    between : frozenset of str
        Links that stand for nothing but a place between two of the joints that one joint has become.
    renamed : tuple of (str, str)
        Coordinates whose name another joint has, with the names that their joints have got.
    """

    model: RobotModel
    between: frozenset[str]
    renamed: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Names:
    """The names that are taken, and new ones that are not."""

    taken: set[str] = field(default_factory=set)

    def fresh(self, name: str) -> str:
        """Take a name, with a number behind it where it is taken already."""
        found, number = name, 1
        while found in self.taken:
            number += 1
            found = f"{name}_{number}"
        self.taken.add(found)
        return found


def names_of(model: RobotModel) -> Names:
    """Return every name in a robot, and that of the world."""
    coordinates = (one.name for joint in model.joints for one in joint.coordinates)
    parts = (part.name for kind in (model.joints, model.links, model.frames) for part in kind)
    return Names({*coordinates, *parts, WORLD})


def split(model: RobotModel, kept: Collection[JointType]) -> Split:
    """Return a robot whose links hang on joints of these types, or on ones that turn, slide or are fixed.

    Attached links are carried by fixed joints, and frames are attached to links. A gear ratio becomes a joint
    that moves a link without mass by the old coordinate, and one that follows it.
    """
    tree = _on_links(model)
    splitter = _Splitter(tree, frozenset({"fixed", "revolute", "continuous", "prismatic", *kept}))
    joints = _with_direct_mimics([one for joint in tree.joints for one in splitter.split(joint)])
    links = (*tree.links, *(Link(name) for name in splitter.added))
    return Split(
        replace(tree, joints=tuple(joints), links=links),
        frozenset(splitter.between),
        tuple(splitter.renamed),
    )


def _with_direct_mimics(joints: list[Joint]) -> list[Joint]:
    """Return joints that follow those that follow nothing: not every program looks further."""
    mimics = {joint.name: joint.mimic for joint in joints if joint.mimic}

    def direct(mimic: Mimic) -> Mimic:
        passed = set()
        while (before := mimics.get(mimic.of)) and mimic.of not in passed:
            passed.add(mimic.of)
            offset = mimic.multiplier * before.offset + mimic.offset
            mimic = Mimic(before.of, mimic.multiplier * before.multiplier, offset)
        return mimic

    return [replace(joint, mimic=direct(joint.mimic)) if joint.mimic else joint for joint in joints]


def without_world_link(model: RobotModel) -> RobotModel:
    """Return a robot in which a link called `world` that stands for the world alone is no link."""
    bare = [
        link
        for link in model.links
        if link.name == WORLD
        and not (link.attached_to or link.mass or link.shapes or link.inertia.any())
        and _is_identity(link.pose)
    ]
    if not bare or len(model.links) == 1 or WORLD in {joint.child for joint in model.joints}:
        return model
    return replace(model, links=tuple(link for link in model.links if link is not bare[0]))


def without_joints(model: RobotModel, names: Collection[str]) -> RobotModel:
    """Return a robot whose joints of these names are fixed where they are at 0, or gone if they close a loop.

    What has followed one of them follows nothing.
    """
    joints = [joint for joint in model.joints if not (joint.closes_loop and joint.name in names)]
    return replace(
        model,
        joints=tuple(
            _fixed(joint.name, joint)
            if joint.name in names
            else replace(joint, mimic=None if joint.mimic and joint.mimic.of in names else joint.mimic)
            for joint in joints
        ),
    )


def with_children_at_joints(model: RobotModel) -> RobotModel:
    """Return a robot whose joints carry links that are where they are; what is not hangs on such a link."""
    names = names_of(model)
    joints: list[Joint] = []
    links = list(model.links)
    for joint in model.joints:
        if _is_identity(joint.child_pose):
            joints.append(joint)
        elif joint.type == "fixed":
            joints.append(_fixed(joint.name, joint))
        else:
            link = names.fresh(f"{joint.name}_link")
            links.append(Link(link))
            joints.append(replace(joint, child=link, child_pose=identity_pose()))
            fixed = replace(joint, parent=link, parent_pose=identity_pose(), closes_loop=False)
            joints.append(_fixed(names.fresh(f"{joint.child}_fixed"), fixed))
    return replace(model, joints=tuple(joints), links=tuple(links))


def with_one_root(model: RobotModel) -> RobotModel:
    """Return a robot whose links all hang on one, and that stands where this one is where nobody moves it.

    That is the link `world`, unless one link alone is a root and stands at the origin.
    """
    carried = {joint.child for joint in model.joints}
    roots = [link for link in model.links if link.name not in carried]
    on_world = [*(joint for joint in model.joints if not joint.parent)]
    frames = [frame for frame in model.frames if not frame.attached_to]
    if len(roots) == 1 and not on_world and not frames and _is_identity(model.base_pose @ roots[0].pose):
        return replace(model, base_pose=identity_pose())
    names = names_of(model)
    names.taken.discard(WORLD)
    names.taken.update(link.name for link in model.links)
    world, base = names.fresh(WORLD), model.base_pose
    fixed = [
        Joint(
            names.fresh(f"{link.name}_fixed"),
            "fixed",
            world,
            link.name,
            np.empty((0, 3)),
            (),
            parent_pose=frozen(base @ link.pose),
        )
        for link in roots
    ]
    joints = [
        joint if joint.parent else replace(joint, parent=world, parent_pose=frozen(base @ joint.parent_pose))
        for joint in model.joints
    ]
    return replace(
        model,
        joints=(*joints, *fixed),
        links=(Link(world), *model.links),
        frames=tuple(
            frame if frame.attached_to else replace(frame, attached_to=world, pose=frozen(base @ frame.pose))
            for frame in model.frames
        ),
        base_pose=identity_pose(),
    )


def moving_links(model: RobotModel) -> set[str]:
    """Return the links that a joint moves, of a robot that has been split."""
    moved = {joint.child for joint in model.joints if joint.type != "fixed" and not joint.closes_loop}
    return {link for link, holder in _holders(model).items() if holder in moved}


def with_least_masses(model: RobotModel) -> RobotModel:
    """Return a robot, which has been split, that physics can move.

    Where a joint moves links none of which has mass, the first has a very small one.
    """
    holders = _holders(model)
    moving = moving_links(model)
    heavy = {holders[link.name] for link in model.links if link.mass > 0}
    inertia = frozen(np.eye(3) * LEAST_INERTIA_KG_M2)
    return replace(
        model,
        links=tuple(
            replace(link, mass=LEAST_MASS_KG, inertia=inertia)
            if link.name in moving and holders[link.name] == link.name and link.name not in heavy
            else link
            for link in model.links
        ),
    )


def _holders(model: RobotModel) -> dict[str, str]:
    """Return for each link the one that moves with it and is carried by a joint that moves, or by none."""
    fixed = {
        joint.child: joint.parent
        for joint in model.joints
        if joint.type == "fixed" and joint.parent and not joint.closes_loop
    }
    holders: dict[str, str] = {}
    for link in model.links:
        way = [link.name]
        while way[-1] in fixed and way[-1] not in holders:
            way.append(fixed[way[-1]])
        holders.update(dict.fromkeys(way, holders.get(way[-1], way[-1])))
    return holders


def with_names(
    model: RobotModel,
    links: Mapping[str, str],
    joints: Mapping[str, str] | None = None,
    frames: Mapping[str, str] | None = None,
) -> RobotModel:
    """Return a robot, which has been split, some of whose parts have new names, by their old ones."""
    of_joint, of_frame = joints or {}, frames or {}
    return replace(
        model,
        links=tuple(replace(link, name=links.get(link.name, link.name)) for link in model.links),
        joints=tuple(
            replace(
                joint,
                name=of_joint.get(joint.name, joint.name),
                parent=links.get(joint.parent, joint.parent),
                child=links.get(joint.child, joint.child),
                mimic=joint.mimic and replace(joint.mimic, of=of_joint.get(joint.mimic.of, joint.mimic.of)),
            )
            for joint in model.joints
        ),
        frames=tuple(
            replace(
                frame,
                name=of_frame.get(frame.name, frame.name),
                attached_to=links.get(frame.attached_to, frame.attached_to),
            )
            for frame in model.frames
        ),
        canonical_link=links.get(model.canonical_link, model.canonical_link),
    )


def _is_identity(pose: Floats) -> bool:
    return bool(np.array_equal(pose, identity_pose()))


def _fixed(name: str, joint: Joint) -> Joint:
    """Return a joint that holds a joint's child where it is at 0."""
    pose = frozen(joint.parent_pose @ joint.child_pose)
    return Joint(name, "fixed", joint.parent, joint.child, np.empty((0, 3)), (), parent_pose=pose)


def _on_links(model: RobotModel) -> RobotModel:
    """Return a robot of links that hang on joints alone, and of frames that are attached to links alone."""
    places = _Places(model)
    names = names_of(model)
    carried: set[str] = set()
    joints = []
    for joint in model.joints:
        parent, offset = places.on_link(joint.parent)
        closes = joint.closes_loop or joint.child in carried
        if not closes:
            carried.add(joint.child)
        pose = frozen(offset @ joint.parent_pose)
        joints.append(replace(joint, parent=parent, parent_pose=pose, closes_loop=closes))
    links = []
    for link in model.links:
        holder, offset = places.on_link(link.attached_to)
        pose = frozen(offset @ link.pose)
        if link.name not in places.carriers and holder:
            name = names.fresh(f"{link.name}_fixed")
            joints.append(Joint(name, "fixed", holder, link.name, np.empty((0, 3)), (), parent_pose=pose))
        links.append(replace(link, attached_to="", pose=pose))
    return replace(
        model, joints=tuple(joints), links=tuple(links), frames=tuple(map(places.moved, model.frames))
    )


class _Places:
    """The link that each place moves with, and where it is on it; names mean what they do in kinematics."""

    def __init__(self, model: RobotModel) -> None:
        self._links = {link.name for link in model.links}
        self._joints = {joint.name: joint for joint in model.joints}
        self._frames = {frame.name: frame for frame in model.frames}
        self._ends = {*self._links, *self._joints, "", WORLD}
        self.carriers: dict[str, Joint] = {}
        for joint in model.joints:
            if not joint.closes_loop:
                self.carriers.setdefault(joint.child, joint)

    def on_link(self, name: str) -> tuple[str, Floats]:
        """Return a link, '' for the world, and the pose (4, 4) on it."""
        pose = identity_pose()
        while name not in self._ends:
            frame = self._frames[name]
            name, pose = frame.attached_to, frame.pose @ pose
        if name in self._joints and name not in self._links:
            joint = self._joints[name]
            return joint.child, inverse_pose(joint.child_pose) @ pose
        return name if name in self._links else "", pose

    def moved(self, frame: Frame) -> Frame:
        """Return a frame that is attached to a link."""
        link, pose = self.on_link(frame.attached_to)
        return replace(frame, attached_to=link, pose=frozen(pose @ frame.pose))


@dataclass(frozen=True, slots=True)
class _Step:
    """One joint of a row: it turns or slides by a coordinate times a factor."""

    sliding: bool
    axis: Floats  # shape (3,)
    number: int  # of the coordinate in the joint
    factor: float = 1.0
    suffix: str = "geared"  # of its name, where another joint has that of the coordinate


def _steps(joint: Joint) -> Iterator[_Step]:
    for number, axis in enumerate(joint.axes):
        yield _Step(joint.unit(number) == "m", axis, number)
    if joint.type == "screw" and joint.pitch_m:
        yield _Step(True, joint.axes[0], 0, joint.pitch_m / (2 * math.pi), "slide")


class _Splitter:
    """Splits the joints of a robot one by one."""

    def __init__(self, model: RobotModel, kept: frozenset[JointType]) -> None:
        self.added: list[str] = []
        self.between: list[str] = []
        self.renamed: list[tuple[str, str]] = []
        self._kept = kept
        self._names = names_of(model)
        # Motions go by the names of joints with one coordinate, so these keep them.
        self._joints = {joint.name for joint in model.joints if len(joint.coordinates) <= 1}

    def split(self, joint: Joint) -> Iterator[Joint]:
        """Return the joints that a joint becomes, from the parent to the child."""
        if joint.gear_ratio == -1:
            joint = replace(joint, axes=frozen(-joint.axes), gear_ratio=1.0)
        slides_nowhere = joint.type == "screw" and not joint.pitch_m
        is_kept = joint.type in self._kept and joint.gear_ratio == 1 and not slides_nowhere
        if is_kept or not joint.coordinates:
            yield joint
            return
        coordinates = [replace(one, name=self._own(one.name, joint)) for one in joint.coordinates]
        led: set[int] = set()
        steps = list(_steps(joint))
        if joint.gear_ratio != 1:
            for step in steps[: len(coordinates)]:
                link = self._link(f"{coordinates[step.number].name}_gear")
                yield _simple(
                    step, coordinates[step.number], joint, child=link, parent_pose=joint.parent_pose
                )
            led.update(range(len(coordinates)))
        parent, pose = joint.parent, joint.parent_pose
        for step in steps:
            last = step is steps[-1]
            coordinate, mimic = coordinates[step.number], joint.mimic
            if step.number in led:
                factor = step.factor / joint.gear_ratio
                mimic = Mimic(coordinate.name, factor)
                coordinate = _scaled(
                    coordinate, factor, self._names.fresh(f"{coordinate.name}_{step.suffix}")
                )
            led.add(step.number)
            child = joint.child if last else self._link(f"{coordinate.name}_link", self.between)
            yield replace(
                _simple(step, coordinate, joint, child=child, parent_pose=pose),
                parent=parent,
                mimic=mimic,
                child_pose=joint.child_pose if last else identity_pose(),
                closes_loop=joint.closes_loop and last,
            )
            parent, pose = child, identity_pose()

    def _own(self, name: str, joint: Joint) -> str:
        """Return the name of the joint that has a coordinate."""
        if len(joint.coordinates) == 1:
            return joint.name
        if name in self._joints:
            own = self._names.fresh(name)
            self.renamed.append((name, own))
            name = own
        self._joints.add(name)
        return name

    def _link(self, name: str, kind: list[str] | None = None) -> str:
        link = self._names.fresh(name)
        self.added.append(link)
        if kind is not None:
            kind.append(link)
        return link


def _simple(step: _Step, coordinate: Coordinate, joint: Joint, child: str, parent_pose: Floats) -> Joint:
    turning: JointType = "revolute" if coordinate.is_bounded else "continuous"
    type_: JointType = "prismatic" if step.sliding else turning
    return Joint(
        coordinate.name,
        type_,
        joint.parent,
        child,
        frozen(step.axis[None].copy()),
        (coordinate,),
        joint.mimic,
        parent_pose,
        actuator=joint.actuator,
    )


def _scaled(coordinate: Coordinate, factor: float, name: str) -> Coordinate:
    """Return the coordinate of what moves by a factor times another one, with limits that fit to those."""
    lower, upper = sorted((coordinate.lower * factor, coordinate.upper * factor))
    return Coordinate(
        name,
        lower,
        upper,
        coordinate.velocity_limit * abs(factor),
        coordinate.effort_limit / abs(factor),
    )
