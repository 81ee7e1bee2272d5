"""What each joint keeps while it follows targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats


@dataclass(frozen=True, slots=True)
class OnlineLimits:
    """What each joint keeps, shape (joints,).

    Those of position may be infinite; the others are finite and above 0.
    """

    lower: Floats
    upper: Floats
    velocity: Floats
    acceleration: Floats
    jerk: Floats
