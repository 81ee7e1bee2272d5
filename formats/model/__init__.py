"""The neutral types that every reader makes, and what can be done with them; no module knows a file format.

- `robot`: a robot; `structure`: the links, joints and frames that it consists of
- `shapes`: what links look like; `outline`: shapes derived where a file describes none
- `kinematics`: where these are for given positions
- `splitting`: the same robot of simpler joints
- `motion`: joint positions over time; `timing`: the rate that times show; `interpolation`: between rows
- `editing`: new motions of one motion; `joining`: one motion of several
- `mapping`: the columns of a motion as the joints of a robot
- `run`: a recording to look at; `joint_peaks`: what each joint does at most
- `poses`: 4x4 matrices
"""

from .editing import (
    ease,
    mirror,
    name_joints,
    offset,
    rename,
    retime,
    reverse,
    select,
    smooth,
    still_ends,
    trim,
    trim_frames,
    without,
)
from .interpolation import (
    SAME_TIME_S,
    Interpolation,
    TooManyRows,
    curve,
    hermite,
    interpolate,
    pchip_slopes,
    rows_between,
    spline_slopes,
)
from .joining import JoinTolerance, blend, concatenate
from .joint_peaks import Peak, peaks
from .mapping import MappedJoint, MotionMap, si_unit
from .motion import Motion, MotionError
from .outline import derived_shapes
from .poses import quaternion_of, turned_to
from .robot import RobotModel
from .run import PlayedGoal, Run
from .shapes import Mesh, Shape, ellipsoid
from .structure import Coordinate, Frame, FrameKind, Joint, JointType, Link, Mimic

__all__ = [
    "SAME_TIME_S",
    "Coordinate",
    "Frame",
    "FrameKind",
    "Interpolation",
    "JoinTolerance",
    "Joint",
    "JointType",
    "Link",
    "MappedJoint",
    "Mesh",
    "Mimic",
    "Motion",
    "MotionError",
    "MotionMap",
    "Peak",
    "PlayedGoal",
    "RobotModel",
    "Run",
    "Shape",
    "TooManyRows",
    "blend",
    "concatenate",
    "curve",
    "derived_shapes",
    "ease",
    "ellipsoid",
    "hermite",
    "interpolate",
    "mirror",
    "name_joints",
    "offset",
    "pchip_slopes",
    "peaks",
    "quaternion_of",
    "rename",
    "retime",
    "reverse",
    "rows_between",
    "select",
    "si_unit",
    "smooth",
    "spline_slopes",
    "still_ends",
    "trim",
    "trim_frames",
    "turned_to",
    "without",
]
