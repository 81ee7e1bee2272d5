"""The robot's joints, and the actuators that move them.

- `joint_map`: the columns of every array, with limits and mimic joints
- `bounds`: tolerances and bounds of approaches, by the unit and the range of each joint
- `description`: the robot's description, and its joint map
- `gravity`: the weight of a robot, from its description; `payload`: with what it carries
- `twist`: how fast joints move so that a frame moves as it is asked to
- `stops`: where simulated joints stop, by their limits, and where they begin
"""

from .bounds import NEVER_FAILS, JointBounds, joint_bounds, never_fails
from .description import has_ends, load_model, make_joint_map, missing_limits, read_robot
from .gravity import with_gravity
from .joint_map import ROUNDING, JointMap, JointMapError, Limits, Unit, build_joint_map, with_rounding
from .payload import with_payload
from .stops import with_stops
from .twist import TwistError, TwistMap

__all__ = [
    "NEVER_FAILS",
    "ROUNDING",
    "JointBounds",
    "JointMap",
    "JointMapError",
    "Limits",
    "TwistError",
    "TwistMap",
    "Unit",
    "build_joint_map",
    "has_ends",
    "joint_bounds",
    "load_model",
    "make_joint_map",
    "missing_limits",
    "never_fails",
    "read_robot",
    "with_gravity",
    "with_payload",
    "with_rounding",
    "with_stops",
]
