"""A robot to SDFormat, version 1.9, or 1.11 where a joint mimics another, which no older version knows.

Each link is placed by the joint that carries it, and each joint by its parent, so that the file has the
robot's own numbers. Siblings need names of their own: a link that is called as a joint gets another.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lxml import etree

from ..io.writers.robot_writing import (
    Target,
    add,
    angles_of,
    kind_of,
    mesh_uri,
    moments,
    named_frames,
    numbers,
    prepared,
    renamed,
    warnings_of,
    write_xml,
)
from ..model.splitting import WORLD, Names, with_least_masses, with_names
from .elements import AXES, MODEL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from ..arrays import Floats
    from ..io.xml.tree import Xml
    from ..model.robot import RobotModel
    from ..model.shapes import Shape
    from ..model.structure import Coordinate, Joint, Link

VERSION, VERSION_OF_MIMIC = "1.9", "1.11"
_RESERVED = re.compile(r"__.*__", re.DOTALL)


def dump(model: RobotModel, path: Path, *, drop: Collection[str] = ()) -> tuple[str, ...]:
    """Write a robot, as `dump_robot` does."""
    found = prepared(model, path, TARGET, drop)
    ready, new = _with_own_names(_without_free_joints(with_least_masses(found.model)))
    write_xml(path, lambda: _document(ready, path))
    reason = "links, joints and frames need names of their own, without '::', and some are reserved"
    warnings = [line for kind, names in new.items() for line in renamed(path, kind, names.items(), reason)]
    return (*warnings_of(path, found), *warnings, *_coordinates(found.model, path))


TARGET = Target(
    "SDFormat",
    (*(type_ for type_ in AXES if type_ != "gearbox"), "free"),
    f"{', '.join(type_ for type_ in AXES if type_ != 'gearbox')}, and gearboxes with a reference body",
    lambda _shape, _moves: None,
    loops=True,
)


def _without_free_joints(model: RobotModel) -> RobotModel:
    """Return a robot without free joints: what no joint of a model holds is free."""
    free = {joint.child: joint for joint in model.joints if joint.type == "free"}
    links = [
        replace(link, pose=free[link.name].parent_pose @ free[link.name].child_pose)
        if link.name in free
        else link
        for link in model.links
    ]
    joints = [joint for joint in model.joints if joint.type != "free"]
    return replace(model, links=tuple(links), joints=tuple(joints))


def _with_own_names(model: RobotModel) -> tuple[RobotModel, dict[str, dict[str, str]]]:
    """Return a robot whose names SDFormat takes, and by kind those that have changed."""
    names = Names({WORLD})
    new = {
        "joint": _new((joint.name for joint in model.joints), names, "joint"),
        "link": _new((link.name for link in model.links), names, "link"),
        "frame": _new((frame.name for frame in named_frames(model)), names, "frame"),
    }
    return with_names(model, new["link"], new["joint"], new["frame"]), new


def _new(given: Iterable[str], names: Names, kind: str) -> dict[str, str]:
    new = {}
    for name in given:
        wanted = name.replace("::", "__")
        if wanted in names.taken or _RESERVED.fullmatch(wanted) or not wanted:
            wanted = f"{wanted}_{kind}"
        own = names.fresh(wanted)
        if own != name:
            new[name] = own
    return new


def _coordinates(model: RobotModel, path: Path) -> tuple[str, ...]:
    """Return a line for coordinates that will be read by other names, as SDFormat names joints alone."""
    names = [
        (coordinate.name, f"{joint.name}_{suffix}")
        for joint in model.joints
        if joint.type in {"ball", "universal", "revolute2"}
        for suffix, coordinate in zip("xyz" if joint.type == "ball" else "12", joint.coordinates, strict=True)
        if coordinate.name != f"{joint.name}_{suffix}"
    ]
    return renamed(path, "coordinate", names, "SDFormat names joints alone")


def _document(model: RobotModel, path: Path) -> Xml:
    mimics = any(joint.mimic for joint in model.joints)
    root = etree.Element("sdf", {"version": VERSION_OF_MIMIC if mimics else VERSION})
    element = add(root, "model", name=_new([model.name], Names({WORLD}), "model").get(model.name, model.name))
    if model.canonical_link in {link.name for link in model.links}:
        element.set("canonical_link", model.canonical_link)
    _add_pose(element, model.base_pose)
    carriers = {joint.child: joint for joint in model.joints if not joint.closes_loop}
    for link in model.links:
        _add_link(element, link, carriers.get(link.name), path)
    for joint in model.joints:
        _add_joint(element, joint)
    for frame in named_frames(model):
        one = add(element, "frame", name=frame.name)
        if frame.attached_to:
            one.set("attached_to", frame.attached_to)
        _add_pose(one, frame.pose, "" if frame.attached_to else MODEL)
    return root


def _add_link(model: Xml, link: Link, carrier: Joint | None, path: Path) -> None:
    element = add(model, "link", name=link.name)
    if carrier:
        _add_pose(element, carrier.child_pose, carrier.name)
    else:
        _add_pose(element, link.pose)
    inertial = add(element, "inertial")
    _add_pose(inertial, link.com)
    add(inertial, "mass", numbers(link.mass))
    inertia = add(inertial, "inertia")
    for tag, moment in moments(link.inertia).items():
        add(inertia, tag, moment)
    for number, shape in enumerate(link.shapes, start=1):
        _add_shape(element, shape, f"{shape.role}_{number}", path)


def _add_shape(link: Xml, shape: Shape, name: str, path: Path) -> None:
    element = add(link, shape.role, name=name)
    _add_pose(element, shape.pose)
    geometry = add(element, "geometry")
    if shape.mesh:
        mesh = add(geometry, "mesh")
        add(mesh, "uri", mesh_uri(shape.mesh, path))
        add(mesh, "scale", numbers(*shape.scale))
    else:
        kind = kind_of(shape)
        body = add(geometry, kind)
        for tag, values in _SIZES[kind](shape).items():
            add(body, tag, numbers(*values))
    if shape.colour and shape.role == "visual":
        colour = numbers(*shape.colour)
        material = add(element, "material")
        add(material, "ambient", colour)
        add(material, "diffuse", colour)


_SIZES: dict[str, Callable[[Shape], dict[str, tuple[float, ...]]]] = {
    "box": lambda one: {"size": one.size},
    "sphere": lambda one: {"radius": (one.size[0] * one.scale[0],)},
    "ellipsoid": lambda one: {"radii": tuple(one.size[0] * factor for factor in one.scale)},
    "cylinder": lambda one: {"radius": one.size[:1], "length": one.size[1:]},
    "capsule": lambda one: {"radius": one.size[:1], "length": one.size[1:]},
    "plane": lambda one: {"normal": (0.0, 0.0, 1.0), "size": one.size},
}


def _add_joint(model: Xml, joint: Joint) -> None:
    element = add(model, "joint", name=joint.name, type=_type(joint))
    _add_pose(element, joint.parent_pose, joint.parent or MODEL)
    add(element, "parent", joint.parent or WORLD)
    add(element, "child", joint.child)
    if joint.type == "screw":
        # As 1.9 has it: in rad/m, and positive for a thread that is left-handed.
        add(element, "thread_pitch", numbers(-2 * math.pi / joint.pitch_m))
    if joint.type == "ball":
        return
    for tag, axis, coordinate in zip(("axis", "axis2"), joint.axes, joint.coordinates, strict=False):
        _add_axis(add(element, tag), axis, coordinate, joint)


def _type(joint: Joint) -> str:
    if joint.type not in {"revolute", "continuous"}:
        return joint.type
    (coordinate,) = joint.coordinates
    return "revolute" if coordinate.is_bounded else "continuous"


def _add_axis(element: Xml, axis: Floats, coordinate: Coordinate, joint: Joint) -> None:
    add(element, "xyz", numbers(*axis))
    limits = {
        "lower": coordinate.lower,
        "upper": coordinate.upper,
        "effort": coordinate.effort_limit,
        "velocity": coordinate.velocity_limit,
    }
    limit = add(element, "limit")
    for tag, value in limits.items():
        if math.isfinite(value):
            add(limit, tag, numbers(value))
    if joint.mimic:
        mimic = add(element, "mimic", joint=joint.mimic.of)
        add(mimic, "multiplier", numbers(joint.mimic.multiplier))
        add(mimic, "offset", numbers(joint.mimic.offset))
        add(mimic, "reference", "0")
    dynamics = {
        "damping": coordinate.damping,
        "friction": coordinate.friction,
        "spring_reference": coordinate.spring_reference,
        "spring_stiffness": coordinate.spring_stiffness,
    }
    if any(dynamics.values()):
        inside = add(element, "dynamics")
        for tag, value in dynamics.items():
            add(inside, tag, numbers(value))


def _add_pose(element: Xml, pose: Floats, relative_to: str = "") -> None:
    """Add a pose in the frame that is named, or in the default one, of the element."""
    one = add(element, "pose", numbers(*pose[:3, 3], *angles_of(pose)))
    if relative_to:
        one.set("relative_to", relative_to)
