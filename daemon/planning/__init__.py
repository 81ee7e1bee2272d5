"""Turns motion files into checked setpoints, before anything moves.

- `library`: every configured motion, read and planned, playable or not
- `planner`: a motion as a row of setpoints for each tick
- `columns`: a motion's rows in the robot's columns, and at the rate of the ticks
- `units`: whether its numbers are likely in others
- `curve`: what lies between the ticks
- `violations`: setpoints beyond a limit
- `fitting`: slowed until nothing is beyond a limit, or by how much to slow it
- `speed_limits`: the fastest speed, and the steepest ramp of the clock
- `plan_preview`: a plan to look at
- `blend`: cross-fades from one motion into the next
- `checks`: whether the body of the robot allows what its joints do
- `sequence`: several motions as one
- `layering`: whether what is added to motions leaves them within every limit
- `playback`: the range, the passes and the seam of one play
- `approach`: the way from where the joints are to a row
- `taking_over`: the way to it from how they move
- `tolerances`: configured tolerances joined with those of a request; joints that they would not notice
"""

from .approach import ApproachError, farthest, plan_approach
from .blend import NO_LONGER, Blend, BlendError, Overlap, Pace, longer_blend, overlap_of, plan_blend
from .checks import (
    Meanwhile,
    PlanCheck,
    PlanFindings,
    checked,
    checked_plan,
    checked_pose,
    collision_of,
    make_checks,
    pose_problems,
    range_of,
    slowed_way,
)
from .columns import FREE_RATE_HZ, FURTHEST
from .layering import Extent, clock_acceleration_of, conflict_of, extent_added, extent_of, left_beside
from .library import (
    MOST_FILES,
    Entry,
    Marker,
    MotionLibrary,
    MotionReader,
    Stamp,
    is_beside_motions,
    is_motion,
    marker_file,
    read_markers,
    stamp_of,
)
from .plan_preview import curves, preview
from .planner import Plan, at_rate, plan, plan_pose
from .playback import Playback, PlaybackError, plan_playback, refuse_out_of_reach, whole, whole_of
from .sequence import SequenceError, SequencePlan, Step, plan_sequence
from .speed_limits import clock_acceleration
from .taking_over import bounds_of_ways, plan_taking_over
from .tolerances import GoalTolerances, ToleranceError, join_tolerances, unnoticed
from .violations import PlanError, Violation

__all__ = [
    "FREE_RATE_HZ",
    "FURTHEST",
    "MOST_FILES",
    "NO_LONGER",
    "ApproachError",
    "Blend",
    "BlendError",
    "Entry",
    "Extent",
    "GoalTolerances",
    "Marker",
    "Meanwhile",
    "MotionLibrary",
    "MotionReader",
    "Overlap",
    "Pace",
    "Plan",
    "PlanCheck",
    "PlanError",
    "PlanFindings",
    "Playback",
    "PlaybackError",
    "SequenceError",
    "SequencePlan",
    "Stamp",
    "Step",
    "ToleranceError",
    "Violation",
    "at_rate",
    "bounds_of_ways",
    "checked",
    "checked_plan",
    "checked_pose",
    "clock_acceleration",
    "clock_acceleration_of",
    "collision_of",
    "conflict_of",
    "curves",
    "extent_added",
    "extent_of",
    "farthest",
    "is_beside_motions",
    "is_motion",
    "join_tolerances",
    "left_beside",
    "longer_blend",
    "make_checks",
    "marker_file",
    "overlap_of",
    "plan",
    "plan_approach",
    "plan_blend",
    "plan_playback",
    "plan_pose",
    "plan_sequence",
    "plan_taking_over",
    "pose_problems",
    "preview",
    "range_of",
    "read_markers",
    "refuse_out_of_reach",
    "slowed_way",
    "stamp_of",
    "unnoticed",
    "whole",
    "whole_of",
]
