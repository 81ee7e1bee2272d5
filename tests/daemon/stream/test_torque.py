"""Torque as the driver finds it: what the loop reports, what it makes a fault of, and what a suspend does."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.states import State
from motiond.daemon.stream.timing.clocks import RealClock, VirtualClock
from motiond.drivers.base import CommunicationLost, DriverError
from motiond.drivers.sim.driver import SimDriver, SimOptions

from .test_loop import JOINTS, ROWS, START, Bench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from motiond.drivers.base import ActuatorCommand, ActuatorState

TRIPPED = "servo 2 (elbow): its bus watchdog has tripped; reset and enable the robot"


def tripped() -> DriverError:
    return DriverError("servo 2 (elbow)", "its bus watchdog has tripped", "", "reset and enable the robot")


def gone() -> DriverError:
    return CommunicationLost("bus", "it is gone")


class Scripted(SimDriver):
    """Reports what torque the test says, and verifies nothing else than that it was asked.

    `found`: what `read` reports of torque; None for what the simulation has. `error`: returns what `verify`
    raises. `verified`, `writes`: how many times it was asked, and got a setpoint.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__(JOINTS, SimOptions(initial=dict(zip(JOINTS, START, strict=True))), now)
        self.found: list[float] | None = None
        self.error: Callable[[], DriverError] | None = None
        self.writes = 0
        self.verified = 0

    def read(self, state: ActuatorState) -> None:
        super().read(state)
        if self.found is not None:
            state.torque[:] = self.found

    def verify(self) -> None:
        self.verified += 1
        if self.error is not None:
            raise self.error()

    def write(self, command: ActuatorCommand) -> None:
        self.writes += 1
        super().write(command)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    clock = VirtualClock(100.0)
    bench = Bench(tmp_path, driver=Scripted(clock.now), clock=clock)
    yield bench
    bench.driver.close()
    bench.close()


def driver(bench: Bench) -> Scripted:
    assert isinstance(bench.driver, Scripted)
    return bench.driver


def last(bench: Bench) -> messages.Changed:
    status: messages.Changed = bench.notices_of(messages.Changed)[-1]
    return status


def events(bench: Bench) -> list[tuple[str, str]]:
    return [(one.kind, one.message) for one in bench.notices_of(messages.Happened)]


def test_torque_is_reported_as_it_is_found_also_before_it_was_asked_for(bench: Bench) -> None:
    driver(bench).found = [1.0, math.nan]
    bench.step()
    assert (last(bench).torque, last(bench).found) == (False, [1.0, None])
    reports = len(bench.notices_of(messages.Changed))
    bench.step(10)
    assert len(bench.notices_of(messages.Changed)) == reports
    driver(bench).found = None
    bench.step()
    assert last(bench).found == [0.0, 0.0]
    bench.enable()
    assert (last(bench).torque, last(bench).found) == (True, [1.0, 1.0])


def left_on(bench: Bench) -> Scripted:
    """Let actuators be found that hold as they were left."""
    driver(bench).enable()
    bench.step(3)
    assert (last(bench).torque, last(bench).found) == (False, [1.0, 1.0])
    return driver(bench)


def test_a_reset_leaves_actuators_as_they_are_that_hold_as_they_were_left(bench: Bench) -> None:
    driver = left_on(bench)
    bench.channel.send(messages.Estop())
    bench.step(5)
    assert bench.state() is State.ESTOPPED
    bench.channel.send(messages.Reset())
    bench.step(5)
    assert bench.state() is State.IDLE
    assert (last(bench).torque, last(bench).found, driver.writes) == (False, [1.0, 1.0], 0)
    bench.channel.send(messages.Disable())
    bench.step(5)
    assert last(bench).found == [0.0, 0.0]


def test_actuators_that_hold_as_they_were_left_are_not_dropped_where_one_gives_no_feedback(
    bench: Bench,
) -> None:
    driver = left_on(bench)
    driver.inject({"fault": "lost_feedback", "actuator": JOINTS[1]})
    bench.step(10)
    bench.channel.send(messages.Enable())
    bench.step(5)
    assert bench.state() is State.FAULT
    assert driver._plant is not None
    assert driver._plant.torque


