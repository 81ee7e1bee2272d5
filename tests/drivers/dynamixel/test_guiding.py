"""Guided servos: the current mode and back, currents that carry the weight, and what is refused."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.base import DriverConfigError, DriverError, LifetimeExpired
from tests.drivers.dynamixel.bench import XM430, Bench, servo
from tests.drivers.errors import message_of
from tests.drivers.serial_bus.bench import deaf_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.drivers.dynamixel.emulator.servo import EmulatedServo

CURRENT, POSITION = 0, 3
CONSTANT = 1.8
UNIT_NM = CONSTANT * 2.69e-3
WEIGHT_NM = 1.5 * 0.2 * 9.80665
BODIES = [{"actuator": "base", "axis": [0, 1, 0], "mass": 1.5, "com": [0.2, 0, 0]}]
CARRIES: dict[str, Any] = {"gravity": {"bodies": BODIES}, "torque_constant_nm_per_a": CONSTANT}
CANNOT = "driver dynamixel: the servos cannot carry the robot's weight"
NOTHING = [math.nan, math.nan]


@pytest.fixture
def bench() -> Iterator[Bench]:
    with Bench([servo(1), servo(2)], **CARRIES) as bench:
        bench.servos[0].weigh = weigh
        yield bench


def weigh(ticks: float) -> float:
    """Return the current that carries the mass; a joint about y lifts it against its direction."""
    return -WEIGHT_NM / UNIT_NM * math.cos((ticks - XM430.zero_ticks) * XM430.rad_per_tick)


def modes(bench: Bench) -> list[tuple[int, int]]:
    return [(one.get("operating_mode"), one.get("torque_enable")) for one in bench.servos]


def at(one: EmulatedServo, rad: float) -> None:
    one.turn_to(XM430.zero_ticks + rad / XM430.rad_per_tick)


@pytest.mark.parametrize("held", [False, True])
def test_they_take_currents_that_carry_the_weight_wherever_they_are_moved(
    bench: Bench, *, held: bool
) -> None:
    bench.driver.open()
    if held:
        bench.driver.enable()
    bench.driver.guide()
    assert modes(bench) == [(CURRENT, 1)] * 2
    for rad in (0.0, 0.7, -1.2):
        at(bench.servos[0], rad)
        bench.play(NOTHING)
        assert bench.servos[0].get("goal_current") == round(-WEIGHT_NM * math.cos(rad) / UNIT_NM)
        assert bench.servos[1].get("goal_current") == 0
        assert (bench.read().torque == 1.0).all()


@pytest.mark.parametrize("end", ["enable", "catch", "halt", "disable"])
def test_each_end_puts_them_back_into_the_position_mode_where_they_are(bench: Bench, end: str) -> None:
    bench.driver.open()
    bench.driver.guide()
    at(bench.servos[0], 0.5)
    at(bench.servos[1], -0.3)
    bench.play(NOTHING, ticks=3)
    getattr(bench.driver, end)()
    assert modes(bench) == [(POSITION, 0 if end == "disable" else 1)] * 2
    if end != "disable":
        goals = [(one.get("goal_position") - XM430.zero_ticks) * XM430.rad_per_tick for one in bench.servos]
        assert goals == pytest.approx([0.5, -0.3], abs=2 * XM430.rad_per_tick)
        bench.wait(0.1)
        assert bench.read().position == pytest.approx([0.5, -0.3], abs=2 * XM430.rad_per_tick)


@pytest.mark.parametrize("end", ["enable", "catch", "halt"])
def test_goals_are_set_before_torque_comes_on_and_modes_change_without_it(bench: Bench, end: str) -> None:
    one = bench.servos[0]
    seen: list[tuple[str, int, int]] = []
    write = one.write

    def noted(address: int, data: bytes) -> Any:
        refusal = write(address, data)
        names = {item.address: name for name, item in one.table.items.items()}
        seen.append((names[address], one.get("torque_enable"), refusal or 0))
        return refusal

    bench.driver.open()
    bench.driver.guide()
    one.write = noted  # type: ignore[method-assign]
    getattr(bench.driver, end)()
    order = [name for name, _, _ in seen]
    assert not any(refusal for _, _, refusal in seen)
    assert [torque for name, torque, _ in seen if name == "operating_mode"] == [0]
    first_on = next(place for place, (name, on, _) in enumerate(seen) if name == "torque_enable" and on)
    assert order.index("operating_mode") < order.index("goal_position") < first_on


def test_profiles_and_gains_are_set_again_as_a_change_of_mode_forgets_them() -> None:
    with Bench([servo(1), servo(2)], **CARRIES, gains={"position_p": 640}) as bench:
        bench.hold()
        bench.driver.guide()
        for one in bench.servos:
            one.set("position_p_gain", 800)
        bench.driver.catch()
        assert [one.get("position_p_gain") for one in bench.servos] == [640, 640]


def test_a_current_is_no_more_than_the_servo_takes() -> None:
    with Bench([servo(1, current_limit=100), servo(2)], **CARRIES) as bench:
        bench.driver.open()
        bench.driver.guide()
        assert bench.servos[0].get("goal_current") == -100


def test_the_watchdog_is_armed_and_stops_them_when_nobody_writes(bench: Bench) -> None:
    bench.driver.open()
    bench.driver.guide()
    assert [one.get("bus_watchdog") for one in bench.servos] == [10, 10]
    bench.wait(0.3)
    with pytest.raises(LifetimeExpired):
        bench.play(NOTHING)
    assert all(one.tripped for one in bench.servos)
    bench.driver.enable()
    assert modes(bench) == [(POSITION, 1)] * 2
    assert not any(one.tripped for one in bench.servos)


def test_one_that_restarts_while_they_are_guided_is_found(bench: Bench) -> None:
    bench.driver.open()
    bench.driver.guide()
    bench.servos[1].set("torque_enable", 0)
    with pytest.raises(DriverError, match="its torque is off"):
        bench.play(NOTHING, ticks=60)


def test_they_are_caught_while_they_move(bench: Bench) -> None:
    """A robot that somebody moves does not stand still first."""
    bench.driver.open()
    bench.driver.guide()
    bench.ports[0].delay_s = 0.002
    for one in bench.servos:
        one.hand_ticks_s = 1000.0
    bench.play(NOTHING, ticks=5)
    bench.driver.catch()
    assert modes(bench) == [(POSITION, 1)] * 2
    bench.driver.disable()
    assert "moves" in message_of(DriverError, bench.driver.enable)
    bench.driver.catch()
    assert modes(bench) == [(POSITION, 1)] * 2


def test_a_servo_beyond_its_own_limits_is_caught_at_the_limit() -> None:
    registers = {"min_position_limit": 1000, "max_position_limit": 3000}
    with Bench([servo(1, registers=registers)], **CARRIES) as bench:
        bench.driver.open()
        bench.servos[0].turn_to(3010)
        assert "beyond its own limits" in message_of(DriverError, bench.driver.enable)
        bench.driver.catch()
        assert bench.servos[0].get("goal_position") == 3000


# -- after a crash ----------------------------------------------------------------------------------------


def crashed(bench: Bench) -> None:
    """Let the program end without a word while the servos are guided."""
    bench.driver.open()
    bench.driver.guide()
    bench.driver.close()
    bench.wait(1.0)
    for one in bench.servos:
        one.advance(bench.clock())


def test_what_a_crash_has_left_holding_holds_where_it_is_once_it_is_found(bench: Bench) -> None:
    crashed(bench)
    assert modes(bench) == [(CURRENT, 1)] * 2
    at(bench.servos[0], 0.5)
    bench.driver.open()
    assert modes(bench) == [(POSITION, 1)] * 2
    bench.wait(2.0)
    assert bench.read().position == pytest.approx([0.5, 0.0], abs=2 * XM430.rad_per_tick)
    bench.driver.enable()
    assert modes(bench) == [(POSITION, 1)] * 2
    bench.play([0.6, 0.1], ticks=100)
    assert bench.read().position == pytest.approx([0.6, 0.1], abs=2 * XM430.rad_per_tick)


def test_what_is_found_in_time_holds_before_it_drifts(bench: Bench) -> None:
    """Reading feeds the watchdog, which would not stop it."""
    bench.driver.open()
    bench.driver.guide()
    bench.driver.close()
    bench.servos[0].weigh = lambda ticks: weigh(ticks) + 40.0  # as with something in its gripper
    bench.driver.open()
    at_first = bench.read().position
    for _ in range(100):
        bench.wait(0.01)
        bench.read()
    assert bench.read().position == pytest.approx(at_first, abs=2 * XM430.rad_per_tick)


def test_what_a_crash_has_left_holding_is_released_with_the_next_disable(bench: Bench) -> None:
    crashed(bench)
    bench.driver.open()
    bench.driver.disable()
    assert modes(bench) == [(POSITION, 0)] * 2


def test_of_what_was_left_only_what_was_guided_changes_and_only_what_held_holds() -> None:
    with Bench([servo(1), servo(2), servo(3)], **CARRIES, gains={"position_p": 640}) as bench:
        crashed(bench)
        for index, mode, torque in ((1, POSITION, 1), (2, CURRENT, 0)):
            bench.servos[index].set("operating_mode", mode)
            bench.servos[index].set("torque_enable", torque)
        for one in bench.servos:
            one.set("position_p_gain", 800)
        written: list[int] = []
        vars(bench.servos[1])["write"] = lambda address, _: written.append(address)
        bench.driver.open()
        assert modes(bench) == [(POSITION, 1), (POSITION, 1), (POSITION, 0)]
        assert written == []
        assert [one.get("position_p_gain") for one in bench.servos] == [640, 800, 640]


def test_one_that_was_left_guided_and_fails_does_not_take_the_others_along(bench: Bench) -> None:
    crashed(bench)
    deaf_to(bench.servos[1], "goal_position")
    at(bench.servos[1], 0.4)
    bench.servos[1].set("goal_position", XM430.zero_ticks)
    assert "its register `goal_position` is" in message_of(DriverError, bench.driver.open)
    assert modes(bench) == [(POSITION, 1), (POSITION, 0)]


def test_a_robot_that_is_refused_for_another_servo_does_not_drift_meanwhile(bench: Bench) -> None:
    crashed(bench)
    bench.servos[1].fail(0x20)
    assert "reports overload" in message_of(DriverError, bench.driver.open)
    assert modes(bench)[0] == (POSITION, 1)


def test_where_guiding_is_refused_those_that_held_as_they_were_left_hold_and_no_others(bench: Bench) -> None:
    bench.hold()
    bench.driver.close()
    bench.servos[1].set("torque_enable", 0)
    bench.driver.open()
    deaf_to(bench.servos[1], "operating_mode")
    with pytest.raises(DriverError):
        bench.driver.guide()
    assert modes(bench) == [(POSITION, 1), (POSITION, 0)]


def test_what_a_crash_has_left_without_torque_is_put_back_at_once(bench: Bench) -> None:
    crashed(bench)
    for one in bench.servos:
        one.set("torque_enable", 0)
    bench.driver.open()
    assert modes(bench) == [(POSITION, 0)] * 2


def test_a_servo_that_fails_on_the_way_back_does_not_take_the_others_along(bench: Bench) -> None:
    bench.driver.open()
    bench.driver.guide()
    bench.servos[1].mute = True
    with pytest.raises(DriverError):
        bench.driver.halt()
    assert modes(bench)[0][1] == 1
    with suppress(DriverError):
        bench.driver.halt()
    assert modes(bench)[0][1] == 1


def test_a_servo_that_does_not_take_its_goal_has_no_torque_as_it_would_lunge(bench: Bench) -> None:
    bench.driver.open()
    bench.driver.enable()
    bench.driver.guide()
    at(bench.servos[0], 0.9)
    bench.play(NOTHING)
    deaf_to(bench.servos[0], "goal_position")
    with pytest.raises(DriverError):
        bench.driver.catch()
    assert modes(bench) == [(POSITION, 0), (POSITION, 1)]


def test_a_robot_that_holds_goes_on_holding_where_a_servo_does_not_take_the_mode(bench: Bench) -> None:
    bench.hold()
    deaf_to(bench.servos[1], "operating_mode")
    with pytest.raises(DriverError):
        bench.driver.guide()
    assert modes(bench) == [(POSITION, 1)] * 2


def test_a_halt_after_a_suspend_holds_although_the_watchdogs_have_tripped(bench: Bench) -> None:
    """The clock by which the driver knows the lifetime stands still in a suspend, and the servos' do not."""
    bench.driver.open()
    bench.driver.guide()
    at(bench.servos[0], 0.9)
    for one in bench.servos:
        one.set("bus_watchdog", 0xFF)
    assert "tripped" in message_of(DriverError, bench.driver.verify)
    bench.driver.halt()
    assert modes(bench) == [(POSITION, 1)] * 2
    bench.wait(0.1)
    bench.driver.halt()
    assert bench.read().position[0] == pytest.approx(0.9, abs=2 * XM430.rad_per_tick)


