"""A driver reports torque as its device has it, and finds out on request whether all actuators still hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...base import ActuatorState
from ..rig import TICK_S

if TYPE_CHECKING:
    from ...base import Driver, Floats
    from ..rig import Rig

SETTLED_S = 0.3


class TorqueContract:
    """What a driver reports of torque; NaN where it does not know."""

    def test_reports_torque_that_is_on_and_off(self, rig: Rig, driver: Driver) -> None:
        assert (torque(driver) != 1).all()
        driver.enable()
        assert (torque(driver) != 0).all()
        rig.play(driver, [0.1, 0.2, 0.3], duration_s=SETTLED_S)
        assert (torque(driver) != 0).all()
        driver.disable()
        assert (torque(driver) != 1).all()
        rig.wait(SETTLED_S)
        assert (torque(driver) != 1).all()

    def test_verifies_actuators_that_hold(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        rig.play(driver, [0.1, 0.2, 0.3], duration_s=SETTLED_S)
        driver.verify()
        rig.play(driver, [0.1, 0.2, 0.3], duration_s=TICK_S)


def torque(driver: Driver) -> Floats:
    """Return what the next read reports of torque: (actuators,)."""
    state = ActuatorState(len(driver.actuators))
    driver.read(state)
    assert (np.isin(state.torque, (0.0, 1.0)) | np.isnan(state.torque)).all()
    return state.torque
