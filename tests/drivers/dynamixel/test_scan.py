"""What a look for servos on an emulated port finds."""

from __future__ import annotations

import time

from motiond.drivers.dynamixel.bus import TRIES
from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.emulator.pty import EmulatedPort
from motiond.drivers.dynamixel.scan import scan
from tests.drivers.dynamixel.bench import servo

LATE_S = 0.1


def test_all_of_a_servo_is_told_though_it_answers_late() -> None:
    chain = EmulatedChain([servo(3)], time.monotonic)
    chain.faults.extend([_at_once, *[_late] * TRIES])
    with EmulatedPort(chain) as port:
        (found,) = scan(port.path, [1_000_000])
    assert (found.position_ticks, found.hardware_error) == (2048, "")


def _at_once(frame: bytes) -> bytes:
    return frame


def _late(frame: bytes) -> bytes:
    time.sleep(LATE_S)
    return frame
