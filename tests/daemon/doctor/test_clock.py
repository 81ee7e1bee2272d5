"""What is said of the machine's clock, which is what appointed starts are refused for."""

from __future__ import annotations

import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.clock.chrony import Tracking
from motiond.daemon.doctor.clock import check_clock
from motiond.daemon.robots.session.goal_planner import checked_clock
from tests.daemon.clock.clocks import ADRIFT, GOOD, OFF, UNESTIMATED, HandedClock

STARTS = "starts at an appointed time (`start_at`, groups)"


async def test_a_clock_that_is_synchronised_is_as_good_as_its_error() -> None:
    found = await check_clock(HandedClock(GOOD))
    assert (found.verdict, found.found, found.hint) == (
        "ok",
        "synchronised by kernel; off by about 0.2 ms, 4 ms at most",
        None,
    )
    assert found.figures == {"estimated_error_s": 0.0002, "max_error_s": 0.004, "allowed_error_s": None}


async def test_chrony_is_asked_first() -> None:
    clock = HandedClock(ADRIFT)
    clock.tracking = Tracking("10.0.0.1", 0.001, 0.01)
    found = await check_clock(clock)
    assert (found.verdict, found.found) == (
        "ok",
        "synchronised by chrony: 10.0.0.1; off by about 1 ms, 10 ms at most",
    )


async def test_a_clock_that_nobody_keeps_is_warned_of() -> None:
    found = await check_clock(HandedClock(ADRIFT))
    assert (found.verdict, found.found) == ("warning", "not synchronised")
    assert found.means == f"{STARTS} come as much too early or late as the clock is wrong"
    assert found.hint == "run chronyd, and check with `chronyc tracking` that it follows somebody"


async def test_a_clock_that_nobody_keeps_fails_a_configuration_that_wants_one() -> None:
    found = await check_clock(HandedClock(ADRIFT, max_error_s=0.01))
    assert (found.verdict, found.means) == (
        "failure",
        "starts at an appointed time (`start_at`, groups) are refused, as max_clock_error_s is set",
    )


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (OFF, "synchronised by kernel; off by about 20 ms, 500 ms at most"),
        (UNESTIMATED, "synchronised by kernel; nobody estimates its error, 500 ms at most"),
    ],
)
async def test_a_clock_that_is_further_off_than_allowed_fails(kernel: object, told: str) -> None:
    found = await check_clock(HandedClock(kernel, max_error_s=0.01))  # type: ignore[arg-type]
    assert (found.verdict, found.found) == ("failure", told)
    assert found.means == f"{STARTS} are refused: max_clock_error_s wants it within 10 ms"
    assert found.hint == "let chrony keep its time, which estimates the error, or raise max_clock_error_s"


@pytest.mark.parametrize("kernel", [GOOD, OFF, UNESTIMATED, ADRIFT])
@pytest.mark.parametrize("allowed_s", [None, 0.001, 1.0])
async def test_it_fails_exactly_where_a_start_is_refused(kernel: object, allowed_s: float | None) -> None:
    clock = HandedClock(kernel, max_error_s=allowed_s)  # type: ignore[arg-type]
    try:
        checked_clock("arm", clock)
        refused = False
    except RequestError:
        refused = True
    assert ((await check_clock(clock)).verdict == "failure") is refused