@pytest.mark.parametrize("plays", [False, True])
def test_torque_that_goes_off_by_itself_is_a_fault_whatever_the_driver_makes_of_it(
    bench: Bench, *, plays: bool
) -> None:
    bench.enable()
    if plays:
        bench.play()
        bench.step_until(lambda: bench.state() is State.PLAYING)
        bench.step(50)
    else:
        bench.step(100)
    driver(bench).found = [1.0, 0.0]
    bench.step_until(lambda: bench.state() is State.FAULT, most=300)
    reason = (
        "arm: torque is off in elbow; it went off by itself; "
        "check the actuators, then reset and enable the robot"
    )
    assert events(bench) == [("fault", reason)]
    assert bench.state() is State.FAULT
    assert [(one.code, one.message) for one in bench.ends()] == (
        [("HARDWARE_FAULT", reason)] if plays else []
    )


def test_a_motion_does_not_end_well_while_torque_is_reported_as_off(bench: Bench) -> None:
    """Right after torque came on, feedback may be from before."""
    bench.enable()
    driver(bench).found = [1.0, 0.0]
    bench.play(ROWS[:50])
    bench.step(100)
    assert not bench.ended()
    driver(bench).found = None
    bench.step_until(bench.ended)
    assert bench.ends()[0].code == "SUCCESSFUL"


def test_a_motion_does_not_end_well_before_the_driver_has_verified_it(bench: Bench) -> None:
    bench.enable()
    bench.play()
    bench.step_until(bench.ended)
    assert bench.ends()[0].code == "SUCCESSFUL"
    assert driver(bench).verified == 1


@pytest.mark.parametrize(("error", "code"), [(tripped, "HARDWARE_FAULT"), (gone, "COMM_LOST")])
def test_a_motion_whose_actuators_have_stopped_listening_is_not_successful(
    bench: Bench, error: Callable[[], DriverError], code: str
) -> None:
    bench.enable()
    bench.play()
    driver(bench).error = error
    for _ in range(2000):
        bench.loop.step()
        bench.hear()
        if bench.ended():
            break
    (ended,) = bench.ends()
    assert (ended.code, ended.message, ended.details["where"]) == (code, str(error()), error().where)
    assert bench.state() is State.FAULT


@pytest.mark.parametrize("state", [State.PLAYING, State.PAUSED])
def test_a_suspend_ends_a_motion_softly_where_the_actuators_still_hold(bench: Bench, state: State) -> None:
    bench.enable()
    bench.play()
    bench.step_until(lambda: bench.state() is State.PLAYING)
    bench.step(100)
    if state is State.PAUSED:
        bench.channel.send(messages.Pause())
        bench.step_until(lambda: bench.state() is State.PAUSED)
    bench.clock.suspends_s += 12.34
    bench.step_until(bench.ended)
    assert events(bench) == [("suspended", "the machine was suspended for 12.3 s")]
    (ended,) = bench.ends()
    assert (ended.code, ended.message) == (
        "DEADLINE_MISSED",
        "the machine was suspended for 12.3 s; no motion goes on after that; play it again",
    )
    assert driver(bench).verified == 1
    assert (bench.state(), last(bench).torque) == (State.IDLE, True)


@pytest.mark.parametrize("plays", [False, True])
def test_no_setpoint_goes_out_after_a_suspend_in_which_actuators_release(
    bench: Bench, *, plays: bool
) -> None:
    bench.enable()
    if plays:
        bench.play()
        bench.step_until(lambda: bench.state() is State.PLAYING)
    driver(bench).error, writes = tripped, driver(bench).writes
    bench.clock.suspends_s += 60.0
    bench.step(3)
    reason = f"the machine was suspended for 60.0 s; {TRIPPED}"
    assert events(bench) == [("suspended", "the machine was suspended for 60.0 s"), ("fault", reason)]
    assert [one.message for one in bench.ends()] == ([reason] if plays else [])
    assert driver(bench).writes == writes
    assert bench.state() is State.FAULT


def test_the_real_clock_knows_how_long_the_machine_was_suspended() -> None:
    least = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic() - 1.0
    assert least < RealClock().suspended_s() < least + 2.0
    drift = np.ptp([RealClock().suspended_s() for _ in range(1000)])
    assert drift < 1.0
