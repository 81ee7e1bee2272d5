"""What is DYNAMIXEL's alone in preparing servos for torque: modes, drive modes, and the goal current."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base import DriverError
from ..serial_bus.options import of_actuator
from ..serial_bus.setup import Wish, common_wishes, profile_and_gains, refused_status_levels
from .family import DYNAMIXEL
from .models import models
from .options import CURRENT_MODE, MODE_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..serial_bus.chain import Chain, Servo
    from .options import DynamixelOptions

REVERSE, SLAVE, TIME_BASED, TORQUE_ON_BY_GOAL = 0x01, 0x02, 0x04, 0x08
BAD_DRIVE_MODES = {
    SLAVE: "follows another servo (drive mode, bit 1)",
    TIME_BASED: "takes its profile as times (drive mode, bit 2)",
    TORQUE_ON_BY_GOAL: "switches torque on by itself with any goal (drive mode, bit 3)",
}
ALL_STATUS = 2
MODE_NAMES = {number: name for name, number in MODE_NUMBERS.items()}


def refused(chain: Chain) -> Iterator[DriverError]:
    """Yield what keeps servos of a chain from being driven at all."""
    for servo in chain.servos:
        watchdog_from = models()[servo.model.number].table.watchdog_from
        if int(servo.firmware) < watchdog_from:
            yield DriverError(
                servo.where,
                f"its firmware {servo.firmware} has no bus watchdog",
                "nothing would stop it when setpoints end",
                f"update it to {watchdog_from} or newer with {DYNAMIXEL.tool}",
            )
    yield from refused_status_levels(chain, ALL_STATUS, DYNAMIXEL)


def wishes(chain: Chain, options: DynamixelOptions) -> Iterator[Wish]:
    """Yield the lasting settings of a chain that are not as configured."""
    modes, drives = chain.get("operating_mode"), chain.get("drive_mode")
    offsets, delays = chain.get("homing_offset"), chain.get("return_delay")
    for servo, mode, drive, offset, delay in zip(chain.servos, modes, drives, offsets, delays, strict=True):
        if mode != CURRENT_MODE or options.gravity is None:  # or else it waits for torque to go off
            yield from _mode_wish(servo, mode, of_actuator(options.operating_mode, servo.actuator))
        bad = [text for bit, text in BAD_DRIVE_MODES.items() if drive & bit]
        if bad:
            yield Wish(servo, "drive_mode", drive & REVERSE, " and ".join(bad))
        yield from common_wishes(servo, offset, delay, options)


def _mode_wish(servo: Servo, mode: int, wanted: object) -> Iterator[Wish]:
    name = MODE_NAMES.get(mode, f"mode {mode}, which takes no positions")
    if wanted is None and mode not in MODE_NAMES:
        wanted = "position"
    if wanted is not None and MODE_NUMBERS[str(wanted)] != mode:
        yield Wish(
            servo, "operating_mode", MODE_NUMBERS[str(wanted)], f"is in {name}, and must be in {wanted}"
        )


def settings(chain: Chain, options: DynamixelOptions) -> Mapping[str, Mapping[int, int]]:
    """Return the settings that servos forget without power: profile, gains, goal current."""
    currents = {
        one.servo_id: round(current_a / one.model.current_unit_a)
        for one in chain.servos
        if one.model.current_unit_a is not None
        and isinstance(current_a := of_actuator(options.goal_current_a, one.actuator), float)
    }
    return {**profile_and_gains(chain, options), "goal_current": currents}
