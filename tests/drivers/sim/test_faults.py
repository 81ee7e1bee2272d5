"""What each simulated fault does to joints, feedback and calls, and how it is reported."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.base import CommunicationLost, DriverError, LifetimeExpired
from motiond.drivers.options import OptionsError
from tests.drivers.errors import message_of
from tests.drivers.sim.joints import TICK_S, Joints
from tests.tables import table

if TYPE_CHECKING:
    from motiond.drivers.testing.rig import Clock


def assert_refused(joints: Joints, message: str) -> None:
    assert message_of(DriverError, joints.write, 0.5) == message


def test_a_script_runs_by_the_time_since_the_first_opening(clock: Clock) -> None:
    script = [{"fault": "lost_feedback", "at_s": 0.1, "for_s": 0.05, "actuator": "elbow"}]
    joints = Joints(clock, faults=script)
    lost = np.isnan(joints.play(0, 0.3)[:, 0])
    assert np.flatnonzero(lost).tolist() == [9, 10, 11, 12, 13]  # reads follow their tick
    joints.driver.close()
    joints.driver.open()
    joints.driver.enable()
    assert np.isfinite(joints.play(0, 0.3)).all()


def test_reports_each_fault(clock: Clock) -> None:
    joints = Joints(clock, faults=[{"fault": "stuck", "actuator": "elbow", "for_s": 0.02}])
    joints.play(0, 0.05)
    joints.inject("delay", delay_s=0.01)
    joints.inject("clear", at_s=0.02)
    joints.play(0, 0.05)
    assert list(joints.driver.notices) == [
        "simulated fault begins: stuck of elbow for 0.02 s",
        "simulated fault ends: stuck of elbow for 0.02 s",
        "simulated fault begins: delay",
        "simulated faults are cleared",
    ]


def test_lost_feedback_is_not_a_number_and_its_stamp_stands_still(clock: Clock) -> None:
    joints = Joints(clock)
    joints.play(1, 0.1)
    joints.inject("lost_feedback", actuator="elbow")
    stamp_s = clock.now_s
    joints.play(1, 0.1)
    assert np.isnan(joints.state.values[:5, 0]).all()
    assert np.isfinite(joints.state.values[:4, 1]).all()
    assert joints.state.stamp_s.tolist() == pytest.approx([stamp_s, clock.now_s])


def test_a_stuck_joint_pushes_and_does_not_move(clock: Clock) -> None:
    joints = Joints(clock, effort_limit=20.0)
    joints.play(0.1, 0.3)
    joints.inject("stuck", actuator="elbow", for_s=0.5)
    joints.play(0.5, 0.5)
    assert joints.state.position.tolist() == pytest.approx([0.1, 0.5], abs=1e-6)
    assert joints.state.velocity[0] == 0
    assert joints.state.effort[0] == pytest.approx(20)
    joints.play(0.5, 2)
    np.testing.assert_allclose(joints.state.position, 0.5, atol=1e-6)


def test_an_overheating_actuator_gets_hot_and_cools_slowly(clock: Clock) -> None:
    joints = Joints(clock)
    joints.inject("overheating", actuator="elbow", temperature_c=90, rate_c_per_s=100, for_s=2)
    found = []
    for duration_s in (0.5, 1.5, 10.0):
        joints.play(0, duration_s)
        found.append(joints.state.temperature_c[0])
    assert found == [
        pytest.approx(75, abs=1),
        pytest.approx(90, abs=1),
        pytest.approx(25 + 65 * np.exp(-10 / 43.1), abs=0.1),
    ]
    assert joints.state.temperature_c[1] == 25


def test_an_m_stop_takes_the_torque_until_it_is_released_and_enabled_again(clock: Clock) -> None:
    joints = Joints(clock, load={"elbow": -1.0}, inertia=1.0)
    joints.play(0, 0.1)
    joints.inject("m_stop", actuator="elbow", for_s=0.1)
    for message in (
        "elbow: m-stop is pressed; there is no torque; release it, then reset and enable the robot",
        "elbow: m-stop was pressed; there is no torque; reset and enable the robot",
    ):
        for _ in range(10):
            assert_refused(joints, message)
            clock.now_s += TICK_S
    elbow, wrist = joints.read()
    assert elbow < -0.005
    assert wrist == pytest.approx(0.5, abs=1e-6)
    joints.driver.enable()
    joints.write()


@table("name, message, torque")
def test_an_actuator_that_stopped_listening_does_so_until_it_is_enabled_again(
    clock: Clock, name: str, message: str, torque: float
) -> None:
    joints = Joints(clock)
    joints.play(0.2, 0.3)
    joints.driver.verify()
    joints.inject(name, actuator="elbow")
    for _ in range(10):
        assert_refused(joints, f"elbow: {message}")
        assert message_of(DriverError, joints.driver.verify) == f"elbow: {message}"
        clock.now_s += TICK_S
    assert joints.read() == pytest.approx([0.2, 0.5], abs=1e-3)
    assert joints.state.torque.tolist() == [torque, 1.0]
    joints.inject("clear")
    joints.driver.enable()
    joints.driver.verify()
    assert joints.play(0.6, 0.3)[-1] == pytest.approx([0.6, 0.6], abs=1e-3)
    assert joints.state.torque.tolist() == [1.0, 1.0]


OVERLOADED = (
    "elbow: reports overload; it has switched its torque off; remove the cause, "
    "then `motiond clear ROBOT SERVO`"
)


@pytest.mark.parametrize("act", ["clear", "reboot"])
def test_an_overloaded_actuator_keeps_its_error_until_it_is_cleared_or_restarted(
    clock: Clock, act: str
) -> None:
    joints = Joints(clock)
    joints.play(0.2, 0.3)
    joints.inject("overload", actuator="elbow")
    assert_refused(joints, OVERLOADED)
    assert message_of(DriverError, joints.driver.enable) == OVERLOADED
    getattr(joints.driver, act)(["elbow"])
    joints.read()
    assert joints.state.torque.tolist() == [0.0, 1.0], "the other holds, and it does not"
    joints.driver.enable()
    assert joints.play(0.6, 0.3)[-1] == pytest.approx([0.6, 0.6], abs=1e-3)


@pytest.mark.parametrize("act", ["clear", "reboot"])
def test_an_actuator_that_holds_is_neither_cleared_nor_restarted_and_nor_are_those_beside_it(
    clock: Clock, act: str
) -> None:
    joints = Joints(clock)
    joints.inject("overload", actuator="elbow")
    joints.read(TICK_S)
    assert message_of(DriverError, getattr(joints.driver, act), ["elbow", "wrist"]) == (
        "wrist: its torque is on; it would drop; support it, reset and disable the robot, then try again"
    )
    assert_refused(joints, OVERLOADED)


def test_counts_lost_feedback_errors_and_restarts_of_each_actuator(clock: Clock) -> None:
    joints = Joints(clock)
    for fault in ("overload", "reset"):
        joints.inject(fault, actuator="wrist")
    joints.inject("lost_feedback", actuator="elbow")
    for _ in range(3):
        joints.read(TICK_S)
    errors = joints.driver.errors
    assert errors.missed.tolist() == [3, 0]
    assert errors.reported.tolist() == [0, 1]
    assert errors.restarts.tolist() == [0, 1]
    joints.inject("clear")
    joints.read(TICK_S)
    assert errors.missed.tolist() == [3, 0]


def test_a_power_cycle_brings_the_joint_back_a_turn_off_and_without_torque(clock: Clock) -> None:
    joints = Joints(clock)
    joints.play(0.5, 0.3)
    joints.inject("power_cycle", actuator="elbow", for_s=0.1, turns=-1)
    assert_refused(
        joints, "elbow: power is lost; there is no torque; check the supply, then reset and enable the robot"
    )
    np.testing.assert_allclose(joints.read(), [np.nan, 0.5], atol=1e-6)
    clock.now_s += 0.1
    assert_refused(
        joints,
        "elbow: power was lost; there is no torque; check that the position is right, "
        "then reset and enable the robot",
    )
    joints.driver.enable()
    np.testing.assert_allclose(joints.read(), [0.5 - 2 * np.pi, 0.5], atol=1e-6)


def test_actuators_whose_commands_end_are_reported_as_released_with_rounded_times(clock: Clock) -> None:
    joints = Joints(clock, command_lifetime_s=0.1 + 0.2)
    joints.play(0.5, 0.1)
    clock.now_s += 1.0
    assert message_of(LifetimeExpired, joints.write, 0.5) == (
        "driver sim: the actuators are released; no setpoint came for 1.010 s, "
        "and `command_lifetime_s` is 0.3; reset and enable the robot"
    )


def test_a_lost_bus_fails_every_call_until_it_is_back(clock: Clock) -> None:
    joints = Joints(clock, command_lifetime_s=0.1)
    joints.inject("bus_lost", for_s=0.3)
    for call in (joints.write, joints.read, joints.driver.enable, joints.driver.disable):
        assert message_of(CommunicationLost, call) == (
            "driver sim: the bus is lost; as a simulated fault; wait, or clear the fault"
        )
    for _ in range(6):
        joints.driver.halt()  # in vain: it reaches no actuator, so that they release
        clock.now_s += 0.05
    with pytest.raises(LifetimeExpired):
        joints.write(0.5)
    joints.driver.enable()
    np.testing.assert_allclose(joints.play(0.5, 0.5)[-1], 0.5, atol=1e-6)


def test_a_driver_that_blocks_is_held_up_once_in_real_time(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    joints = Joints(clock)
    joints.inject("blocks", for_s=0.1)
    for _ in range(6):
        joints.write(0.5)
    assert pauses == [0.1]


@table("bad, message")
def test_refuses_a_wrong_fault(clock: Clock, bad: dict[str, Any], message: str) -> None:
    joints = Joints(clock)
    assert message_of(OptionsError, joints.driver.inject, bad) == f"driver sim: {message}"
    joints.play(0, 0.1)
    assert not joints.driver.notices


FLEX = 0.1  # rad: how far a guided joint is behind a hand that moves it


def test_a_hand_carries_a_joint_without_torque_smoothly_to_where_it_wants_it(clock: Clock) -> None:
    joints = Joints(clock, holds=False)
    joints.inject("hand", to=0.8, for_s=1.0)
    way = np.array([joints.read(0.01) for _ in range(120)])[:, 0]
    assert way[-1] == pytest.approx(0.8)
    speeds = np.diff(way) / 0.01
    assert speeds.min() >= -1e-9
    assert speeds.max() == pytest.approx(0.8 * 1.875, rel=0.01)
    assert np.abs(np.diff(speeds)).max() < 0.08


def test_a_hand_pulls_a_guided_joint_along_and_leaves_it_there(clock: Clock) -> None:
    joints = Joints(clock)
    joints.driver.guide()
    joints.inject("hand", to=0.8, for_s=1.0)
    way = joints.play(np.nan, 2.0)[:, 0]
    assert np.abs(way[50] - 0.4) < FLEX
    assert way[-1] == pytest.approx(0.8, abs=FLEX)
    assert np.ptp(way[-50:]) < 1e-3


def test_a_joint_that_was_left_guided_holds_once_it_is_found(clock: Clock) -> None:
    joints = Joints(clock)
    joints.driver.guide()
    joints.driver.close()
    joints.driver.open()
    joints.inject("hand", to=0.8, for_s=1.0)
    assert joints.play(np.nan, 2.0) == pytest.approx(0.0)
    assert joints.state.torque.tolist() == [1.0, 1.0]


def test_a_hand_does_not_move_a_joint_that_holds_and_takes_it_once_it_gives_way(clock: Clock) -> None:
    joints = Joints(clock)
    joints.inject("hand", to=0.8, for_s=1.0)
    assert joints.play(0.0, 0.5) == pytest.approx(0.0)
    joints.driver.disable()
    way = np.array([joints.read(0.01) for _ in range(60)])[:, 0]
    assert np.diff(way, prepend=0.0).max() < 0.04  # it does not make up for what it has waited
    assert way[-1] == pytest.approx(0.8)


def test_a_hand_that_is_cleared_lets_go(clock: Clock) -> None:
    joints = Joints(clock)
    joints.driver.guide()
    joints.inject("hand", to=0.8, for_s=1.0)
    joints.inject("clear", at_s=0.5)
    way = joints.play(np.nan, 2.0)[:, 0]
    assert 0.4 - FLEX < way[-1] < 0.7
    assert np.ptp(way[-50:]) < 1e-3
