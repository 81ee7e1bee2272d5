from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.base import (
    ActuatorCommand,
    ActuatorState,
    CommunicationLost,
    Driver,
    DriverError,
    LifetimeExpired,
)
from motiond.drivers.options import OptionsError
from motiond.drivers.registry import make_driver
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from motiond.drivers.base import Floats
    from motiond.drivers.testing.rig import Clock

PAIR = ("elbow", "wrist")
FULL_TURN = 2 * np.pi
TICK_S = 0.01


class Bench:
    """A driver that is commanded and read in every tick, and a twin of it without faults."""

    def __init__(self, clock: Clock, *script: Mapping[str, Any], **options: Any) -> None:
        self.clock = clock
        self.driver = make_driver("sim", {"faults": list(script), **options}, PAIR, clock)
        self.twin = make_driver("sim", options, PAIR, clock)
        self.twin_state = ActuatorState(2)
        self.state = ActuatorState(2)
        for driver in (self.driver, self.twin):
            driver.open()
            driver.enable()

    def play(self, position: Any, duration_s: float) -> Floats:
        """Command the same position in every tick; return the position after each: (ticks, actuators)."""
        return np.array([self.tick(position) for _ in range(round(duration_s / TICK_S))])

    def tick(self, position: Any) -> Floats:
        command = ActuatorCommand(2)
        command.position[:] = position
        self.twin.write(command)
        self.driver.write(command)
        self.clock.now_s += TICK_S
        self.twin.read(self.twin_state)
        self.driver.read(self.state)
        return self.state.position.copy()

    def assert_wrist_untouched(self) -> None:
        np.testing.assert_array_equal(self.state.values[:, 1], self.twin_state.values[:, 1])


def write(driver: Driver, position: float = 0.5) -> None:
    command = ActuatorCommand(2)
    command.position[:] = position
    driver.write(command)


def fault(name: str, **keys: Any) -> dict[str, Any]:
    return {"fault": name, **keys}


def test_a_script_runs_by_the_time_since_the_first_opening(clock: Clock) -> None:
    bench = Bench(clock, fault("lost_feedback", at_s=0.1, for_s=0.05, actuator="elbow"))
    lost = np.isnan(bench.play(0, 0.3)[:, 0])
    assert np.flatnonzero(lost).tolist() == [9, 10, 11, 12, 13]  # reads follow their tick

    bench.driver.close()
    bench.driver.open()
    bench.driver.enable()
    assert np.isfinite(bench.play(0, 0.3)).all()


def test_reports_each_fault(clock: Clock) -> None:
    bench = Bench(clock, fault("stuck", actuator="elbow", for_s=0.02))
    bench.play(0, 0.05)
    bench.driver.inject(fault("delay", delay_s=0.01))
    bench.driver.inject(fault("clear", at_s=0.02))
    bench.play(0, 0.05)
    assert list(bench.driver.notices) == [
        "simulated fault begins: stuck of elbow for 0.02 s",
        "simulated fault ends: stuck of elbow for 0.02 s",
        "simulated fault begins: delay",
        "simulated faults are cleared",
    ]


def test_lost_feedback_is_not_a_number_and_its_stamp_stands_still(clock: Clock) -> None:
    bench = Bench(clock)
    bench.play(1, 0.1)
    bench.driver.inject(fault("lost_feedback", actuator="elbow"))
    stamp_s = clock.now_s
    bench.play(1, 0.1)
    assert np.isnan(bench.state.values[:5, 0]).all()
    assert bench.state.stamp_s[0] == pytest.approx(stamp_s, abs=1e-9)
    bench.assert_wrist_untouched()


def test_a_stuck_joint_pushes_and_does_not_move(clock: Clock) -> None:
    bench = Bench(clock, effort_limit=20.0)
    bench.play(0.1, 0.3)
    bench.driver.inject(fault("stuck", actuator="elbow", for_s=0.5))
    bench.play(0.5, 0.5)
    assert bench.state.position[0] == pytest.approx(0.1, abs=1e-6)
    assert bench.state.velocity[0] == 0
    assert bench.state.effort[0] == pytest.approx(20)
    np.testing.assert_allclose(bench.state.values[:, 1], bench.twin_state.values[:, 1], atol=1e-9)

    bench.play(0.5, 2)
    np.testing.assert_allclose(bench.state.position, 0.5, atol=1e-6)


def test_an_overheating_actuator_gets_hot_and_cools_slowly(clock: Clock) -> None:
    bench = Bench(clock)
    hot = fault("overheating", actuator="elbow", temperature_c=90, rate_c_per_s=100, for_s=2)
    bench.driver.inject(hot)
    bench.play(0, 0.5)
    assert bench.state.temperature_c[0] == pytest.approx(75, abs=1)
    bench.play(0, 1.5)
    assert bench.state.temperature_c[0] == pytest.approx(90, abs=1)
    bench.play(0, 10)
    assert bench.state.temperature_c[0] == pytest.approx(25 + 65 * np.exp(-10 / 43.1), abs=0.1)
    bench.assert_wrist_untouched()


def test_an_m_stop_takes_the_torque_until_it_is_released_and_enabled_again(clock: Clock) -> None:
    bench = Bench(clock, load={"elbow": -1.0}, inertia=1.0)
    bench.play(0, 0.1)
    bench.driver.inject(fault("m_stop", actuator="elbow", for_s=0.1))
    for message in (
        "elbow: m-stop is pressed; there is no torque; release it, then enable again",
        "elbow: m-stop was pressed; there is no torque; enable again",
    ):
        for _ in range(10):
            with pytest.raises(DriverError) as caught:
                write(bench.driver, 0.3)
            assert str(caught.value) == message
            clock.now_s += TICK_S
    bench.driver.read(bench.state)
    fallen = bench.state.position[0]
    assert fallen < -0.005
    assert bench.state.position[1] == pytest.approx(0.3, abs=1e-6)

    bench.driver.enable()
    write(bench.driver, np.nan)


