"""The colours of a URDF file by the names of their materials.

A material is defined where it has a `<color>` or a `<texture>`: in the robot or in any visual, and perhaps
only after its name is used. Textures are not shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from motiond.text import nearest, quoted

from ..io.xml.values import parse_colour

if TYPE_CHECKING:
    from .elements import Node

    Colour: TypeAlias = tuple[float, float, float, float]


class Materials:
    """The materials of a robot; a name that stands for two keeps the first."""

    def __init__(self, robot: Node) -> None:
        self._colours: dict[str, Colour | None] = {}
        for xml in robot.xml.iter("material"):
            if xml.get("name") and any(xml.find(tag) is not None for tag in ("color", "texture")):
                material = robot.child(xml)
                self._colours.setdefault(material.attribute("name"), _own_colour(material))

    def colour_of(self, visual: Node) -> Colour | None:
        """Return what a visual's material says of its colour; None without one."""
        material = visual.one("material")
        if material is None:
            return None
        if "color" in material.tags():
            return _own_colour(material)
        name = material.attribute("name")
        if name and name not in self._colours:
            what = f"material {quoted(name)} is not defined"
            material.where.warn(what, "it has no <color> anywhere", nearest(name, self._colours))
        return self._colours.get(name)


def _own_colour(material: Node) -> Colour | None:
    colour = material.one("color")
    numbers = colour.oddity("rgba", parse_colour) if colour else None
    if numbers is None:
        return None
    red, green, blue, alpha = np.clip(numbers, 0.0, 1.0).tolist()
    return red, green, blue, alpha
