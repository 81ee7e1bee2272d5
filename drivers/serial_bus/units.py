"""Units of servos: converts register values of all actuators to rad, rad/s and N·m, and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..options import spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..base import Floats
    from .family import Family
    from .models import Model
    from .options import SerialOptions

    Ticks: TypeAlias = NDArray[np.int32]

VOLT = 0.1


@dataclass(frozen=True, slots=True)
class Units:
    """One unit of each register, signed by the actuator's direction; mostly of shape (actuators,).

    `tick_rad`, `zero_ticks`: `position = (ticks - zero_ticks) * tick_rad`. `effort_nm`: one unit of
    `present_current`; NaN where no torque constant is known.
    """

    tick_rad: Floats
    zero_ticks: Floats
    velocity_rad_s: Floats
    effort_nm: Floats
    _tick_and_zero: Sequence[tuple[float, float]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "_tick_and_zero", [*zip(self.tick_rad.tolist(), self.zero_ticks.tolist(), strict=True)]
        )

    def of(self, quantity: str) -> tuple[Sequence[float], Sequence[float]]:
        """Return what a register's value is at 0, and one unit of it, by the name in `ActuatorState`."""
        zero = self.zero_ticks if quantity == "position" else np.zeros(len(self.tick_rad))
        one = {
            "position": self.tick_rad,
            "velocity": self.velocity_rad_s,
            "effort": self.effort_nm,
            "voltage_v": np.full(len(self.tick_rad), VOLT),
            "temperature_c": np.ones(len(self.tick_rad)),
        }[quantity]
        return zero.tolist(), one.tolist()

    def whole_ticks(self, position: Floats) -> list[int] | None:
        """Return positions in rad as whole ticks; None if one of them is not finite.

        Done in every tick, when what numpy needs has left the processor's cache: lists are faster.
        """
        try:
            return [
                round(at / tick + zero)
                for at, (tick, zero) in zip(position.tolist(), self._tick_and_zero, strict=True)
            ]
        except (ValueError, OverflowError):
            return None

    def to_ticks(self, position: Floats, out: Floats) -> None:
        """Convert positions in rad to whole ticks, still as floats; NaN stays NaN."""
        np.divide(position, self.tick_rad, out)
        np.add(out, self.zero_ticks, out)
        np.rint(out, out)

    def position_of(self, index: int, ticks: float) -> float:
        """Return one actuator's position in rad for its ticks."""
        return float((ticks - self.zero_ticks[index]) * self.tick_rad[index])

    def to_profile_velocity(self, velocity: Floats, out: Floats) -> None:
        """Convert velocities to profile velocities, rounded up and at least 1, as 0 means no limit."""
        np.divide(velocity, self.velocity_rad_s, out)
        np.abs(out, out)
        np.ceil(out, out)
        np.maximum(out, 1.0, out)


def units_of(
    models: Sequence[Model], actuators: Sequence[str], options: SerialOptions, family: Family
) -> Units:
    """Return the units of servos, in the order of the actuators."""

    def given(option: str, default: float) -> Floats:
        return spread(family.where, option, getattr(options, option), actuators, default)

    direction, zero = given("direction", 1.0), given("zero_ticks", np.nan)
    constants = given("torque_constant_nm_per_a", np.nan)
    currents = np.array([model.current_unit_a for model in models], float)  # None becomes NaN
    return Units(
        tick_rad=direction * [model.rad_per_tick for model in models],
        zero_ticks=np.where(np.isnan(zero), [float(model.zero_ticks) for model in models], zero),
        velocity_rad_s=direction * [model.velocity_unit_rad_s for model in models],
        effort_nm=direction * constants * currents,
    )
