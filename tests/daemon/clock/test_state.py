"""What is known of the machine's clock, and who says it."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import time
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.clock import chrony, kernel, monitor
from motiond.daemon.clock.chrony import Tracking
from motiond.daemon.clock.kernel import Timex, decode
from motiond.daemon.clock.state import machine_id, unix_less_monotonic
from tests.daemon.clock.clocks import ADRIFT, GOOD, HandedClock
from tests.tables import table
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.clock.kernel import KernelClock

SERVER = (
    "0A000001,10.0.0.1,3,1795372253.317033925,-0.000020000,0.000010000,0.000030000,-12.345,0.001,0.020,"
    "0.010000000,0.002000000,64.2,Normal"
)


@table("line, tracking")
def test_chrony_tells_its_source_and_what_its_manual_makes_of_the_errors(
    line: str, tracking: tuple[str, float, float] | None
) -> None:
    source, *errors_s = chrony.parse(line) or (None,)
    expected, *expected_s = tracking or (None,)
    assert source == expected
    assert errors_s == pytest.approx(expected_s)


def test_the_kernel_tells_errors_in_microseconds_and_a_status() -> None:
    synchronised = Timex(esterror=250, maxerror=4000, status=0x2001)
    assert decode(synchronised) == pytest.approx((True, 250e-6, 0.004))
    assert not decode(Timex(esterror=250, maxerror=4000, status=0x2041)).synchronised
    assert decode(Timex(esterror=0, maxerror=500, status=0x2001)).estimated_error_s is None


def test_this_machines_kernel_can_be_asked_and_nothing_is_set() -> None:
    before = kernel.read()
    assert before.max_error_s >= 0.0
    assert Timex().modes == 0
    assert kernel.read().synchronised == before.synchronised


async def test_chronys_word_goes_before_the_kernels_which_it_may_not_have_told() -> None:
    clock = HandedClock(ADRIFT)
    clock.tracking = Tracking("10.0.0.1", 0.001, 0.01)
    running = asyncio.create_task(clock.run())
    await asked(clock, 1)
    assert clock.payload() == {
        "synchronised": True,
        "estimated_error_s": 0.001,
        "max_error_s": 0.01,
        "source": "chrony: 10.0.0.1",
        "machine": machine_id(),
    }
    clock.tracking = None
    await asked(clock, 2)
    assert not clock.state.synchronised
    clock.kernel = GOOD
    assert (clock.state.source, clock.state.estimated_error_s) == ("kernel", 0.0002)
    running.cancel()


async def asked(clock: HandedClock, times: int) -> None:
    """Wait until chrony has been asked so many times more, and has answered."""
    before = clock.asked
    async with asyncio.timeout(PATIENCE_S):
        while clock.asked <= before + times:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(1.0)


async def test_chrony_is_asked_no_more_than_once_in_ten_seconds() -> None:
    clock = HandedClock()
    running = asyncio.create_task(clock.run())
    for asked_by_then in (1, 2, 3):
        await asyncio.sleep(0.1)
        assert clock.asked == asked_by_then
        await asyncio.sleep(9.8)
        assert clock.asked == asked_by_then
        await asyncio.sleep(0.1)
    running.cancel()


async def test_a_failure_to_ask_chrony_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    calls = 0

    async def ask() -> Tracking | None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise MemoryError
        return Tracking("10.0.0.1", 0.001, 0.01)

    clock = monitor.ClockMonitor(read_kernel=lambda: ADRIFT, ask_chrony=ask)
    running = asyncio.create_task(clock.run())
    async with asyncio.timeout(PATIENCE_S):
        while not clock.state.synchronised:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(1.0)
    running.cancel()
    assert caplog.messages == ["chrony could not be asked; it is tried again"]


@pytest.mark.parametrize("said", [ADRIFT, OSError(errno.EPERM, "not permitted")])
def test_of_a_clock_that_nobody_keeps_or_may_ask_no_error_is_told(said: KernelClock | OSError) -> None:
    assert HandedClock(said).payload() == {
        "synchronised": False,
        "estimated_error_s": None,
        "max_error_s": None,
        "source": None,
        "machine": machine_id(),
    }


def test_a_machine_is_known_by_a_hash_of_its_boot_id(tmp_path: Path) -> None:
    boot_id = tmp_path / "boot_id"
    boot_id.write_text("c0ffee00-0000-4000-8000-000000000001\n")
    whole = hashlib.sha256(b"c0ffee00-0000-4000-8000-000000000001").hexdigest()
    assert machine_id(boot_id) == whole[:16]
    assert machine_id(tmp_path / "hidden") is None


def test_both_scales_are_read_at_the_same_time() -> None:
    before_s, told_s, unix_s, after_s = time.monotonic(), unix_less_monotonic(), time.time(), time.monotonic()
    assert unix_s - after_s - 1.0 < told_s < unix_s - before_s + 1.0
