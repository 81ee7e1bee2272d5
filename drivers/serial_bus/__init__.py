"""What drivers of servos on a serial bus share."""

from .line import import_serial
from .scanning import Scanned

__all__ = ["Scanned", "import_serial"]
