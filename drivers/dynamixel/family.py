"""DYNAMIXEL servos, as the parts that all drivers on serial buses share know them."""

from ..serial_bus.family import Family
from .models import HARDWARE_ERRORS, models
from .protocol import PROTOCOL

FAMILY = Family(
    driver="dynamixel",
    tool="DYNAMIXEL Wizard",
    protocol=PROTOCOL,
    models=models,
    error_register="hardware_error",
    errors=HARDWARE_ERRORS,
    shutdown_register="shutdown",
)
