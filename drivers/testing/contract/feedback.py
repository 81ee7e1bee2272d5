"""A driver reports where its actuators are, and when it learnt that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...base import ActuatorCommand, ActuatorState
from ..rig import TICK_S
from .steps import assert_at

if TYPE_CHECKING:
    from ...base import Driver
    from ..rig import Rig


class FeedbackContract:
    """What a driver reports."""

    def test_knows_every_position_at_the_first_read_after_open(self, rig: Rig) -> None:
        driver = rig.make()
        for _ in range(2):  # a reconnect opens the same instance again
            state = ActuatorState(len(rig.actuators))
            driver.open()
            driver.read(state)
            driver.close()
            assert np.isfinite(state.position).all()

    def test_knows_every_position_at_the_first_read_after_enable(self, rig: Rig, driver: Driver) -> None:
        state = ActuatorState(len(rig.actuators))
        rig.push(driver, np.array([0.5, -0.5, 0.25]))
        driver.enable()
        asked_s = rig.now()
        driver.read(state)
        assert_at(rig, state.position, [0.5, -0.5, 0.25])
        assert (state.stamp_s >= asked_s - rig.feedback_age_s).all()

    def test_reads_into_the_arrays_it_is_given(self, rig: Rig, driver: Driver) -> None:
        state = ActuatorState(len(rig.actuators))
        values, position = state.values, state.position
        asked_s = rig.now()
        driver.read(state)
        assert state.values is values
        assert state.position is position
        assert np.isfinite(position).all()
        assert (state.stamp_s >= asked_s - rig.feedback_age_s).all()
        assert (state.stamp_s <= rig.now()).all()

    def test_stamps_never_go_back(self, rig: Rig, driver: Driver) -> None:
        state = ActuatorState(len(rig.actuators))
        last = np.full(len(rig.actuators), -np.inf)
        for passed_s in (0.0, 0.001, 0.0, 0.05):
            rig.wait(passed_s)
            driver.read(state)
            assert (state.stamp_s >= last).all()
            last = state.stamp_s.copy()

    def test_stamps_go_on(self, rig: Rig, driver: Driver) -> None:
        state = ActuatorState(len(rig.actuators))
        driver.read(state)
        first_s = state.stamp_s.copy()
        rig.wait(rig.feedback_age_s)
        for _ in range(5):
            rig.wait(TICK_S)
            driver.read(state)
        assert (state.stamp_s > first_s).all()

    def test_reads_any_number_of_times_between_two_setpoints(self, rig: Rig, driver: Driver) -> None:
        period_s = 0.02 if rig.lifetime_s is None else rig.lifetime_s / 8
        driver.set_period(period_s)
        driver.enable()
        command, state = ActuatorCommand(3), ActuatorState(3)
        command.position[:] = [0.1, 0.2, 0.3]
        last_s = np.full(3, -np.inf)
        for _ in range(round(rig.settle_s / period_s)):
            driver.write(command)
            for _ in range(2):
                driver.read(state)
                assert (state.stamp_s >= last_s).all()
                last_s = state.stamp_s.copy()
                rig.wait(period_s / 2)
        assert_at(rig, rig.position(driver), [0.1, 0.2, 0.3])
