"""What every driver must do, whatever is behind it.

A back end is held against it by a subclass of `DriverContract` with a fixture `rig`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from drivers.base import ActuatorCommand, ActuatorState, Driver, DriverConfigError, DriverError, LetGo
from tests.contract.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from drivers.base import Floats

ACTUATORS = ("base", "shoulder", "elbow")
TICK_S = 0.01
LIFETIME_S = 0.2


def open_files() -> int:
    """Count the descriptors of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


class Rig(ABC):
    """A back end on a bench: drivers for it, and a hand that can move its actuators.

    The command lifetime is `LIFETIME_S`, and no actuator has a limit.
    """

    def __init__(self) -> None:
        self.clock = Clock()

    @abstractmethod
    def make(self, actuators: Sequence[str] = ACTUATORS) -> Driver:
        """Give a driver that can be opened."""

    @abstractmethod
    def make_broken(self) -> Driver:
        """Give a driver whose `open` fails halfway."""

    @abstractmethod
    def push(self, driver: Driver, position: Floats) -> None:
        """Move the actuators by hand."""

    def position(self, driver: Driver) -> Floats:
        """Read where the actuators are."""
        state = ActuatorState(len(driver.actuators))
        driver.read(state)
        return state.position.copy()

    def play(self, driver: Driver, position: Sequence[float], duration_s: float = 0.5) -> Floats:
        """Command a position in every tick and give where that leads."""
        command = ActuatorCommand(len(driver.actuators))
        command.position[:] = position
        for _ in range(round(duration_s / TICK_S)):
            driver.write(command)
            self.clock.now_s += TICK_S
        return self.position(driver)


