"""DYNAMIXEL servos on a serial bus, Protocol 2.0."""

from .capacity import feedback_exchange
from .driver import DynamixelDriver
from .models import models_by_name
from .options import HIGHEST_BAUD_RATE, LOWEST_BAUD_RATE, DynamixelOptions
from .protocol import HIGHEST_ID
from .scanning import COMMON_BAUD_RATES, reboot, scan

__all__ = [
    "COMMON_BAUD_RATES",
    "HIGHEST_BAUD_RATE",
    "HIGHEST_ID",
    "LOWEST_BAUD_RATE",
    "DynamixelDriver",
    "DynamixelOptions",
    "feedback_exchange",
    "models_by_name",
    "reboot",
    "scan",
]
