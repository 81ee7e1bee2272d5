"""HEBI Robot Configuration (HRDF) to robots, versions 1.0.0 to 1.6.0.

A file holds one robot; the specification is the HEBI Robot Configuration format 1.6.0. `document` reads the
text, `catalog` knows HEBI's parts, and this module connects the elements: names, interfaces, links, joints
and frames.

Each element with mass is a link, rigidly attached to what precedes it. An actuator is a link too, with a
joint of the same name at its output; what follows is attached to the massless link `<name>/output` that the
joint moves. A `<joint>` is only a joint and that link.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from motiond.text import quoted

from ..arrays import Floats, frozen
from ..errors import Where
from ..io.beginning import is_hrdf
from ..model.robot import RobotModel
from ..model.shapes import Shape
from ..model.structure import Coordinate, Frame, Joint, Link, inertia_fault
from .catalog import Part, load_catalog, pose
from .document import Element, File
from .elements import LAST_IMPLICIT_END_EFFECTOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..io.source import Source
    from ..model.shapes import ShapeRole
    from .document import Document

NAME = "hrdf"
SUFFIXES = (".hrdf",)

_KINDS = {"rigid-body": "body", "end-effector": "end_effector"}
_RESERVED = ("world",)


def sniff(head: bytes) -> bool:
    """Whether a file that begins like this may be HRDF: its first element is `<robot>`, of no URDF."""
    return is_hrdf(head)


def load(data: bytes, source: Source) -> list[RobotModel]:
    """Read the robot of an HRDF file, with all the files it includes.

    Raises `FormatError` with every problem found in these files.
    """
    document = File(source).read(data)
    robot = _Robot(_tags(document.chain))
    chain = list(document.chain)
    if document.version <= LAST_IMPLICIT_END_EFFECTOR:
        chain.append(Element("end-effector", Where(document.problems, 0)))
    robot.connect(chain, _Mount())
    return [_model(document, robot, source)]


def _model(document: Document, robot: _Robot, source: Source) -> RobotModel:
    problems = document.problems
    problems.raise_if_any()
    return RobotModel(
        name=source.path.stem,
        format=NAME,
        version=document.version,
        joints=tuple(robot.joints),
        links=tuple(robot.links),
        frames=tuple(robot.frames),
        canonical_link=robot.links[0].name if robot.links else "",
        base_pose=frozen(pose(document.values.get("rot"), document.values.get("trans", np.zeros(3)))),
        describes_looks=False,
        describes_limits=False,
        warnings=problems.oddities,
    )


def _tags(chain: Iterable[Element]) -> dict[str, Where]:
    """Return every tag with its place; tags that are no names or not unique are noted as problems."""
    tags: dict[str, Where] = {}
    for element in _all_elements(chain):
        for tag in _own_tags(element):
            if tag in tags:
                element.where.add(
                    f"tag {quoted(tag)} is taken",
                    f"{tags[tag]} has it",
                    "tags are unique in all included files",
                )
            elif not tag.strip() or tag in _RESERVED:
                element.where.add(
                    f"tag {quoted(tag)} is no name", "a tag names a part", "choose another or leave it out"
                )
            tags.setdefault(tag, element.where)
    return tags


def _own_tags(element: Element) -> Iterable[str]:
    """Return an element's tag, if it has one; of URDF, the names of links and joints count as tags."""
    if element.robot is None:
        return [tag] if (tag := element.values.get("tag")) is not None else []
    robot = element.robot
    return {link.name: None for link in robot.links} | {joint.name: None for joint in robot.joints}


def _all_elements(chain: Iterable[Element]) -> Iterable[Element]:
    for element in chain:
        yield element
        for output in element.outputs:
            yield from _all_elements(output.chain)


@dataclass(frozen=True, slots=True)
class _Mount:
    """Where the next element attaches."""

    link: str = ""  # the link that it becomes part of; '' at the root
    pose: Floats = field(default_factory=lambda: np.eye(4))  # shape (4, 4); in that link's frame
    interface: str = ""  # what the next element must fit; '' fits anything
    owner: Element | None = None  # the element whose output it is
    closed: str = ""  # why nothing can be attached here; '' where something can


