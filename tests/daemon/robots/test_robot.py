"""Behaviour of a robot in the daemon, with its real stream process on simulated actuators."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import ask, comes_to_rest_softly, refused

if TYPE_CHECKING:
    from tests.daemon.rig import Rig

pytestmark = pytest.mark.slow


async def test_states_and_results_are_numbered_without_a_gap_and_stamped_in_order(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        for _ in range(2):
            accepted = await ask(registry, "play", motion="short", loop=3)
            assert (await rig.rest_after(accepted["goal_id"]))["played_s"] == 1.5
    states = [report.data for report in rig.reports if report.subject == "state"]
    assert {state["loops"] for state in states if state["goal_id"]} == {3}
    for subject, least in (("state", 8), ("result", 2)):
        reported = [report.data for report in rig.reports if report.subject == subject]
        assert [report["sequence"] for report in reported] == list(range(1, len(reported) + 1))
        assert len(reported) >= least
        stamps = [report["stamp_utc"] for report in reported]
        assert stamps == sorted(stamps)
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp) for stamp in stamps)


async def test_nothing_moves_and_torque_stays_off_until_a_play(rig: Rig) -> None:
    async with rig.running() as registry:
        idle = await rig.until_state("idle")
        await rig.until("telemetry", lambda _: True)
        assert (await ask(registry, "status"))["torque"] is False
    assert idle["torque"] is False
    assert len(read_trace(rig.folder / "trace.npy")) == 0


async def test_a_stop_ends_the_goal_canceled_on_the_path_and_may_be_sent_twice(rig: Rig) -> None:
    async with rig.running() as registry:
        goal_id = await rig.swings(registry)
        await ask(registry, "stop")
        assert (await ask(registry, "stop"))["goal_id"] in {goal_id, None}
        result = await rig.rest_after(goal_id)
    assert (result["code"], result["message"]) == ("CANCELED", "stopped on request, softly, on the path")
    assert rig.results() == ["CANCELED"]
    assert comes_to_rest_softly(read_trace(rig.folder / "trace.npy")["position"])


async def test_a_pause_waits_on_the_path_and_a_resume_goes_on_to_a_stop(rig: Rig) -> None:
    async with rig.running() as registry:
        goal_id = await rig.swings(registry)
        assert await ask(registry, "pause") == {"state": "paused", "goal_id": goal_id}
        status = await ask(registry, "status")
        assert (status["state"], status["motion"]) == ("paused", "long")
        assert await ask(registry, "resume") == {"state": "playing", "goal_id": goal_id}
        await ask(registry, "stop")
        assert (await rig.result_of(goal_id))["code"] == "CANCELED"
    assert comes_to_rest_softly(read_trace(rig.folder / "trace.npy")["position"])


async def test_a_speed_is_taken_while_a_motion_plays_and_told_in_the_state(rig: Rig) -> None:
    async with rig.running() as registry:
        goal_id = await rig.swings(registry)
        assert await ask(registry, "speed", speed=0.5) == {"speed": 0.5, "goal_id": goal_id}
        await rig.until("state", lambda data: data.get("speed") == 0.5)
        assert await refused(registry, "speed", speed=9.0) == (
            "INVALID_MOTION",
            "long: speed 9 is too fast; joint 'elbow' allows 4.77; lower the speed",
        )


async def test_a_robot_goes_to_joint_positions_and_to_a_pose_by_name(rig: Rig) -> None:
    rig.robot["poses"] = {"home": {"shoulder": 0.3, "elbow": -0.2}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        for request in ({"joints": {"elbow": 0.25}}, {"pose": "home"}):
            accepted = await ask(registry, "goto", **request)
            assert (await rig.rest_after(accepted["goal_id"]))["code"] == "SUCCESSFUL"
    positions = read_trace(rig.folder / "trace.npy")["position"]
    assert [0.0, 0.25] in positions.tolist()
    assert positions[-1].tolist() == [0.3, -0.2]
    assert comes_to_rest_softly(positions)


async def test_an_emergency_stop_latches_until_reset(rig: Rig) -> None:
    async with rig.running() as registry:
        goal_id = await rig.swings(registry)
        latched = {"state": "estopped", "latched": True, "reached": True, "message": ""}
        assert await ask(registry, "estop") == latched
        assert (await rig.result_of(goal_id))["code"] == "ESTOP"
        refusal = await refused(registry, "play", motion="short")
        assert await ask(registry, "reset") == {"state": "idle"}
        again = await ask(registry, "play", motion="short")
        assert (await rig.result_of(again["goal_id"]))["code"] == "SUCCESSFUL"
    assert refusal == (
        "ESTOPPED",
        "arm: short cannot be played; the emergency stop is latched; reset it when it is safe",
    )


AT_REST: list[tuple[str, dict[str, Any], str, str]] = [
    ("goto", {}, "INVALID_REQUEST", "arm: a posture is either a pose or joints; give one of the two"),
    ("goto", {"pose": "hom"}, "UNKNOWN_POSE", "arm: no pose 'hom'; there are home; did you mean 'home'?"),
    (
        "goto",
        {"joints": {"elbow": 3.0}},
        "INVALID_MOTION",
        (
            "goto: joint 'elbow' reaches 3 rad at 0.000 s (frame 0); its upper limit is 2 rad; "
            "lower the motion or raise `joints.elbow.limits.upper`"
        ),
    ),
    (
        "play",
        {"motion": "short", "goal_tolerance": {"elbo": 0.05}},
        "INVALID_REQUEST",
        "arm: goal_tolerance of an unknown joint 'elbo'; it has shoulder, elbow; did you mean 'elbow'?",
    ),
    ("pause", {}, "NOT_PLAYING", "arm: nothing to pause; the robot is idle; play first"),
    ("resume", {}, "NOT_PLAYING", "arm: nothing to resume; the robot is idle; play first"),
]


async def test_what_cannot_be_done_at_rest_is_refused_with_the_reason(rig: Rig) -> None:
    rig.robot["poses"] = {"home": {"shoulder": 0.3}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        for verb, values, code, message in AT_REST:
            assert await refused(registry, verb, **values) == (code, message)


async def test_a_robot_that_plays_takes_no_second_motion_and_no_disable(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.swings(registry)
        refusals = [await refused(registry, "disable"), await refused(registry, "play", motion="short")]
    busy = "one motion plays at a time; stop it first, replace it, or queue behind it"
    assert refusals == [
        ("BUSY", "arm: torque cannot be switched off; long plays; stop it first"),
        ("BUSY", f"arm: busy with long; {busy}"),
    ]


async def test_a_robot_whose_driver_cannot_open_plays_nothing_and_may_hold(rig: Rig) -> None:
    rig.driver["trace"] = "missing/trace.npy"
    async with rig.running() as registry:
        lost = await rig.until("event", lambda data: data["kind"] == "stream_lost")
        play, disable = await refused(registry, "play", motion="short"), await refused(registry, "disable")
    why = lost["message"]
    assert "missing/trace.npy" in why
    assert play == ("OFFLINE", f"arm: short cannot be played; the robot is offline; {why}")
    may_hold = f"the robot is offline and its actuators may hold; {why}; use the robot's own switch"
    assert disable == ("OFFLINE", f"arm: torque cannot be switched off; {may_hold}")
