"""What each joint keeps while it follows targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ruckig import InputParameter, Synchronization

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

    def ruckig_input(self) -> InputParameter:
        """Return an input for ruckig, of joints that rest at 0, each of which moves for itself."""
        wanted = InputParameter(len(self.lower))
        wanted.synchronization = Synchronization.No
        wanted.max_velocity, wanted.max_acceleration = self.velocity.tolist(), self.acceleration.tolist()
        wanted.max_jerk = self.jerk.tolist()
        return wanted
