"""What the parts that all drivers on serial buses share need to know of Feetech's servos."""

from __future__ import annotations

from ..serial_bus.family import Family
from .errors import ANGLE_SENSOR, ERRORS, meaning
from .models import models
from .protocol import PROTOCOL

FEETECH = Family(
    driver="feetech",
    tool="Feetech's FD",
    protocol=PROTOCOL,
    models=models,
    error_register="status",
    errors=ERRORS,
    shutdown_register="unloading_condition",
    meaning=meaning,
    fatal=ANGLE_SENSOR,
    clears=True,
)
