"""Setpoints towards targets that come as it goes, within every limit.

- `generator`: the next setpoint of each joint
- `paths`: those through rows, and how joints come onto one; `spline` is the curve of one
- `interception`: where a joint meets a path that it cannot come onto yet
- `limits`: what each joint keeps
"""

from .generator import OnlineGenerator
from .limits import OnlineLimits
from .spline import Spline

__all__ = ["OnlineGenerator", "OnlineLimits", "Spline"]
