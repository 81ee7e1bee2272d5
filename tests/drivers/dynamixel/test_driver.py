"""The driver on emulated servos: what it checks before torque, and how it reports and handles failures."""

from __future__ import annotations

import errno
import os
from collections import deque
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.base import (
    CommunicationLost,
    DriverConfigError,
    DriverError,
)
from motiond.drivers.dynamixel.driver import DynamixelDriver
from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.models import models, models_by_name
from motiond.drivers.dynamixel.options import DynamixelOptions
from motiond.drivers.dynamixel.protocol import PROTOCOL, Refusal
from motiond.drivers.registry import make_driver
from motiond.drivers.serial_bus.bus import Bus
from motiond.drivers.testing.rig import Clock
from tests.drivers.dynamixel.bench import XM430, Bench, servo
from tests.drivers.errors import message_of
from tests.drivers.serial_bus.memory_port import MemoryPort
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from motiond.drivers.dynamixel.emulator.servo import EmulatedServo

TICK_RAD = XM430.rad_per_tick
MAX_POSITION_LIMIT, MIN_POSITION_LIMIT = 48, 52


@pytest.fixture
def bench() -> Iterator[Bench]:
    with Bench([servo(1), servo(2), servo(7)]) as bench:
        yield bench


# -- before torque ------------------------------------------------------------------------------------------


def test_reports_what_it_found(bench: Bench) -> None:
    bench.driver.open()
    assert list(bench.driver.notices) == [
        "driver dynamixel: found "
        + ", ".join(f"XM430-W350 firmware 52 as {bench.where(index)}" for index in range(3))
    ]


def test_names_all_that_is_missing_and_what_is_there_instead() -> None:
    with Bench([servo(1), servo(2), servo(7)]) as bench:
        bench.chains[0].servos[0].mute = bench.chains[0].servos[2].mute = True
        bench.chains[0].servos.append(servo(9, "XL430-W250"))
        path = bench.ports[0].path
        with pytest.raises(DriverError) as caught:
            bench.driver.open()
    assert str(caught.value) == (
        f"driver dynamixel: no answer from base ({path} servo 1), elbow ({path} servo 7); 1 of 3 answered, "
        f"and there is also XL430-W250 as servo 9 of {path}; check cables, power, ids and the baud rate; "
        "`motiond scan` finds servos"
    )


@table("registers, options, message")
def test_refuses_a_servo_that_is_not_as_configured(
    registers: dict[str, int], options: dict[str, Any], message: str
) -> None:
    with Bench([servo(1, registers=registers)], **options) as bench:
        assert message_of(DriverError, bench.driver.open) == f"{bench.where(0)}: {message}"
        assert not bench.servos[0].torque


def test_refuses_everything_at_once() -> None:
    with Bench([servo(1, operating_mode=1), servo(2, drive_mode=4)]) as bench:
        with pytest.raises(DriverError) as caught:
            bench.driver.open()
        assert [line.split(";")[0] for line in str(caught.value).splitlines()] == [
            f"{bench.where(0)}: is in mode 1, which takes no positions, and must be in position",
            f"{bench.where(1)}: takes its profile as times (drive mode, bit 2)",
        ]


def test_sets_lasting_settings_where_it_may() -> None:
    options: dict[str, Any] = {
        "operating_mode": "extended_position",
        "return_delay_us": 0,
        "homing_offset_ticks": -7,
    }
    with Bench([servo(1, drive_mode=9, return_delay=250)], write_eeprom=True, **options) as bench:
        bench.driver.open()
        one = bench.servos[0]
        assert (one.get("operating_mode"), one.get("drive_mode")) == (4, 1)
        assert (one.get("return_delay"), one.get("homing_offset")) == (0, -7)


def test_does_not_release_a_servo_to_set_lasting_settings() -> None:
    options: dict[str, Any] = {"operating_mode": "extended_position", "write_eeprom": True}
    with Bench([servo(1, torque_enable=1)], **options) as bench:
        assert message_of(DriverError, bench.driver.open) == (
            f"{bench.where(0)}: its lasting settings cannot be written; its torque is on; "
            "support the robot, then switch its power off and on"
        )
        assert bench.servos[0].torque


