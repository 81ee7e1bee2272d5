"""Robot descriptions and motion files: read into neutral types, changed, and written.

    from motiond.formats import dump_motion, dump_robot, load_motion, load_robot, trim

    robot = load_robot("arm.hrdf")
    dump_robot(robot, "arm.urdf")
    dump_motion(trim(load_motion("wave.seq"), 1.0, 2.0), "short.seq")

Whatever is wrong with a file comes as one `FormatError` with a line for each problem. Public are the names
listed here; the daemon also uses those of `model`, `io`, `registry`, `worker` and `arrays`.

- `hrdf`, `skel`, `sdf`, `urdf`, `mjcf`: formats of robots
- `seq`, `pseq`, `bvh`, `webots_motion`, `xmdi`, `npz`, `mcap`, `ros`, `csv`: formats of motions
- `reading`, `writing`: files by their paths; `mapping`: files that map motions to a robot's joints
- `registry`: which format reads or writes a file; each is imported when a file needs it
- `worker`: a process that reads motions for another one
- `model`: the neutral types, and what can be done with them
- `io`: what readers and writers share
- `errors`: problems of files; `arrays`: types of arrays
"""

from .errors import MOST_PROBLEMS, BadText, FormatError, Problem
from .io import NothingToDropError, ReadOptions, Source
from .model import (
    Coordinate,
    Frame,
    FrameKind,
    Interpolation,
    Joint,
    JoinTolerance,
    JointType,
    Link,
    MappedJoint,
    Mesh,
    Mimic,
    Motion,
    MotionError,
    MotionMap,
    RobotModel,
    Run,
    Shape,
    blend,
    concatenate,
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
from .reading import MAP_SUFFIX, load_map, load_motion, load_motions, load_robot, load_robots, load_run
from .writing import dump_motion, dump_robot, mjcf_document

__all__ = [
    "MAP_SUFFIX",
    "MOST_PROBLEMS",
    "BadText",
    "Coordinate",
    "FormatError",
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
    "NothingToDropError",
    "Problem",
    "ReadOptions",
    "RobotModel",
    "Run",
    "Shape",
    "Source",
    "blend",
    "concatenate",
    "dump_motion",
    "dump_robot",
    "ease",
    "load_map",
    "load_motion",
    "load_motions",
    "load_robot",
    "load_robots",
    "load_run",
    "mirror",
    "mjcf_document",
    "name_joints",
    "offset",
    "rename",
    "retime",
    "reverse",
    "select",
    "smooth",
    "still_ends",
    "trim",
    "trim_frames",
    "without",
]
