"""DYNAMIXEL servos, as the parts that all drivers on serial buses share know them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..serial_bus.family import Family
from .models import HARDWARE_ERRORS, models
from .protocol import PROTOCOL

if TYPE_CHECKING:
    from ..serial_bus.chain import Servo


def _meaning(servo: Servo, bits: int) -> tuple[str, str]:
    """Return what it means to have shut down, whatever the error, and how to restart a servo."""
    del bits
    without = f"`motiond scan {servo.bus.port} --baud {servo.bus.baud_rate} --reboot {servo.servo_id}`"
    hint = (
        f"remove the cause, then `motiond reboot ROBOT {servo.actuator}`, or, where no daemon has the port, "
    )
    return "it has switched its torque off and ignores goals", hint + without


DYNAMIXEL = Family(
    driver="dynamixel",
    tool="DYNAMIXEL Wizard",
    protocol=PROTOCOL,
    models=models,
    error_register="hardware_error",
    errors=HARDWARE_ERRORS,
    shutdown_register="shutdown",
    meaning=_meaning,
)
