"""A driver moves its actuators as commanded, and no further: torque, setpoints and halts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...base import ActuatorCommand
from ..rig import TICK_S
from .steps import assert_at, let_go

if TYPE_CHECKING:
    from ...base import Driver
    from ..rig import Rig

NOTHING = [np.nan] * 3


class MotionContract:
    """What moves actuators, and what does not."""

    def test_a_setpoint_without_torque_is_no_error_and_does_not_wait_for_it(
        self, rig: Rig, driver: Driver
    ) -> None:
        before = rig.position(driver)
        rig.play(driver, [1, 1, 1])
        driver.enable()
        assert_at(rig, rig.play(driver, NOTHING), before)

    def test_keeps_the_order_of_the_actuators(self, rig: Rig, driver: Driver) -> None:
        assert driver.actuators == rig.actuators
        driver.enable()
        assert_at(rig, rig.play(driver, [0.3, -0.2, 0.1]), [0.3, -0.2, 0.1])

    def test_moves_nothing_before_it_is_enabled(self, rig: Rig, driver: Driver) -> None:
        before = rig.position(driver)
        assert_at(rig, rig.play(driver, [1, 1, 1]), before)

    def test_enable_does_not_move(self, rig: Rig, driver: Driver) -> None:
        rig.push(driver, np.array([0.5, -0.5, 0.25]))
        driver.enable()
        assert_at(rig, rig.play(driver, NOTHING), [0.5, -0.5, 0.25])

    def test_enable_forgets_the_goal_of_before(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        rig.play(driver, [1, 1, 1])
        driver.disable()
        rig.push(driver, np.array([0.1, 0.2, 0.3]))
        driver.enable()
        assert_at(rig, rig.play(driver, NOTHING), [0.1, 0.2, 0.3])

    def test_moves_nothing_once_disabled(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        rig.play(driver, [0.1, 0.1, 0.1])
        driver.disable()
        assert_at(rig, rig.play(driver, [1, 1, 1]), [0.1, 0.1, 0.1])

    def test_nan_leaves_an_actuator_where_it_was_sent(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        rig.play(driver, [0.1, 0.2, 0.3])
        assert_at(rig, rig.play(driver, [0.4, np.nan, 0.6]), [0.4, 0.2, 0.6])

    def test_does_not_change_the_command(self, rig: Rig, driver: Driver) -> None:
        command = ActuatorCommand(len(rig.actuators))
        command.position[0] = 0.1
        driver.enable()
        driver.write(command)
        np.testing.assert_array_equal(command.position, [0.1, np.nan, np.nan])

    def test_halts_in_any_state(self, rig: Rig) -> None:
        driver = rig.make()
        for change in (driver.open, driver.enable, driver.disable, driver.close):
            for _ in range(3):
                driver.halt()
            change()
        driver.halt()

    def test_holds_while_halted_whatever_is_commanded(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        rig.play(driver, [1, 1, 1], duration_s=TICK_S)
        halted_at = rig.position(driver)
        for _ in range(round(2 * rig.settle_s / TICK_S)):
            driver.halt()
            rig.play(driver, [2, 2, 2], duration_s=TICK_S)
        moved = np.abs(rig.position(driver) - halted_at)
        assert (moved <= rig.halt_travel).all()

    def test_moves_again_once_enabled_after_a_halt(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        driver.halt()
        driver.enable()
        assert_at(rig, rig.play(driver, [0.1, 0.2, 0.3]), [0.1, 0.2, 0.3])

    def test_a_halt_does_not_take_hold_of_loose_actuators(self, rig: Rig, driver: Driver) -> None:
        driver.halt()
        rig.push(driver, np.array([0.1, 0.2, 0.3]))
        rig.wait(0.1)
        assert_at(rig, rig.position(driver), [0.1, 0.2, 0.3])

    def test_a_halt_does_not_take_hold_of_actuators_that_let_go(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        driver.halt()
        let_go(rig)
        rig.push(driver, np.array([0.1, 0.2, 0.3]))
        driver.halt()
        rig.wait(0.1)
        assert_at(rig, rig.position(driver), [0.1, 0.2, 0.3])
