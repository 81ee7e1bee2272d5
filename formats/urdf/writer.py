"""A robot to URDF.

Its joints have one degree of freedom, or are fixed or floating. Each link is where the joint is that carries
it, and all hang on one. What has no mass has no `<inertial>`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree

from ..io.writers.robot_writing import (
    NO_LIMIT,
    Target,
    add,
    angles_of,
    kind_of,
    mesh_uri,
    moments,
    named_frames,
    numbers,
    prepared,
    warnings_of,
    write_xml,
)
from ..model.splitting import names_of, with_children_at_joints, with_one_root

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from ..arrays import Floats
    from ..io.xml.tree import Xml
    from ..model.robot import RobotModel
    from ..model.shapes import Shape
    from ..model.structure import Coordinate, Frame, Joint, Link


def dump(model: RobotModel, path: Path, *, drop: Collection[str] = ()) -> tuple[str, ...]:
    """Write a robot, as `dump_robot` does."""
    found = prepared(model, path, TARGET, drop)
    tree = with_one_root(with_children_at_joints(found.model))
    write_xml(path, lambda: _document(tree, path))
    return warnings_of(path, found)


def _lost_shape(shape: Shape, _moves: bool) -> str | None:  # noqa: FBT001 - as `Target` asks
    return "box, cylinder, sphere and mesh" if kind_of(shape) in {"plane", "ellipsoid"} else None


TARGET = Target(
    "URDF",
    ("fixed", "revolute", "continuous", "prismatic", "free"),
    "fixed, revolute, continuous, prismatic and floating joints",
    _lost_shape,
    springs=False,
    only_free_of_world=False,
    world_is_link=True,
)


def _document(model: RobotModel, path: Path) -> Xml:
    root = etree.Element("robot", {"name": model.name})
    for link in model.links:
        _add_link(root, link, path)
    for joint in model.joints:
        _add_joint(root, joint)
    names = names_of(model)
    for frame in named_frames(model):
        add(root, "link", name=frame.name)
        _add_fixed(root, names.fresh(f"{frame.name}_fixed"), frame)
    return root


def _add_link(root: Xml, link: Link, path: Path) -> None:
    element = add(root, "link", name=link.name)
    if link.mass or link.inertia.any():
        inertial = add(element, "inertial")
        _add_origin(inertial, link.com)
        add(inertial, "mass", value=numbers(link.mass))
        add(inertial, "inertia", **moments(link.inertia))
    for shape in link.shapes:
        for part in _parts(shape):
            _add_shape(element, part, path)


def _parts(shape: Shape) -> Iterator[Shape]:
    """Return the shape; of a capsule, which URDF does not have, a cylinder and two spheres."""
    if shape.kind != "capsule":
        yield shape
        return
    radius, length = shape.size
    yield replace(shape, kind="cylinder")
    for end in (-length / 2, length / 2):
        there = np.eye(4)
        there[2, 3] = end
        yield replace(shape, kind="sphere", size=(radius,), pose=shape.pose @ there)


def _add_shape(link: Xml, shape: Shape, path: Path) -> None:
    element = add(link, shape.role)
    _add_origin(element, shape.pose)
    geometry = add(element, "geometry")
    if shape.mesh:
        add(geometry, "mesh", filename=mesh_uri(shape.mesh, path), scale=numbers(*shape.scale))
    elif shape.kind == "box":
        add(geometry, "box", size=numbers(*shape.size))
    elif shape.kind == "cylinder":
        add(geometry, "cylinder", radius=numbers(shape.size[0]), length=numbers(shape.size[1]))
    else:
        add(geometry, "sphere", radius=numbers(shape.size[0] * shape.scale[0]))
    if shape.colour and shape.role == "visual":
        colour = numbers(*shape.colour)
        add(add(element, "material", name=f"rgba {colour}"), "color", rgba=colour)


def _add_joint(root: Xml, joint: Joint) -> None:
    coordinate = joint.coordinates[0] if joint.coordinates else None
    type_ = "floating" if joint.type == "free" else joint.type
    if coordinate and joint.type in {"revolute", "continuous"}:
        type_ = "revolute" if coordinate.is_bounded else "continuous"
    element = add(root, "joint", name=joint.name, type=type_)
    _add_origin(element, joint.parent_pose)
    add(element, "parent", link=joint.parent)
    add(element, "child", link=joint.child)
    if coordinate is None or joint.type == "free":
        return
    add(element, "axis", xyz=numbers(*joint.axes[0]))
    _add_limit(element, coordinate, type_)
    if coordinate.damping or coordinate.friction:
        add(element, "dynamics", damping=numbers(coordinate.damping), friction=numbers(coordinate.friction))
    if joint.mimic:
        multiplier, offset = numbers(joint.mimic.multiplier), numbers(joint.mimic.offset)
        add(element, "mimic", joint=joint.mimic.of, multiplier=multiplier, offset=offset)


def _add_limit(element: Xml, coordinate: Coordinate, type_: str) -> None:
    efforts = [coordinate.effort_limit, coordinate.velocity_limit]
    if type_ == "continuous" and not np.isfinite(efforts).any():
        return
    effort, velocity = (numbers(min(one, NO_LIMIT)) for one in efforts)
    limit = add(element, "limit", effort=effort, velocity=velocity)
    if type_ != "continuous":
        limit.set("lower", numbers(max(coordinate.lower, -NO_LIMIT)))
        limit.set("upper", numbers(min(coordinate.upper, NO_LIMIT)))


def _add_fixed(root: Xml, name: str, frame: Frame) -> None:
    element = add(root, "joint", name=name, type="fixed")
    _add_origin(element, frame.pose)
    add(element, "parent", link=frame.attached_to)
    add(element, "child", link=frame.name)


def _add_origin(element: Xml, pose: Floats) -> None:
    add(element, "origin", xyz=numbers(*pose[:3, 3]), rpy=numbers(*angles_of(pose)))
