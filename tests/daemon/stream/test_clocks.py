"""Behaviour of the time sources: the machine's and the virtual."""

from __future__ import annotations

import os
import time

import pytest

from motiond.daemon.stream.timing.clocks import RealClock, VirtualClock


def test_the_real_clock_is_the_one_that_is_slewed_with_unix_time_and_never_stepped() -> None:
    before_s = time.clock_gettime(time.CLOCK_MONOTONIC)
    now_s = RealClock().now()
    assert before_s <= now_s <= time.clock_gettime(time.CLOCK_MONOTONIC)
    assert time.get_clock_info("monotonic").implementation == "clock_gettime(CLOCK_MONOTONIC)"
    assert not time.get_clock_info("monotonic").adjustable


def test_the_real_clock_does_not_wait_for_a_deadline_that_has_passed() -> None:
    clock = RealClock()
    clock.sleep_until(clock.now() - 3600.0)


def test_virtual_time_passes_only_by_sleeping_and_never_backwards() -> None:
    clock = VirtualClock(start_s=10.0)
    clock.sleep_until(12.5)
    clock.sleep_until(11.0)
    assert clock.now() == 12.5


@pytest.mark.parametrize("clock", [RealClock(), VirtualClock()])
def test_a_message_ends_the_wait_before_its_deadline(clock: RealClock | VirtualClock) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x")
    deadline_s = clock.now() + 3600.0
    clock.wait_readable(reading, deadline_s)
    assert clock.now() < deadline_s
    os.close(reading)
    os.close(writing)
