"""What a robot does with appointed times on a machine whose clock is handed in."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, get_type_hints

import pytest

from motiond.daemon.api import REPORTS, RequestError
from motiond.daemon.clock.state import machine_id
from tests.daemon.clock.clocks import ADRIFT, GOOD, OFF, UNESTIMATED, HandedClock
from tests.daemon.rig import Rig, ask, refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from motiond.daemon.clock.kernel import KernelClock
    from motiond.daemon.robots.registry import RobotRegistry

pytestmark = pytest.mark.slow

WITHIN_5_MS = "an appointed time wants it within 0.005 s (max_clock_error_s)"
MEND = "let chrony keep its time, or raise max_clock_error_s"
REFUSALS = [
    (ADRIFT, f"arm: this machine's clock is not synchronised; {WITHIN_5_MS}; {MEND}"),
    (OFF, f"arm: this machine's clock is off by about 0.02 s; {WITHIN_5_MS}; {MEND}"),
    (UNESTIMATED, f"arm: nobody estimates the error of this machine's clock; {WITHIN_5_MS}; {MEND}"),
]
AHEAD_S = 5.0


@asynccontextmanager
async def running(rig: Rig, clock: HandedClock) -> AsyncIterator[RobotRegistry]:
    """Run the robot on a machine with a clock, until it is idle."""
    async with rig.running(clock=clock) as registry:
        await rig.until_state("idle")
        yield registry


@pytest.mark.parametrize(("kernel", "message"), REFUSALS, ids=["adrift", "off", "unestimated"])
async def test_a_start_is_not_appointed_by_a_clock_that_is_too_bad(
    rig: Rig, kernel: KernelClock, message: str
) -> None:
    async with running(rig, clock := HandedClock(kernel, 0.005)) as registry:
        with pytest.raises(RequestError) as caught:
            await ask(registry, "play", motion="short", start_at=time.time() + AHEAD_S)
        status = await ask(registry, "status")
    assert (caught.value.code, str(caught.value)) == ("CLOCK", message)
    assert caught.value.data == {"clock": clock.payload(), "max_clock_error_s": 0.005}
    assert (status["goal_id"], status["torque"]) == (None, False)


async def test_without_an_appointment_or_a_limit_any_clock_is_good_enough(rig: Rig) -> None:
    async with running(rig, HandedClock(ADRIFT, 0.005)) as registry:
        played = await ask(registry, "play", motion="short")
        assert (await rig.result_of(played["goal_id"]))["code"] == "SUCCESSFUL"
    rig.reports.clear()
    async with running(rig, HandedClock(ADRIFT)) as registry:
        played = await ask(registry, "play", motion="short", start_at=time.time() + AHEAD_S)
        await ask(registry, "stop")


async def test_what_waits_is_not_begun_by_a_clock_that_has_become_bad(rig: Rig) -> None:
    async with running(rig, clock := HandedClock(GOOD, 0.005)) as registry:
        await ask(registry, "play", motion="long")
        start_at = time.time() + 1000.0
        waiting = await ask(registry, "play", motion="short", start_at=start_at, on_busy="queue")
        clock.kernel = OFF
        await rig.until_state("playing")
        await ask(registry, "seek", time=19.5)
        result = await rig.result_of(waiting["goal_id"])
    assert (result["code"], result["message"]) == ("INVALID_GOAL", REFUSALS[1][1])


async def test_a_start_of_a_group_is_not_prepared_by_a_clock_that_is_too_bad(rig: Rig) -> None:
    kernel, message = REFUSALS[0]
    rig.robot["groups"] = ["choir"]
    async with running(rig, HandedClock(kernel, 0.005)) as registry:
        caught = await refused(registry, "fleet/prepare", motion="short", start="s1")
        assert not (await ask(registry, "status"))["torque"]
    assert caught == ("CLOCK", message)


async def test_diagnostics_tell_the_clock_as_it_is_now(rig: Rig) -> None:
    async with running(rig, clock := HandedClock(GOOD)):
        before = await rig.until("diagnostics", lambda data: data["clock"]["synchronised"])
        clock.kernel = ADRIFT
        later = await rig.until("diagnostics", lambda data: not data["clock"]["synchronised"])
    errors = {"estimated_error_s": 0.0002, "max_error_s": 0.004}
    assert before["clock"] == {
        "synchronised": True,
        **errors,
        "source": "kernel",
        "machine": machine_id(),
    }
    assert later["clock"] == before["clock"] | dict.fromkeys([*errors, "source"]) | {"synchronised": False}
    assert set(get_type_hints(REPORTS["diagnostics"])) == set(before)


async def test_a_result_tells_how_far_a_motion_was_from_its_appointed_time(rig: Rig) -> None:
    async with running(rig, HandedClock()) as registry:
        at = time.time() + AHEAD_S
        appointed = await ask(registry, "play", motion="short", start_at=at)
        status = await ask(registry, "status")
        before = (await rig.rest_after(appointed["goal_id"]))["timing"]["drift_s"]
        played = await ask(registry, "play", motion="short")
        without = await rig.result_of(played["goal_id"])
    starts = {report.data.get("start_at") for report in rig.reports if report.subject == "state"}
    assert (status["start_at"], starts) == (at, {at, None})
    assert before.keys() == {"p50", "p99", "max", "first", "last"}
    assert -0.001 < before["first"] < AHEAD_S  # never early; how late is the machine's affair
    assert 0.0 <= before["p50"] <= before["p99"] <= before["max"] < AHEAD_S
    assert without["timing"]["drift_s"] is None
