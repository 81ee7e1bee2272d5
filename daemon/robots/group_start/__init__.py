"""The reservation of one robot for a start of its group.

- `reservation`: whether the robot is reserved
- `held_start`: the start for which it is, how far that is, and what hinders it
- `reservation_reporter`: what is reported of it
"""

from .reservation import GUARD_S, TELLING_S, Reservation

__all__ = ["GUARD_S", "TELLING_S", "Reservation"]
