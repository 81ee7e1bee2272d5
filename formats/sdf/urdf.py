"""A robot of URDF as the model that an SDFormat `<include>` of it means.

As libsdformat has it, a link called `world` stands for the world, and names keep to SDFormat's rules; unlike
there, links on fixed joints stay links of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from motiond.text import echoed, quoted

from .elements import (
    AXES,
    MODEL,
    WORLD,
    AxisElement,
    JointElement,
    LinkElement,
    ModelElement,
    MountedShape,
    Pose,
)
from .include import NEWEST_MINOR
from .names import with_own_names
from .node import SCOPES, is_reserved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.robot import RobotModel
    from ..model.structure import Joint, Link
    from .elements import Element
    from .node import Node


def model_of(robot: RobotModel, including: Node) -> ModelElement | None:
    """Return the model of a robot that an element includes; None where it can be none, which is noted."""
    noted = len(including.problems.found)
    carriers = {joint.child: joint for joint in robot.joints}
    links = [link for link in robot.links if link.name != WORLD or link.name in carriers]
    names = [*(link.name for link in links), *(joint.name for joint in robot.joints)]
    _check_names([robot.name, *names], including)
    content: tuple[Element, ...] = (
        *(_link(link, carriers.get(link.name), including) for link in links),
        *_joints(robot, including),
    )
    model = ModelElement(
        name=robot.name,
        where=including.where,
        minor=NEWEST_MINOR,
        canonical_link=robot.canonical_link if robot.canonical_link != WORLD else "",
        content=content,
    )
    return with_own_names(model) if len(including.problems.found) == noted else None


def _check_names(names: list[str], including: Node) -> None:
    for name in names:
        if is_reserved(name) or SCOPES in name:
            what = f"{quoted(name)} of the included URDF is no name in SDFormat"
            including.where.add(what, "it is reserved, or joins names", "choose another")


def _link(link: Link, carrier: Joint | None, including: Node) -> LinkElement:
    return LinkElement(
        name=link.name,
        where=including.where,
        pose=Pose(carrier.child_pose, carrier.name) if carrier else Pose(),
        mass=link.mass,
        com=link.com,
        inertia=link.inertia,
        shapes=tuple(MountedShape(Pose(), shape) for shape in link.shapes),
        unseen=link.unseen,
    )


def _joints(robot: RobotModel, including: Node) -> Iterator[JointElement]:
    for joint in robot.joints:
        type_ = next((one for one in AXES if one == joint.type), None)
        if type_ is None:
            what = f"joint '{echoed(joint.name)}' of the included URDF is {joint.type}"
            including.where.add(what, f"SDFormat knows {', '.join(AXES)}", "leave it out of the URDF")
            continue
        axes = (
            AxisElement(including.where, coordinate, axis, mimic=joint.mimic)
            for coordinate, axis in zip(joint.coordinates, joint.axes, strict=True)
        )
        yield JointElement(
            name=joint.name,
            where=including.where,
            type=type_,
            parent=joint.parent,
            child=joint.child,
            # The world's own frame is that of the model, whose root it is.
            pose=Pose(joint.parent_pose, MODEL if joint.parent == WORLD else joint.parent),
            axes=tuple(axes),
        )