class DriverContract:
    """Tests that hold for each back end."""

    @pytest.fixture
    def driver(self, rig: Rig) -> Driver:
        driver = rig.make()
        driver.open()
        return driver

    def test_does_not_open_halfway(self, rig: Rig) -> None:
        driver = rig.make_broken()
        files, threads = open_files(), threading.active_count()

        with pytest.raises(DriverError):
            driver.open()

        assert (open_files(), threading.active_count()) == (files, threads)
        with pytest.raises(DriverError, match="is not open"):
            driver.enable()

    def test_closes_after_a_failed_open(self, rig: Rig) -> None:
        driver = rig.make_broken()
        with pytest.raises(DriverError):
            driver.open()
        driver.close()
        driver.close()

    def test_closes_before_open_and_any_number_of_times(self, rig: Rig) -> None:
        driver = rig.make()
        driver.close()
        driver.open()
        driver.close()
        driver.close()

    def test_opens_again_after_close(self, rig: Rig, driver: Driver) -> None:
        driver.close()
        driver.open()
        driver.enable()
        np.testing.assert_allclose(rig.play(driver, [0.1, 0.2, 0.3]), [0.1, 0.2, 0.3], atol=1e-6)

    def test_refuses_to_open_twice(self, driver: Driver) -> None:
        with pytest.raises(DriverError, match="is open already; close it first"):
            driver.open()

    def test_keeps_the_order_of_the_actuators(self, rig: Rig, driver: Driver) -> None:
        assert driver.actuators == ACTUATORS
        driver.enable()
        np.testing.assert_allclose(rig.play(driver, [0.3, -0.2, 0.1]), [0.3, -0.2, 0.1], atol=1e-6)

    def test_refuses_an_actuator_named_twice(self, rig: Rig) -> None:
        with pytest.raises(DriverConfigError) as caught:
            rig.make(["base", "elbow", "base"])
        assert str(caught.value).endswith(": actuators named twice: base; give each a name of its own")

    def test_refuses_to_drive_nothing(self, rig: Rig) -> None:
        with pytest.raises(DriverConfigError) as caught:
            rig.make([])
        assert str(caught.value).endswith(": no actuators to drive; name at least one")

    def test_reads_into_the_arrays_it_is_given(self, rig: Rig, driver: Driver) -> None:
        state = ActuatorState(len(ACTUATORS))
        values, position = state.values, state.position
        driver.read(state)
        assert state.values is values
        assert state.position is position
        assert np.isfinite(position).all()
        assert (state.stamp_s == rig.clock.now_s).all()

    def test_stamps_never_go_back(self, rig: Rig, driver: Driver) -> None:
        state = ActuatorState(len(ACTUATORS))
        last = np.full(len(ACTUATORS), -np.inf)
        for passed_s in (0.0, 0.001, 0.0, 0.05):
            rig.clock.now_s += passed_s
            driver.read(state)
            assert (state.stamp_s >= last).all()
            last = state.stamp_s.copy()

    def test_moves_nothing_before_it_is_enabled(self, rig: Rig, driver: Driver) -> None:
        before = rig.position(driver)
        np.testing.assert_array_equal(rig.play(driver, [1, 1, 1]), before)

    def test_enable_does_not_move(self, rig: Rig, driver: Driver) -> None:
        rig.push(driver, np.array([0.5, -0.5, 0.25]))
        driver.enable()
        held = rig.play(driver, [np.nan] * 3)
        np.testing.assert_allclose(held, [0.5, -0.5, 0.25], atol=1e-6)

    def test_enable_forgets_the_goal_of_before(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        rig.play(driver, [1, 1, 1])
        driver.disable()
        rig.push(driver, np.array([0.1, 0.2, 0.3]))
        driver.enable()
        np.testing.assert_allclose(rig.play(driver, [np.nan] * 3), [0.1, 0.2, 0.3], atol=1e-6)

    def test_moves_nothing_once_disabled(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        rig.play(driver, [0.1, 0.1, 0.1])
        driver.disable()
        np.testing.assert_allclose(rig.play(driver, [1, 1, 1]), [0.1, 0.1, 0.1], atol=1e-6)

    def test_nan_leaves_an_actuator_where_it_was_sent(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        rig.play(driver, [0.1, 0.2, 0.3])
        reached = rig.play(driver, [0.4, np.nan, 0.6])
        np.testing.assert_allclose(reached, [0.4, 0.2, 0.6], atol=1e-6)

    def test_does_not_change_the_command(self, driver: Driver) -> None:
        command = ActuatorCommand(len(ACTUATORS))
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
        for _ in range(100):
            driver.halt()
            rig.play(driver, [2, 2, 2], duration_s=TICK_S)
        moved = np.abs(rig.position(driver) - halted_at)
        assert (moved < 1e-6).all()

    def test_moves_again_once_enabled_after_a_halt(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        driver.halt()
        driver.enable()
        np.testing.assert_allclose(rig.play(driver, [0.1, 0.2, 0.3]), [0.1, 0.2, 0.3], atol=1e-6)

    def test_a_halt_does_not_take_hold_of_loose_actuators(self, rig: Rig, driver: Driver) -> None:
        driver.halt()
        rig.push(driver, np.array([0.1, 0.2, 0.3]))
        rig.clock.now_s += 0.1
        np.testing.assert_allclose(rig.position(driver), [0.1, 0.2, 0.3], atol=1e-6)

    def test_a_halt_does_not_take_hold_of_actuators_that_let_go(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        driver.halt()
        rig.clock.now_s += LIFETIME_S + 0.1
        rig.push(driver, np.array([0.1, 0.2, 0.3]))
        driver.halt()
        rig.clock.now_s += 0.1
        np.testing.assert_allclose(rig.position(driver), [0.1, 0.2, 0.3], atol=1e-6)

    @pytest.mark.parametrize("call", ["read", "write", "enable", "disable"])
    def test_says_that_it_is_not_open(self, rig: Rig, call: str) -> None:
        driver = rig.make()
        driver.open()
        driver.close()
        arguments: dict[str, object] = {"read": ActuatorState(3), "write": ActuatorCommand(3)}
        with pytest.raises(DriverError) as caught:
            getattr(driver, call)(*[arguments[call]] if call in arguments else [])
        assert str(caught.value) == f"{caught.value.where}: is not open; open it first"

    def test_says_that_the_actuators_let_go(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        rig.play(driver, [0.1, 0.1, 0.1])
        rig.clock.now_s += LIFETIME_S + 0.1
        for _ in range(2):
            with pytest.raises(LetGo, match=r"let go; no setpoint came for 0\.3.. s.*; enable them again$"):
                driver.write(ActuatorCommand(3))
        driver.enable()
        np.testing.assert_allclose(rig.play(driver, [0.2, 0.2, 0.2]), [0.2, 0.2, 0.2], atol=1e-6)

    def test_refuses_a_rate_at_which_actuators_would_let_go(self, driver: Driver) -> None:
        driver.set_period(LIFETIME_S / 4)
        with pytest.raises(DriverConfigError) as caught:
            driver.set_period(LIFETIME_S / 2)
        assert str(caught.value) == (
            f"{caught.value.where}: a command lifetime of 0.2 s is too short for a tick rate of 10 Hz; "
            "it must last 3 ticks; set `command_lifetime_s` to 0.3 or more"
        )

    def test_refuses_a_rate_that_it_cannot_keep(self, driver: Driver) -> None:
        driver.set_period(1 / driver.max_rate_hz)
        with pytest.raises(DriverConfigError) as caught:
            driver.set_period(0.5 / driver.max_rate_hz)
        assert str(caught.value) == (
            f"{caught.value.where}: a tick rate of {2 * driver.max_rate_hz:g} Hz is too fast; "
            f"it takes at most {driver.max_rate_hz:g} Hz; lower the rate of the motion"
        )
