"""One robot's motions: read in a thread, watched, uploaded, and checked again when limits change.

- `motion_loader`: reads them beside everything else
- `motion_watch`: has them read when files change
- `uploads`: the folder for motions of clients
- `recorded`: recordings of the robot, read to be played, looked at and sent
- `sequences`: several of them planned as one
- `learned_limits`: the limits that actuators report, and motions checked again
"""

from .learned_limits import LearnedLimits
from .motion_loader import AT_ONCE, MotionLoader
from .motion_watch import MotionWatch
from .recorded import RecordedMotions
from .sequences import Sequences
from .uploads import Uploads

__all__ = [
    "AT_ONCE",
    "LearnedLimits",
    "MotionLoader",
    "MotionWatch",
    "RecordedMotions",
    "Sequences",
    "Uploads",
]
