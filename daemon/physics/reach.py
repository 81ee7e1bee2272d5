"""How far shapes may be from the axes of the joints that move them, whatever other joints do."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from motiond.formats.arrays import Booleans, Floats

    from .robot import PhysicalRobot

SLIDE, PLANE = 2, 0
"""Numbers of MuJoCo's kinds of joints and shapes (`mjtJoint`, `mjtGeom`)."""
WORLD = 0
"""The number of MuJoCo's body that nothing moves, which has the shapes around the robot."""
CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))


class Reach:
    """The joints between shapes, and how far it is along them.

    Joints are numbered as in `PhysicalRobot.columns`. What lies between two that follow each other on a way
    is rigid, so that distances between them are those of any posture.
    """

    def __init__(self, robot: PhysicalRobot, mujoco: Any) -> None:
        model = robot.model
        numbers = {int(model.dof_jntid[dof]): number for number, dof in enumerate(robot.dofs)}
        self.slides: Booleans = model.jnt_type[model.dof_jntid[robot.dofs]] == SLIDE
        self._roots = [_joints_of(model, body, numbers) for body in range(model.nbody)]
        self._body_of = model.geom_bodyid.tolist()
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        order = model.dof_jntid[robot.dofs]
        self._moves_body = model.jnt_bodyid[order].tolist()
        anchors, axes = data.xanchor[order], data.xaxis[order]
        corners = np.array([_corners(model, data, geom) for geom in range(model.ngeom)]).reshape(-1, 8, 3)
        away = anchors[None] - anchors[:, None]  # from, to
        self._hop = np.linalg.norm(away, axis=2)
        self._beside = np.linalg.norm(np.cross(axes[:, None], away), axis=2)
        away = corners[None] - anchors[:, None, None]  # joint, shape, corner
        self._to_corner = np.linalg.norm(away, axis=3).max(axis=2, initial=0.0)
        self._corner_beside = np.linalg.norm(np.cross(axes[:, None, None], away), axis=3).max(
            axis=2, initial=0.0
        )
        planes = model.geom_type == PLANE
        self._to_corner[:, planes] = self._corner_beside[:, planes] = np.inf

    def between(self, one: int, other: int) -> list[int]:
        """Return the joints on the way from one shape to another."""
        up, down = self._roots[self._body_of[one]], self._roots[self._body_of[other]]
        shared = 0
        while shared < min(len(up), len(down)) and up[shared] == down[shared]:
            shared += 1
        return [*reversed(up[shared:]), *down[shared:]]

    def part(self, one: int, other: int) -> bool:
        """Whether two shapes can come near each other: not rigidly one, nor neighbours over a joint."""
        moved = {self._moves_body[joint] for joint in self.between(one, other)}
        is_around = WORLD in {self._body_of[one], self._body_of[other]}
        return len(moved) > (0 if is_around else 1)

    def reaches(self, one: int, other: int, way: list[int], travel: Floats) -> Floats:
        """Return how far from the axis of each joint on the way the nearer of two shapes may be."""
        to_other = self._one_way(way, other, travel)
        to_one = self._one_way(way[::-1], one, travel)[::-1]
        return np.minimum(to_one, to_other)

    def _one_way(self, way: list[int], geom: int, travel: Floats) -> Floats:
        """Return how far the points of the shape at the end of a way are from each axis on it."""
        reach = np.empty(len(way))
        beyond = 0.0  # from the next axis to the farthest corner
        for place in range(len(way) - 1, -1, -1):
            joint = way[place]
            if place == len(way) - 1:
                reach[place], beyond = self._corner_beside[joint, geom], self._to_corner[joint, geom]
            else:
                onward = way[place + 1]
                reach[place] = self._beside[joint, onward] + beyond
                beyond += self._hop[joint, onward]
            beyond += travel[joint]
        return reach


def _joints_of(model: Any, body: int, numbers: dict[int, int]) -> list[int]:
    """Return the joints that move a body, from the world on."""
    found: list[int] = []
    while body:
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        found = [numbers[joint] for joint in range(first, first + count) if joint in numbers] + found
        body = int(model.body_parentid[body])
    return found


def _corners(model: Any, data: Any, geom: int) -> Floats:
    """Return the corners of the box around a shape, shape (8, 3), with the robot at MuJoCo's zero."""
    centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
    corners: Floats = data.geom_xpos[geom] + (centre + CORNERS * half) @ data.geom_xmat[geom].reshape(3, 3).T
    return corners
