"""What a link looks like and what it collides with: simple bodies and meshes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from .poses import identity_pose

if TYPE_CHECKING:
    from pathlib import Path

    from ..arrays import Floats

ShapeKind = Literal["box", "sphere", "cylinder", "capsule", "plane", "mesh"]
ShapeRole = Literal["visual", "collision"]
MeshFormat = Literal["stl", "obj", "gltf", "glb", "dae"]

LARGEST_M = 1000.0
"""A body larger than this is a slip in its file, mostly one of units."""


@dataclass(frozen=True, slots=True)
class Mesh:
    """A mesh's file, which is not opened before somebody wants to see it.

    Attributes
    ----------
    path : Path
    format : {'stl', 'obj', 'gltf', 'glb', 'dae'}
        By its suffix.
    within : tuple of Path
        The folders that it must lie in; empty means anywhere.
    """

    path: Path
    format: MeshFormat
    within: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """One body or mesh of a link.

    Attributes
    ----------
    size : tuple of float
        In m. Box: its edges along x, y and z. Sphere: its radius. Cylinder and capsule: the radius, and the
        length along z, of a capsule without its ends. Plane: its edges along x and y; its normal is z. Mesh:
        empty.
    pose : ndarray, shape (4, 4)
        Of the body's centre, or of the mesh's origin, in the link's frame.
    colour : tuple of float, optional
        Red, green, blue and opacity, 0 to 1; None where the file says nothing.
    mesh : Mesh, optional
        The file, where the kind is `mesh`.
    scale : tuple of float
        Of a mesh, along its x, y and z; also of a sphere, which is then an ellipsoid.
    """

    kind: ShapeKind
    size: tuple[float, ...] = ()
    pose: Floats = field(default_factory=identity_pose)
    colour: tuple[float, float, float, float] | None = None
    mesh: Mesh | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    role: ShapeRole = "visual"

    def size_fault(self) -> tuple[str, str] | None:
        """Return why nobody can draw a body of this size, as `what; why` of a message; None where one can."""
        if any(not length > 0 for length in self.size):
            return "has no volume", "sizes are above 0"
        if any(length > LARGEST_M for length in self.size):
            return f"is {max(self.size):g} m large", f"no part is larger than {LARGEST_M:g} m"
        if any(not (math.isfinite(factor) and factor) for factor in self.scale):
            return "has no volume", "no scale is 0"
        return None


def ellipsoid(radii: tuple[float, float, float]) -> Shape:
    """Return an ellipsoid: a sphere as large as its largest radius in m, scaled to the others."""
    largest = max(radii)
    if min(radii) <= 0:
        return Shape("sphere", (min(radii),))
    x, y, z = radii
    return Shape("sphere", (largest,), scale=(x / largest, y / largest, z / largest))
