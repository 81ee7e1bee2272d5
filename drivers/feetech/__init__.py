"""Feetech servos on a serial bus: the STS, SMS and SCS series."""

from .driver import FeetechDriver
from .models import models_by_name
from .options import HIGHEST_BAUD_RATE, LOWEST_BAUD_RATE, FeetechOptions
from .protocol import HIGHEST_ID
from .scanning import COMMON_BAUD_RATES, reboot, refuse_id, scan, set_id

__all__ = [
    "COMMON_BAUD_RATES",
    "HIGHEST_BAUD_RATE",
    "HIGHEST_ID",
    "LOWEST_BAUD_RATE",
    "FeetechDriver",
    "FeetechOptions",
    "models_by_name",
    "reboot",
    "refuse_id",
    "scan",
    "set_id",
]
