"""Emulated servos protect themselves, forget and keep settings as the real ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from motiond.drivers.feetech import protocol
from motiond.drivers.feetech.emulator.chain import EmulatedChain
from motiond.drivers.feetech.emulator.servo import BOOT_S, EmulatedServo
from motiond.drivers.feetech.errors import OVERLOAD
from motiond.drivers.feetech.models import models_by_name

if TYPE_CHECKING:
    from motiond.drivers.testing.rig import Clock

STS, SCS = models_by_name()["STS3215"], models_by_name()["SCS0009"]
PROTECTION_S = 2.0


class Bus:
    """Servos, and a program that writes to them."""

    def __init__(self, clock: Clock, *servos: EmulatedServo) -> None:
        self.clock = clock
        self.chain = EmulatedChain(list(servos), clock)
        self.say(protocol.encode_ping(protocol.BROADCAST_ID))

    def say(self, frame: bytes) -> bytes:
        return b"".join(reply.frame for reply in self.chain.feed(bytearray(frame)))

    def write(self, servo: EmulatedServo, name: str, value: int) -> bytes:
        item = servo.table[name]
        return self.say(protocol.encode_write(servo.servo_id, item.address, item.encode(value)))

    def wait(self, duration_s: float) -> None:
        for _ in range(round(duration_s / 0.01)):
            self.clock.sleep(0.01)
            self.say(protocol.encode_ping(protocol.BROADCAST_ID))


def test_a_goal_is_reached_within_the_range_and_no_farther(clock: Clock) -> None:
    one = EmulatedServo(1, STS, {"max_position_limit": 3000})
    bus = Bus(clock, one)
    bus.write(one, "torque_enable", 1)
    bus.write(one, "goal_position", 3500)
    bus.wait(2.0)
    assert one.get("present_position") == 3000


def test_the_homing_offset_is_taken_from_the_position_within_a_turn(clock: Clock) -> None:
    one = EmulatedServo(1, STS, position_ticks=100)
    bus = Bus(clock, one)
    bus.write(one, "homing_offset", 300)
    assert one.get("present_position") == 4096 + 100 - 300


@pytest.mark.parametrize("position", [100, 2048, 4000])
def test_128_makes_where_it_is_the_centre(clock: Clock, position: int) -> None:
    one = EmulatedServo(1, STS, position_ticks=position)
    bus = Bus(clock, one)
    bus.write(one, "torque_enable", 128)
    assert (one.get("present_position"), one.torque) == (2048, False)
    one.restart()
    assert one.get("present_position") == 2048


def test_lasting_settings_are_saved_only_while_they_are_not_locked(clock: Clock) -> None:
    one = EmulatedServo(1, STS)
    bus = Bus(clock, one)
    bus.write(one, "min_position_limit", 7)
    bus.write(one, "lock", 0)
    bus.write(one, "max_position_limit", 4000)
    assert (one.get("min_position_limit"), one.get("max_position_limit")) == (7, 4000)
    one.restart()
    assert (one.get("min_position_limit"), one.get("max_position_limit"), one.get("lock")) == (0, 4000, 1)


def test_a_servo_that_restarts_is_silent_for_a_while_and_forgets_its_torque(clock: Clock) -> None:
    one = EmulatedServo(1, STS, {"max_torque": 600})
    bus = Bus(clock, one)
    bus.write(one, "torque_enable", 1)
    assert bus.say(protocol.encode_reboot(1)) == protocol.encode_status(1, 0)
    assert bus.say(protocol.encode_ping(1)) == b""
    bus.wait(BOOT_S + 0.01)
    assert bus.say(protocol.encode_ping(1)) == protocol.encode_status(1, 0)
    assert (one.torque, one.get("torque_limit")) == (False, 600)


@pytest.mark.parametrize(
    ("register", "value", "bit"),
    [("present_temperature", 71, 0x04), ("present_voltage", 39, 0x01), ("present_voltage", 81, 0x01)],
)
def test_it_lets_go_beyond_its_limits_and_reports_it_in_each_answer(
    clock: Clock, register: str, value: int, bit: int
) -> None:
    one = EmulatedServo(1, STS, {"unloading_condition": 0x05})
    bus = Bus(clock, one)
    before = one.get(register)
    bus.write(one, "torque_enable", 1)
    one.set(register, value)
    bus.wait(0.01)
    assert bus.say(protocol.encode_ping(1)) == protocol.encode_status(1, bit)
    assert not one.torque
    one.set(register, before)
    bus.wait(0.01)
    assert (one.error_byte, one.torque) == (0, False)


def test_what_unloading_condition_leaves_out_is_reported_alone(clock: Clock) -> None:
    one = EmulatedServo(1, STS, {"unloading_condition": OVERLOAD})
    bus = Bus(clock, one)
    bus.write(one, "torque_enable", 1)
    one.set("present_temperature", 99)
    bus.wait(0.01)
    assert (one.error_byte, one.torque) == (0x04, True)


def _overloaded(clock: Clock) -> tuple[EmulatedServo, Bus]:
    one = EmulatedServo(1, STS)
    bus = Bus(clock, one)
    bus.write(one, "torque_enable", 1)
    one.load = -900
    bus.wait(PROTECTION_S + 0.05)
    return one, bus


def test_an_overload_that_lasts_ends_following_but_not_torque(clock: Clock) -> None:
    one, bus = _overloaded(clock)
    bus.write(one, "goal_position", 2500)
    bus.wait(1.0)
    assert (one.error_byte, one.torque, one.get("present_position")) == (OVERLOAD, True, 2048)


def test_a_goal_away_from_the_load_ends_an_overload(clock: Clock) -> None:
    one, bus = _overloaded(clock)
    bus.write(one, "goal_position", 1900)
    bus.wait(1.0)
    assert (one.error_byte, one.get("present_position")) == (0, 1900)


def test_a_goal_where_it_is_said_again_and_again_ends_no_overload(clock: Clock) -> None:
    one = EmulatedServo(1, STS, position_ticks=2048.3)
    bus = Bus(clock, one)
    bus.write(one, "torque_enable", 1)
    one.load = -900
    for _ in range(round(PROTECTION_S / 0.1) + 1):
        one.turn_to(2048.3)
        bus.write(one, "goal_position", 2048)
        bus.wait(0.1)
    assert one.error_byte == OVERLOAD


def test_torque_that_is_written_ends_an_overload_whose_cause_is_gone(clock: Clock) -> None:
    one, bus = _overloaded(clock)
    bus.write(one, "torque_enable", 1)
    assert one.error_byte == 0
    bus.wait(PROTECTION_S + 0.05)
    assert one.error_byte == OVERLOAD
    one.load = 0
    bus.write(one, "torque_enable", 1)
    bus.wait(PROTECTION_S + 0.05)
    assert one.error_byte == 0


def test_a_broken_angle_sensor_reports_no_motion(clock: Clock) -> None:
    one = EmulatedServo(1, STS)
    bus = Bus(clock, one)
    one.broken = 0x02
    one.turn_to(100)
    bus.wait(0.01)
    assert (one.error_byte, one.get("present_position")) == (0x02, 2048)


def test_an_scs_servo_has_its_numbers_the_other_way_round_and_ignores_sync_reads(clock: Clock) -> None:
    bus = Bus(
        clock, EmulatedServo(1, SCS, position_ticks=0x0123), EmulatedServo(2, STS, position_ticks=0x0123)
    )
    assert bus.say(protocol.encode_read(1, 56, 2)) == protocol.encode_status(1, 0, b"\x01\x23")
    assert bus.say(protocol.encode_read(2, 56, 2)) == protocol.encode_status(2, 0, b"\x23\x01")
    assert bus.say(protocol.encode_sync_read([1, 2], 56, 2)) == protocol.encode_status(2, 0, b"\x23\x01")


def test_answers_are_lost_and_garbled_servo_by_servo(clock: Clock) -> None:
    bus = Bus(clock, EmulatedServo(1, STS), EmulatedServo(2, STS), EmulatedServo(3, STS))
    bus.chain.lose_next()
    bus.chain.garble_next()
    received = bytearray(bus.say(protocol.encode_sync_read([1, 2, 3], 5, 1)))
    assert protocol.take_packet(received) == protocol.Packet(3, 0, b"\x03")


def test_two_servos_with_one_id_are_understood_where_they_say_the_same_alone(clock: Clock) -> None:
    bus = Bus(clock, EmulatedServo(1, STS, position_ticks=1000), EmulatedServo(1, STS, position_ticks=2000))
    assert bus.say(protocol.encode_ping(1)) == protocol.encode_status(1, 0)
    assert protocol.take_packet(bytearray(bus.say(protocol.encode_read(1, 56, 2)))) is None
