"""A robot with a joint that is too hot begins nothing that would move it, until that has cooled."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc.states import State
from motiond.daemon.robots.heat import too_hot
from motiond.daemon.robots.session import Hindrance
from tests.daemon.rig import Rig, ask, refused
from tests.daemon.robots.test_inactivity import UNUSED, Resting
from tests.daemon.robots.two_halves import Halves

if TYPE_CHECKING:
    from motiond.daemon.api import Follows
    from motiond.daemon.robots.registry import RobotRegistry

LIMIT = "checks.temperature_c is 60 °C"
RELIEVE = "support the robot and disable it, or take its load away"
COOL = "wait until it has cooled"
ELBOW = rf"joint 'elbow' is at \d\d\.\d °C; {LIMIT}"
REASON = "joint 'elbow' is at 71.0 °C; checks.temperature_c is 60 °C"
HOT = Hindrance("FAULT", REASON, RELIEVE, {"joint": "elbow"})
MOTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "play": ({"motion": "short"}, "short cannot be played"),
    "sequence": ({"steps": [{"motion": "short"}]}, "sequence cannot be played"),
    "goto": ({"joints": {"elbow": 0.1}}, "goto cannot be played"),
    "follow/start": ({"joints": ["elbow"]}, "it cannot follow"),
    "fleet/prepare": ({"motion": "short", "start": "s1"}, "short cannot be prepared"),
}


@pytest.fixture
def rig(rig: Rig) -> Rig:
    rig.robot |= {"fault_requests": True, "checks": {"temperature_c": 60.0}, "groups": ["choir"]}
    return rig


async def heat(rig: Rig, registry: RobotRegistry) -> None:
    """Make the elbow too hot; it stays so."""
    since = len(rig.reports)
    fault = {"fault": "overheating", "joint": "elbow", "rate_c_per_s": 300.0, "temperature_c": 75.0}
    await ask(registry, "fault", **fault)
    await rig.until("telemetry", lambda _: elbow_c(registry) >= 75.0, since)


def elbow_c(registry: RobotRegistry) -> float:
    observer = registry.members["arm"].robot.stream.observer
    assert observer is not None
    return 0.0 if observer.sample is None else float(observer.sample.vector("temperature_c")[1])


async def holding(rig: Rig, registry: RobotRegistry) -> None:
    await rig.until_state("idle")
    await ask(registry, "enable")


# -- a robot on simulated actuators -------------------------------------------------------------------------


async def test_whatever_moves_a_robot_is_refused_at_once_while_a_joint_is_too_hot(rig: Rig) -> None:
    async with rig.running() as registry:
        await holding(rig, registry)
        await heat(rig, registry)
        for verb, (body, problem) in MOTIONS.items():
            code, message = await refused(registry, verb, **body)
            assert code == "FAULT"
            assert re.fullmatch(f"arm: {problem}; {ELBOW}; {RELIEVE}", message)
        assert rig.results() == []
        assert {state["state"] for state in rig.reports_on("state")} <= {"offline", "idle"}


async def test_a_robot_that_does_not_hold_is_not_even_enabled_to_be_moved(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await heat(rig, registry)
        code, message = await refused(registry, "play", motion="short")
        assert code == "FAULT"
        assert re.fullmatch(f"arm: short cannot be played; {ELBOW}; {COOL}", message)
        assert not (await ask(registry, "status"))["torque"]


async def test_a_robot_that_was_too_hot_is_taught_and_released_and_plays_once_it_is_cool(rig: Rig) -> None:
    async with rig.running() as registry:
        await holding(rig, registry)
        await heat(rig, registry)
        assert (await ask(registry, "teach/start"))["state"] == "teaching"
        await ask(registry, "teach/stop")
        await ask(registry, "disable")
        await ask(registry, "fault", fault="clear")
        await rig.until("telemetry", lambda _: elbow_c(registry) < 60.0, len(rig.reports))
        goal = await ask(registry, "play", motion="short")
        assert (await rig.result_of(goal["goal_id"]))["code"] == "SUCCESSFUL"


async def test_a_reservation_ends_once_a_joint_is_too_hot(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "fleet/prepare", motion="short", start="s1", expires_s=60.0)
        await heat(rig, registry)
        released = await rig.until("reservation", lambda data: data["phase"] == "released")
        assert re.fullmatch(ELBOW, released["reason"])


@pytest.mark.parametrize(
    ("verb", "body", "problem"),
    [
        ("resume", {}, "long cannot be resumed"),
        ("seek", {"frame": 5}, "no seek in long"),
        ("play", {"motion": "short", "on_busy": "replace"}, "short cannot be played"),
        ("play", {"motion": "short", "on_busy": "queue"}, "short cannot be played"),
    ],
)
async def test_what_is_paused_stays_so_and_neither_goes_on_nor_is_followed(
    rig: Rig, verb: str, body: dict[str, Any], problem: str
) -> None:
    async with rig.running() as registry:
        goal_id = await rig.swings(registry)
        await ask(registry, "pause")
        registry.members["arm"].robot.session.gate.why_too_hot = lambda: HOT
        assert await refused(registry, verb, **body) == ("FAULT", f"arm: {problem}; {REASON}; {RELIEVE}")
        status = await ask(registry, "status")
        assert (status["state"], status["goal_id"], status["queued"]) == ("paused", goal_id, 0)


# -- what waits, and what a robot begins by itself ----------------------------------------------------------


def playing(on_end: Follows = "hold", on_exit: str = "hold") -> Halves:
    halves = Halves(on_end, on_exit, 0, 0)
    halves.until(State.IDLE)
    halves.session.begin_instead(halves.goal("wave"), "wave cannot be played")
    halves.until(State.PLAYING)
    return halves


def test_what_waits_ends_with_why_it_could_not_begin() -> None:
    halves = playing()
    halves.session.enqueue(halves.goal("nod"))
    halves.session.enqueue(halves.goal("grip"))
    halves.session.gate.why_too_hot = lambda: HOT
    halves.run_out()
    assert [(ended.goal_id, ended.code, ended.message) for ended, _ in halves.results] == [
        ("wave 1", "SUCCESSFUL", "the last row is out and held"),
        ("nod 2", "HARDWARE_FAULT", f"arm: nod cannot be played; {REASON}; {RELIEVE}"),
        ("grip 3", "CANCELED", "nod, before it, could not be played; it had not begun"),
    ]
    assert halves.results[1][0].details == {"joint": "elbow"}


def test_a_robot_does_not_park_by_itself_after_a_motion_or_as_it_leaves() -> None:
    halves = playing("park", "park")
    halves.session.gate.why_too_hot = lambda: HOT
    halves.run_out()
    halves.session.leave()
    halves.run_out()
    assert [ended.goal_id for ended, _ in halves.results] == ["wave 1"]
    refusal = f"arm: park cannot be played; {REASON}; {RELIEVE}"
    assert halves.warnings == [f"on_exit park was given up; {refusal}"]
    assert halves.session.has_left


async def test_a_robot_that_nobody_uses_parks_once_it_is_cool_and_says_why_it_waits_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Resting(rig, monkeypatch, "park")
    gate = stage.robot.session.gate
    gate.why_too_hot = lambda: HOT
    assert stage.look(600.0, 1300.0, 2000.0) == [f"arm: park cannot be played; {REASON}; {RELIEVE}"]
    gate.why_too_hot = lambda: None
    assert stage.look(2700.0) == [f"{UNUSED}; it goes to the pose park"]
    stage.robot.planner.close()


# -- the rule -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("temperatures_c", "is_failing", "reason"),
    [
        ([30.0, 60.0], False, None),
        ([np.nan, np.nan], True, None),
        ([30.0, np.nan], False, None),
        ([np.nan, 60.1], False, f"joint 'elbow' is at 60.1 °C; {LIMIT}"),
        ([80.0, 71.0], False, f"joint 'shoulder' is at 80.0 °C; {LIMIT}"),
        ([30.0, 58.9], True, f"joint 'elbow' is at 58.9 °C; {LIMIT}, and it was beyond that"),
    ],
)
def test_the_hottest_joint_of_which_that_is_known_counts_until_it_has_cooled_by_a_margin(
    temperatures_c: list[float],
    is_failing: bool,  # noqa: FBT001
    reason: str | None,
) -> None:
    found = too_hot(["shoulder", "elbow"], np.array(temperatures_c), 60.0, is_failing=is_failing, holds=False)
    assert (found and found.reason) == reason
    assert found is None or (found.code, found.hint, found.details["limit"]) == ("FAULT", COOL, 60.0)
