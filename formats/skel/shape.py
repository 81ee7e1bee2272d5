"""`<visualization_shape>` and `<collision_shape>` to what can be drawn, in SI units.

Follows DART, which places a mesh's file by the folder of the SKEL file. A shape that nobody can draw is left
out with a warning, as a robot moves without it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import frozen
from ..errors import BadText
from ..io.mesh_file import mesh_of
from ..io.xml.values import parse_colour
from ..model.poses import turned_to
from ..model.shapes import Shape, ellipsoid
from .elements import SOLIDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..io.source import Source
    from ..io.xml.file import XmlFile
    from ..model.shapes import ShapeRole
    from .elements import Node

DEFAULT_RADIUS_M, DEFAULT_HEIGHT_M = 0.5, 1.0
# SKEL's planes have no end; so much of one is drawn.
PLANE_M = 10.0
ROLES: dict[str, ShapeRole] = {"visualization_shape": "visual", "collision_shape": "collision"}


def read_shapes(body: Node, file: XmlFile) -> Iterator[tuple[ShapeRole, Shape | None]]:
    """Read the shapes of a `<body>` in a file, with their roles; what cannot be drawn is noted, and None."""
    for tag, role in ROLES.items():
        for node in body.all(tag):
            file.spend(node)
            geometry = node.one("geometry")
            tags = (*SOLIDS, "plane", "mesh")
            inside = (
                next((geometry.one(one) for one in tags if geometry.one(one)), None) if geometry else None
            )
            if inside is None:
                continue
            shape = _shape(inside, file.source)
            if shape is not None:
                pose = frozen(node.pose() @ shape.pose)
                shape = replace(shape, pose=pose, role=role, colour=_colour(node))
            yield role, shape


def _shape(node: Node, source: Source) -> Shape | None:
    """Read the element of a body; its pose is within that of the `<geometry>`."""
    if node.tag == "cone":
        node.where.warn("<cone> is not shown", f"shown are {', '.join(SOLIDS[:-1])}, plane, mesh")
        return None
    shape = _mesh(node, source) if node.tag == "mesh" else _solid(node)
    fault = shape.size_fault() if shape else None
    if fault:
        node.where.warn(f"<{node.tag}> {fault[0]}", fault[1], "it is left out")
    return None if fault else shape


def _solid(node: Node) -> Shape:
    radius, height = radius_and_height(node)
    x, y, z = node.vector("size", np.ones(3)).tolist()
    match node.tag:
        case "box":
            return Shape("box", (x, y, z))
        case "ellipsoid":
            return ellipsoid((x / 2, y / 2, z / 2))
        case "sphere":
            return Shape("sphere", (radius,))
        case "cylinder":
            return Shape("cylinder", (radius, height))
        case "capsule":
            return Shape("capsule", (radius, height))
    return _plane(node)


def radius_and_height(node: Node) -> tuple[float, float]:
    """Read the radius and the height of a solid that is round, in m."""
    length = node.number("length", DEFAULT_HEIGHT_M)
    return node.number("radius", DEFAULT_RADIUS_M), node.number("height", length)


def _plane(node: Node) -> Shape:
    pose = turned_to(node.vector("normal", np.array([0.0, 0.0, 1.0])))
    pose[:3, 3] = node.vector("point", pose[:3, 2] * node.number("offset", 0.0))
    return Shape("plane", (PLANE_M, PLANE_M), frozen(pose))


def _mesh(node: Node, source: Source) -> Shape | None:
    name = node.word("file_name")
    x, y, z = node.vector("scale", np.ones(3)).tolist()
    if not name:
        node.where.warn("mesh '' is not shown", "it has no <file_name>", "name a file")
        return None
    mesh = mesh_of(name, source, node.where)
    return Shape("mesh", mesh=mesh, scale=(x, y, z)) if mesh else None


def _colour(node: Node) -> tuple[float, float, float, float] | None:
    colour = node.one("color")
    if colour is None:
        return None
    try:
        numbers = parse_colour(colour.text)
    except BadText as error:
        colour.where.warn(f"<color> {error.problem}", error.reason, "it is left out")
        return None
    red, green, blue, alpha = np.clip(numbers, 0.0, 1.0).tolist()
    return red, green, blue, alpha