def test_sets_profile_gains_and_goal_current_again_with_every_enable() -> None:
    options: Mapping[str, Any] = {
        "profile_velocity_rad_s": 2.0,
        "profile_acceleration_rad_s2": {"shoulder": 10.0},
        "gains": {"position_p": {"base": 640}, "velocity_i": 1000},
        "goal_current_a": 1.0,
    }
    forgotten = {"profile_velocity": 0, "profile_acceleration": 5, "velocity_i_gain": 0, "goal_current": 9}
    same = {"profile_velocity": 83, "velocity_i_gain": 1000, "goal_current": 372}
    expected = [
        {**same, "profile_acceleration": 0, "position_p_gain": 640},
        {**same, "profile_acceleration": 27, "position_p_gain": 800},
    ]
    with Bench([servo(1), servo(2)], **options) as bench:
        for call in (bench.driver.open, bench.driver.enable):
            for one in bench.servos:
                for name, value in forgotten.items():
                    one.set(name, value)
            call()
            assert [{name: one.get(name) for name in expected[0]} for one in bench.servos] == expected


def test_restarts_a_failed_servo_where_it_may() -> None:
    with Bench([servo(1)], reboot_failed=True) as bench:
        bench.servos[0].fail(0x20)
        bench.driver.open()
        assert bench.servos[0].get("hardware_error") == 0
        assert bench.driver.notices[0] == f"{bench.where(0)}: restarted, because it reported overload"


def test_advises_on_what_makes_ticks_slow() -> None:
    two_axes = servo(2, "2XL430-W250")
    with Bench([servo(1, return_delay=250), two_axes]) as bench:
        port = {"port": bench.ports[0].path, "baud_rate": 57_600, "ids": {"base": 1, "shoulder": 2}}
        options = DynamixelOptions.model_validate({"ports": [port]})
        driver = DynamixelDriver(["base", "shoulder"], options, bench.clock, bench.open_line)
        driver.open()
        assert driver.warnings == [
            (
                f"{port['port']}: 57600 baud is slow; ticks take longer; "
                "set the servos and `baud_rate` to 1000000 or more"
            ),
            (
                f"{port['port']}: servos wait up to 500 µs before they answer; ticks take longer; "
                "set `return_delay_us: 0`"
            ),
            (
                f"{port['port']}: feedback comes one by one, as {port['port']} servo 2 (shoulder) "
                "(2XL430-W250 firmware 52) answers no fast sync reads; look for newer firmware"
            ),
        ]
        driver.close()


# -- torque -------------------------------------------------------------------------------------------------


def test_does_not_take_hold_of_a_servo_that_moves(bench: Bench) -> None:
    bench.driver.open()
    one = bench.servos[1]
    report = one._report

    def fall() -> None:
        one.position_ticks += 20
        report()

    one.receive = lambda now_s: fall()  # type: ignore[method-assign]  # noqa: ARG005 - it falls whatever the time is
    assert message_of(DriverError, bench.driver.enable) == (
        f"{bench.where(1)}: moves; torque would jerk it back; hold it still, then reset and enable the robot"
    )
    assert not any(one.torque for one in bench.servos)


def _ignore(one: EmulatedServo, register: str) -> None:
    """Make a servo refuse writes to one register."""
    write, locked = one.write, one.table[register].address
    one.write = lambda address, data: (  # type: ignore[method-assign]
        Refusal.ACCESS if address == locked else write(address, data)
    )


@pytest.mark.parametrize(
    ("register", "message"),
    [
        ("bus_watchdog", "its register `bus_watchdog` is 0 after 10 was written"),
        ("goal_position", "its register `goal_position` is 2000 after 2048 was written"),
        ("torque_enable", "its register `torque_enable` is 0 after 1 was written"),
    ],
)
def test_takes_hold_of_all_servos_or_none(bench: Bench, register: str, message: str) -> None:
    bench.driver.open()
    bench.servos[2].set("goal_position", 2000)
    _ignore(bench.servos[2], register)
    assert message_of(DriverError, bench.driver.enable) == (
        f"{bench.where(2)}: {message}; it refused the value; "
        "check its limits, and its health with `motiond scan`"
    )
    assert not any(one.torque for one in bench.servos)


