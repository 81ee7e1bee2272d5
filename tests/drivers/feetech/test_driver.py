"""The driver on emulated servos: what it checks before torque, and how it reports failures."""

from __future__ import annotations

import errno
import json
import os
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pydantic import ValidationError

from motiond.drivers.base import CommunicationLost, DriverConfigError, DriverError, LifetimeExpired
from motiond.drivers.feetech.errors import ANGLE_SENSOR
from motiond.drivers.feetech.models import models_by_name
from motiond.drivers.feetech.protocol import checksum
from motiond.drivers.registry import make_driver
from tests.drivers.errors import message_of
from tests.drivers.feetech.bench import STS3215, Bench, servo
from tests.drivers.serial_bus.memory_port import MemoryLine
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from motiond.drivers.feetech.emulator.servo import EmulatedServo

TICK_RAD = STS3215.rad_per_tick


@pytest.fixture
def bench() -> Iterator[Bench]:
    with Bench([servo(1), servo(2), servo(7)]) as bench:
        yield bench


# -- before torque ------------------------------------------------------------------------------------------


def test_reports_what_it_found(bench: Bench) -> None:
    bench.driver.open()
    assert list(bench.driver.notices) == [
        "driver feetech: found "
        + ", ".join(f"STS3215 firmware 3.10 as {bench.where(index)}" for index in range(3))
    ]


def test_names_all_that_is_missing_and_what_is_there_instead() -> None:
    with Bench([servo(1), servo(2), servo(7)]) as bench:
        bench.chains[0].servos[0].mute = bench.chains[0].servos[2].mute = True
        bench.chains[0].servos.append(servo(9, "SCS0009"))
        path = bench.ports[0].path
        assert message_of(DriverError, bench.driver.open) == (
            f"driver feetech: no answer from base ({path} servo 1), elbow ({path} servo 7); 1 of 3 answered, "
            f"and there is also SCS0009 as servo 9 of {path}; check cables, power, ids and the baud rate; "
            "`motiond scan` finds servos"
        )


def test_errors_name_all_actuators_that_they_are_about() -> None:
    with Bench([servo(1), servo(2), servo(7)]) as bench:
        silent = bench.chains[0].servos[0]
        silent.mute = True
        with pytest.raises(DriverError) as caught:
            bench.driver.open()
        assert caught.value.actuators == ["base"]
        silent.mute = False
        bench.hold()
        for failing in bench.servos[:2]:
            failing.fail(ANGLE_SENSOR)
        with pytest.raises(DriverError) as caught:
            bench.play([0.0] * 3)
        assert caught.value.actuators == ["base", "shoulder"]


def test_locks_lasting_settings_that_are_not_locked_and_says_so() -> None:
    with Bench([servo(1), servo(2, lock=0)]) as bench:
        bench.driver.open()
        state = "were not locked, as where setting them was cut short; they are now"
        assert bench.driver.notices[0] == f"{bench.where(1)}: its lasting settings {state}"
        assert [one.get("lock") for one in bench.servos] == [1, 1]


