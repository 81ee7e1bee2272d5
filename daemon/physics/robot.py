"""A robot that MuJoCo has loaded, in any posture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .extra import PhysicsError, load_mujoco, reason_of

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

    from .world import World


class PhysicalRobot:
    """A world, loaded; one for each thread.

    Attributes
    ----------
    model, data : mujoco.MjModel, mujoco.MjData
    columns : ndarray of int, shape (n,)
        For each joint of the model that a column of the joint map moves, that column.
    addresses, dofs : ndarray of int, shape (n,)
        Where these joints have their positions in `qpos`, and their velocities and efforts in `qvel` and
        `qfrc_…`.
    factors, offsets : ndarray, shape (n,)
        Of `coordinates`: `factors * positions[columns] + offsets`; an effort of a joint of the joint map is
        the sum of `factors * qfrc` over the joints that it moves.

    Raises
    ------
    PhysicsError
        If MuJoCo is not installed, or cannot load the world.
    """

    def __init__(self, world: World) -> None:
        mujoco = load_mujoco(world.robot)
        try:
            self.model = mujoco.MjModel.from_xml_string(world.mjcf)
        except ValueError as error:
            hint = "correct the robot's description, or what stands around it"
            problem = f"{world.robot}: MuJoCo cannot load the robot"
            raise PhysicsError(f"{problem}; {reason_of(error)}; {hint}") from error
        self.data = mujoco.MjData(self.model)
        self._kinematics = mujoco.mj_kinematics
        numbers = [self.model.joint(one.name).id for one in world.joints]
        self.columns = np.array([one.column for one in world.joints], dtype=np.intp)
        self.addresses = self.model.jnt_qposadr[numbers].astype(np.intp)
        self.dofs = self.model.jnt_dofadr[numbers].astype(np.intp)
        self.factors = np.array([one.factor for one in world.joints])
        self.offsets = np.array([one.offset for one in world.joints])

    def coordinates(self, positions: Floats) -> Floats:
        """Return where the joints of the model are, shape (…, n), in the order of `addresses`.

        `positions`: shape (…, joints), in rad or m, of all joints of the joint map, those that follow others
        included.
        """
        coordinates: Floats = self.factors * positions[..., self.columns] + self.offsets
        return coordinates

    def place(self, positions: Floats) -> None:
        """Place the robot, and work out where its bodies, shapes and frames are; as of `coordinates`."""
        self.data.qpos[self.addresses] = self.coordinates(positions)
        self._kinematics(self.model, self.data)
