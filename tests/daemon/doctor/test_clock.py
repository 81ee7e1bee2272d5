"""What is said of the machine's clock, which is what appointed starts are refused for."""

from __future__ import annotations

from typing import Any

import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.doctor.clock import check_clock
from motiond.daemon.robots.session.goal_planner import checked_clock
from tests.daemon.clock.clocks import ADRIFT, GOOD, OFF, UNESTIMATED, HandedClock

STARTS = "starts at an appointed time (`start_at`, groups)"


RUN_CHRONY = "run chronyd, and check with `chronyc tracking` that it follows somebody"
KEEP = "let chrony keep its time, which estimates the error, or raise max_clock_error_s"
WITHIN_10_MS = f"{STARTS} are refused: max_clock_error_s wants it within 10 ms"


@pytest.mark.parametrize(
    ("kernel", "max_error_s", "expected"),
    [
        (
            GOOD,
            None,
            (
                "ok",
                "synchronised by kernel; off by about 0.2 ms, 4 ms at most",
                f"{STARTS} are as exact as that",
                None,
            ),
        ),
        (
            ADRIFT,
            None,
            (
                "warning",
                "not synchronised",
                f"{STARTS} come as much too early or late as the clock is wrong",
                RUN_CHRONY,
            ),
        ),
        (
            ADRIFT,
            0.01,
            ("failure", "not synchronised", f"{STARTS} are refused, as max_clock_error_s is set", RUN_CHRONY),
        ),
        (
            OFF,
            0.01,
            ("failure", "synchronised by kernel; off by about 20 ms, 500 ms at most", WITHIN_10_MS, KEEP),
        ),
        (
            UNESTIMATED,
            0.01,
            (
                "failure",
                "synchronised by kernel; nobody estimates its error, 500 ms at most",
                WITHIN_10_MS,
                KEEP,
            ),
        ),
    ],
)
async def test_a_clock_is_judged_by_what_is_asked_of_it(
    kernel: Any, max_error_s: float | None, expected: tuple[str | None, ...]
) -> None:
    check = await check_clock(HandedClock(kernel, max_error_s=max_error_s))
    assert (check.verdict, check.found, check.means, check.hint) == expected
    assert check.figures["allowed_error_s"] == max_error_s


@pytest.mark.parametrize("kernel", [GOOD, OFF, UNESTIMATED, ADRIFT])
@pytest.mark.parametrize("allowed_s", [None, 0.001, 1.0])
async def test_it_fails_exactly_where_a_start_is_refused(kernel: Any, allowed_s: float | None) -> None:
    clock = HandedClock(kernel, max_error_s=allowed_s)
    try:
        checked_clock("arm", clock)
        refused = False
    except RequestError:
        refused = True
    assert ((await check_clock(clock)).verdict == "failure") is refused
