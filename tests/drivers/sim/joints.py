"""Two simulated joints that are commanded and read in every tick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.drivers.base import ActuatorCommand, ActuatorState
from motiond.drivers.registry import make_driver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.drivers.base import Floats
    from motiond.drivers.testing.rig import Clock

PAIR = ("elbow", "wrist")
TICK_S = 0.01


class Joints:
    """Their driver, which is open, and `state`, what they reported last; they hold without end."""

    def __init__(
        self, clock: Clock, *, holds: bool = True, actuators: Sequence[str] = PAIR, **options: Any
    ) -> None:
        self.clock = clock
        self.driver = make_driver("sim", {"command_lifetime_s": None} | options, actuators, clock)
        self.driver.open()
        if holds:
            self.driver.enable()
        self.state = ActuatorState(len(actuators))

    def write(self, position: Any = np.nan, velocity: Any = np.nan, effort: Any = np.nan) -> None:
        command = ActuatorCommand(len(self.state.position))
        command.position[:], command.velocity[:], command.effort[:] = position, velocity, effort
        self.driver.write(command)

    def read(self, after_s: float = 0.0) -> Floats:
        """Return the positions after a time."""
        self.clock.now_s += after_s
        self.driver.read(self.state)
        return self.state.position.copy()

    def play(
        self,
        position: Any = np.nan,
        duration_s: float = TICK_S,
        velocity: Any = np.nan,
        effort: Any = np.nan,
        tick_s: float = TICK_S,
    ) -> Floats:
        """Command the same in every tick; return the positions after each: (ticks, actuators)."""
        positions = []
        for _ in range(round(duration_s / tick_s)):
            self.write(position, velocity, effort)
            positions.append(self.read(tick_s))
        return np.array(positions)

    def inject(self, fault: str, **keys: Any) -> None:
        self.driver.inject({"fault": fault, **keys})
