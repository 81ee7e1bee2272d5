"""The shapes of a configured workspace: to be drawn, and to be measured from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats import BadText, Shape, Source
from motiond.formats.io import find_mesh, pose_of_angles
from motiond.formats.model import turned_to

from .extra import PhysicsError
from .hulls import Hulls
from .surroundings import Surrounding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from motiond.formats import Mesh

    from ..config.collision import WorkspaceSettings

AXES = "xyz"


def workspace_shapes(robot: str, workspace: Sequence[WorkspaceSettings]) -> tuple[tuple[str, Shape], ...]:
    """Return shapes by their names, in the frame that the description places the robot in, in m.

    Raises `PhysicsError` where a mesh cannot be read.
    """
    return tuple((settings.name, _shape(robot, settings)) for settings in workspace)


def drawn_workspace(robot: str, workspace: Sequence[WorkspaceSettings]) -> tuple[Surrounding, ...]:
    """Return the shapes to be drawn, of the kinds that they have; raises as `workspace_shapes`."""
    shapes = workspace_shapes(robot, workspace)
    return tuple(
        Surrounding(settings.kind, name, shape)
        for settings, (name, shape) in zip(workspace, shapes, strict=True)
    )


def walls_of(robot: str, workspace: Sequence[WorkspaceSettings]) -> tuple[tuple[str, Shape], ...]:
    """Return what is outside of all that is allowed, likewise: of a box its six walls, as planes."""
    found: list[tuple[str, Shape]] = []
    for settings, (name, shape) in zip(workspace, workspace_shapes(robot, workspace), strict=True):
        found += _walls(name, shape) if settings.kind == "allowed" else [(name, shape)]
    return tuple(found)


def _walls(name: str, box: Shape) -> Iterator[tuple[str, Shape]]:
    for axis, edge in enumerate(box.size):
        for sign, word in ((1.0, "+"), (-1.0, "-")):
            inwards = -sign * np.eye(3)[axis]
            pose = turned_to(inwards)
            pose[:3, 3] = -inwards * edge / 2
            yield f"{name} {word}{AXES[axis]}", Shape("plane", pose=box.pose @ pose)


def _shape(robot: str, settings: WorkspaceSettings) -> Shape:
    pose = pose_of_angles(settings.position, settings.rpy)
    if settings.box is not None:
        return Shape("box", settings.box, pose)
    if settings.plane is not None:
        return Shape("plane", pose=pose @ turned_to(np.array(settings.plane)))
    return Shape("mesh", pose=pose, mesh=_mesh(robot, settings))


def _mesh(robot: str, settings: WorkspaceSettings) -> Mesh:
    subject = f"{robot}: collision: workspace '{settings.name}'"
    try:
        mesh = find_mesh(Source(settings.mesh or Path()))
    except BadText as error:
        problem = f"{subject}: {error.problem} cannot be read"
        raise PhysicsError(f"{problem}; {error.reason}; {error.hint}") from error
    if reason := Hulls(robot).refusal(mesh):
        raise PhysicsError(f"{subject}: mesh cannot be read; {reason}")
    return mesh
