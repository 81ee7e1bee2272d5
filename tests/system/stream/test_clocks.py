"""The clock of the machine."""

from __future__ import annotations

from motiond.daemon.stream.timing.clocks import RealClock


def test_the_real_clock_returns_at_a_deadline_and_not_before() -> None:
    clock = RealClock()
    deadline_s = clock.now() + 0.01
    clock.sleep_until(deadline_s)
    assert clock.now() >= deadline_s
