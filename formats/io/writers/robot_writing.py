"""What writers of robots share: refusal of what a format cannot hold, and how poses and files are written."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree

from motiond.text import listed

from ...errors import FormatError, Problem
from ...model.splitting import moving_links, split, without_joints, without_world_link
from ...model.structure import Coordinate, inertia_fault
from .losses import loss, refuse
from .output import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    from ...arrays import Floats
    from ...model.robot import RobotModel
    from ...model.shapes import Mesh, Shape
    from ...model.splitting import Split
    from ...model.structure import Frame, Joint, JointType
    from ..xml.tree import Xml
    from .losses import Loss

# Joints of more than one degree of freedom, or of a special kind, that are written as a row of simple ones.
_ROWS: frozenset[JointType] = frozenset(
    {"screw", "universal", "revolute2", "euler", "translational", "planar"}
)
# Of whose coordinates no format can say more than that they are there.
_WHOLE: frozenset[JointType] = frozenset({"ball", "free"})
# Where a format needs a number for what has no limit, it is SDFormat's.
NO_LIMIT = 1e16
INITIAL, SPRINGS, LIMITS, INERTIA = "initial", "springs", "limits", "inertia"
_NOT_EVERYWHERE = frozenset({"plane", "ellipsoid", "dae", "gltf", "glb"})
# What a reader of URDF notes by the joint and applies to nothing.
_NOTED = {
    "reductions": "reductions of transmissions",
    "soft_limits": "soft limits",
    "calibration": "calibrations",
}
# What messages call values, and what a format lacks that does not have them.
_VALUES = {
    INITIAL: ("initial values", "has no initial positions and velocities"),
    SPRINGS: ("springs", "has none"),
    LIMITS: ("limits and dynamics", "has none for a joint of type {}"),
}
_KINDS = {"plane": "planes", "ellipsoid": "ellipsoids"}


@dataclass(frozen=True, slots=True)
class Target:
    """What a format can hold of a robot.

    Attributes
    ----------
    name : str
        What messages call it.
    joints : tuple of str
        The types of joints that it has.
    words : str
        What messages say that it has.
    lost_shape : callable
        Why the format does not have a shape of a link that does or does not move; None where it has.
    loops : bool
        Whether joints may close loops.
    springs : bool
        Whether joints have springs.
    only_free_of_world : bool
        Whether only a link that hangs on the world may be free.
    world_is_link : bool
        Whether a link called `world` is one; elsewhere it is the world itself, unless it is more than a name.
    any_inertia : bool
        Whether a file is read with an inertia that no body has.
    """

    name: str
    joints: tuple[JointType, ...]
    words: str
    lost_shape: Callable[[Shape, bool], str | None]
    loops: bool = False
    springs: bool = True
    only_free_of_world: bool = True
    world_is_link: bool = False
    any_inertia: bool = True


def prepared(model: RobotModel, path: Path, target: Target, drop: Collection[str]) -> Split:
    """Return a robot of the joints that a format has, without what may be dropped.

    Raises `FormatError` with everything that the format cannot hold and `drop` does not name.
    """
    _check(model, path)
    if not target.world_is_link:
        model = without_world_link(model)
    links = {link.name for link in model.links}
    names = [joint.name for joint in model.joints if _unwritable(joint, links, target)]
    losses = [
        *_lost_joints(model, names, path, target),
        *_lost_values(model, path, target),
        *([] if target.any_inertia else _lost_inertias(model, path, target)),
    ]
    kept = without_joints(model, names)
    found = split(kept, target.joints)
    losses += _lost_shapes(found.model, path, target)
    refuse(path, losses, drop, {*names, *_droppable(model)}, "robot")
    moving = moving_links(found.model)
    shown = tuple(
        replace(
            link,
            shapes=tuple(shape for shape in link.shapes if not target.lost_shape(shape, link.name in moving)),
        )
        for link in found.model.links
    )
    return replace(found, model=replace(found.model, links=shown))


def warnings_of(path: Path, found: Split) -> tuple[str, ...]:
    """Return a line for the coordinates whose names another joint has."""
    return renamed(path, "coordinate", found.renamed, "another joint has its name")


def renamed(path: Path, kind: str, names: Iterable[tuple[str, str]], reason: str) -> tuple[str, ...]:
    """Return a line that names what has got another name, if anything has."""
    pairs = [f"'{old}' as '{new}'" for old, new in names]
    if not pairs:
        return ()
    what = f"{kind}{'s' if len(pairs) > 1 else ''} {listed(pairs)}"
    return (str(Problem(str(path), 0, f"written {'are' if len(pairs) > 1 else 'is'} {what}", reason)),)


def named_frames(model: RobotModel) -> Iterator[Frame]:
    """Return the frames that a person has named, and the ends of the robot."""
    others = {part.name for kind in (model.links, model.joints) for part in kind}
    return (
        frame
        for frame in model.frames
        if frame.kind in {"frame", "end_effector"} and frame.name not in others
    )


def numbers(*values: float) -> str:
    """Return numbers in their shortest decimal form that has all digits."""
    return " ".join(repr(float(value) + 0.0).removesuffix(".0") for value in values)


def angles_of(pose: Floats) -> tuple[float, float, float]:
    """Return roll, pitch and yaw of `R = Rz(yaw) Ry(pitch) Rx(roll)` of a pose (4, 4).

    Where the pitch is a right angle, any yaw will do, and roll makes up for it.
    """
    rotation = pose[:3, :3]
    yaw = math.atan2(rotation[1, 0], rotation[0, 0])
    pitch = math.atan2(-rotation[2, 0], math.hypot(rotation[0, 0], rotation[1, 0]))
    # The second column without yaw and pitch is (0, cos(roll), sin(roll)).
    cosine = rotation[1, 1] * math.cos(yaw) - rotation[0, 1] * math.sin(yaw)
    sine = rotation[0, 2] * math.sin(yaw) - rotation[1, 2] * math.cos(yaw)
    return math.atan2(sine, cosine), pitch, yaw


def moments(inertia: Floats) -> dict[str, str]:
    """Return the six numbers of an inertia (3, 3) by their names."""
    rows = {"x": 0, "y": 1, "z": 2}
    return {
        f"i{one}{other}": numbers(inertia[rows[one], rows[other]])
        for one, other in ("xx", "yy", "zz", "xy", "xz", "yz")
    }


def place_of(mesh: Mesh, path: Path) -> tuple[str, bool]:
    """Return where a mesh is, and whether that is relative to the folder of the file that is written."""
    place = os.path.abspath(mesh.path)  # noqa: PTH100 - links are not followed: they may be what is copied
    folder = os.path.abspath(path.parent)  # noqa: PTH100
    if place.startswith(f"{folder}{os.sep}"):
        return place[len(folder) + 1 :].replace(os.sep, "/"), True
    return place, False


def mesh_uri(mesh: Mesh, path: Path) -> str:
    """Return how URDF and SDFormat name a mesh."""
    place, is_relative = place_of(mesh, path)
    return place if is_relative else f"file://{place}"


def add(parent: Xml, tag: str, text: str | None = None, **attributes: str) -> Xml:
    """Add an element to another; an underline at the end of an attribute's name is left out."""
    element = etree.SubElement(parent, tag, {key.rstrip("_"): value for key, value in attributes.items()})
    element.text = text
    return element


