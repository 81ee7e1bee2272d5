"""The tests that every driver must pass, whatever is behind it.

Subclass `DriverContract` and give it a fixture `rig`:

    class TestCrane(DriverContract):
        @pytest.fixture
        def rig(self): return CraneRig()
"""

from __future__ import annotations

import threading
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ..base import (
    ActuatorCommand,
    ActuatorState,
    CommunicationLost,
    DriverConfigError,
    DriverError,
    DriverTimeout,
    ErrorCounts,
    LifetimeExpired,
)
from ..limits import KINDS
from .rig import TICK_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..base import Driver, Floats
    from ..limits import ActuatorLimits
    from .rig import Rig


def open_files() -> int:
    """Return the number of this process's file descriptors."""
    return len(list(Path("/proc/self/fd").iterdir()))


def lifetime_of(rig: Rig) -> float:
    """Return how long actuators hold without a setpoint, in s; skip the test if that is forever."""
    if rig.lifetime_s is None:
        pytest.skip(f"{type(rig).__name__} says that its actuators hold forever")
    return rig.lifetime_s


def wait_until_released(rig: Rig) -> None:
    """Wait until actuators without setpoints have released."""
    rig.wait(lifetime_of(rig) + 0.1)


def assert_at(rig: Rig, position: Floats, expected: list[float] | Floats) -> None:
    """Assert that a position (actuators,) is the expected one within the rig's tolerance."""
    np.testing.assert_allclose(position, expected, rtol=0.0, atol=rig.tolerance)


class LifecycleContract:
    """How a driver is made, opened and closed."""

    def test_reports_its_devices_before_it_is_open(self, rig: Rig) -> None:
        devices = rig.make().devices
        assert isinstance(devices, tuple)
        assert all(isinstance(device, str) and device for device in devices)
        assert rig.make().devices == devices

    def test_refuses_an_actuator_named_twice(self, rig: Rig) -> None:
        first, *_, last = rig.actuators
        with pytest.raises(DriverConfigError) as caught:
            rig.make([first, last, first])
        assert str(caught.value).endswith(f": actuators named twice: {first}; give each a name of its own")

    def test_refuses_to_drive_nothing(self, rig: Rig) -> None:
        with pytest.raises(DriverConfigError) as caught:
            rig.make([])
        assert str(caught.value).endswith(": no actuators to drive; name at least one")

    def test_does_not_open_halfway(self, rig: Rig) -> None:
        driver = rig.make_broken()
        files, threads = open_files(), threading.active_count()

        with pytest.raises(DriverError):
            driver.open()

        assert (open_files(), threading.active_count()) == (files, threads)
        with pytest.raises(DriverError, match="is not open"):
            driver.enable()
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
        assert_at(rig, rig.play(driver, [0.1, 0.2, 0.3]), [0.1, 0.2, 0.3])

    def test_opened_again_it_holds_nothing_and_warns_of_the_same(self, rig: Rig, driver: Driver) -> None:
        warned = list(driver.warnings)
        driver.enable()
        rig.play(driver, [0.1, 0.2, 0.3])
        driver.close()
        driver.open()
        driver.disable()
        assert driver.warnings == warned
        assert_at(rig, rig.play(driver, [1, 1, 1]), [0.1, 0.2, 0.3])

    def test_refuses_to_open_twice(self, driver: Driver) -> None:
        with pytest.raises(DriverError, match="is open already; close it first"):
            driver.open()

    @pytest.mark.parametrize("call", ["read", "write", "enable", "disable"])
    def test_reports_that_it_is_not_open(self, rig: Rig, call: str) -> None:
        driver = rig.make()
        driver.open()
        driver.close()
        arguments: dict[str, object] = {"read": ActuatorState(3), "write": ActuatorCommand(3)}
        with pytest.raises(DriverError) as caught:
            getattr(driver, call)(*[arguments[call]] if call in arguments else [])
        assert str(caught.value) == f"{caught.value.where}: is not open; open it first"


class LimitsContract:
    """What a driver knows of its actuators' limits."""

    def test_has_limits_before_it_is_open_and_after(self, rig: Rig, driver: Driver) -> None:
        for limits in (rig.make().limits, driver.limits):
            assert_sound(limits, len(rig.actuators))

    def test_learns_no_wider_limits_than_its_options_have(self, rig: Rig, driver: Driver) -> None:
        before, after = rig.make().limits, driver.limits
        assert (after.lower >= before.lower).all()
        for kind in KINDS[1:]:
            assert (getattr(after, kind) <= getattr(before, kind)).all()

    def test_learns_the_same_limits_when_it_is_opened_again(self, driver: Driver) -> None:
        limits = driver.limits
        driver.close()
        driver.open()
        assert driver.limits == limits