@pytest.mark.parametrize(
    ("name", "message", "torque"),
    [
        ("torque_drop", "its torque is off; it dropped by itself; find out why, then enable again", 0.0),
        ("reset", "has restarted; there is no torque; check its power, then enable again", 0.0),
        (
            "watchdog_trip",
            (
                "its bus watchdog has tripped; it stopped, and ignores setpoints; "
                "look for what kept them from it, then enable again"
            ),
            1.0,
        ),
    ],
)
def test_an_actuator_that_stopped_listening_does_so_until_it_is_enabled_again(
    clock: Clock, name: str, message: str, torque: float
) -> None:
    bench = Bench(clock)
    bench.play(0.2, 0.3)
    bench.driver.verify()
    bench.driver.inject(fault(name, actuator="elbow"))
    for _ in range(10):
        with pytest.raises(DriverError) as caught:
            write(bench.driver, 0.5)
        assert str(caught.value) == f"elbow: {message}"
        with pytest.raises(DriverError) as caught:
            bench.driver.verify()
        assert str(caught.value) == f"elbow: {message}"
        clock.now_s += TICK_S
    bench.driver.read(bench.state)
    assert bench.state.torque.tolist() == [torque, 1.0]
    assert bench.state.position == pytest.approx([0.2, 0.5], abs=1e-3)
    bench.driver.inject(fault("clear"))
    bench.driver.enable()
    bench.driver.verify()
    bench.play(0.6, 0.3)
    bench.driver.read(bench.state)
    assert bench.state.torque.tolist() == [1.0, 1.0]
    assert bench.state.position == pytest.approx([0.6, 0.6], abs=1e-3)


def test_a_power_cycle_brings_the_joint_back_a_turn_off_and_without_torque(clock: Clock) -> None:
    bench = Bench(clock)
    bench.play(0.5, 0.3)
    bench.driver.inject(fault("power_cycle", actuator="elbow", for_s=0.1, turns=-1))
    with pytest.raises(DriverError) as caught:
        write(bench.driver)
    assert str(caught.value) == (
        "elbow: power is lost; there is no torque; check the supply, then enable again"
    )
    bench.driver.read(bench.state)
    np.testing.assert_allclose(bench.state.position, [np.nan, 0.5], atol=1e-6)

    clock.now_s += 0.1
    with pytest.raises(DriverError) as caught:
        write(bench.driver)
    assert str(caught.value) == (
        "elbow: power was lost; there is no torque; check that the position is right, then enable again"
    )
    bench.driver.enable()
    bench.driver.read(bench.state)
    np.testing.assert_allclose(bench.state.position, [0.5 - FULL_TURN, 0.5], atol=1e-6)


def test_actuators_whose_commands_end_are_reported_as_released_with_rounded_times(clock: Clock) -> None:
    bench = Bench(clock, command_lifetime_s=0.1 + 0.2)
    bench.play(0.5, 0.1)
    clock.now_s += 1.0
    with pytest.raises(LifetimeExpired) as caught:
        write(bench.driver)
    assert str(caught.value) == (
        "driver sim: the actuators are released; no setpoint came for 1.010 s, "
        "and `command_lifetime_s` is 0.3; enable them again"
    )


def test_nothing_expires_where_commands_live_without_end(clock: Clock) -> None:
    bench = Bench(clock, command_lifetime_s=None)
    with pytest.raises(OptionsError) as caught:
        bench.driver.inject(fault("lifetime_expiry"))
    assert str(caught.value) == (
        "driver sim: fault lifetime_expiry: nothing can expire; `command_lifetime_s` is null; "
        "set it to a time"
    )


def test_a_lost_bus_fails_every_call_until_it_is_back(clock: Clock) -> None:
    bench = Bench(clock, command_lifetime_s=0.1)
    bench.driver.inject(fault("bus_lost", for_s=0.3))
    calls: tuple[Callable[[], None], ...] = (
        partial(write, bench.driver),
        partial(bench.driver.read, bench.state),
        bench.driver.enable,
        bench.driver.disable,
    )
    for call in calls:
        with pytest.raises(CommunicationLost) as caught:
            call()
        assert str(caught.value) == (
            "driver sim: the bus is lost; as a simulated fault; wait, or clear the fault"
        )
    bench.driver.halt()
    clock.now_s += 0.3
    bench.driver.read(bench.state)
    with pytest.raises(LifetimeExpired):
        write(bench.driver)
    bench.driver.enable()
    np.testing.assert_allclose(bench_play_alone(bench), 0.5, atol=1e-6)


def bench_play_alone(bench: Bench) -> Floats:
    """Play without the twin, which has released."""
    for _ in range(50):
        write(bench.driver)
        bench.clock.now_s += TICK_S
    bench.driver.read(bench.state)
    return bench.state.position


def test_a_driver_that_blocks_is_held_up_once_in_real_time(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    bench = Bench(clock)
    bench.driver.inject(fault("blocks", for_s=0.1))
    for _ in range(6):
        write(bench.driver)
    assert pauses == [0.1]


@table("bad, message")
def test_refuses_a_wrong_fault(clock: Clock, bad: dict[str, Any], message: str) -> None:
    bench = Bench(clock)
    with pytest.raises(OptionsError) as caught:
        bench.driver.inject(bad)
    assert str(caught.value) == f"driver sim: {message}"
    bench.play(0, 0.1)
    assert not bench.driver.notices
