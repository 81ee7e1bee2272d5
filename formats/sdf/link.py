"""`<link>` to a checked element: its mass, its inertia, its shapes, and the names of what is mounted on it.

Values are in SI units. Follows `//link` of SDFormat 1.4 to 1.12; of sensors and lights only names and poses
are checked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import echoed, quoted

from ..arrays import Floats, frozen
from ..model.structure import inertia_fault
from .elements import LinkElement, MountedShape
from .shape import has_shape, read_shape

if TYPE_CHECKING:
    from ..io.source import Source
    from ..model.shapes import ShapeRole
    from .node import Node

_ROLES: dict[str, ShapeRole] = {"visual": "visual", "collision": "collision"}


def read_link(node: Node, source: Source) -> LinkElement | None:
    """Read a `<link>` of a file; return None if it is none, which has been noted."""
    name = node.name()
    mounted, shapes = [], []
    unseen: list[ShapeRole] = []
    for tag in ("visual", "collision", "sensor", "light"):
        for child, one in node.mounted(tag):
            if one.pose.relative_to:
                mounted.append(one)
            role = _ROLES.get(tag)
            if role and (shape := read_shape(child, one, role, source)):
                shapes.append(MountedShape(one.pose, shape))
            elif role and has_shape(child):
                unseen.append(role)
    link = LinkElement(
        name, node.where, node.pose(), mounted=tuple(mounted), shapes=tuple(shapes), unseen=tuple(unseen)
    )
    inertial = node.one("inertial")
    if inertial is not None:
        link = _with_inertial(link, inertial)
    return link if name else None


def _with_inertial(link: LinkElement, node: Node) -> LinkElement:
    """Read `<inertial>`; what it leaves out has SDFormat's defaults, 1 kg and 1 kg·m²."""
    pose, mass, inertia = node.pose(), node.number("mass", link.mass), _inertia(node.one("inertia"))
    if pose.relative_to:
        node.where.warn(
            f"the <pose> of an <inertial> is relative_to {quoted(pose.relative_to)}",
            "it is always in the link's frame",
            "remove 'relative_to'",
        )
    if node.truth_attribute("auto"):
        node.where.warn(
            f"the inertia of link '{echoed(link.name)}' is not computed",
            "auto='true' asks for it from shapes and their densities",
            "write <mass> and <inertia>",
        )
    if mass < 0:
        node.where.add(
            f"link '{echoed(link.name)}' has a mass of {mass:g} kg",
            "no body weighs less than nothing",
            "correct it",
        )
    if fault := inertia_fault(inertia):
        node.where.warn(f"link '{echoed(link.name)}' has an inertia that no body has", *fault)
    return replace(link, mass=mass, com=pose.matrix, inertia=inertia)


def _inertia(node: Node | None) -> Floats:
    inertia = np.eye(3)
    if node is not None:
        xx, yy, zz = (node.number(tag, 1.0) for tag in ("ixx", "iyy", "izz"))
        xy, xz, yz = (node.number(tag, 0.0) for tag in ("ixy", "ixz", "iyz"))
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return frozen(inertia)
