"""What a look for servos finds on a port, and how one gets another id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.base import DriverError
from motiond.drivers.feetech.emulator.chain import EmulatedChain
from motiond.drivers.feetech.scanning import SAVED_S, refuse_id, scan, set_id
from tests.drivers.errors import message_of
from tests.drivers.feetech.bench import servo
from tests.drivers.serial_bus.memory_port import MemoryPort

if TYPE_CHECKING:
    from motiond.drivers.feetech.emulator.servo import EmulatedServo
    from motiond.drivers.testing.rig import Clock

RATE = 1_000_000


def _port(clock: Clock, *servos: EmulatedServo) -> MemoryPort:
    chain: Any = EmulatedChain(list(servos), clock)
    return MemoryPort(chain, clock)


def _set_id(port: MemoryPort, old: int, new: int) -> None:
    set_id(port.path, RATE, old, new, port.open)


def test_finds_servos_of_all_series_and_what_they_report(clock: Clock) -> None:
    one, other = servo(1, ticks=1000), servo(253, "SCS0009", ticks=1000, torque_enable=1)
    one.fail(0x28)
    found = scan((port := _port(clock, one, other)).path, [], port.open)
    assert [(each.servo_id, each.model, each.firmware, each.torque) for each in found] == [
        (1, "STS3215", "3.10", False),
        (253, "SCS0009", "3.10", True),
    ]
    assert [(each.position_ticks, each.voltage_v, each.temperature_c) for each in found] == [
        (1000, 7.4, 30)
    ] * 2
    assert [each.hardware_error for each in found] == ["overcurrent and overload", ""]
    assert found[1].position_rad == pytest.approx((1000 - 512) * 0.005113269)


@pytest.mark.parametrize("other", ["STS3215", "SCS0009"])
def test_an_id_that_several_servos_have_is_found_with_what_is_wrong(clock: Clock, other: str) -> None:
    port = _port(clock, servo(1), servo(2, ticks=1000), servo(2, other, ticks=2900))
    sound, damaged = scan(port.path, [RATE], port.open)
    assert (sound.servo_id, sound.problem) == (1, None)
    assert (damaged.servo_id, damaged.torque) == (2, None)
    assert damaged.problem == "its answers are damaged; several servos may have this id"


def test_servos_whose_settings_are_not_locked_are_found_so(clock: Clock) -> None:
    port = _port(clock, servo(1), servo(2, lock=0), servo(3, "SCS0009"))
    assert [one.locked for one in scan(port.path, [RATE], port.open)] == [True, False, True]


def test_looks_at_all_ids_in_a_few_seconds(clock: Clock) -> None:
    port = _port(clock, servo(1))
    begun_s = clock()
    scan(port.path, [RATE], port.open)
    assert clock() - begun_s < 7.0


def test_another_id_lasts(clock: Clock) -> None:
    one = servo(1)
    _set_id(_port(clock, one, servo(2)), 1, 6)
    one.restart()
    assert (one.servo_id, one.get("lock")) == (6, 1)


def test_an_id_that_is_cut_short_is_locked_again(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    port = _port(clock, one := servo(1))
    sleep = clock.sleep

    def interrupted(duration_s: float) -> None:
        sleep(duration_s)
        if duration_s == SAVED_S:
            raise KeyboardInterrupt

    monkeypatch.setattr(clock, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _set_id(port, 1, 6)
    assert (one.servo_id, one.get("lock")) == (6, 1)


def test_an_id_is_looked_at_before_it_is_set(clock: Clock) -> None:
    port = _port(clock, one := servo(1))
    refuse_id(port.path, RATE, 1, 6, port.open)
    assert (one.servo_id, one.get("lock")) == (1, 1)
    assert message_of(DriverError, refuse_id, port.path, RATE, 1, 254, port.open).startswith(
        f"{port.path} servo 1: cannot have the id 254; "
    )


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (2, "another servo has the id 2; two servos with one id are not understood; choose a free one"),
        (1, "cannot have the id 1; choose another one, from 0 to 253"),
        (254, "cannot have the id 254; choose another one, from 0 to 253"),
    ],
)
def test_an_id_that_is_not_free_is_refused(clock: Clock, new: int, message: str) -> None:
    port = _port(clock, one := servo(1), servo(2))
    assert message_of(DriverError, _set_id, port, 1, new) == f"{port.path} servo 1: {message}"
    assert one.servo_id == 1


def test_an_id_that_several_servos_have_is_refused(clock: Clock) -> None:
    port = _port(clock, servo(1, ticks=1000), servo(1, ticks=2900))
    assert message_of(DriverError, _set_id, port, 1, 2) == (
        f"{port.path} servo 1: its answers are damaged; several servos may have this id; "
        "connect one of them alone"
    )


def test_an_id_that_no_servo_has_is_refused(clock: Clock) -> None:
    port = _port(clock, servo(2))
    assert message_of(DriverError, _set_id, port, 1, 3) == (
        f"{port.path} servo 1: no answer; check its cable, power, id and baud rate"
    )


def test_a_servo_that_holds_keeps_its_id(clock: Clock) -> None:
    port = _port(clock, servo(1, torque_enable=1))
    assert message_of(DriverError, _set_id, port, 1, 3) == (
        f"{port.path} servo 1: its torque is on; support it, restart it by `--protocol feetech --reboot 1`, "
        "then set the id"
    )
