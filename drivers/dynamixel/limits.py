"""Positions that DYNAMIXEL servos accept as goals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..serial_bus.limits import Limits
from .options import CURRENT_MODE, MODE_NUMBERS

if TYPE_CHECKING:
    from ..base import Booleans
    from ..serial_bus.chain import Chain


class DynamixelLimits(Limits):
    """The servos' own limits; in some operating modes they count turns instead."""

    def counts_turns(self, chain: Chain) -> Booleans:
        """Return which servos are in no mode with limits of position (servos,)."""
        # What is still guided is put into the position mode before it holds.
        limited = MODE_NUMBERS["position"], CURRENT_MODE
        counts: Booleans = ~np.isin(chain.get("operating_mode"), limited)
        return counts
