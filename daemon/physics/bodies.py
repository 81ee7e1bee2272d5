"""What a robot's links touch with and weigh, where its description leaves that open.

They touch with their collision shapes; where no link has any, with their visual ones; where a description
knows no shapes, with derived ones. A link with a mass and no moments of inertia has those of its shapes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats.model import derived_shapes

if TYPE_CHECKING:
    from motiond.formats import Link, RobotModel, Shape
    from motiond.formats.arrays import Floats

# Of what has a mass and no shape: near that of actuators.
DENSITY_KG_M3 = 2000.0


def with_touching_shapes(model: RobotModel) -> RobotModel:
    """Return a robot whose shapes are those that its links touch with, all of the role `collision`."""
    derived, role = derived_shapes(model), touching_role(model)
    links = []
    for link in model.links:
        shapes = [one for one in (*link.shapes, *derived.get(link.name, ())) if role in {"", one.role}]
        shapes = shapes or list(derived.get(link.name, ()))
        kept = tuple(replace(one, role="collision") for one in shapes if not one.size_fault())
        links.append(replace(link, shapes=kept))
    return replace(model, links=tuple(links))


def touching_role(model: RobotModel) -> str:
    """Return the role of the shapes that links touch with; '' for all that there are."""
    roles = {role for link in model.links for role in (*(one.role for one in link.shapes), *link.unseen)}
    return "collision" if "collision" in roles else ""


def unseen_links(model: RobotModel) -> list[str]:
    """Return the links that touch with something nobody can see, as a mesh that is missing."""
    role = touching_role(model)
    return [link.name for link in model.links if any(role in {"", one} for one in link.unseen)]


def bare_links(model: RobotModel) -> list[str]:
    """Return the links that can be seen, or weigh something, and touch nothing."""
    touching = with_touching_shapes(model).links
    return [
        link.name
        for link, one in zip(model.links, touching, strict=True)
        if not one.shapes and (link.shapes or link.mass > 0)
    ]


def weightless_links(model: RobotModel) -> list[str]:
    """Return the links that joints move, that have a shape, and no mass."""
    carriers = {joint.child: joint for joint in model.joints}
    attached = {link.name: link.attached_to for link in model.links}

    def moves(link: str) -> bool:
        while link:
            carrier = carriers.get(link)
            if carrier is not None and carrier.coordinates:
                return True
            link = carrier.parent if carrier is not None else attached.get(link, "")
        return False

    bodies = (link.name for link in model.links if not link.mass and (link.shapes or link.unseen))
    return [*filter(moves, bodies)]


def with_inertias(model: RobotModel) -> RobotModel:
    """Return a robot in which what has a mass has moments of inertia."""
    return replace(
        model,
        links=tuple(
            replace(link, inertia=link.mass * inertia_of(link))
            if link.mass > 0 and not link.inertia.any()
            else link
            for link in model.links
        ),
    )


def inertia_of(link: Link) -> Floats:
    """Return the moments of inertia (3, 3) of a link's shapes about their centre, in m² (of 1 kg).

    The mass is spread evenly over the shapes, in the axes of the link's centre of mass. Meshes and planes
    have none; a link of these alone is a ball as heavy as it is.
    """
    turn = link.com[:3, :3]
    volumes, centres, moments = [], [], []
    for shape in link.shapes:
        volume, own = _solid(shape)
        if volume > 0:
            axes = shape.pose[:3, :3]
            volumes.append(volume)
            centres.append(shape.pose[:3, 3])
            moments.append(axes @ np.diag(own) @ axes.T)
    if not volumes:
        radius = (3 * link.mass / (4 * math.pi * DENSITY_KG_M3)) ** (1 / 3)
        ball: Floats = np.eye(3) * 0.4 * radius**2
        return ball
    shares = np.array(volumes) / sum(volumes)
    away = np.array(centres) - shares @ np.array(centres)
    total = np.zeros((3, 3))
    for share, offset, moment in zip(shares, away, moments, strict=True):
        total += share * (moment + (offset @ offset) * np.eye(3) - np.outer(offset, offset))
    inertia: Floats = turn.T @ total @ turn
    return inertia


def _solid(shape: Shape) -> tuple[float, Floats]:
    """Return the volume of a body in m³, and its moments (3,) about its own axes per kg."""
    if shape.kind == "box":
        squares = np.square(shape.size)
        return math.prod(shape.size), (squares.sum() - squares) / 12
    if shape.kind == "sphere":
        radii = shape.size[0] * np.abs(shape.scale)
        squares = np.square(radii)
        return 4 / 3 * math.pi * math.prod(radii), (squares.sum() - squares) / 5
    if shape.kind in {"cylinder", "capsule"}:
        radius, length = shape.size
        if shape.kind == "capsule":
            length += 4 / 3 * radius  # a cylinder of the same volume
        across = (3 * radius**2 + length**2) / 12
        return math.pi * radius**2 * length, np.array([across, across, radius**2 / 2])
    return 0.0, np.zeros(3)
