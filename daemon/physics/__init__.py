"""Robots as MuJoCo has them, for all that needs more of a robot than its kinematics.

- `world`: a robot, and what stands around it, as a document for MuJoCo
- `bodies`: what the robot's links weigh there, and what they touch with
- `surroundings`: what stands around it: a floor, a scene, its workspace
- `simulation`: the world as simulated actuators move it
- `robot`: a robot that MuJoCo has loaded, in any posture
- `clearance`: how near its links come to each other there, and to what stands around
- `sweeping`: and along a whole path
- `reach`: how far that may change, while joints move
- `dynamics`: what efforts its motions take
- `workspace`: the shapes of a configured workspace
- `extra`: MuJoCo, where it is installed
- `refusals`: why robots cannot be made, of all at once
"""

from .bodies import bare_links, unseen_links, weightless_links
from .clearance import Clearance, Look, Nearest
from .dynamics import Dynamics
from .extra import PhysicsError, load_mujoco
from .refusals import Refusals
from .robot import PhysicalRobot
from .simulation import simulated_surroundings, with_physics
from .surroundings import Surrounding
from .sweeping import TOLERANCE_M, Canceled, Encounter, JointPath, Swept, nearing, sweep
from .workspace import drawn_workspace, walls_of, workspace_shapes
from .world import PhysicalJoint, World, make_world

__all__ = [
    "TOLERANCE_M",
    "Canceled",
    "Clearance",
    "Dynamics",
    "Encounter",
    "JointPath",
    "Look",
    "Nearest",
    "PhysicalJoint",
    "PhysicalRobot",
    "PhysicsError",
    "Refusals",
    "Surrounding",
    "Swept",
    "World",
    "bare_links",
    "drawn_workspace",
    "load_mujoco",
    "make_world",
    "nearing",
    "simulated_surroundings",
    "sweep",
    "unseen_links",
    "walls_of",
    "weightless_links",
    "with_physics",
    "workspace_shapes",
]
