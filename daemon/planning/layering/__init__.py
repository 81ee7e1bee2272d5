"""What is added to motions, and whether that leaves them within every limit.

- `extent`: what setpoints reach at most
- `conflict`: where a sum would break a limit, and which weight would do
"""

from .conflict import Conflict, conflict_of, left_beside
from .extent import Extent, clock_acceleration_of, extent_added, extent_of

__all__ = [
    "Conflict",
    "Extent",
    "clock_acceleration_of",
    "conflict_of",
    "extent_added",
    "extent_of",
    "left_beside",
]
