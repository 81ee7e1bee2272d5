"""What one robot does, and what follows: its goals and its session.

- `robot_session`: what the robot does, and what follows; pure
- `beginning`: below it, what begins
- `waiting`: below that, what waits, and flows into what plays
- `facts`: below that, what is known of the robot, and what was sent to it
- `gate`: what keeps it from what is asked for
- `pending`: what requests wait for
- `outlet`: what a session reaches beyond itself
- `goal`: a goal, from its acceptance to its result
- `follow_goal`: one whose way is made as it goes
- `goal_planner`: what the stream process needs for a goal
- `body_checks`: what checks of the robot's body say of where goals lead
- `shared_tracks`: motions in shared memory
"""

from .beginning import LOOKED_AT
from .follow_goal import FollowGoal
from .gate import SHUTS_DOWN, Hindrance
from .goal import Goal, MotionGoal, new_goal
from .goal_planner import (
    POSE_RATE_HZ,
    GoalPlanner,
    PlannedBlend,
    WayOver,
    checked_clock,
    refuse_far,
    refuse_speed,
    refuse_too_late,
)
from .pending import Opening, Pending, Seek
from .robot_session import RobotSession

__all__ = [
    "LOOKED_AT",
    "POSE_RATE_HZ",
    "SHUTS_DOWN",
    "FollowGoal",
    "Goal",
    "GoalPlanner",
    "Hindrance",
    "MotionGoal",
    "Opening",
    "Pending",
    "PlannedBlend",
    "RobotSession",
    "Seek",
    "WayOver",
    "checked_clock",
    "new_goal",
    "refuse_far",
    "refuse_speed",
    "refuse_too_late",
]
