"""The options of the `feetech` driver."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - the same
from typing import Annotated

from pydantic import Field

from ..base import DriverOptions
from ..options import PerActuatorOf  # noqa: TC001 - pydantic resolves the annotations of the options
from ..serial_bus.options import SerialOptions, SerialPortOptions
from .protocol import HIGHEST_ID

ServoId = Annotated[int, Field(ge=0, le=HIGHEST_ID)]
Gain = Annotated[int, Field(ge=0, le=254)]
Offset = Annotated[int, Field(ge=-2047, le=2047)]
Fraction = Annotated[float, Field(gt=0, le=1)]
MOST_SERVOS = 250
"""As many as one sync read can ask."""
LOWEST_BAUD_RATE, HIGHEST_BAUD_RATE = 19_200, 1_000_000


class PortOptions(SerialPortOptions):
    """A serial port and the servos on its bus."""

    baud_rate: Annotated[int, Field(ge=LOWEST_BAUD_RATE, le=HIGHEST_BAUD_RATE)] = Field(
        default=1_000_000, description="As the servos are set."
    )
    ids: dict[str, ServoId] = Field(
        min_length=1, max_length=MOST_SERVOS, description="The servos' ids by actuator."
    )


class GainOptions(DriverOptions):
    """Gains of the servos' controllers, in the registers' own units; those left out stay as they are."""

    position_p: PerActuatorOf[Gain] | None = None
    position_i: PerActuatorOf[Gain] | None = None
    position_d: PerActuatorOf[Gain] | None = None


class FeetechOptions(SerialOptions):
    """The options of `type: feetech`; a value holds for all actuators, a mapping by actuator."""

    ports: list[PortOptions] = Field(min_length=1, description="The buses, which work in parallel.")
    homing_offset_ticks: PerActuatorOf[Offset] | None = Field(
        default=None, description="As it must be in the servo."
    )
    calibration: Path | None = Field(
        default=None, description="A calibration file of LeRobot: homing offsets, ranges and zeros."
    )
    torque_limit: PerActuatorOf[Fraction] | None = Field(
        default=None, description="The most torque, up to 1 of what the servo can."
    )
    gains: GainOptions = GainOptions()
