"""Inverse dynamics: the efforts that rows of a motion ask of the joints that actuators move.

By MuJoCo's recursive Newton-Euler algorithm (Featherstone, Rigid Body Dynamics Algorithms (2008), 5.3), with
the dry friction, damping and springs of the description's joints. Joints that move no mass have their motors'
inertia.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from .extra import load_mujoco

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

    from ..joints import JointMap
    from .robot import PhysicalRobot


class Dynamics:
    """Inverse dynamics of a robot; threads take turns, for as many rows as each asks for at once.

    Rows have all joints of the joint map, in rad or m, per second, per second squared. A joint that follows
    another, and has no actuator of its own, loads that of the other.
    """

    def __init__(self, robot: PhysicalRobot, joint_map: JointMap) -> None:
        self._robot = robot
        self._turn = Lock()
        self._mujoco = load_mujoco(joint_map.robot)
        model, dofs = robot.model, robot.dofs
        self._damping, self._friction = model.dof_damping[dofs], model.dof_frictionloss[dofs]
        self._armature = model.dof_armature[dofs]
        self._stiffness = model.jnt_stiffness[model.dof_jntid[dofs]]
        self._relaxed = model.qpos_spring[robot.addresses]
        own = np.isfinite(joint_map.transmission.effort_factor)[robot.columns]
        borne_by = np.where(own, robot.columns, joint_map.leaders[robot.columns])
        shares = np.where(own, 1.0, joint_map.multipliers[robot.columns]) * robot.factors
        self._to_loads = np.zeros((dofs.size, len(joint_map.joints)))
        self._to_loads[np.arange(dofs.size), borne_by] = shares

    def efforts(self, positions: Floats, velocities: Floats, accelerations: Floats) -> Floats:
        """Return the loads of joints, shape (rows, joints), in N·m or N; 0 for those that others bear."""
        loads: Floats = self.by_powers(positions, velocities, accelerations).sum(axis=0)
        return loads

    def by_powers(self, positions: Floats, velocities: Floats, accelerations: Floats) -> Floats:
        """Return the loads in parts, shape (3, rows, joints).

        At a factor s of the rows' speed, the load is their sum with factors 1, s and s².
        """
        columns, factors = self._robot.columns, self._robot.factors
        places = self._robot.coordinates(positions)
        speeds = velocities[:, columns] * factors
        changes = accelerations[:, columns] * factors
        with self._turn:
            still, whole = self._weigh_and_move(places, speeds, changes)
        moves = whole - still + self._armature * changes
        still += self._friction * np.sign(speeds) + self._stiffness * (places - self._relaxed)
        loads: Floats = np.stack((still, self._damping * speeds, moves)) @ self._to_loads
        return loads

    def _weigh_and_move(self, places: Floats, speeds: Floats, accelerations: Floats) -> tuple[Floats, Floats]:
        """Return what gravity alone asks of the joints, and what it and moving do, shape (rows, joints)."""
        mujoco, model, data = self._mujoco, self._robot.model, self._robot.data
        addresses, dofs = self._robot.addresses, self._robot.dofs
        still, whole = np.empty((2, len(places), model.nv))
        for row in range(len(places)):
            data.qpos[addresses] = places[row]
            data.qvel[dofs] = speeds[row]
            data.qacc[dofs] = accelerations[row]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, 1, whole[row])
            data.qvel[:] = 0.0
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, 0, still[row])
        return still[:, dofs], whole[:, dofs]