def assert_sound(limits: ActuatorLimits, count: int) -> None:
    """Assert that there is a value for each actuator, and words for each value that limits it."""
    for kind in KINDS:
        values, sources = getattr(limits, kind), limits.sources[kind]
        assert values.shape == (count,)
        assert not np.isnan(values).any()
        assert [bool(source) for source in sources] == np.isfinite(values).tolist()
    assert (limits.lower <= limits.upper).all()
    assert (np.array([limits.velocity, limits.acceleration, limits.effort]) > 0).all()


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

    def test_stamps_go_on_and_never_back(self, rig: Rig, driver: Driver) -> None:
        state = ActuatorState(len(rig.actuators))
        last = np.full(len(rig.actuators), -np.inf)
        for passed_s in (0.0, 0.001, 0.0, 0.05):
            rig.wait(passed_s)
            driver.read(state)
            assert (state.stamp_s >= last).all()
            last = state.stamp_s.copy()
        rig.wait(rig.feedback_age_s)
        for _ in range(5):
            rig.wait(TICK_S)
            driver.read(state)
        assert (state.stamp_s > last).all()

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

    def test_opened_again_it_leaves_torque_as_it_is(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        rig.play(driver, [0.1, 0.2, 0.3], duration_s=SETTLED_S)
        before, begun_s = torque(driver), rig.now()
        driver.close()
        driver.open()
        after = torque(driver)
        if rig.lifetime_s is None or rig.now() - begun_s < rig.lifetime_s:
            known = ~(np.isnan(before) | np.isnan(after))
            assert (before == after)[known].all()

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


NOTHING = [np.nan] * 3


class MotionContract:
    """What moves actuators, and what does not."""

    def test_a_setpoint_without_torque_moves_nothing_and_does_not_wait_for_it(
        self, rig: Rig, driver: Driver
    ) -> None:
        before = rig.position(driver)
        assert_at(rig, rig.play(driver, [1, 1, 1]), before)
        driver.enable()
        assert_at(rig, rig.play(driver, NOTHING), before)

    def test_keeps_the_order_of_the_actuators(self, rig: Rig, driver: Driver) -> None:
        assert driver.actuators == rig.actuators
        driver.enable()
        assert_at(rig, rig.play(driver, [0.3, -0.2, 0.1]), [0.3, -0.2, 0.1])

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

    def test_a_halt_does_not_take_hold_of_actuators_that_release(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        driver.halt()
        wait_until_released(rig)
        rig.push(driver, np.array([0.1, 0.2, 0.3]))
        driver.halt()
        rig.wait(0.1)
        assert_at(rig, rig.position(driver), [0.1, 0.2, 0.3])


class GuidingContract:
    """Actuators that carry the robot's weight alone, for a driver that can have them so."""

    @pytest.fixture
    def guided(self, rig: Rig) -> Iterator[Driver]:
        driver = rig.make_guided()
        self.require(driver)
        driver.open()
        yield driver
        driver.close()

    def require(self, driver: Driver) -> None:
        """Skip a test of a driver that cannot guide."""
        try:
            driver.refuse_guiding()
        except DriverConfigError as error:
            pytest.skip(str(error))

    def test_says_before_it_is_open_why_it_cannot_guide(self, rig: Rig) -> None:
        driver = rig.make()
        with suppress(DriverConfigError):
            driver.refuse_guiding()
            pytest.skip(f"{type(driver).__name__} can guide")
        refusals = []
        for call in (driver.refuse_guiding, driver.open, driver.enable, driver.guide):
            with suppress(DriverConfigError):
                call()
                continue
            refusals.append(call)
        assert_at(rig, rig.play(driver, [0.1, 0.2, 0.3]), [0.1, 0.2, 0.3])
        driver.close()
        assert refusals == [driver.refuse_guiding, driver.guide]

    @pytest.mark.parametrize("held", [False, True])
    def test_guided_actuators_give_way_and_stay_where_they_are_moved(
        self, rig: Rig, guided: Driver, *, held: bool
    ) -> None:
        if held:
            guided.enable()
            rig.play(guided, [0.1, 0.1, 0.1])
        guided.guide()
        assert (torque(guided) != 0).all()
        for position in ([0.3, -0.2, 0.1], [0.1, 0.2, 0.3]):
            rig.push(guided, np.array(position))
            assert_near(rig, rig.play(guided, NOTHING), position)
        assert (torque(guided) != 0).all()

    def test_guided_actuators_do_not_fall(self, rig: Rig) -> None:
        heavy = rig.make_heavy()
        self.require(heavy)
        heavy.open()
        heavy.enable()
        before = rig.play(heavy, NOTHING)
        heavy.guide()
        assert_near(rig, rig.play(heavy, NOTHING), before)
        heavy.disable()
        rig.wait(rig.settle_s)
        fallen = np.abs(rig.position(heavy) - before)
        heavy.close()
        assert fallen.max() > 10.0 * rig.guided_travel + 1e-3

    def test_enable_ends_guiding_where_the_actuators_are(self, rig: Rig, guided: Driver) -> None:
        guided.enable()
        rig.play(guided, [0.5, 0.5, 0.5])
        guided.guide()
        rig.push(guided, np.array([0.3, -0.2, 0.1]))
        before = rig.play(guided, NOTHING)
        guided.enable()
        assert_near(rig, rig.play(guided, NOTHING, duration_s=TICK_S), before)
        assert_near(rig, rig.play(guided, NOTHING), before)
        assert_at(rig, rig.play(guided, [0.1, 0.2, 0.3]), [0.1, 0.2, 0.3])

    def test_a_halt_ends_guiding_and_holds(self, rig: Rig, guided: Driver) -> None:
        guided.guide()
        rig.push(guided, np.array([0.3, -0.2, 0.1]))
        before = rig.play(guided, NOTHING)
        for _ in range(round(rig.settle_s / TICK_S)):
            guided.halt()
            rig.play(guided, NOTHING, duration_s=TICK_S)
        assert_near(rig, rig.position(guided), before)
        assert (torque(guided) != 0).all()
        guided.enable()
        assert_at(rig, rig.play(guided, [0.1, 0.2, 0.3]), [0.1, 0.2, 0.3])

    def test_disable_ends_guiding(self, rig: Rig, guided: Driver) -> None:
        guided.guide()
        rig.play(guided, NOTHING, duration_s=SETTLED_S)
        guided.disable()
        rig.wait(SETTLED_S)
        assert (torque(guided) != 1).all()

    def test_guided_actuators_are_verified_as_others(self, rig: Rig, guided: Driver) -> None:
        guided.guide()
        rig.play(guided, NOTHING, duration_s=SETTLED_S)
        guided.verify()

    def test_guided_actuators_release_without_writes(self, rig: Rig, guided: Driver) -> None:
        guided.guide()
        rig.play(guided, NOTHING, duration_s=2.0 * lifetime_of(rig))
        wait_until_released(rig)
        with pytest.raises(LifetimeExpired):
            guided.write(ActuatorCommand(3))

    def test_a_guided_driver_opens_again_as_any_other(self, rig: Rig, guided: Driver) -> None:
        guided.guide()
        rig.play(guided, NOTHING, duration_s=SETTLED_S)
        guided.close()
        guided.open()
        guided.enable()
        assert_at(rig, rig.play(guided, [0.1, 0.2, 0.3]), [0.1, 0.2, 0.3])


def assert_near(rig: Rig, position: Floats, expected: list[float] | Floats) -> None:
    """Assert that a guided position (actuators,) is the expected one, but for how far the rig lets it go."""
    np.testing.assert_allclose(position, expected, rtol=0.0, atol=rig.tolerance + rig.guided_travel)


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

    def test_reports_that_the_actuators_release(self, rig: Rig, driver: Driver) -> None:
        driver.enable()
        rig.play(driver, [0.1, 0.1, 0.1])
        wait_until_released(rig)
        for _ in range(2):
            with pytest.raises(
                LifetimeExpired,
                match=r"released; no setpoint came for \d\.\d{3} s.*; reset and enable the robot$",
            ):
                driver.write(ActuatorCommand(3))
        driver.enable()
        assert_at(rig, rig.play(driver, [0.2, 0.2, 0.2]), [0.2, 0.2, 0.2])

    def test_refuses_a_rate_at_which_actuators_would_release(self, rig: Rig, driver: Driver) -> None:
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

    def test_reports_that_the_bus_is_lost_and_works_again_once_reopened(
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


class ErrorsContract:
    """What a driver counts of its actuators' errors, and whether it can clear or restart them."""

    def test_counts_errors_of_each_actuator_and_goes_on_when_it_is_opened_again(
        self, rig: Rig, driver: Driver
    ) -> None:
        assert driver.errors.values.shape == (len(ErrorCounts.NAMES), len(rig.actuators))
        driver.enable()
        rig.silence(driver)
        play_until_it_fails(rig, driver)
        counted = driver.errors.values.copy()
        assert (counted >= 0).all()
        driver.close()
        assert (driver.errors.values >= counted).all()

    @pytest.mark.parametrize("act", ["reboot", "clear"])
    def test_says_before_it_is_open_what_it_cannot_do_about_errors(self, rig: Rig, act: str) -> None:
        driver, names = rig.make(), rig.actuators[:1]
        refusal = refusal_of(getattr(driver, f"refuse_{act}"), names)
        if not refusal:
            pytest.skip(f"{type(driver).__name__} can {act} its actuators")
        assert names[0] in refusal
        assert refusal_of(getattr(driver, act), names) == refusal


def refusal_of(call: Callable[[Sequence[str]], None], names: Sequence[str]) -> str:
    """Return why a driver refuses to do something with actuators; '' where it does not."""
    try:
        call(names)
    except DriverConfigError as error:
        return str(error)
    return ""


class DriverContract(
    LifecycleContract,
    LimitsContract,
    FeedbackContract,
    TorqueContract,
    MotionContract,
    GuidingContract,
    FailureContract,
    ErrorsContract,
):
    """The contract's tests; a subclass adds the fixture `rig`."""

    @pytest.fixture
    def driver(self, rig: Rig) -> Iterator[Driver]:
        driver = rig.make()
        driver.open()
        yield driver
        driver.close()
