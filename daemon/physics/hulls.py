"""Meshes of formats that MuJoCo does not read: their convex hulls, which are all that it takes of any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from motiond.formats import BadText
from motiond.formats.io import is_text_stl, mesh_points, refuse_damaged

from .extra import load_mujoco, reason_of

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.formats import Mesh
    from motiond.formats.arrays import Floats

DECIMALS = 5
"""Of points in m: hulls stand in a text that goes from process to process."""


class Hulls:
    """The hulls of the meshes that a robot needs them of.

    `robot`: its name, for messages.
    `points`: corners by the mesh's path, shape (n, 3), in m, along the mesh's axes.
    """

    def __init__(self, robot: str) -> None:
        self._robot = robot
        self.points: dict[Path, Floats] = {}

    def refusal(self, mesh: Mesh) -> str:
        """Return why MuJoCo cannot have a mesh, and what helps; '' where it can, by its file or its hull.

        Raises `PhysicsError` if MuJoCo is needed for that and not installed.
        """
        try:
            refuse_damaged(mesh)
            if mesh.path not in self.points and _needs_hull(mesh):
                self.points[mesh.path] = self._hull_of(mesh_points(mesh))
        except BadText as error:
            return f"{error.reason}; {error.hint}"
        except ValueError as error:
            return f"it has no convex hull: {reason_of(error)}; give the link a simple collision shape"
        return ""

    def _hull_of(self, points: Floats) -> Floats:
        """Return the corners of the convex hull of points. Raises `ValueError` where they have none."""
        mujoco = load_mujoco(f"{self._robot}: the hull of a mesh")
        spec = mujoco.MjSpec()
        spec.add_mesh(name="mesh", uservert=np.unique(points, axis=0).ravel())
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh")
        model = spec.compile()
        count = int(model.mesh_graph[0])
        corners = model.mesh_vert[model.mesh_graph[2 + count : 2 + 2 * count]]
        # MuJoCo has moved them so that its axes are those of the inertia.
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, model.mesh_quat[0])
        placed = corners @ turn.reshape(3, 3).T + model.mesh_pos[0]
        hull: Floats = np.unique(np.round(placed, DECIMALS), axis=0)
        return hull


def _needs_hull(mesh: Mesh) -> bool:
    return mesh.format != "obj" and (mesh.format != "stl" or is_text_stl(mesh))
