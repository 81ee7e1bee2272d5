"""What servos on a bus do that are found as they were left: some hold, and others do not."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.base import DriverError
from tests.drivers.errors import message_of
from tests.drivers.feetech import bench as feetech
from tests.drivers.serial_bus.bench import deaf_to
from tests.drivers.serial_bus.makers import MAKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GAINS = {"gains": {"position_p": 16}}


@contextmanager
def left(maker: str) -> Iterator[Any]:
    """Have three servos that held when the bus was lost, of which the last has restarted since."""
    bench_type, make_servo = MAKERS[maker]
    with bench_type([make_servo(1), make_servo(2), make_servo(3)], **GAINS) as bench:
        bench.hold()
        bench.play([0.2, -0.3, 0.1], ticks=100)
        bench.driver.close()
        (bench.servos[2].reboot if maker == "dynamixel" else bench.servos[2].restart)()
        bench.wait(1.0)
        yield bench


@pytest.fixture(params=MAKERS)
def bench(request: pytest.FixtureRequest) -> Iterator[Any]:
    with left(request.param) as bench:
        yield bench


def torque_of(bench: Any) -> list[bool]:
    return [one.torque for one in bench.servos]


def written(bench: Any) -> list[list[str]]:
    """Return what each servo is written from now on, by the names of the registers."""
    logs: list[list[str]] = []
    for one in bench.servos:
        log: list[str] = []
        logs.append(log)
        vars(one)["write"] = partial(_note, one, one.write, log)
    return logs


def _note(one: Any, write: Callable[[int, bytes], Any], log: list[str], address: int, data: bytes) -> Any:
    log += [
        name
        for name, item in one.table.items.items()
        if address <= item.address and item.end <= address + len(data)
    ]
    return write(address, data)


def test_opening_writes_nothing_to_those_that_hold_and_no_torque_to_the_other(bench: Any) -> None:
    before = [one.position_ticks for one in bench.servos]
    log = written(bench)
    bench.driver.open()
    for _ in range(200):
        state = bench.read()
        bench.wait(0.01)
    assert log[:2] == [[], []]
    assert "position_p_gain" in log[2]
    assert {"torque_enable", "goal_position"}.isdisjoint(log[2])
    assert state.torque.tolist() == [1.0, 1.0, 0.0]
    assert torque_of(bench) == [True, True, False]
    assert [one.position_ticks for one in bench.servos] == before


def test_a_goal_of_long_ago_moves_nothing_when_those_beside_it_are_back(bench: Any) -> None:
    bench.servos[0].turn_to(bench.servos[0].position_ticks + 30)  # pushed, and held there by a hand
    pushed = bench.servos[0].position_ticks
    goals = [one.get("goal_position") for one in bench.servos[:2]]
    bench.driver.open()
    bench.read()
    assert [one.get("goal_position") for one in bench.servos[:2]] == goals
    log = written(bench)
    bench.servos[0].turn_to(pushed)
    bench.driver.enable()
    assert log[0].index("goal_position") < log[0].index("torque_enable")
    assert bench.servos[0].get("goal_position") == pytest.approx(pushed, abs=30)


def test_enabled_all_hold_where_they_are(bench: Any) -> None:
    before = [one.position_ticks for one in bench.servos]
    bench.driver.open()
    bench.driver.enable()
    assert torque_of(bench) == [True] * 3
    bench.wait(0.5)
    assert bench.read().torque.tolist() == [1.0] * 3
    assert [one.position_ticks for one in bench.servos] == pytest.approx(before, abs=1)
    assert {one.get("position_p_gain") for one in bench.servos} == {16}


def test_disabled_none_holds(bench: Any) -> None:
    bench.driver.open()
    bench.driver.disable()
    assert torque_of(bench) == [False] * 3


@pytest.mark.parametrize("register", ["torque_enable", "goal_position"])
def test_where_one_takes_no_torque_those_that_held_go_on_holding_and_no_others(
    bench: Any, register: str
) -> None:
    bench.servos[1].set("torque_enable", 0)
    bench.driver.open()
    bench.servos[2].set("goal_position", bench.servos[2].get("goal_position") - 40)
    deaf_to(bench.servos[2], register)
    assert f"its register `{register}` is" in message_of(DriverError, bench.driver.enable)
    assert torque_of(bench) == [True, False, False]


def test_a_servo_whose_goals_switch_torque_on_has_none_where_another_takes_none() -> None:
    with feetech.Bench([feetech.servo(1), feetech.servo(2)]) as bench:
        bench.servos[0].torque_on_by_goal = True
        bench.driver.open()
        bench.servos[1].set("goal_position", 2000)
        deaf_to(bench.servos[1], "goal_position")
        assert "its register `goal_position` is" in message_of(DriverError, bench.driver.enable)
        assert torque_of(bench) == [False, False]


def test_a_servo_whose_goals_switch_torque_on_has_none_before_it_is_asked_for() -> None:
    with left("sts") as bench:
        bench.servos[2].torque_on_by_goal = True
        bench.driver.open()
        bench.play([1.0] * 3, ticks=20)
        assert torque_of(bench) == [True, True, False]