class _Robot:
    """Builds a robot element by element, in document order, depth first.

    `tags`: all tags of the robot, whose names no untagged element may take.
    """

    def __init__(self, tags: Mapping[str, Where]) -> None:
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        self.frames: list[Frame] = []
        self._tags = tags
        self._counts: Counter[str] = Counter()

    def connect(self, chain: Iterable[Element], mount: _Mount) -> None:
        """Attach a chain of elements to a mount and to each other."""
        for element in chain:
            if mount.closed and mount.owner:
                element.where.add(
                    f"<{element.kind}> has nothing to attach to",
                    f"{_described(mount.owner)} {mount.closed}",
                    "move it before that, or into an <output>",
                )
                return
            part = _part(element)
            _check_fit(element, part, mount)
            mount = self._attach(element, part, mount)

    def _attach(self, element: Element, part: Part, mount: _Mount) -> _Mount:
        if element.robot is not None:
            return self._add_robot(element, element.robot, mount)
        name = self._name(element)
        if element.kind == "joint":
            return self._add_free_joint(name, element, mount)
        self._add_link(name, element, part, mount)
        if element.kind == "actuator":
            return self._add_actuator_joint(name, element, part)
        if element.outputs:
            return self._branch(name, element, part)
        self._add_frame(f"{name}/output", "output", name, part.output, element)
        if element.kind == "end-effector":
            self._add_frame(f"{name}/end_effector", "end_effector", name, part.output, element)
            return _Mount(owner=element, closed="is the end of its chain")
        return _Mount(name, part.output, part.output_interface, element)

    def _name(self, element: Element) -> str:
        """Return the tag, or the kind and its number, with an underline if that is another element's tag."""
        kind = _KINDS.get(element.kind, element.kind)
        self._counts[kind] += 1
        name = f"{kind}{self._counts[kind]}"
        while name in self._tags:
            name += "_"
        return str(element.values.get("tag", name))

    def _add_link(self, name: str, element: Element, part: Part, mount: _Mount) -> None:
        values = element.values
        mass = values.get("mass", part.mass) + values.get("mass_offset", 0.0)
        if mass < 0:
            element.where.warn(
                f"{_named(element)} has a mass of {mass:g} kg", "no part weighs less than nothing"
            )
        rotation = values.get("com_rot", part.com[:3, :3])
        translation = values.get("com_trans", part.com[:3, 3]) + values.get("com_trans_offset", 0.0)
        com = frozen(pose(rotation, translation))
        inertia, shapes = _inertia(values), _shapes(element)
        if fault := inertia_fault(inertia):
            element.where.warn(f"{_named(element)} has an inertia that no body has", *fault)
        unseen: tuple[ShapeRole, ...] = ("visual",) if values.get("mesh_path") and not shapes else ()
        self.links.append(Link(name, mass, com, inertia, mount.link, frozen(mount.pose), shapes, unseen))
        self._add_frame(f"{name}/com", "com", name, com, element)

    def _add_robot(self, element: Element, robot: RobotModel, mount: _Mount) -> _Mount:
        """Attach the root of a robot as it is; its file does not say where anything could be attached."""
        root = robot.canonical_link
        for link in robot.links:
            fixed = replace(link, attached_to=mount.link, pose=frozen(mount.pose))
            self.links.append(fixed if link.name == root else link)
        self.joints.extend(robot.joints)
        return _Mount(owner=element, closed="is of URDF, which ends the chain")

    def _add_actuator_joint(self, name: str, element: Element, part: Part) -> _Mount:
        coordinate = Coordinate(name, velocity_limit=part.velocity_limit, effort_limit=part.effort_limit)
        child, where = f"{name}/output", frozen(part.output)
        joint = Joint(name, "continuous", name, child, _axis("z"), (coordinate,), parent_pose=where)
        self._add_joint(joint, element)
        return _Mount(child, interface=part.output_interface, owner=element)

    def _add_free_joint(self, name: str, element: Element, mount: _Mount) -> _Mount:
        axis = element.values.get("axis", "rx")
        ratio = element.values.get("gear_ratio", 1.0)
        if ratio == 0:
            element.where.add(
                "'gear_ratio' is 0", "the joint would move infinitely fast", "write 1 for no gear"
            )
        joint = Joint(
            name,
            "continuous" if "r" in axis else "prismatic",
            mount.link or "world",
            f"{name}/output",
            _axis(axis),
            (Coordinate(name),),
            parent_pose=frozen(mount.pose),
            gear_ratio=ratio,
        )
        self._add_joint(joint, element)
        return _Mount(joint.child, owner=element)

    def _add_joint(self, joint: Joint, element: Element) -> None:
        self.joints.append(joint)
        self.links.append(Link(joint.child))
        self._add_frame(joint.child, "output", joint.child, np.eye(4), element)

    def _branch(self, name: str, element: Element, part: Part) -> _Mount:
        """Attach the chain of each `<output>`."""
        for number, output in enumerate(element.outputs, start=1):
            here = pose(
                output.values.get("rot", part.output[:3, :3]), output.values.get("trans", part.output[:3, 3])
            )
            frame = f"{name}/output{number if number > 1 else ''}"
            self._add_frame(frame, "output", name, here, element)
            self.connect(output.chain, _Mount(name, here, part.output_interface, element))
        return _Mount(owner=element, closed="says by <output> what attaches to it")

    def _add_frame(
        self,
        name: str,
        kind: Literal["com", "output", "end_effector"],
        link: str,
        place: Floats,
        element: Element,
    ) -> None:
        if name in self._tags:
            element.where.add(
                f"tag {quoted(name)} is the name of a frame",
                f"{_named(element)} has it",
                "choose another tag",
            )
        self.frames.append(Frame(name, kind, link, frozen(place)))