def test_refuses_an_adapter_that_returns_what_is_sent(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question for two bytes would be taken for the answer that has them."""
    write = MemoryLine.write

    def echoed(line: MemoryLine, frame: bytes | bytearray) -> int:
        line._answers.append((line.now(), bytes(frame)))
        return write(line, frame)

    monkeypatch.setattr(MemoryLine, "write", echoed)
    assert message_of(DriverError, bench.driver.open) == (
        f"{bench.ports[0].path}: its adapter returns what is sent; questions look like answers; "
        "use an adapter for half-duplex buses, or one that can be set not to"
    )


@table("registers, options, message")
def test_refuses_a_servo_that_is_not_as_configured(
    registers: dict[str, int], options: dict[str, Any], message: str
) -> None:
    with Bench([servo(1, registers=registers)], **options) as bench:
        assert message_of(DriverError, bench.driver.open) == f"{bench.where(0)}: {message}"
        assert not bench.servos[0].torque


def test_refuses_everything_at_once() -> None:
    with Bench([servo(1, operating_mode=1), servo(2, phase=0x10)]) as bench:
        message = message_of(DriverError, bench.driver.open)
        assert [line.split(";")[0] for line in message.splitlines()] == [
            f"{bench.where(0)}: is in mode 1, and must be in the position mode",
            f"{bench.where(1)}: counts turns (phase, bit 4), which it loses with its power",
        ]


def test_an_scs_servo_has_no_option_for_what_it_has_no_register() -> None:
    options = {"homing_offset_ticks": 3, "profile_acceleration_rad_s2": 5.0, "torque_limit": 0.5}
    with Bench([servo(1, "SCS0009")], **options) as bench:
        message = message_of(DriverError, bench.driver.open)
        assert message.splitlines() == [
            f"{bench.where(0)}: takes no `{option}`; a SCS0009 has no such register; leave it out"
            for option in options
        ]


@table("options, message")
def test_refuses_what_a_register_does_not_take(options: dict[str, float], message: str) -> None:
    with Bench([servo(1)], **options) as bench:
        assert message_of(DriverError, bench.driver.open) == f"{bench.where(0)}: {message}"


def test_servos_of_two_series_share_a_bus() -> None:
    with Bench([servo(1), servo(2, "SCS0009"), servo(3)]) as bench:
        bench.hold()
        np.testing.assert_allclose(
            bench.play([0.3, 0.2, 0.1], ticks=60).position, [0.3, 0.2, 0.1], atol=0.003
        )


def test_sets_lasting_settings_where_it_may_and_locks_them_again() -> None:
    options: dict[str, Any] = {"homing_offset_ticks": -7, "return_delay_us": 0, "write_eeprom": True}
    with Bench([servo(1, operating_mode=1, phase=0x1C, return_delay=250)], **options) as bench:
        bench.driver.open()
        one = bench.servos[0]
        one.restart()
        found = {
            name: one.get(name)
            for name in ("operating_mode", "phase", "return_delay", "homing_offset", "lock")
        }
        assert found == {
            "operating_mode": 0,
            "phase": 0x0C,
            "return_delay": 0,
            "homing_offset": -7,
            "lock": 1,
        }


def test_does_not_release_a_servo_to_set_lasting_settings() -> None:
    options: dict[str, Any] = {"homing_offset_ticks": -7, "write_eeprom": True}
    with Bench([servo(1, torque_enable=1)], **options) as bench:
        assert message_of(DriverError, bench.driver.open) == (
            f"{bench.where(0)}: its lasting settings cannot be written; its torque is on; "
            "support the robot, then switch its power off and on"
        )
        assert bench.servos[0].torque


def test_sets_what_a_servo_forgets_again_with_every_enable_and_saves_none_of_it() -> None:
    options: dict[str, Any] = {
        "profile_velocity_rad_s": 2.0,
        "profile_acceleration_rad_s2": {"shoulder": 10.0},
        "gains": {"position_p": {"base": 16}, "position_d": 40},
        "torque_limit": {"shoulder": 0.5},
    }
    forgotten = {"profile_velocity": 0, "profile_acceleration": 5, "position_d_gain": 0}
    same = {"profile_velocity": 1304, "position_d_gain": 40}
    expected = [
        {**same, "profile_acceleration": 0, "position_p_gain": 16, "torque_limit": 1000},
        {**same, "profile_acceleration": 65, "position_p_gain": 32, "torque_limit": 500},
    ]
    with Bench([servo(1, lock=0), servo(2)], **options) as bench:
        for call in (bench.driver.open, bench.driver.enable):
            for one in bench.servos:
                for name, value in forgotten.items():
                    one.set(name, value)
            call()
            assert [{name: one.get(name) for name in expected[0]} for one in bench.servos] == expected
        for one in bench.servos:
            one.restart()
        assert [one.get("position_p_gain") for one in bench.servos] == [32, 32]


@pytest.mark.parametrize(("phase", "register"), [(0x0C, 1304), (0x08, 26)])
def test_a_velocity_is_in_the_unit_that_the_servo_has(phase: int, register: int) -> None:
    with Bench([servo(1, phase=phase)], profile_velocity_rad_s=2.0) as bench:
        bench.hold()
        assert bench.servos[0].get("profile_velocity") == register
        bench.play([1.0], ticks=10)
        assert bench.read().velocity[0] == pytest.approx(2.0, rel=0.02)


def test_a_servo_for_which_no_velocity_means_standstill_gets_its_fastest() -> None:
    with Bench([servo(1, phase=0x04)]) as bench:
        bench.hold()
        assert bench.servos[0].get("profile_velocity") == 68 * 50
        np.testing.assert_allclose(bench.play([1.0], ticks=60).position, 1.0, atol=TICK_RAD)


# -- calibration --------------------------------------------------------------------------------------------


def _calibration(folder: Path, **changes: Any) -> Path:
    entry = {"id": 1, "drive_mode": 0, "homing_offset": -100, "range_min": 1000, "range_max": 3001, **changes}
    path = folder / "arm.json"
    path.write_text(json.dumps({"base": entry}), encoding="utf-8")
    return path


def test_a_calibration_sets_offset_range_and_zero(tmp_path: Path) -> None:
    path = _calibration(tmp_path)
    with Bench([servo(1, ticks=2048)], calibration=str(path), write_eeprom=True) as bench:
        bench.driver.open()
        one = bench.servos[0]
        registers = [one.get(name) for name in ("homing_offset", "min_position_limit", "max_position_limit")]
        assert registers == [-100, 1000, 3001]
        assert bench.read().position[0] == pytest.approx((2148 - 2000.5) * TICK_RAD)
        assert bench.driver.limits.lower[0] == pytest.approx(-1000.5 * TICK_RAD)
        bench.driver.enable()
        np.testing.assert_allclose(bench.play([0.3], ticks=60).position, 0.3, atol=TICK_RAD)


def test_a_calibration_is_not_written_unasked(tmp_path: Path) -> None:
    with Bench([servo(1)], calibration=str(_calibration(tmp_path))) as bench:
        message = message_of(DriverError, bench.driver.open)
        assert message.splitlines() == [
            f"{bench.where(0)}: its {what} is {found}, and {wanted} is configured; "
            "set it with Feetech's FD, or let `write_eeprom` do it"
            for what, found, wanted in [
                ("homing offset", 0, -100),
                ("lower position limit", 0, 1000),
                ("upper position limit", 4095, 3001),
            ]
        ]


def test_options_go_before_the_calibration(tmp_path: Path) -> None:
    path = _calibration(tmp_path, drive_mode=1)
    options = {"zero_ticks": 2048, "homing_offset_ticks": 0, "write_eeprom": True}
    with Bench([servo(1, ticks=2148)], calibration=str(path), **options) as bench:
        bench.driver.open()
        assert bench.servos[0].get("homing_offset") == 0
        assert bench.read().position[0] == pytest.approx(-100 * TICK_RAD)


def test_a_calibration_of_another_servo_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    path = _calibration(tmp_path, id=3)
    with Bench([servo(1)], calibration=str(path)) as bench:
        message = f"{path}: 'base' is servo 3; `ids` says 1; correct one of them"
        assert message_of(DriverConfigError, bench.driver.rehearse) == message
        assert message_of(DriverConfigError, bench.driver.open) == message
        assert bench.ports[0].line is None


# -- torque -------------------------------------------------------------------------------------------------


def _writes(one: EmulatedServo, names: set[str]) -> list[tuple[str, int]]:
    """Return a list that will have what is written to some registers of a servo, in order."""
    log: list[tuple[str, int]] = []
    write, by_address = one.write, {one.table[name].address: name for name in names}

    def logged(address: int, data: bytes) -> None:
        write(address, data)
        if address in by_address:
            log.append((by_address[address], one.get(by_address[address])))

    one.write = logged  # type: ignore[method-assign]
    return log


@pytest.mark.parametrize("model", ["STS3215", "SCS0009"])
def test_torque_comes_after_goals_where_the_servos_are(model: str) -> None:
    """Enabling does not lunge to the goal of before."""
    with Bench([servo(1, model, ticks=300, goal_position=900)]) as bench:
        one = bench.servos[0]
        one.set("goal_position", 900)
        log = _writes(one, {"goal_position", "torque_enable"})
        bench.hold()
        assert log == [("goal_position", 300), ("torque_enable", 1)]
        bench.play([np.nan], ticks=30)
        assert one.get("present_position") == 300


def test_no_goal_is_sent_without_torque() -> None:
    """Some firmware switches torque on with any goal."""
    with Bench([servo(1), servo(2)]) as bench:
        for one in bench.servos:
            one.torque_on_by_goal = True
        bench.driver.open()
        bench.play([1.0, 1.0], ticks=3)
        for _ in range(3):
            bench.driver.halt()
        assert not any(one.torque for one in bench.servos)
        bench.driver.enable()
        bench.driver.disable()
        bench.play([1.0, 1.0], ticks=3)
        assert not any(one.torque for one in bench.servos)


def test_does_not_take_hold_of_a_servo_that_moves(bench: Bench) -> None:
    bench.driver.open()
    bench.servos[1].hand_ticks_s = 20_000.0
    bench.ports[0].delay_s = 0.001
    assert message_of(DriverError, bench.driver.enable) == (
        f"{bench.where(1)}: moves; torque would jerk it back; hold it still, then reset and enable the robot"
    )
    assert not any(one.torque for one in bench.servos)


@pytest.mark.parametrize(
    ("register", "message"),
    [
        ("goal_position", "its register `goal_position` is 2000 after 2048 was written"),
        ("torque_enable", "its register `torque_enable` is 0 after 1 was written"),
    ],
)
def test_takes_hold_of_all_servos_or_none(bench: Bench, register: str, message: str) -> None:
    bench.driver.open()
    one = bench.servos[2]
    one.set("goal_position", 2000)
    write, locked = one.write, one.table[register].address
    one.write = lambda address, data: None if address == locked else write(address, data)  # type: ignore[method-assign]
    assert message_of(DriverError, bench.driver.enable) == (
        f"{bench.where(2)}: {message}; it refused the value; "
        "check its limits, and its health with `motiond scan`"
    )
    assert not any(one.torque for one in bench.servos)


def test_a_halt_sends_goals_in_each_tick_and_nothing_else_moves(bench: Bench) -> None:
    """What was aborted does not go on, and holding is no silence."""
    bench.hold()
    bench.play([1.0, 1.0, 1.0], ticks=10)
    log = _writes(bench.servos[1], {"goal_position"})
    for _ in range(20):
        bench.driver.halt()
        bench.play([1.5, 1.5, 1.5])
    halted = {goal for _, goal in log}
    assert (len(log), len(halted)) == (20, 1)
    assert bench.servos[1].get("present_position") in halted
    assert all(one.torque for one in bench.servos)


def test_a_joint_that_is_a_turn_off_gets_no_torque() -> None:
    """Its zero is near the end of a turn, so that the servo would go the long way round."""
    options = {"zero_ticks": 4000, "lower_rad": -1.0, "upper_rad": 0.1}
    with Bench([servo(1, ticks=4000)], **options) as bench:
        bench.driver.open()
        bench.servos[0].turn_to(100)
        assert message_of(DriverError, bench.driver.enable) == (
            f"{bench.where(0)}: is at -5.98 rad, a whole turn below its range; -1 to 0.1 rad is configured; "
            "turn it back by hand, or correct `zero_ticks`, `lower_rad` and `upper_rad`"
        )
        assert not bench.servos[0].torque


def test_takes_no_torque_where_the_servo_stands_beyond_its_own_limits() -> None:
    with Bench([servo(1, ticks=3200, max_position_limit=3072)]) as bench:
        bench.driver.open()
        assert message_of(DriverError, bench.driver.enable) == (
            f"{bench.where(0)}: is at 1.767 rad, beyond its own limits, -3.142 and 1.571 rad; it takes no "
            "goal there, and torque would move it to the limit at once; turn it back by hand, or widen the "
            "limits with Feetech's FD"
        )
        assert not bench.servos[0].torque


def test_after_a_pause_no_setpoint_is_sent_until_it_is_enabled(bench: Bench) -> None:
    """Servos know no time: they hold the last goal, and are not sent on their way at once."""
    bench.hold()
    bench.play([0.1, 0.1, 0.1], ticks=40)
    bench.wait(0.5)
    message = message_of(LifetimeExpired, bench.play, [1.0, 1.0, 1.0])
    assert message == (
        "driver feetech: the servos hold their last goals; no setpoint came for 0.510 s, and "
        "`command_lifetime_s` is 0.2; reset and enable the robot"
    )
    np.testing.assert_allclose(bench.read().position, 0.1, atol=TICK_RAD)
    assert all(one.torque for one in bench.servos)
    bench.driver.enable()
    np.testing.assert_allclose(bench.play([0.2] * 3, ticks=40).position, 0.2, atol=TICK_RAD)


# -- feedback -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["STS3215", "SCS0009"])
def test_reports_in_si_units_and_in_the_actuators_direction(model: str) -> None:
    options: dict[str, Any] = {
        "direction": {"shoulder": -1},
        "zero_ticks": {"shoulder": 256},
        "torque_constant_nm_per_a": 1.5,
    }
    kind = models_by_name()[model]
    with Bench([servo(1, model), servo(2, model)], **options) as bench:
        bench.driver.open()
        for one in bench.servos:
            one._report = lambda: None  # type: ignore[method-assign]
            one.set("present_velocity", -10)
            if kind.current_unit_a:
                one.set("present_current", -100)
        state = bench.read()
    np.testing.assert_allclose(state.position, [0, -(kind.zero_ticks - 256) * kind.rad_per_tick])
    np.testing.assert_allclose(state.velocity, [-10 * kind.rad_per_tick, 10 * kind.rad_per_tick])
    effort = np.nan if kind.current_unit_a is None else 100 * kind.current_unit_a * 1.5
    np.testing.assert_allclose(state.effort, [-effort, effort])
    np.testing.assert_allclose(state.voltage_v, [7.4, 7.4])
    np.testing.assert_allclose(state.temperature_c, [30, 30])


@pytest.mark.parametrize("model", ["STS3215", "SCS0009"])
def test_plays_on_where_one_answer_in_a_hundred_is_lost_and_counts_them(model: str) -> None:
    with Bench([servo(one, model) for one in range(1, 7)]) as bench:
        bench.hold()
        random_ = random.Random(45)
        lost = [random_.random() < 0.01 for _ in range(6000)]
        bench.chains[0].faults.extend((lambda _: b"") if one else (lambda frame: frame) for one in lost)
        while bench.chains[0].faults:
            bench.play([0.3 * np.sin(bench.clock() / 0.5)] * 6)
        assert 0.9 * sum(lost) <= bench.driver.errors.missed.sum() <= sum(lost)
        np.testing.assert_allclose(bench.play([0.1] * 6, ticks=60).position, 0.1, atol=0.01)


def test_reports_which_servo_is_lost_and_how_many_answer(bench: Bench) -> None:
    bench.hold()
    bench.servos[0].mute = True
    assert message_of(CommunicationLost, bench.play, [0, 0, 0], ticks=5) == (
        f"{bench.where(0)}: no answer (3 tries); 2 of 3 answered; check its cable, power and id"
    )
    assert [one.torque for one in bench.servos] == [True] * 3


def test_a_port_that_is_gone_is_reported_and_taken_again_without_a_jerk(bench: Bench) -> None:
    """Servos without a watchdog go to their last goal and hold it; nothing is sent to another one."""
    bench.hold()
    bench.play([0.5, 0.5, 0.5], ticks=3)
    bench.ports[0].close()
    assert message_of(CommunicationLost, bench.play, [0, 0, 0], ticks=5) == (
        f"{bench.ports[0].path}: bus lost; {os.strerror(errno.EIO)}; check the cable and power"
    )
    bench.wait(1.0)
    bench.driver.close()
    bench.ports[0].plug_in()
    bench.driver.open()
    np.testing.assert_allclose(bench.read().position, 0.5, atol=TICK_RAD)
    bench.driver.enable()
    np.testing.assert_allclose(bench.play([np.nan] * 3, ticks=20).position, 0.5, atol=TICK_RAD)


# -- errors of servos ---------------------------------------------------------------------------------------

OFF = "it has switched its torque off and ignores goals"
BORE = "it bore too much for too long; it keeps little of its torque and follows no goal"
LOST = "it does not know where it is"
SUPPORT = "support the robot, as the joint goes limp"
THEN = "then reset and enable the robot"


@pytest.mark.parametrize(
    ("bits", "message"),
    [
        (
            0x20,
            f"overload; {BORE}; take the load away, then `motiond clear ROBOT shoulder`",
        ),
        (0x04, f"overheating; {OFF}; let it cool down, {THEN}"),
        (0x01, f"a supply voltage beyond its limits; {OFF}; check the power supply and its cables, {THEN}"),
        (0x08, f"overcurrent; {OFF}; look for what blocks it, then `motiond clear ROBOT shoulder`"),
        (
            0x02,
            (
                f"an angle sensor error; {LOST}; {SUPPORT}, then `motiond reboot ROBOT shoulder`; "
                "if that does not help, replace the servo"
            ),
        ),
        (0x24, "overheating and overload; it bore too much"),
    ],
)
def test_a_servo_with_an_error_is_named_with_what_helps_and_the_others_hold(
    bench: Bench, bits: int, message: str
) -> None:
    bench.servos[1].set("unloading_condition", 0x2F if bits != 0x02 else 0x20)
    bench.hold()
    bench.servos[1].fail(bits)
    text = message_of(DriverError, bench.read)
    assert text.startswith(f"{bench.where(1)}: reports {message}")
    assert bench.read().torque.tolist() == [1.0, float(bits in {0x02, 0x20}), 1.0]
    for _ in range(10):
        bench.driver.halt()
        bench.read()
        bench.wait(0.01)
    assert [bench.servos[0].torque, bench.servos[2].torque] == [True, True]
    assert message_of(DriverError, bench.driver.enable) == text
    bench.driver.close()
    assert message_of(DriverError, bench.driver.open) == text


def test_reports_an_error_that_stops_nothing() -> None:
    with Bench([servo(1), servo(2, unloading_condition=0x20)]) as bench:
        bench.hold()
        bench.driver.notices.clear()
        bench.servos[1].fail(0x04)
        bench.play([0, 0], ticks=3)
        assert list(bench.driver.notices) == [f"{bench.where(1)}: reports overheating; it goes on"]


def test_a_voltage_that_comes_and_goes_is_no_flood_of_events() -> None:
    with Bench([servo(1), servo(2)]) as bench:
        bench.hold()
        bench.driver.notices.clear()
        for tick in range(400):
            bench.servos[1].set("present_voltage", 39 if tick % 2 else 41)
            bench.play([0, 0])
        assert list(bench.driver.notices) == [
            f"{bench.where(1)}: reports a supply voltage beyond its limits; it goes on"
        ]
        assert bench.driver.errors.reported.tolist() == [0, 200]
        bench.driver.notices.clear()
        bench.wait(60.0)
        bench.driver.enable()
        for voltage in (41, 39):
            bench.servos[1].set("present_voltage", voltage)
            bench.play([0, 0], ticks=2)
        assert len(bench.driver.notices) == 1


def test_an_overload_is_cleared_where_the_servo_is_and_it_holds_again(bench: Bench) -> None:
    bench.hold()
    one = bench.servos[1]
    one.fail(0x20)
    message_of(DriverError, bench.read)
    bench.driver.halt()
    one.turn_to(1900)
    bench.driver.clear(["shoulder"])
    assert (one.error_byte, one.torque, one.get("goal_position")) == (0, True, 1900)
    for _ in range(30):
        bench.driver.halt()
        bench.read()
        bench.wait(0.01)
    assert one.get("present_position") == 1900
    bench.driver.enable()
    np.testing.assert_allclose(bench.play([0.1] * 3, ticks=40).position, 0.1, atol=TICK_RAD)


@pytest.mark.parametrize(("pushed_by", "pushed_back_by"), [(600, -100), (-600, 100)])
def test_an_overloaded_servo_gets_no_goal_that_ends_its_overload_and_jerks_it_back(
    bench: Bench, pushed_by: int, pushed_back_by: int
) -> None:
    """A goal that leads the way in which the servo is pushed ends its overload, at full torque."""
    bench.hold()
    one = bench.servos[1]
    one.fail(0x20)
    message_of(DriverError, bench.read)
    one.turn_to(2048 + pushed_by)
    one.load = pushed_back_by
    log, of_another = (_writes(bench.servos[place], {"goal_position"}) for place in (1, 0))
    ticks = 3 * bench.driver.options.status_every
    for _ in range(ticks):
        bench.driver.halt()
        bench.read()
        bench.wait(0.01)
    assert (len(log), len(of_another)) == (0, ticks)
    assert (one.error_byte, one.get("present_position")) == (0x20, 2048 + pushed_by)
    bench.driver.clear(["shoulder"])
    bench.read()
    bench.driver.enable()
    np.testing.assert_allclose(bench.play([0.1] * 3, ticks=60).position, 0.1, atol=TICK_RAD)


def test_a_servo_that_was_pushed_beyond_its_limits_is_not_cleared_as_it_would_go_back_at_once() -> None:
    with Bench([servo(1, max_position_limit=3000)]) as bench:
        bench.hold()
        one = bench.servos[0]
        one.fail(0x20)
        message_of(DriverError, bench.read)
        one.turn_to(3100)
        goal = one.get("goal_position")
        assert message_of(DriverError, bench.driver.clear, ["base"]) == (
            f"{bench.where(0)}: is at 3100 ticks, beyond its own limits, 0 and 3000; "
            "it takes no goal there, and would move to the limit at once with all its torque; "
            "turn it back by hand, or widen the limits with Feetech's FD"
        )
        assert (one.error_byte, one.get("goal_position")) == (0x20, goal)
        one.turn_to(2990)
        bench.driver.clear(["base"])
        assert (one.error_byte, one.torque, one.get("goal_position")) == (0, True, 2990)


def test_two_servos_with_one_id_are_told_apart_from_a_cable_that_is_loose() -> None:
    with Bench([servo(1), servo(2)]) as bench:
        bench.chains[0].servos.append(servo(2, ticks=2300, present_temperature=41))
        assert message_of(DriverError, bench.driver.open) == (
            f"{bench.where(1)}: no sound answer (3 tries); 1 of 2 answered; "
            "check its cable, and that no other servo has id 2"
        )


def test_a_servo_that_comes_to_a_bus_with_the_id_of_another_is_thought_of() -> None:
    with Bench([servo(1), servo(2)]) as bench:
        bench.hold()
        bench.chains[0].servos.append(servo(2, ticks=2300, present_temperature=41))

        def play() -> None:
            bench.play([0.0, 0.0], ticks=bench.driver.options.lost_after)

        assert message_of(DriverError, play) == (
            f"{bench.where(1)}: no sound feedback (3 tries); it answers when asked alone; "
            "check that no other servo has id 2, check the wiring and its length, or lower the baud rate"
        )


def test_a_torque_limit_takes_not_all_of_the_torque() -> None:
    with pytest.raises(ValidationError, match="greater than 0"):
        Bench([servo(1)], torque_limit=0)
    with Bench([servo(1)], torque_limit=1e-5) as weak:
        weak.driver.open()
        assert weak.servos[0].get("torque_limit") == 1


@pytest.mark.parametrize("ticks", [2**31, -(2**31)])
def test_no_zero_is_further_than_a_register_counts(ticks: int) -> None:
    with pytest.raises(ValidationError, match="zero_ticks"):
        Bench([servo(1)], zero_ticks=ticks)


def test_errors_are_cleared_before_the_driver_opens(bench: Bench) -> None:
    bench.servos[1].fail(0x28)
    message_of(DriverError, bench.driver.open)
    bench.driver.clear(["shoulder"])
    assert not bench.servos[1].torque
    bench.hold()


def test_names_an_error_that_stays(bench: Bench) -> None:
    bench.servos[1].set("present_temperature", 90)
    bench.servos[1].fail(0x08)
    bench.driver.refuse_clear(["shoulder"])
    assert message_of(DriverError, bench.driver.clear, ["shoulder"]) == (
        f"{bench.where(1)}: reports overheating; {OFF}; let it cool down, {THEN}"
    )


def test_a_restart_ends_what_a_servo_keeps_and_one_that_holds_is_refused(bench: Bench) -> None:
    bench.hold()
    bench.servos[1].fail(0x08)
    message_of(DriverError, bench.read)
    assert message_of(DriverError, bench.driver.reboot, ["base", "shoulder"]) == (
        f"{bench.where(0)}: its torque is on; a restart would let it drop; "
        "support it, reset and disable the robot, then restart it"
    )
    bench.driver.reboot(["shoulder"])
    assert bench.servos[1].error_byte == 0
    bench.driver.enable()
    bench.play([0, 0, 0], ticks=5)


def test_a_servo_that_does_not_know_where_it_is_is_not_cleared_while_it_holds(bench: Bench) -> None:
    """It would hold, with all its torque, where it believes to be."""
    bench.hold()
    one = bench.servos[1]
    one.fail(0x22)
    message_of(DriverError, bench.read)
    one.turn_to(2300)
    log = _writes(one, {"goal_position", "torque_enable"})
    assert message_of(DriverError, bench.driver.clear, ["shoulder"]) == (
        f"{bench.where(1)}: reports an angle sensor error and overload; {LOST}; {SUPPORT}, then "
        "`motiond reboot ROBOT shoulder`; if that does not help, replace the servo"
    )
    assert log == []


def test_one_that_holds_while_the_driver_cannot_open_is_released_by_its_power_alone(bench: Bench) -> None:
    bench.hold()
    bench.driver.close()
    assert message_of(DriverError, bench.driver.reboot, ["base"]) == (
        f"{bench.where(0)}: its torque is on; a restart would let it drop; "
        "support the robot, then switch its power off and on"
    )


@pytest.mark.parametrize("opens", [True, False])
def test_a_servo_that_does_not_know_where_it_is_is_restarted_although_it_holds(
    bench: Bench, *, opens: bool
) -> None:
    """The driver does not open for it, so that there is no other way to release it."""
    bench.hold()
    one = bench.servos[1]
    one.fail(0x02)
    message_of(DriverError, bench.read)
    if not opens:
        bench.driver.close()
    assert one.torque
    bench.driver.reboot(["shoulder"])
    assert (one.error_byte, one.torque) == (0, False)
    bench.driver.close()
    bench.driver.open()
    assert bench.read().torque.tolist() == [1.0, 0.0, 1.0]


def test_a_servo_that_keeps_an_overload_holds_and_is_cleared_in_place_of_a_restart(bench: Bench) -> None:
    bench.hold()
    bench.servos[1].fail(0x20)
    message_of(DriverError, bench.read)
    for _ in range(2):
        assert message_of(DriverError, bench.driver.reboot, ["shoulder"]) == (
            f"{bench.where(1)}: its torque is on; a restart would let it drop; "
            "`motiond clear ROBOT shoulder` ends its error while it holds"
        )
        bench.driver.close()
    bench.driver.clear(["shoulder"])
    assert (bench.servos[1].error_byte, bench.servos[1].torque) == (0, True)


def test_a_restart_that_did_not_happen_is_reported(bench: Bench) -> None:
    bench.servos[1].reboots = False
    bench.driver.open()
    assert message_of(DriverError, bench.driver.reboot, ["shoulder"]) == (
        f"{bench.where(1)}: did not restart; its firmware does not know the instruction; "
        "switch its power off and on"
    )
    assert bench.servos[1].get("lock") == 1


def test_a_servo_that_restarted_by_itself_is_found_in_turn_and_at_once_when_asked(bench: Bench) -> None:
    bench.hold()
    bench.play([0, 0, 0], ticks=15)
    bench.driver.verify()
    bench.servos[2].restart()
    bench.wait(0.25)
    off = (
        f"{bench.where(2)}: its torque is off; it has restarted, or another program switched it off; "
        "check its power, then reset and enable the robot"
    )
    assert message_of(DriverError, bench.driver.verify) == off
    found = set()
    for _ in range(3 * bench.driver.options.status_every):
        try:
            bench.read()
        except DriverError as error:
            found.add(str(error))
    assert found == {off}
    assert bench.read().torque[2] == 0.0
    bench.driver.enable()
    bench.driver.verify()


@pytest.mark.parametrize("model", ["STS3215", "SCS0009"])
def test_whatever_comes_is_taken_or_refused_by_a_named_error(model: str) -> None:
    random_ = random.Random(47)

    def broken(frame: bytes) -> bytes:
        at = random_.randrange(len(frame))
        changed = frame[:at] + random_.randbytes(1) + frame[at + 1 :]
        sealed = (
            frame[:at]
            + bytes(len(frame) - at - 1)
            + bytes([checksum(frame[2:at] + bytes(len(frame) - at - 1))])
        )
        choices = (
            frame[:at],
            changed,
            sealed,
            random_.randbytes(at),
            frame + frame,
            changed + frame,
            b"\xff" * at,
        )
        return random_.choice(choices) if random_.random() < 0.3 else frame

    options: dict[str, Any] = {"write_eeprom": True, "return_delay_us": 0}
    with Bench([servo(1, model), servo(2, model), servo(3, model)], **options) as bench:
        chain, driver, calls = bench.chains[0], bench.driver, 0
        chain.faults.extend([broken] * 10_000)
        while chain.faults:
            calls += 1
            for call in (
                driver.open,
                driver.enable,
                lambda: bench.play([0.1, 0.2, 0.3], ticks=20),
                driver.halt,
                driver.verify,
                lambda: driver.clear(["base", "shoulder"]),
                driver.disable,
                lambda: driver.reboot(["elbow"]),
            ):
                with suppress(DriverError):
                    call()
            driver.close()
        assert calls > 10


# -- rates and options --------------------------------------------------------------------------------------


def test_plans_its_rate_from_what_the_bus_carries() -> None:
    port = {"port": "/dev/ttyACM0", "ids": {f"j{one}": one for one in range(6)}}
    driver = make_driver("feetech", {"ports": [port]}, [f"j{one}" for one in range(6)])
    assert 250 < driver.max_rate_hz < 600
    with pytest.raises(
        DriverConfigError, match=r"^driver feetech: a tick rate of 1000 Hz is too fast; .*/dev/ttyACM0"
    ):
        driver.set_period(0.001)
