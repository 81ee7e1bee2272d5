"""Makes motions of what a robot was taught by hand; pure.

- `trail`: what was moved, tick by tick
- `hand_movement`: a trail becomes a motion: smoothed to a bound, at a rate, from rest to rest
- `easing`: the clock along a movement, which begins and ends at rest
- `key_poses`: poses become a motion: to rest at each, or through them
- `rows`: what both have in common: which joints are taught, within which limits
"""

from .hand_movement import Movement, movement
from .key_poses import AtPoses, through, to_rest_at_each
from .rows import Taught, TeachingError, as_motion, pose_bounds, taught_columns
from .trail import LONGEST_S, Trail

__all__ = [
    "LONGEST_S",
    "AtPoses",
    "Movement",
    "Taught",
    "TeachingError",
    "Trail",
    "as_motion",
    "movement",
    "pose_bounds",
    "taught_columns",
    "through",
    "to_rest_at_each",
]
