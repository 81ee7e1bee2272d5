"""One URDF link: its mass and inertia, and the shapes of its visuals and collisions, in SI units.

A link without `<inertial>` weighs nothing. A shape that nobody can draw is left out with a warning, as a
robot moves without it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import echoed

from ..arrays import frozen
from ..io.mesh_file import mesh_of
from ..io.xml.values import parse_number, parse_vector
from ..model.shapes import Shape
from ..model.structure import Link, inertia_fault
from .elements import MOMENTS, SOLIDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..io.xml.file import XmlFile
    from ..model.shapes import ShapeRole
    from .elements import Node
    from .materials import Materials

_ROLES: dict[str, ShapeRole] = {"visual": "visual", "collision": "collision"}


def read_link(node: Node, name: str, file: XmlFile, materials: Materials) -> Link:
    """Read a `<link>` of a file; what is wrong is noted."""
    parts = [*_shapes(node, name, file, materials)]
    shapes = tuple(shape for _, shape in parts if shape)
    link = Link(name, shapes=shapes, unseen=tuple(role for role, shape in parts if not shape))
    inertial = node.one("inertial")
    return _with_inertial(link, inertial) if inertial else link


def _with_inertial(link: Link, node: Node) -> Link:
    mass = node.one("mass")
    if mass is None:
        what = f"the <inertial> of link '{echoed(link.name)}' has no <mass>"
        node.where.add(what, "it is required", 'write <mass value="…"/>')
    weight = mass.needed_value("value", parse_number, 0.0) if mass else 0.0
    if mass and weight < 0:
        what = f"link '{echoed(link.name)}' has a mass of {weight:g} kg"
        mass.where.add(what, "no body weighs less than nothing", "correct it")
    inertia = np.zeros((3, 3))
    if tensor := node.one("inertia"):
        xx, yy, zz = (tensor.needed_value(name, parse_number, 0.0) for name in MOMENTS[:3])
        xy, xz, yz = (tensor.scalar(name, 0.0) for name in MOMENTS[3:])
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if fault := inertia_fault(inertia):
            what = f"link '{echoed(link.name)}' has an inertia that no body has"
            tensor.where.warn(what, *fault)
    return replace(link, mass=weight, com=node.pose(), inertia=frozen(inertia))


def _shapes(
    node: Node, name: str, file: XmlFile, materials: Materials
) -> Iterator[tuple[ShapeRole, Shape | None]]:
    for part in node.all(*_ROLES):
        file.spend(part)
        shape = _shape(part, f"the {part.tag} of link '{echoed(name)}'", file)
        role = _ROLES[part.tag]
        if shape is not None:
            colour = materials.colour_of(part) if role == "visual" else None
            shape = replace(shape, pose=part.pose(), role=role, colour=colour)
        yield role, shape


def _shape(part: Node, what: str, file: XmlFile) -> Shape | None:
    geometry = part.one("geometry")
    body = next(geometry.all(*SOLIDS, "mesh"), None) if geometry else None
    if body is None:
        known = ", ".join((*SOLIDS, "mesh"))
        (geometry or part).where.warn(f"{what} is not shown", f"its <geometry> has none of {known}")
        return None
    shape = _mesh(body, file) if body.tag == "mesh" else _BODIES[body.tag](body)
    fault = shape.size_fault() if shape else None
    if fault:
        body.where.warn(f"the <{body.tag}> of {what} {fault[0]}", fault[1], "it is left out")
    return None if fault else shape


def _box(node: Node) -> Shape:
    x, y, z = node.needed_value("size", parse_vector, np.ones(3)).tolist()
    return Shape("box", (x, y, z))


def _sphere(node: Node) -> Shape:
    return Shape("sphere", (node.needed_value("radius", parse_number, 1.0),))


def _cylinder(node: Node) -> Shape:
    return Shape("cylinder", _radius_and_length(node))


def _capsule(node: Node) -> Shape:
    return Shape("capsule", _radius_and_length(node))


def _radius_and_length(node: Node) -> tuple[float, float]:
    radius, length = (node.needed_value(name, parse_number, 1.0) for name in ("radius", "length"))
    return radius, length


_BODIES: dict[str, Callable[[Node], Shape]] = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "capsule": _capsule,
}


def _mesh(node: Node, file: XmlFile) -> Shape | None:
    x, y, z = node.attribute_value("scale", parse_vector, np.ones(3)).tolist()
    mesh = mesh_of(node.attribute("filename"), file.source, node.where)
    return Shape("mesh", mesh=mesh, scale=(x, y, z)) if mesh else None