def write_xml(path: Path, make: Callable[[], Xml]) -> None:
    """Write a document whole or not at all."""
    try:
        root = make()
    except ValueError as error:
        problem, reason = "a name cannot stand in XML", "it holds a control character"
        raise FormatError([Problem(str(path), 0, problem, reason, "rename it")]) from error
    with replacing(path) as out:
        out.write(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))


def _check(model: RobotModel, path: Path) -> None:
    """Refuse a robot of which nobody could say where its parts are."""
    try:
        model.forward_kinematics(np.zeros(model.dof))
    except ValueError as error:
        raise FormatError([Problem(str(path), 0, "cannot be written", str(error))]) from error
    if not model.links:
        raise FormatError([Problem(str(path), 0, "there is nothing to write", "the robot has no links")])
    crossed = [
        Problem(
            str(path),
            0,
            f"'{one.name}' has lower limit {one.lower:g} and upper limit {one.upper:g}",
            "nothing lies between them",
            "swap them in the file that is read",
        )
        for joint in model.joints
        for one in joint.coordinates
        if one.lower > one.upper
    ]
    if crossed:
        raise FormatError(crossed)


def _unwritable(joint: Joint, links: Collection[str], target: Target) -> bool:
    if joint.closes_loop and not target.loops:
        return True
    if joint.parent == joint.child:
        return True
    if joint.type in _WHOLE and joint.gear_ratio != 1:
        return True
    if joint.type == "free" and target.only_free_of_world and joint.parent in links:
        return True
    return joint.type not in {*target.joints, *_ROWS}


