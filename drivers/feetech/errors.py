"""Errors that servos report: what they mean, and what helps.

They are the bits of the error byte of each answer, and of the register `status`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..serial_bus.chain import Servo

VOLTAGE, ANGLE_SENSOR, HEAT, CURRENT, OVERLOAD = 0x01, 0x02, 0x04, 0x08, 0x20
ERRORS: Mapping[int, str] = {
    VOLTAGE: "a supply voltage beyond its limits",
    ANGLE_SENSOR: "an angle sensor error",
    HEAT: "overheating",
    CURRENT: "overcurrent",
    OVERLOAD: "overload",
}
_OFF = "it has switched its torque off and ignores goals"
_MEANINGS: Mapping[int, tuple[str, str]] = {
    ANGLE_SENSOR: (
        "it does not know where it is",
        (
            "support the robot, as the joint goes limp, then `motiond reboot ROBOT {0}`; "
            "if that does not help, replace the servo"
        ),
    ),
    CURRENT: (_OFF, "look for what blocks it, then `motiond clear ROBOT {0}`"),
    OVERLOAD: (
        "it bore too much for too long; it keeps little of its torque and follows no goal",
        "take the load away, then `motiond clear ROBOT {0}`",
    ),
    HEAT: (_OFF, "let it cool down, then reset and enable the robot"),
    VOLTAGE: (_OFF, "check the power supply and its cables, then reset and enable the robot"),
}
"""Reason and hint, the gravest first; {0} is the actuator."""


def meaning(servo: Servo, bits: int) -> tuple[str, str]:
    """Return what the gravest of some errors means, and what helps."""
    reason, hint = next(
        (text for bit, text in _MEANINGS.items() if bits & bit), (_OFF, "switch its power off and on")
    )
    return reason, hint.format(servo.actuator)