TRIPPED = (
    "its bus watchdog has tripped; no packet came for longer than `command_lifetime_s`, so it stopped and "
    "ignores goals; look for what kept them from it, as a suspended machine, then reset and enable the robot"
)
OFF = (
    "its torque is off; it has restarted, or another program switched it off; "
    "check its power, then reset and enable the robot"
)
FORGOT = (
    "its bus watchdog is off; it has restarted and forgotten its settings, or another program changed them; "
    "check its power, then reset and enable the robot"
)


def _error(bench: Bench) -> str:
    """Return what a read complains of; '' where it does not."""
    try:
        bench.read()
    except DriverError as error:
        return str(error)
    return ""


def _reboot(one: EmulatedServo) -> None:
    one.reboot()
    one._booted_s = -np.inf  # the clock stands still


@pytest.mark.parametrize(
    ("fails", "text", "torque"),
    [
        (lambda one: one.set("bus_watchdog", 0xFF), (TRIPPED,), 1.0),
        (lambda one: one.set("torque_enable", 0), (OFF,), 0.0),
        (_reboot, (OFF, FORGOT), 0.0),
    ],
    ids=["watchdog", "torque", "reboot"],
)
def test_a_servo_that_stopped_listening_is_found_in_turn_and_at_once_when_asked(
    bench: Bench, fails: Callable[[EmulatedServo], None], text: tuple[str, ...], torque: float
) -> None:
    bench.hold()
    bench.play([0, 0, 0], ticks=15)
    bench.driver.verify()
    fails(bench.servos[2])
    with pytest.raises(DriverError) as caught:
        bench.driver.verify()
    where = bench.where(2)
    expected = "\n".join([f"{where}: {text[0]}", *(f"{where}: {one}" for one in text[1:])])
    assert str(caught.value) == expected
    found = {message for _ in range(2 * 3 * bench.driver.options.status_every) if (message := _error(bench))}
    assert found == {f"{where}: {one}" for one in text}
    assert bench.read().torque[2] == torque
    bench.driver.enable()
    bench.driver.verify()


def test_servos_that_the_watchdog_stopped_on_their_way_do_not_go_on_when_enabled() -> None:
    with Bench([servo(1), servo(2)], profile_velocity_rad_s=2.0).hold() as bench:
        bench.play([1.5, -1.5], ticks=20)
        bench.driver.close()
        bench.wait(1.0)
        for one in bench.servos:
            one.advance(bench.clock())
        stopped = [one.position_ticks for one in bench.servos]
        assert all(one.tripped for one in bench.servos)
        bench.ports[0].delay_s = 0.004
        bench.driver.open()
        bench.driver.enable()
        bench.wait(1.0)
        for one in bench.servos:
            one.advance(bench.clock())
        assert [one.position_ticks for one in bench.servos] == pytest.approx(stopped, abs=1)


def test_a_velocity_goes_along_as_the_profile() -> None:
    with Bench([servo(1)], follow_velocity=True, profile_velocity_rad_s=3.0).hold() as bench:
        bench.play([0.1], velocity=-1.0)
        assert bench.servos[0].get("profile_velocity") == 42
        bench.play([0.2], velocity=20.0)
        assert bench.servos[0].get("profile_velocity") == bench.servos[0].get("velocity_limit") == 350
        bench.play([0.1], velocity=0.0)
        assert bench.servos[0].get("profile_velocity") == 1
        bench.play([0.1])
        assert bench.servos[0].get("profile_velocity") == 125


def test_refuses_a_goal_that_the_servo_would_ignore() -> None:
    with Bench([servo(1, max_position_limit=3072)]).hold() as bench:
        assert message_of(DriverError, bench.play, [1.6]) == (
            f"{bench.where(0)}: a goal of 1.600 rad is beyond its own limits, -3.142 and 1.571 rad; it would "
            "ignore the goal; narrow the joint's limits, or widen the servo's with DYNAMIXEL Wizard"
        )
        assert bench.servos[0].get("goal_position") == 2048


