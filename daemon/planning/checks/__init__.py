"""What looks at planned motions besides limits.

- `plan_check`: what a check is, and what follows from what it finds
- `effort`: whether actuators are strong enough
- `making`: those that a configuration asks for
"""

from .effort import EffortCheck
from .making import make_checks
from .plan_check import PlanCheck, PlanFindings, checked, checked_plan, never, whole_rows

__all__ = [
    "EffortCheck",
    "PlanCheck",
    "PlanFindings",
    "checked",
    "checked_plan",
    "make_checks",
    "never",
    "whole_rows",
]
