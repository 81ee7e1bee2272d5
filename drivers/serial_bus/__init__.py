"""What drivers of servos on a serial bus share."""

from .line import import_serial

__all__ = ["import_serial"]
