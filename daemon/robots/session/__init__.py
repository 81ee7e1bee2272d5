"""What one robot does, and what follows: its goals and its session.

- `robot_session`: what the robot does, and what follows; pure
- `goal`: a goal, from its acceptance to its result
- `follow_goal`: one whose way is made as it goes
- `goal_planner`: what the stream process needs for a goal
- `body_checks`: what checks of the robot's body say of where goals lead
- `shared_tracks`: motions in shared memory
"""

from .follow_goal import FollowGoal
from .goal import Goal, MotionGoal, new_goal
from .goal_planner import (
    POSE_RATE_HZ,
    GoalPlanner,
    PlannedBlend,
    checked_clock,
    refuse_far,
    refuse_speed,
    refuse_too_late,
)
from .robot_session import LOOKED_AT, SHUTS_DOWN, Opening, Pending, RobotSession, Seek

__all__ = [
    "LOOKED_AT",
    "POSE_RATE_HZ",
    "SHUTS_DOWN",
    "FollowGoal",
    "Goal",
    "GoalPlanner",
    "MotionGoal",
    "Opening",
    "Pending",
    "PlannedBlend",
    "RobotSession",
    "Seek",
    "checked_clock",
    "new_goal",
    "refuse_far",
    "refuse_speed",
    "refuse_too_late",
]
