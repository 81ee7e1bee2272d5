"""One servo is asked whether it holds at the end of a tick; its answer is taken at the begin of the next."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.base import ActuatorCommand, DriverError
from tests.drivers.errors import message_of
from tests.drivers.serial_bus.makers import MAKERS

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=MAKERS)
def bench(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A servo that holds, and is looked at in every second read."""
    bench_type, make_servo = MAKERS[request.param]
    with bench_type([make_servo(1)], status_every=2) as bench:
        yield bench.hold()


def read_until_looked_at(bench: Any) -> None:
    """Read until the servo has been asked whether it holds, and has not been heard."""
    bus = bench.driver._buses[0]
    for _ in range(4):
        bench.read()
        if bus.is_reading:
            return
    pytest.fail("it was not asked")


def switch_off(bench: Any) -> None:
    bench.servos[0].set("torque_enable", 0)


def write(bench: Any, goal: float = 0.0) -> None:
    command = ActuatorCommand(1)
    command.position[:] = goal
    bench.driver.write(command)


def test_goals_are_sent_and_then_it_is_said_that_it_does_not_hold(bench: Any) -> None:
    switch_off(bench)
    read_until_looked_at(bench)
    write(bench)
    assert "its torque is off" in message_of(DriverError, bench.read)
    bench.read()


def test_one_found_without_torque_gets_no_goal_any_more(bench: Any) -> None:
    switch_off(bench)
    goal = bench.servos[0].get("goal_position")
    read_until_looked_at(bench)
    write(bench, 0.3)
    assert bench.servos[0].get("goal_position") == goal


def test_one_that_is_read_alone_is_found_by_the_next_read(bench: Any) -> None:
    switch_off(bench)
    read_until_looked_at(bench)
    assert "its torque is off" in message_of(DriverError, bench.read)


def test_one_that_is_halted_is_found(bench: Any) -> None:
    bench.driver.halt()
    switch_off(bench)
    read_until_looked_at(bench)
    bench.driver.halt()
    assert "its torque is off" in message_of(DriverError, bench.read)


def test_an_answer_from_before_an_enable_does_not_count_after_it(bench: Any) -> None:
    bench.driver.disable()
    read_until_looked_at(bench)
    bench.driver.enable()
    write(bench)
    assert bench.read().torque.tolist() == [1.0]
    assert bench.driver.errors.missed.tolist() == [0]


def test_an_answer_from_before_a_disable_does_not_count_after_it(bench: Any) -> None:
    read_until_looked_at(bench)
    bench.driver.disable()
    assert bench.read().torque.tolist() == [0.0]


def test_an_answer_from_before_a_close_does_not_count_after_it(bench: Any) -> None:
    bench.driver.disable()
    read_until_looked_at(bench)
    bench.driver.close()
    bench.servos[0].set("torque_enable", 1)
    bench.driver.open()
    assert bench.read().torque.tolist() == [1.0]


def test_what_was_found_before_a_close_is_not_said_after_it(bench: Any) -> None:
    switch_off(bench)
    read_until_looked_at(bench)
    write(bench)
    bench.driver.close()
    bench.driver.open()
    assert bench.read().torque.tolist() == [0.0]


def test_nothing_is_sent_while_the_answer_may_be_on_its_way(bench: Any) -> None:
    bench.ports[0].delay_s = 0.002
    for send in (partial(write, bench), partial(bench.driver._buses[0].send, b"any")):
        read_until_looked_at(bench)
        begun_s = bench.clock()
        send()
        assert bench.clock() - begun_s == pytest.approx(0.002, abs=1e-6)


def test_an_answer_that_does_not_come_is_missed(bench: Any) -> None:
    bench.read()
    bench.chains[0].faults.extend([lambda feedback: feedback, lambda _: b""])
    read_until_looked_at(bench)
    assert not bench.chains[0].faults
    write(bench)
    bench.read()
    assert bench.driver.errors.missed.tolist() == [1]
