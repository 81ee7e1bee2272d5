"""Feetech servos on a serial bus: the STS, SMS and SCS series."""

from .models import models_by_name
from .protocol import HIGHEST_ID

__all__ = ["HIGHEST_ID", "models_by_name"]
