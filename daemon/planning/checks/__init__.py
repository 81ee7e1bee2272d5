"""What looks at planned motions besides limits.

- `plan_check`: what a check is, and what follows from what it finds
- `effort`: whether actuators are strong enough
- `collision`: whether links keep clear of each other and of what is around
- `making`: those that a configuration asks for
"""

from .collision import CollisionCheck, range_of
from .effort import EffortCheck
from .making import collision_of, make_checks
from .plan_check import (
    Meanwhile,
    PlanCheck,
    PlanFindings,
    checked,
    checked_plan,
    checked_pose,
    initial_of,
    never,
    pose_problems,
    slowed_way,
    whole_rows,
)

__all__ = [
    "CollisionCheck",
    "EffortCheck",
    "Meanwhile",
    "PlanCheck",
    "PlanFindings",
    "checked",
    "checked_plan",
    "checked_pose",
    "collision_of",
    "initial_of",
    "make_checks",
    "never",
    "pose_problems",
    "range_of",
    "slowed_way",
    "whole_rows",
]
