"""`<visual>` and `<collision>` to what can be drawn: a body or a mesh with its pose and colour.

Follows `//geometry` and `//material` of SDFormat 1.4 to 1.12. A shape that nobody can draw is left out with a
warning, as a robot moves without it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import nearest

from ..arrays import frozen
from ..io.mesh_file import mesh_of
from ..io.xml.values import parse_colour, parse_numbers
from ..model.poses import turned_to
from ..model.shapes import Shape, ellipsoid

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..io.source import Source
    from ..model.shapes import ShapeRole
    from .elements import Mounted
    from .node import Node

_NOT_SHOWN = ("cone", "heightmap", "image", "polyline")


def read_shape(node: Node, mounted: Mounted, role: ShapeRole, source: Source) -> Shape | None:
    """Read what stands in a `<visual>` or a `<collision>`; None where there is nothing to draw."""
    geometry = node.one("geometry")
    body = next(geometry.all(*_BODIES, "mesh"), None) if geometry else None
    if body is None:
        for other in sorted(geometry.tags() - {"empty"}) if geometry else ():
            known = (*_BODIES, "mesh")
            mounted.where.warn(
                f"the <{other}> of {mounted.what} is not shown",
                f"shown are {', '.join(known)}",
                nearest(other, known) if other not in _NOT_SHOWN else "",
            )
        return None
    shape = _mesh(body, mounted, source) if body.tag == "mesh" else _BODIES[body.tag](body)
    fault = shape.size_fault() if shape else None
    if fault:
        body.where.warn(f"the <{body.tag}> of {mounted.what} {fault[0]}", fault[1], "it is left out")
    return replace(shape, role=role, colour=_colour(node)) if shape and not fault else None


def has_shape(node: Node) -> bool:
    """Whether there is something in a `<visual>` or a `<collision>`, whoever can draw it."""
    geometry = node.one("geometry")
    return geometry is not None and bool(geometry.tags() - {"empty"})


def _box(node: Node) -> Shape:
    x, y, z = _vector(node, "size")
    return Shape("box", (x, y, z))


def _sphere(node: Node) -> Shape:
    return Shape("sphere", (node.number("radius", 1.0),))


def _cylinder(node: Node) -> Shape:
    return Shape("cylinder", (node.number("radius", 1.0), node.number("length", 1.0)))


def _capsule(node: Node) -> Shape:
    return Shape("capsule", (node.number("radius", 0.5), node.number("length", 1.0)))


def _ellipsoid(node: Node) -> Shape:
    return ellipsoid(_vector(node, "radii"))


def _plane(node: Node) -> Shape:
    x, y = 1.0, 1.0
    if size := node.one("size"):
        x, y = size.value(lambda text: parse_numbers(text, 2, "a plane's size is two numbers, x y"), [x, y])
    normal = node.vector("normal", np.array([0.0, 0.0, 1.0]))
    return Shape("plane", (x, y), frozen(turned_to(normal)))


_BODIES: dict[str, Callable[[Node], Shape]] = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "ellipsoid": _ellipsoid,
    "plane": _plane,
}


def _mesh(node: Node, mounted: Mounted, source: Source) -> Shape | None:
    uri = node.word("uri")
    scale = _vector(node, "scale")
    if "submesh" in node.tags():
        mounted.where.warn(
            f"the <submesh> of {mounted.what} is not shown", "meshes are shown whole", "save it as a file"
        )
        return None
    mesh = mesh_of(uri, source, node.where)
    return Shape("mesh", mesh=mesh, scale=scale) if mesh else None


def _vector(node: Node, tag: str) -> tuple[float, float, float]:
    x, y, z = node.vector(tag, np.ones(3)).tolist()
    return x, y, z


def _colour(node: Node) -> tuple[float, float, float, float] | None:
    """Return the colour that is seen in the light, less opaque by `<transparency>`; None without one."""
    opacity = 1.0 - node.number("transparency", 0.0)
    material = node.one("material")
    colour = (
        next(filter(None, (material.one(tag) for tag in ("diffuse", "ambient"))), None) if material else None
    )
    if colour is None:
        return None
    rgba = colour.value(parse_colour, [1.0, 1.0, 1.0, 1.0])
    red, green, blue, alpha = np.clip([*rgba[:3], rgba[3] * opacity], 0.0, 1.0).tolist()
    return red, green, blue, alpha
