"""What DYNAMIXEL servos report: also whether their bus watchdog runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..base import DriverError
from ..serial_bus.feedback import Feedback

if TYPE_CHECKING:
    from ..serial_bus.chain import Servo

WATCHDOG_TRIPPED = 0xFF


class DynamixelFeedback(Feedback):
    """The last feedback of all servos, whose bus watchdogs are watched as well."""

    watched: ClassVar[tuple[str, ...]] = ("torque_enable", "bus_watchdog")

    def why_not_held(self, servo: Servo, name: str, value: int) -> DriverError | None:
        """Return what is wrong where a servo should hold: its torque, or its watchdog."""
        if name != "bus_watchdog":
            return super().why_not_held(servo, name, value)
        if value == WATCHDOG_TRIPPED:
            return DriverError(
                servo.where,
                "its bus watchdog has tripped",
                "no packet came for longer than `command_lifetime_s`, so it stopped and ignores goals",
                "look for what kept them from it, as a suspended machine, then reset and enable the robot",
            )
        if not value:
            return DriverError(
                servo.where,
                "its bus watchdog is off",
                "it has restarted and forgotten its settings, or another program changed them",
                "check its power, then reset and enable the robot",
            )
        return None
