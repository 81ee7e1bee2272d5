"""How warm simulated actuators get: as motors do, and no warmer than their windings stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.base import ActuatorCommand, ActuatorState
from motiond.drivers.registry import make_driver
from motiond.drivers.sim.plant import AMBIENT_C, HOTTEST_C

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.drivers.base import Floats
    from motiond.drivers.testing.rig import Clock

pytestmark = pytest.mark.slow


class Stuck:
    """Two actuators, the first of which is stuck and sent far away."""

    def __init__(self, clock: Clock, **options: Any) -> None:
        self.clock, self.state = clock, ActuatorState(2)
        self.driver = make_driver("sim", {"command_lifetime_s": None, **options}, ("elbow", "wrist"), clock)
        self.driver.open()
        self.driver.enable()
        self.driver.inject({"fault": "stuck", "actuator": "elbow"})
        command = ActuatorCommand(2)
        command.position[:] = 3.0, 0.0
        self.driver.write(command)

    def temperatures(self, times_s: Sequence[float]) -> Floats:
        """Return the stuck actuator's temperatures at times since now."""
        start_s, taken = self.clock.now_s, []
        for time_s in times_s:
            self.clock.now_s = start_s + time_s
            self.driver.read(self.state)
            taken.append(self.state.temperature_c[0])
        return np.array(taken)


@pytest.mark.parametrize("options", [{}, {"effort_limit": 5.0}], ids=["without a limit", "limited"])
def test_a_stuck_joint_warms_like_a_motor_and_comes_to_an_end(
    clock: Clock, options: dict[str, float]
) -> None:
    elbow = Stuck(clock, **options)
    found = elbow.temperatures([0.01, 1.0, 10.0, 60.0, 3600.0, 7200.0])
    assert (np.diff(found) > 0.0).all()
    assert found[1] < 28.0  # no check of temperature speaks before one of standing still
    assert 40.0 < found[2] < 45.0
    assert found[-1] == pytest.approx(HOTTEST_C, abs=0.01)
    assert elbow.state.temperature_c[1] == AMBIENT_C