def _part(element: Element) -> Part:
    """Return the part that an element is; a part that fits anything if its type could not be read."""
    part = _catalog_part(element)
    rotation = element.values.get("output_rot", part.output[:3, :3])
    translation = element.values.get("output_trans", part.output[:3, 3])
    return replace(part, output=pose(rotation, translation))


def _catalog_part(element: Element) -> Part:
    catalog, part_type = load_catalog(), element.values.get("type")
    match element.kind:
        case "actuator" if part_type:
            return catalog.actuator(part_type)
        case "bracket" if part_type:
            return catalog.bracket(part_type)
        case "link" if part_type:
            return _link_part(element)
        case "end-effector":
            return catalog.end_effector(part_type or "Custom")
    return Part()


def _link_part(element: Element) -> Part:
    values = element.values
    entry, leave = values.get("input", "RightAngle"), values.get("output", "RightAngle")
    if not load_catalog().has_link(values["type"], entry, leave):
        element.where.add(
            f"a link of type {values['type']!r} has no {leave} output", "it is not made", "leave 'output' out"
        )
        return Part()
    return load_catalog().link(
        values["type"], entry, leave, values.get("extension", 0.0), values.get("twist", 0.0)
    )


def _check_fit(element: Element, part: Part, mount: _Mount) -> None:
    here, there = part.input_interface, mount.interface
    if not here or not there or (here[:-1] == there[:-1] and here[-1] != there[-1]) or not mount.owner:
        return
    element.where.add(
        f"{_named(element)} does not fit on {_described(mount.owner)}",
        f"its input is {here} and that output is {there}",
        "neighbours need the same type and the other polarity: put a bracket or a link between actuators",
    )


def _named(element: Element) -> str:
    values = element.values
    details = (values.get("type"), f"tag {quoted(values['tag'])}" if "tag" in values else None)
    return " ".join([f"<{element.kind}>", *(detail for detail in details if detail)])


def _described(element: Element) -> str:
    return f"the {_named(element)} of {element.where}"


def _inertia(values: Mapping[str, Any]) -> Floats:
    """Return the (3, 3) tensor about the centre of mass; what the file does not state is zero."""
    xx, yy, zz, xy, xz, yz = (values.get(f"i{axes}", 0.0) for axes in ("xx", "yy", "zz", "xy", "xz", "yz"))
    return frozen(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def _shapes(element: Element) -> tuple[Shape, ...]:
    """Return the mesh of an element, placed by its attributes."""
    if element.mesh is None:
        return ()
    place = pose(element.values.get("mesh_rot"), element.values.get("mesh_trans", np.zeros(3)))
    return (Shape("mesh", pose=frozen(place), mesh=element.mesh),)


def _axis(name: str) -> Floats:
    """Return the axis (1, 3) that a name ends in, as in `z` or `rz`; negated where it begins with a minus."""
    axis = np.eye(3)[["xyz".index(name[-1])]]
    return frozen(-axis if name.startswith("-") else axis)