def _lost_joints(model: RobotModel, names: Collection[str], path: Path, target: Target) -> Iterator[Loss]:
    for joint in model.joints:
        if joint.name not in names:
            continue
        problem = f"joint '{joint.name}' of type {joint.type} cannot be written"
        reason = f"{target.name} has {target.words}"
        if (joint.closes_loop and not target.loops) or joint.parent == joint.child:
            problem = f"joint '{joint.name}' cannot be written"
            reason = f"it closes a loop, and {target.name} has trees alone"
            if joint.parent == joint.child:
                reason = "it joins a link to itself"
        elif joint.type == "free" and "free" in target.joints:
            reason = f"in {target.name} only what hangs on the world is free"
        yield loss(path, joint.name, problem, reason)


def _lost_values(model: RobotModel, path: Path, target: Target) -> Iterator[Loss]:
    """Return what joints would lose of their values, once for each kind."""
    for name, what in _NOTED.items():
        if of := model.metadata.get(name):
            reason = f"{listed(list(of))} has one, and none is written"
            yield loss(path, name, f"{what} would be lost", reason)
    found: dict[str, tuple[str, str]] = {}
    for joint in model.joints:
        for name, coordinate in _special_values(joint):
            found.setdefault(name, (coordinate, joint.type))
    if target.springs:
        found.pop(SPRINGS, None)
    for name, (coordinate, type_) in found.items():
        what, lacks = _VALUES[name]
        reason = f"'{coordinate}' has them, and {target.name} {lacks.format(type_)}"
        yield loss(path, name, f"{what} would be lost", reason)


def _special_values(joint: Joint) -> Iterator[tuple[str, str]]:
    """Return which values some format does not have, by their name in `drop`, with the coordinate's name."""
    for one in joint.coordinates:
        if one.initial or one.initial_velocity:
            yield INITIAL, one.name
        if one.spring_stiffness:
            yield SPRINGS, one.name
        if joint.type in _WHOLE and replace(one, initial=0.0, initial_velocity=0.0) != Coordinate(one.name):
            yield LIMITS, one.name


def _lost_inertias(model: RobotModel, path: Path, target: Target) -> Iterator[Loss]:
    for link, reason in _impossible(model):
        what, why = f"the inertia of link '{link}' would be changed", f"in {target.name} {reason}"
        yield loss(path, INERTIA, what, why)
        return


def _impossible(model: RobotModel) -> Iterator[tuple[str, str]]:
    """Return the links whose inertia no body has, each with the rule."""
    for link in model.links:
        if fault := inertia_fault(link.inertia):
            yield link.name, fault[0]


def _lost_shapes(model: RobotModel, path: Path, target: Target) -> Iterator[Loss]:
    moving = moving_links(model)
    found: dict[str, tuple[str, str]] = {}
    for link in model.links:
        for shape in link.shapes:
            if lost := target.lost_shape(shape, link.name in moving):
                found.setdefault(kind_of(shape), (link.name, lost))
    for name, (holder, reason) in found.items():
        what = _KINDS.get(name, f"meshes in {name}")
        why = f"link '{holder}' has one; {target.name} has {reason}"
        yield loss(path, name, f"{what} would be lost", why)


def _droppable(model: RobotModel) -> Iterator[str]:
    """Return the names of everything in a robot that some format does not have."""
    for joint in model.joints:
        if joint.closes_loop or joint.type in {"gearbox", *_WHOLE}:
            yield joint.name
        yield from (name for name, _ in _special_values(joint))
    yield from _NOTED.keys() & model.metadata.keys()
    yield from (INERTIA for _ in _impossible(model))
    for link in model.links:
        yield from _NOT_EVERYWHERE.intersection(map(kind_of, link.shapes))


def kind_of(shape: Shape) -> str:
    """Return the name in `drop` of shapes of a kind."""
    if shape.mesh:
        return shape.mesh.format
    if shape.kind == "sphere" and len(set(shape.scale)) > 1:
        return "ellipsoid"
    return shape.kind
