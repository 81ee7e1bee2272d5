"""What lies far outside a joint's limits, and how slowly it comes back from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Floats

FAR_OUTSIDE = 0.05  # of a joint's range: what a calibration may be off, and far less than a turn
FAR_OUTSIDE_OF_ENDLESS = {"rad": 0.1, "m": 0.01}  # where one side has no limit
FROM_BEYOND = 0.2  # of the bounds of an approach
WAY_BACK = "check the actuator, its offset and its turns; if it is there, go to a posture with from_beyond"


def slack_of(lower: Floats, upper: Floats, units: Sequence[str]) -> Floats:
    """Return how far outside its limits each joint may be, in rad or m, shape (joints,)."""
    span = upper - lower
    endless = [FAR_OUTSIDE_OF_ENDLESS[unit] for unit in units]
    return np.where(np.isfinite(span), FAR_OUTSIDE * span, endless)


def far_outside(position: float, lower: float, upper: float, unit: str) -> str:
    """Return where a joint is, for messages."""
    return f"is at {position:.4g} {unit}, far outside its limits of {lower:.4g} to {upper:.4g} {unit}"
