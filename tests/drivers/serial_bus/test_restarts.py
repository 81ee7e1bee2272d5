"""Servos that restart unseen, as their supply breaks down for a moment: no goal switches their torque on."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.base import ActuatorCommand, DriverError
from tests.drivers.errors import message_of
from tests.drivers.feetech import bench as feetech
from tests.drivers.serial_bus.makers import MAKERS

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENT = {"lost_after": 100}


@pytest.fixture(params=MAKERS)
def bench(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Three servos that hold; goals switch on the torque of the last, where there is such firmware."""
    bench_type, make_servo = MAKERS[request.param]
    with bench_type([make_servo(1), make_servo(2), make_servo(3)], **PATIENT) as bench:
        bench.hold()
        bench.play([0.2, -0.3, 0.1], ticks=100)
        bench.servos[2].torque_on_by_goal = True
        yield bench


def restart(bench: Any) -> None:
    one = bench.servos[2]
    (one.reboot if bench.driver.family.driver == "dynamixel" else one.restart)()
    one.turn_to(one.position_ticks - 80)  # it drops


def halt_for(bench: Any, ticks: int) -> None:
    """Halt as a robot in fault does."""
    for _ in range(ticks):
        bench.driver.halt()
        with suppress(DriverError):
            bench.read()
        bench.wait(0.01)


def play_until_found(bench: Any, goal: float) -> str:
    """Play on; return what is reported of the servo, once it is."""
    for _ in range(60):
        try:
            bench.play([goal] * 3)
        except DriverError as error:
            return str(error)
    pytest.fail("it was not found")


def test_one_that_answers_again_after_a_gap_is_looked_at_before_it_gets_a_goal(bench: Any) -> None:
    restart(bench)
    dropped, goal = bench.servos[2].position_ticks, bench.servos[2].get("goal_position")
    assert play_until_found(bench, 0.4) == (
        f"{bench.where(2)}: its torque is off; it has restarted, or another program switched it off; "
        "check its power, then reset and enable the robot"
    )
    halt_for(bench, 50)
    assert bench.servos[2].get("goal_position") == goal
    assert [one.torque for one in bench.servos] == [True, True, False]
    assert bench.servos[2].position_ticks == pytest.approx(dropped, abs=1)
    assert bench.driver.errors.restarts.tolist() == [0, 0, 1]
    bench.driver.enable()
    bench.play([0.3] * 3, ticks=100)
    assert bench.read().position == pytest.approx([0.3] * 3, abs=0.01)


def test_the_others_get_their_goals_meanwhile(bench: Any) -> None:
    restart(bench)
    before = bench.servos[2].get("goal_position")
    bench.play([0.4, 0.5, 0.6], ticks=4)
    goals = [one.get("goal_position") for one in bench.servos]
    assert goals == [*bench.driver._goal[:2], before]


def test_an_answer_that_is_lost_keeps_no_goal_from_a_servo(bench: Any) -> None:
    command = ActuatorCommand(3)
    for tick in range(20):
        command.position[:] = 0.01 * tick
        bench.driver.write(command)
        assert bench.servos[2].get("goal_position") == bench.driver._goal[2]
        bench.servos[2].mute = tick % 3 == 0
        bench.read()
        bench.servos[2].mute = False
        bench.wait(0.01)
    assert bench.driver.errors.missed[2] > 0


def test_one_that_was_silent_and_holds_still_gets_goals_again(bench: Any) -> None:
    bench.servos[2].mute = True
    bench.play([0.3] * 3, ticks=20)
    bench.servos[2].mute = False
    before, command = bench.servos[2].get("goal_position"), ActuatorCommand(3)
    command.position[:] = 0.3
    bench.driver.write(command)
    assert bench.servos[2].get("goal_position") == before
    bench.play([0.2] * 3, ticks=3)
    assert bench.servos[2].get("goal_position") == bench.driver._goal[2]
    assert bench.driver.errors.restarts.tolist() == [0, 0, 0]


def test_one_that_is_found_restarted_when_the_bus_is_opened_again_is_counted(bench: Any) -> None:
    restart(bench)
    bench.driver.close()
    bench.wait(1.0)
    for _ in range(2):
        bench.driver.open()
        bench.driver.close()
    assert bench.driver.errors.restarts.tolist() == [0, 0, 1]
    assert bench.driver.errors.missed.tolist() == [0, 0, 0]


@pytest.mark.parametrize("is_open", [True, False])
def test_one_that_restarts_on_request_is_not_counted_and_gets_no_goal(bench: Any, *, is_open: bool) -> None:
    bench.servos[2].fail(0x20 if bench.driver.family.driver == "dynamixel" else 0x04)
    message_of(DriverError, bench.read)
    if not is_open:
        bench.driver.close()
    bench.servos[2].set("torque_enable", 0)
    bench.driver.reboot(["elbow"])
    if not is_open:
        bench.driver.open()
    goal = bench.servos[2].get("goal_position")
    halt_for(bench, 50)
    assert bench.servos[2].get("goal_position") == goal
    assert not bench.servos[2].torque
    assert bench.driver.errors.restarts.tolist() == [0, 0, 0]


@pytest.mark.parametrize("is_open", [True, False])
def test_one_that_held_when_it_was_restarted_on_request_is_not_counted_and_gets_no_goal(
    *, is_open: bool
) -> None:
    with feetech.Bench([feetech.servo(1), feetech.servo(2)], **PATIENT) as bench:
        bench.hold()
        bench.servos[1].torque_on_by_goal = True
        bench.servos[1].fail(0x02)
        message_of(DriverError, bench.read)
        if not is_open:
            bench.driver.close()
        bench.driver.reboot(["shoulder"])
        bench.read() if is_open else bench.driver.open()
        halt_for(bench, 50)
        assert [one.torque for one in bench.servos] == [True, False]
        assert bench.driver.errors.restarts.tolist() == [0, 0]


def test_one_whose_error_has_gone_by_itself_is_not_switched_on_by_the_halt() -> None:
    with feetech.Bench([feetech.servo(1), feetech.servo(2, unloading_condition=0x2D)]) as bench:
        bench.hold()
        one = bench.servos[1]
        one.torque_on_by_goal = True
        one.set("present_voltage", 39)
        assert "reports a supply voltage" in message_of(DriverError, bench.play, [0.0, 0.0], 5)
        one.set("present_voltage", 74)
        one.turn_to(1900)
        halt_for(bench, 30)
        assert (one.torque, one.position_ticks) == (False, 1900)


def test_a_servo_that_had_shut_down_gets_goals_as_soon_as_it_holds_again(bench: Any) -> None:
    failed = bench.servos[1]
    failed.fail(0x20)
    assert "reports overload" in message_of(DriverError, bench.read)
    bench.driver.disable()
    bench.driver.reboot(["shoulder"])
    bench.driver.enable()
    command = ActuatorCommand(3)
    command.position[:] = 0.0
    bench.driver.write(command)
    assert abs(failed.get("goal_position") - failed.model.zero_ticks) <= 1