def test_takes_no_torque_where_the_servo_stands_beyond_its_own_limits() -> None:
    with Bench([servo(1, ticks=3200, max_position_limit=3072)]) as bench:
        bench.driver.open()
        assert message_of(DriverError, bench.driver.enable) == (
            f"{bench.where(0)}: is at 1.767 rad, beyond its own limits, -3.142 and 1.571 rad; it takes no "
            "goal there, and torque would move it to the limit at once; turn it back by hand, or widen the "
            "limits with DYNAMIXEL Wizard"
        )
        assert not bench.servos[0].get("torque_enable")


# -- feedback -----------------------------------------------------------------------------------------------


def test_reports_in_si_units_and_in_the_actuators_direction() -> None:
    options: dict[str, Any] = {
        "direction": {"shoulder": -1},
        "zero_ticks": {"shoulder": 1024},
        "torque_constant_nm_per_a": 1.5,
    }
    with Bench([servo(1), servo(2, ticks=2048)], **options) as bench:
        bench.driver.open()
        for one in bench.servos:
            one._report = lambda: None  # type: ignore[method-assign]
            one.set("present_current", 100)
            one.set("present_velocity", 10)
        state = bench.read()
    np.testing.assert_allclose(state.position, [0, -np.pi / 2])
    np.testing.assert_allclose(state.velocity, [0.2398, -0.2398], rtol=1e-3)
    np.testing.assert_allclose(state.effort, [0.4035, -0.4035], rtol=1e-6)
    np.testing.assert_allclose(state.voltage_v, [12, 12])
    np.testing.assert_allclose(state.temperature_c, [30, 30])


def test_tolerates_damaged_answers(bench: Bench) -> None:
    bench.hold()
    for harm in (bench.chains[0].lose_next, bench.chains[0].garble_next):
        harm(2)
        bench.play([0.1, 0.1, 0.1], ticks=6)
    np.testing.assert_allclose(bench.play([0.1] * 3, ticks=40).position, 0.1, atol=TICK_RAD)


def late_by_one(chain: EmulatedChain, count: int) -> None:
    """Hold one answer, and let it and its followers come one place later."""
    held: deque[bytes] = deque()

    def exchange(frame: bytes) -> bytes:
        held.append(frame)
        return held.popleft() if len(held) > 1 else b""

    chain.faults.extend([exchange] * (count + 1) + [lambda frame: b"".join([*held, frame])])


@pytest.mark.parametrize("ask", ["read", "glance", "sync_read"])
def test_takes_no_late_answer_for_one_to_another_question(ask: str) -> None:
    clock = Clock()
    chain = EmulatedChain([servo(1, min_position_limit=100, max_position_limit=3000)], clock)
    port = MemoryPort(chain, clock)
    with closing(Bus(port.path, 1_000_000, 0.5, PROTOCOL, port.open)) as bus:
        bus.open()
        late_by_one(chain, 1)
        assert int.from_bytes(bus.read(1, MIN_POSITION_LIMIT, 4), "little") == 100
        if ask == "sync_read":
            answer: bytes | None = bus.sync_read([1], MAX_POSITION_LIMIT, 4)[1]
        else:
            answer = {"read": bus.read, "glance": bus.glance}[ask](1, MAX_POSITION_LIMIT, 4)
        assert int.from_bytes(answer or b"", "little") == 3000


def test_reports_which_servo_is_lost_and_how_many_answer(bench: Bench) -> None:
    bench.hold()
    bench.servos[0].mute = True
    assert message_of(CommunicationLost, bench.play, [0, 0, 0], ticks=5) == (
        f"{bench.where(0)}: no answer (3 tries); 2 of 3 answered; check its cable, power and id"
    )


def test_reports_that_a_port_is_gone(bench: Bench) -> None:
    bench.hold()
    bench.ports[0].close()
    assert message_of(CommunicationLost, bench.play, [0, 0, 0], ticks=5) == (
        f"{bench.ports[0].path}: bus lost; {os.strerror(errno.EIO)}; check the cable and power"
    )


