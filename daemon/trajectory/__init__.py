"""Rows of setpoints, passes over them, and the clock that moves along: what planning and stream share.

- `track`: rows in shared memory, and the setpoint at any place on them
- `route`: an approach and passes over a motion, leg by leg
- `clock`: where on a leg the robot is, and how fast that place moves
- `way`: from rest to rest, as fast as its bounds allow
- `handover`: from a moving state to rest
- `ramp`: jerk-limited changes of that rate
- `transmission`: between joints and actuators
- `online`: towards targets that come as it goes, within every limit
- `brake`: from any velocity to rest, joint by joint
- `fade`: the weight of what is added to a motion, which comes and goes smoothly
- `followers`: what is true of a joint and of those that follow it
- `beyond`: what lies far outside a joint's limits, and how slowly it comes back
- `turns`: whole turns of joints that turn without end
"""

from .beyond import FAR_OUTSIDE, FROM_BEYOND, WAY_BACK, far_outside, slack_of
from .brake import STEEPEST, UNLIMITED, Brake, longest_braking_s
from .clock import TrajectoryClock
from .fade import FASTEST, SHARPEST, FadeAway
from .followers import of_all
from .handover import Bounds, Motion, hand_over, plan_handover
from .online import OnlineGenerator, OnlineLimits, Spline
from .ramp import FULL_RAMP, longest_stop, slowing
from .route import Leg, Passes, Route
from .track import Track, map_shared, share
from .transmission import Transmission
from .turns import TURN, endless_within, nearest_turns
from .way import Way, WayError, plan_way

__all__ = [
    "FAR_OUTSIDE",
    "FASTEST",
    "FROM_BEYOND",
    "FULL_RAMP",
    "SHARPEST",
    "STEEPEST",
    "TURN",
    "UNLIMITED",
    "WAY_BACK",
    "Bounds",
    "Brake",
    "FadeAway",
    "Leg",
    "Motion",
    "OnlineGenerator",
    "OnlineLimits",
    "Passes",
    "Route",
    "Spline",
    "Track",
    "TrajectoryClock",
    "Transmission",
    "Way",
    "WayError",
    "endless_within",
    "far_outside",
    "hand_over",
    "longest_braking_s",
    "longest_stop",
    "map_shared",
    "nearest_turns",
    "of_all",
    "plan_handover",
    "plan_way",
    "share",
    "slack_of",
    "slowing",
]
