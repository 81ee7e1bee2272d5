"""The robots: their goals, and the life of their stream processes.

- `registry`: all robots of a daemon
- `member`: one of them, with all that serves it
- `assembly`: makes robots of a configuration
- `handlers`: which requests a robot takes, and what it answers
- `session`: what one robot does, and what follows; goals, and what the stream process needs for them
- `robot`: the shell around its session: its life, what requests wait for, what it reports
- `process`: keeps a stream process alive
- `stream_listener`: takes what its stream process reports to the session
- `motions`: reads motions beside everything else, watches their folders, takes uploads
- `control`: who commands a robot, and what follows when control is lost
- `group_start`: whether it is reserved for a start of its group
- `inactivity`: lets a robot that nobody uses rest
- `payloads`, `telemetry_reporter`: what is reported
"""

from .assembly import make_registry, make_setup
from .group_start import Reservation
from .member import Member
from .payloads import result_payload
from .registry import RobotRegistry
from .robot import Robot
from .session import Goal, GoalPlanner, new_goal

__all__ = [
    "Goal",
    "GoalPlanner",
    "Member",
    "Reservation",
    "Robot",
    "RobotRegistry",
    "make_registry",
    "make_setup",
    "new_goal",
    "result_payload",
]