def test_reports_why_a_servo_has_shut_down(bench: Bench) -> None:
    bench.hold()
    bench.servos[1].fail(0x24)
    with pytest.raises(DriverError) as caught:
        bench.read()
    assert bench.read().torque.tolist() == [1.0, 0.0, 1.0]
    port = bench.ports[0].path
    message = (
        f"{bench.where(1)}: reports overheating and overload; it has switched its torque off and ignores "
        f"goals; remove the cause, then `motiond reboot ROBOT shoulder`, or, where no daemon has the port, "
        f"`motiond scan {port} --baud 1000000 --reboot 2`"
    )
    assert str(caught.value) == message
    assert message_of(DriverError, bench.driver.enable) == message
    bench.driver.close()
    assert message_of(DriverError, bench.driver.open) == message


def test_reports_an_error_that_stops_nothing(bench: Bench) -> None:
    bench.hold()
    bench.driver.notices.clear()
    bench.servos[1].fail(0x01)
    bench.play([0, 0, 0], ticks=3)
    assert list(bench.driver.notices) == [f"{bench.where(1)}: reports an input voltage error; it goes on"]


def test_notices_a_servo_that_restarted_and_lost_its_turns() -> None:
    joint = {"lower_rad": 6.0, "upper_rad": 8.0}
    servos = [servo(1, operating_mode=4, ticks=2048 + 4300)]
    with Bench(servos, command_lifetime_s=2.54, **joint).hold() as bench:
        bench.servos[0].reboot()
        bench.servos[0]._booted_s = 0.0
        assert message_of(DriverError, bench.play, [np.nan], ticks=40) == (
            f"{bench.where(0)}: its torque is off; it has restarted, or another program switched it off; "
            "check its power, then reset and enable the robot"
        )
        with pytest.raises(DriverError, match=r"is at 0\.31 rad, a whole turn below its range; 6 to 8 rad"):
            bench.driver.enable()
        assert not bench.servos[0].torque


# -- rates and options --------------------------------------------------------------------------------------


def test_plans_its_rate_from_what_the_bus_carries() -> None:
    port = {"port": "/dev/ttyUSB0", "baud_rate": 1_000_000, "ids": {f"j{one}": one for one in range(12)}}
    driver = make_driver("dynamixel", {"ports": [port]}, list(port["ids"]))  # type: ignore[call-overload]
    assert message_of(DriverConfigError, driver.set_period, 1 / 500) == (
        "driver dynamixel: a tick rate of 500 Hz is too fast; it takes at most 230.947 Hz: "
        "/dev/ttyUSB0 needs 4.33 ms a tick: 408 bytes at 1000000 baud take 4.08 ms, return delays 0.00 ms, "
        "the adapter 0.25 ms; lower the rate of the motion, raise `baud_rate`, or spread the servos over "
        "more ports"
    )


def test_a_servo_that_hesitates_lowers_the_rate() -> None:
    with Bench([servo(1), servo(2, return_delay=250)]) as bench:
        at_best_hz = bench.driver.max_rate_hz
        bench.driver.open()
        assert 1 / bench.driver.max_rate_hz == pytest.approx(1 / at_best_hz + 500e-6 * 2, abs=600e-6)
        assert bench.driver.max_rate_hz < at_best_hz


def test_reports_that_there_is_no_port() -> None:
    assert message_of(DriverError, Bus("/dev/ttyUSB99", 1_000_000, 0.01, PROTOCOL).open) == (
        "/dev/ttyUSB99: cannot be opened; there is no such port; "
        "check the cable; `ls /dev/serial/by-id` lists the ports"
    )


# -- tables -------------------------------------------------------------------------------------------------


def test_tables_agree_with_what_the_feedback_block_needs() -> None:
    for model in models().values():
        first = model.table["present_current"].address
        offsets = [
            model.table[f"present_{name}"].address - first
            for name in ("velocity", "position", "voltage", "temperature")
        ]
        assert offsets == [2, 6, 18, 20]
        assert model.table["goal_position"].address - model.table["profile_velocity"].address == 4
    assert models_by_name()["PH54-200-S500"].rad_per_tick == pytest.approx(2 * np.pi / 1003846)
