"""The options of the `dynamixel` driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ..base import DriverOptions
from ..options import NotNegative, PerActuatorOf, Positive  # noqa: TC001 - the same
from ..serial_bus.options import SerialOptions, SerialPortOptions
from ..weights import Gravity  # noqa: TC001 - pydantic resolves the annotations of the options
from .protocol import HIGHEST_ID

if TYPE_CHECKING:
    from collections.abc import Mapping

ServoId = Annotated[int, Field(ge=0, le=HIGHEST_ID)]
Gain = Annotated[int, Field(ge=0, le=32767)]
OperatingMode = Literal["position", "extended_position", "current_based_position"]
MODE_NUMBERS: Mapping[str, int] = {"position": 3, "extended_position": 4, "current_based_position": 5}
CURRENT_MODE = 0
WATCHDOG_UNIT_S = 0.02
LONGEST_WATCHDOG = 127
Lifetime = Annotated[float, Field(ge=WATCHDOG_UNIT_S, le=LONGEST_WATCHDOG * WATCHDOG_UNIT_S)]
LOWEST_BAUD_RATE, HIGHEST_BAUD_RATE = 9600, 10_500_000


class PortOptions(SerialPortOptions):
    """A serial port and the servos on its bus."""

    baud_rate: Annotated[int, Field(ge=LOWEST_BAUD_RATE, le=HIGHEST_BAUD_RATE)] = Field(
        default=57_600, description="As the servos are set."
    )
    ids: dict[str, ServoId] = Field(min_length=1, description="The servos' ids by actuator.")


class GainOptions(DriverOptions):
    """Gains of the servos' controllers, in the registers' own units; those left out stay as they are."""

    position_p: PerActuatorOf[Gain] | None = None
    position_i: PerActuatorOf[Gain] | None = None
    position_d: PerActuatorOf[Gain] | None = None
    feedforward_1st: PerActuatorOf[Gain] | None = None
    feedforward_2nd: PerActuatorOf[Gain] | None = None
    velocity_p: PerActuatorOf[Gain] | None = None
    velocity_i: PerActuatorOf[Gain] | None = None


class DynamixelOptions(SerialOptions):
    """The options of `type: dynamixel`; a value holds for all actuators, a mapping by actuator."""

    ports: list[PortOptions] = Field(min_length=1, description="The buses, which work in parallel.")
    models: PerActuatorOf[str] | None = Field(
        default=None, description="Which model is expected, such as XM430-W350; another one is refused."
    )
    operating_mode: PerActuatorOf[OperatingMode] | None = Field(
        default=None, description="As it must be; otherwise any that takes positions."
    )
    profile_acceleration_rad_s2: PerActuatorOf[NotNegative] = Field(
        default=0.0, description="0 is without limit; servos ignore it where their profile velocity is 0."
    )
    follow_velocity: bool = Field(
        default=False, description="Send each setpoint's velocity as the profile velocity along with it."
    )
    goal_current_a: PerActuatorOf[Positive] | None = Field(
        default=None, description="The most current, in current_based_position."
    )
    gains: GainOptions = GainOptions()
    gravity: Gravity | None = Field(
        default=None, description="What the servos carry while a hand guides them."
    )
    command_lifetime_s: Lifetime = Field(
        default=0.2, description="The servos stop when no command came for so long; in steps of 0.02."
    )
