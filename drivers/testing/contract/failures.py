"""A driver says in time what is not possible, or not any more: rates, faults, lost actuators and buses."""

from __future__ import annotations

import threading
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest

from ...base import (
    ActuatorCommand,
    ActuatorState,
    CommunicationLost,
    DriverConfigError,
    DriverError,
    DriverTimeout,
    LifetimeExpired,
)
from ..rig import TICK_S
from .steps import assert_at, let_go, lifetime_of, open_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...base import Driver
    from ..rig import Rig


def play_until_it_fails(rig: Rig, driver: Driver) -> tuple[DriverError, float]:
    """Write and read in every tick until a call raises; fail the test if none does.

    Returns the error. Returns the longest that one call took, in s.
    """
    command, state = ActuatorCommand(len(driver.actuators)), ActuatorState(len(driver.actuators))
    longest_s = 0.0
    calls: tuple[Callable[[], None], ...] = (partial(driver.write, command), partial(driver.read, state))
    for _ in range(round(rig.lost_after_s / TICK_S)):
        for call in calls:
            begun_s = rig.timer()
            try:
                call()
            except DriverError as error:
                return error, max(longest_s, rig.timer() - begun_s)
            longest_s = max(longest_s, rig.timer() - begun_s)
        rig.wait(TICK_S)
    pytest.fail(f"nothing was said of a device that is gone for {rig.lost_after_s:g} s")


class FailureContract:
    """What a driver says where something is not possible, or not any more."""

    def test_says_that_the_actuators_let_go(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        rig.play(driver, [0.1, 0.1, 0.1])
        let_go(rig)
        for _ in range(2):
            with pytest.raises(
                LifetimeExpired, match=r"let go; no setpoint came for \d\.\d{3} s.*; enable them again$"
            ):
                driver.write(ActuatorCommand(3))
        driver.enable()
        assert_at(rig, rig.play(driver, [0.2, 0.2, 0.2]), [0.2, 0.2, 0.2])

    def test_refuses_a_rate_at_which_actuators_would_let_go(self, rig: Rig, driver: Driver) -> None:
        lifetime_s = lifetime_of(rig)
        driver.set_period(0.999 / driver.min_rate_hz)
        with pytest.raises(DriverConfigError):
            driver.set_period(1.001 / driver.min_rate_hz)
        driver.set_period(lifetime_s / 8)
        with pytest.raises(DriverConfigError) as caught:
            driver.set_period(lifetime_s / 2)
        where, *_ = str(caught.value).split(": a command lifetime")
        assert str(caught.value).splitlines()[0] == (
            f"{where}: a command lifetime of {lifetime_s:g} s is too short for a tick rate of "
            f"{2 / lifetime_s:g} Hz; it must last 3 ticks; "
            f"set `command_lifetime_s` to {1.5 * lifetime_s:g} or more"
        )

    def test_refuses_a_rate_that_it_cannot_keep(self, driver: Driver) -> None:
        driver.set_period(1 / driver.max_rate_hz)
        with pytest.raises(DriverConfigError) as caught:
            driver.set_period(0.5 / driver.max_rate_hz)
        message = str(caught.value)
        assert message.startswith(
            f"{caught.value.where}: a tick rate of {2 * driver.max_rate_hz:g} Hz is too fast; "
            f"it takes at most {driver.max_rate_hz:g} Hz"
        )
        assert "; lower the rate of the motion" in message

    def test_refuses_a_fault_that_it_cannot_have(self, driver: Driver) -> None:
        with pytest.raises(DriverConfigError):
            driver.inject({"fault": "no such fault"})

    def test_a_device_that_never_answers_costs_no_more_than_its_timeout(
        self, rig: Rig, driver: Driver
    ) -> None:
        driver.enable()
        rig.silence(driver)
        error, longest_s = play_until_it_fails(rig, driver)
        assert isinstance(error, CommunicationLost | DriverTimeout), error
        assert str(error).startswith(f"{error.where}: ")
        assert longest_s <= rig.timeout_s

    @pytest.mark.parametrize("call", ["halt", "disable", "enable", "close"])
    def test_each_call_is_bounded_while_nothing_answers(self, rig: Rig, driver: Driver, call: str) -> None:
        driver.enable()
        rig.silence(driver)
        begun_s = rig.timer()
        with nullcontext() if call == "close" else suppress(DriverError):
            getattr(driver, call)()
        assert rig.timer() - begun_s <= rig.timeout_s

    def test_says_that_the_bus_is_lost_and_works_again_once_opened_anew(
        self, rig: Rig, driver: Driver
    ) -> None:
        driver.enable()
        rig.lose_bus(driver)
        error, longest_s = play_until_it_fails(rig, driver)
        assert isinstance(error, CommunicationLost), error
        assert str(error).startswith(f"{error.where}: ")
        assert longest_s <= rig.timeout_s

        driver.close()
        rig.restore_bus(driver)
        driver.open()
        driver.enable()
        assert_at(rig, rig.play(driver, [0.1, 0.2, 0.3]), [0.1, 0.2, 0.3])

    def test_refuses_to_open_without_its_bus(self, rig: Rig, driver: Driver) -> None:
        rig.lose_bus(driver)
        driver.close()
        files, threads = open_files(), threading.active_count()
        with pytest.raises(DriverError) as caught:
            driver.open()
        assert str(caught.value).startswith(f"{caught.value.where}: ")
        assert (open_files(), threading.active_count()) == (files, threads)
        rig.restore_bus(driver)
        driver.open()