# -- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"gravity": None}, "it is not known what they carry; set `gravity: {from_model: true}`"),
        (
            {"gravity": {"from_model": True}},
            "no description with masses reaches this driver; name one, or list the bodies",
        ),
        (
            {"gravity": {"bodies": [{"actuator": "base"}]}},
            "no description with masses reaches this driver; name one, or list the bodies",
        ),
        (
            {"torque_constant_nm_per_a": {"base": 1.8}},
            "the torque of a current is not known of shoulder; set `torque_constant_nm_per_a`",
        ),
    ],
)
def test_it_is_refused_before_it_is_open(options: dict[str, Any], reason: str) -> None:
    with Bench([servo(1), servo(2)], **(CARRIES | options)) as bench:
        assert message_of(DriverConfigError, bench.driver.refuse_guiding) == f"{CANNOT}; {reason}"


def test_a_servo_without_a_current_is_refused_once_it_is_known() -> None:
    with Bench([servo(1), servo(2, "XL430-W250")], **CARRIES) as bench:
        bench.driver.refuse_guiding()
        bench.driver.open()
        reason = f"{bench.where(1)} is XL430-W250, whose current has no unit; teach with torque off"
        for call in (bench.driver.refuse_guiding, bench.driver.guide):
            assert message_of(DriverConfigError, call) == f"{CANNOT}; {reason}"
        assert modes(bench) == [(POSITION, 0)] * 2


def test_a_mode_that_counts_turns_is_refused() -> None:
    with Bench([servo(1, operating_mode=4)], **CARRIES) as bench:
        bench.driver.open()
        assert message_of(DriverConfigError, bench.driver.refuse_guiding) == (
            f"{CANNOT}; {bench.where(0)} is in extended_position, and a change of mode would forget its "
            "whole turns; teach with torque off, or choose the position mode"
        )


def test_the_mode_of_a_servo_that_nobody_guides_is_refused_as_before() -> None:
    with Bench([servo(1, operating_mode=0)]) as bench:
        assert message_of(DriverError, bench.driver.open).startswith(
            f"{bench.where(0)}: is in mode 0, which takes no positions, and must be in position"
        )


def test_positions_follow_the_direction_of_a_servo() -> None:
    options = CARRIES | {"direction": -1}
    with Bench([servo(1), servo(2)], **options) as bench:
        bench.driver.open()
        bench.driver.guide()
        assert bench.servos[0].get("goal_current") == round(WEIGHT_NM / UNIT_NM)
        np.testing.assert_allclose(bench.play(NOTHING).effort, 0.0)
