"""Mass, centre of mass and inertia of one SKEL body, as stated or of its shapes, in SI units.

Where the file states no moments, a body's mass is spread over all its shapes, of visuals and of collisions,
by their volume, as DART does: the inertia is that of the shapes about the stated centre of mass.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import echoed

from ..arrays import Floats, frozen
from ..model.poses import identity_pose
from ..model.structure import Link, inertia_fault
from .elements import MOMENTS, SOLIDS
from .shape import radius_and_height, read_shapes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..io.xml.file import XmlFile
    from .elements import Node


def read_link(name: str, body: Node, file: XmlFile) -> Link:
    """Read the link of a `<body>` in a file; a mass below zero is noted."""
    inertia = body.one("inertia")
    mass = inertia.number("mass", 1.0) if inertia else 1.0
    if inertia and mass < 0:
        inertia.where.add(
            f"body '{echoed(name)}' has a mass of {mass:g} kg",
            "no body weighs less than nothing",
            "correct it",
        )
    com = _com(inertia)
    moment = frozen(_moment(body, inertia, mass, com))
    parts = [*read_shapes(body, file)]
    shapes = tuple(shape for _, shape in parts if shape)
    unseen = tuple(role for role, shape in parts if not shape)
    return Link(name, mass, com, moment, shapes=shapes, unseen=unseen)


def _com(inertia: Node | None) -> Floats:
    if inertia is None:
        return identity_pose()
    if "transformation" in inertia.tags():
        inertia.where.warn("<transformation> in <inertia>", "an old spelling", "write <offset>")
    com = inertia.pose()
    com[:3, 3] = inertia.vector("offset", com[:3, 3])
    return frozen(com)


def _moment(body: Node, inertia: Node | None, mass: float, com: Floats) -> Floats:
    """Return the inertia (3, 3) in the frame of the centre of mass."""
    stated = inertia.one("moment_of_inertia") if inertia else None
    if stated:
        xx, yy, zz, xy, xz, yz = (stated.number(tag, float(tag[1] == tag[2])) for tag in MOMENTS)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if fault := inertia_fault(tensor):
            stated.where.warn(f"body '{echoed(body.name())}' has an inertia that no body has", *fault)
        return tensor
    solids = list(_solids(body)) if inertia else []
    if not solids:
        return np.eye(3)
    whole = sum(volume for volume, _, _ in solids)
    moment = np.zeros((3, 3))
    for volume, moments, pose in solids:
        turn, away = pose[:3, :3], pose[:3, 3] - com[:3, 3]
        about_com = turn * moments @ turn.T + away @ away * np.eye(3) - np.outer(away, away)
        moment += mass * (volume / whole) * about_com
    turned: Floats = com[:3, :3].T @ moment @ com[:3, :3]
    return turned


def _solids(body: Node) -> Iterator[tuple[float, Floats, Floats]]:
    """Return the volume, the moments per kg (3,) and the pose (4, 4) of each shape that has a volume."""
    for shape in (*body.all("visualization_shape"), *body.all("collision_shape")):
        geometry = shape.one("geometry")
        solid = next((geometry.one(tag) for tag in SOLIDS if geometry.one(tag)), None) if geometry else None
        mesh = geometry.one("mesh") if geometry else None
        if solid is not None:
            volume, moments = _volume_and_moments(solid)
            if volume > 0:
                yield volume, moments, shape.pose()
        elif mesh is not None:
            mesh.where.warn(
                "<mesh> adds no inertia", "its volume is not computed", "write <moment_of_inertia>"
            )


def _volume_and_moments(solid: Node) -> tuple[float, Floats]:
    """Return the volume in m³, 0 without one, and the principal moments per kg in m², shape (3,)."""
    if solid.tag in {"box", "ellipsoid"}:
        size = solid.vector("size", np.ones(3))
        squares = size**2
        share, divisor = (1.0, 12) if solid.tag == "box" else (math.pi / 6, 20)
        return share * math.prod(size) if size.min() > 0 else 0.0, (squares.sum() - squares) / divisor
    radius, height = radius_and_height(solid)
    if radius <= 0 or (height <= 0 and solid.tag != "sphere"):
        return 0.0, np.zeros(3)
    return _round(solid.tag, radius, height)


def _round(tag: str, radius: float, height: float) -> tuple[float, Floats]:
    """Return the volume and the moments per kg, shape (3,), of a solid that is round about z."""
    square, ball, rod = radius**2, 4 / 3 * math.pi * radius**3, math.pi * radius**2 * height
    if tag == "sphere":
        return ball, np.full(3, square * 2 / 5)
    if tag == "cylinder":
        across, along = (3 * square + height**2) / 12, square / 2
        return rod, np.array([across, across, along])
    if tag == "cone":
        # About the middle of its base, as DART has it.
        across, along = 3 / 20 * square + height**2 / 10, square * 3 / 10
        return rod / 3, np.array([across, across, along])
    # A capsule: a cylinder with half a ball on each end.
    half = height**2 / 4 + height * radius * 3 / 8
    across = rod * (3 * square + height**2) / 12 + ball * (square * 2 / 5 + half)
    along = rod * square / 2 + ball * square * 2 / 5
    return rod + ball, np.array([across, across, along]) / (rod + ball)
