"""Robots as MuJoCo has them, for all that needs more of a robot than its kinematics.

- `world`: a robot, and what stands around it, as a document for MuJoCo
- `bodies`: what the robot's links weigh there, and what they touch with
- `robot`: a robot that MuJoCo has loaded, in any posture
- `extra`: MuJoCo, where it is installed
"""

from .extra import PhysicsError, load_mujoco
from .robot import PhysicalRobot
from .world import PhysicalJoint, World, make_world

__all__ = ["PhysicalJoint", "PhysicalRobot", "PhysicsError", "World", "load_mujoco", "make_world"]
