"""What Feetech servos allow by their registers and the options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..serial_bus.limits import Limits
from .setup import velocity_limit_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base import Floats
    from ..limits import ActuatorLimits
    from ..serial_bus.chain import Chain


class FeetechLimits(Limits):
    """The servos' own limits; an acceleration holds whether or not there is a velocity."""

    def limiting(self, chain: Chain, register: str) -> Sequence[float]:
        """Return a limiting register, in units of `present_velocity` and `present_current`."""
        values = super().limiting(chain, register)
        if register != "velocity_limit":
            return values
        return [
            value * velocity_limit_units(servo) for servo, value in zip(chain.servos, values, strict=True)
        ]

    def _with_profiles(
        self, limits: ActuatorLimits, velocity: Floats, acceleration: Floats
    ) -> ActuatorLimits:
        velocity, acceleration = (np.where(one > 0, one, np.nan) for one in (velocity, acceleration))
        limits = limits.narrowed("velocity", velocity, "driver.profile_velocity_rad_s")
        return limits.narrowed("acceleration", acceleration, "driver.profile_acceleration_rad_s2")
