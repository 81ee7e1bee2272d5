"""The robots: their goals, and the life of their stream processes.

- `registry`: all robots of a daemon
- `member`: one of them, with all that serves it
- `assembly`: makes robots of a configuration
- `handlers`: which requests a robot takes, and what it answers
- `session`: what one robot does, and what follows; goals, and what the stream process needs for them
- `request_planning`: what requests have planned in threads
- `robot`: the shell around its session: its life, what its stream process does, what requests wait for
- `process`: keeps a stream process alive
- `motions`: reads motions beside everything else, watches their folders, takes uploads
- `control`: who commands a robot, and what follows when control is lost
- `reservation`: whether it is reserved for a start of its group
- `teaching`: requests to teach it by hand; `taught`: what it was taught, which becomes a motion
- `inactivity`: lets a robot that nobody uses rest
- `payloads`, `telemetry_reporter`: what is reported
"""

from .assembly import make_registry, make_setup
from .member import Member
from .payloads import result_payload
from .registry import RobotRegistry
from .reservation import Reservation
from .robot import Robot
from .session import GoalPlanner, MotionGoal, new_goal

__all__ = [
    "GoalPlanner",
    "Member",
    "MotionGoal",
    "Reservation",
    "Robot",
    "RobotRegistry",
    "make_registry",
    "make_setup",
    "new_goal",
    "result_payload",
]
