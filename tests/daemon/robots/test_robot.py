"""Behaviour of a robot in the daemon, with its real stream process on simulated actuators."""

from __future__ import annotations

import asyncio
import re
import signal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.api import ReportHub, RequestError, StatusRequest
from motiond.daemon.config.settings import load_settings
from motiond.daemon.ipc import messages
from motiond.daemon.robots.assembly import make_registry
from motiond.daemon.service.logs import write_journal
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import (
    FORKS,
    FULL_SWING,
    JOINTS,
    RATE_HZ,
    UNLIMITED,
    Rig,
    ask,
    comes_to_rest_softly,
    sweep,
    write_seq,
)

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.daemon.robots.robot import Robot

pytestmark = pytest.mark.slow


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def arm(registry: RobotRegistry) -> Robot:
    return registry.members["arm"].robot


def stream_pid(registry: RobotRegistry) -> int:
    pid = arm(registry).stream.pid
    assert pid is not None
    return pid


async def start_long(rig: Rig, registry: RobotRegistry) -> str:
    await rig.until_state("idle")
    goal_id: str = (await ask(registry, "play", motion="long"))["goal_id"]
    await rig.until("telemetry", lambda data: (data["frame"] or 0) > FULL_SWING)
    return goal_id


async def test_a_motion_plays_row_by_row_after_an_approach_within_its_bounds(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        accepted = await ask(registry, "play", motion="short", transaction="t-1")
        result = await rig.result_of(accepted["goal_id"])
    assert (result["code"], result["motion"], result["transaction"]) == ("SUCCESSFUL", "short", "t-1")
    assert result["played_s"] == 0.5
    positions = read_trace(rig.folder / "trace.npy")["position"]
    rows = sweep(0.5)
    if result["timing"]["missed_deadlines"] == 0:
        first = next(k for k in range(len(positions)) if (positions[k : k + len(rows)] == rows).all())
        approach = positions[: first + 1]
        assert np.abs(np.diff(approach, axis=0)).max() * RATE_HZ <= 2.0 + 1e-9
    assert positions[-1].tolist() == rows[-1].tolist()


async def test_states_are_reported_in_the_order_of_a_goal(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        accepted = await ask(registry, "play", motion="short")
        await rig.rest_after(accepted["goal_id"])
    states = [report.data["state"] for report in rig.reports if report.subject == "state"]
    changes = [state for k, state in enumerate(states) if k == 0 or state != states[k - 1]]
    assert changes == ["offline", "idle", "approaching", "playing", "idle", "offline"]


async def test_states_and_results_are_numbered_without_a_gap_and_stamped_in_order(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        for _ in range(2):
            accepted = await ask(registry, "play", motion="short")
            await rig.rest_after(accepted["goal_id"])
    for subject, least in (("state", 8), ("result", 2)):
        told = [report.data for report in rig.reports if report.subject == subject]
        assert [one["sequence"] for one in told] == list(range(1, len(told) + 1))
        assert len(told) >= least
        stamps = [one["stamp_utc"] for one in told]
        assert stamps == sorted(stamps)
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp) for stamp in stamps)


async def test_nothing_moves_and_torque_stays_off_until_a_play(rig: Rig) -> None:
    async with rig.running() as registry:
        idle = await rig.until_state("idle")
        await rig.until("telemetry", lambda _: True)
        assert (await ask(registry, "status"))["torque"] is False
    assert idle["torque"] is False
    assert len(read_trace(rig.folder / "trace.npy")) == 0


async def test_a_second_play_is_refused_while_one_is_on(rig: Rig) -> None:
    async with rig.running() as registry:
        goal_id = await start_long(rig, registry)
        with pytest.raises(RequestError) as refusal:
            await ask(registry, "play", motion="short")
    assert (refusal.value.code, str(refusal.value), refusal.value.data) == (
        "BUSY",
        "arm: busy with long; one motion plays at a time; stop it first, replace it, or queue behind it",
        {"goal_id": goal_id},
    )


async def test_a_stop_ends_the_goal_canceled_on_the_path_and_may_be_sent_twice(rig: Rig) -> None:
    async with rig.running() as registry:
        goal_id = await start_long(rig, registry)
        await ask(registry, "stop")
        assert (await ask(registry, "stop"))["goal_id"] in {goal_id, None}
        result = await rig.rest_after(goal_id)
    assert (result["code"], result["message"]) == ("CANCELED", "stopped on request, softly, on the path")
    assert rig.results() == ["CANCELED"]
    assert comes_to_rest_softly(read_trace(rig.folder / "trace.npy")["position"])


async def test_a_pause_waits_on_the_path_and_a_resume_goes_on_to_a_stop(rig: Rig) -> None:
    async with rig.running() as registry:
        goal_id = await start_long(rig, registry)
        assert await ask(registry, "pause") == {"state": "paused", "goal_id": goal_id}
        status = await ask(registry, "status")
        assert (status["state"], status["motion"]) == ("paused", "long")
        assert await ask(registry, "resume") == {"state": "playing", "goal_id": goal_id}
        await ask(registry, "stop")
        assert (await rig.result_of(goal_id))["code"] == "CANCELED"
    assert comes_to_rest_softly(read_trace(rig.folder / "trace.npy")["position"])


async def test_a_speed_is_taken_while_a_motion_plays_and_told_in_the_state(rig: Rig) -> None:
    async with rig.running() as registry:
        goal_id = await start_long(rig, registry)
        assert await ask(registry, "speed", speed=0.5) == {"speed": 0.5, "goal_id": goal_id}
        await rig.until("state", lambda data: data.get("speed") == 0.5)
        observer = arm(registry).stream.observer
        assert observer is not None
        await rig.until("telemetry", lambda _: observer.sample.scalar("clock_rate") == 0.5)  # type: ignore[union-attr]
        with pytest.raises(RequestError) as refusal:
            await ask(registry, "speed", speed=9.0)
    assert refusal.value.code == "INVALID_MOTION"
    assert (refusal.value.data["joint"], str(refusal.value)) == (
        "elbow",
        "long: speed 9 is too fast; joint 'elbow' allows 4.77; lower the speed",
    )


async def test_a_tolerance_of_an_unknown_joint_is_refused(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        with pytest.raises(RequestError) as refusal:
            await ask(registry, "play", motion="short", goal_tolerance={"elbo": 0.05})
    assert (refusal.value.code, str(refusal.value)) == (
        "INVALID_REQUEST",
        "arm: goal_tolerance of an unknown joint 'elbo'; it has shoulder, elbow; did you mean 'elbow'?",
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


@pytest.mark.parametrize(
    ("request_", "code", "message"),
    [
        ({}, "INVALID_REQUEST", "arm: a posture is either a pose or joints; give one of the two"),
        ({"pose": "hom"}, "UNKNOWN_POSE", "arm: no pose 'hom'; there are home; did you mean 'home'?"),
        (
            {"joints": {"elbow": 3.0}},
            "INVALID_MOTION",
            (
                "goto: joint 'elbow' reaches 3 rad at 0.000 s (frame 0); its upper limit is 2 rad; "
                "lower the motion or raise `joints.elbow.limits.upper`"
            ),
        ),
    ],
)
async def test_a_posture_that_cannot_be_meant_or_reached_is_refused(
    rig: Rig, request_: dict[str, Any], code: str, message: str
) -> None:
    rig.robot["poses"] = {"home": {"shoulder": 0.3}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        with pytest.raises(RequestError) as refusal:
            await ask(registry, "goto", **request_)
    assert (refusal.value.code, str(refusal.value)) == (code, message)


async def test_torque_is_switched_on_and_off_at_rest_and_stays_on_while_a_motion_plays(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        assert await ask(registry, "enable") == {"state": "idle", "torque": True}
        assert await ask(registry, "enable") == {"state": "idle", "torque": True}
        assert await ask(registry, "disable") == {"state": "idle", "torque": False}
        await start_long(rig, registry)
        with pytest.raises(RequestError) as refusal:
            await ask(registry, "disable")
    assert refusal.value.code == "BUSY"


PARK = {"park": {"shoulder": 0.5, "elbow": -0.5}}


async def test_a_shutdown_in_the_middle_parks_from_the_last_setpoint(rig: Rig) -> None:
    rig.robot |= {"poses": PARK, "on_exit": "park"}
    async with rig.running() as registry:
        await start_long(rig, registry)
    assert rig.results() == ["CANCELED", "SUCCESSFUL"]
    positions = read_trace(rig.folder / "trace.npy")["position"]
    assert positions[-1].tolist() == [0.5, -0.5]
    assert np.abs(np.diff(positions, axis=0)).max() < 0.03


@pytest.mark.parametrize("verb", ["pause", "resume"])
async def test_without_a_goal_there_is_nothing_to_pause_or_resume(rig: Rig, verb: str) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        with pytest.raises(RequestError) as refusal:
            await ask(registry, verb)
    assert (refusal.value.code, str(refusal.value)) == (
        "NOT_PLAYING",
        f"arm: nothing to {verb}; the robot is idle; play first",
    )


async def test_an_emergency_stop_latches_until_reset(rig: Rig) -> None:
    async with rig.running() as registry:
        goal_id = await start_long(rig, registry)
        latched = {"state": "estopped", "latched": True, "reached": True, "message": ""}
        assert await ask(registry, "estop") == latched
        assert (await rig.result_of(goal_id))["code"] == "ESTOP"
        with pytest.raises(RequestError) as refusal:
            await ask(registry, "play", motion="short")
        assert await ask(registry, "reset") == {"state": "idle"}
        again = await ask(registry, "play", motion="short")
        assert (await rig.result_of(again["goal_id"]))["code"] == "SUCCESSFUL"
    assert (refusal.value.code, str(refusal.value)) == (
        "ESTOPPED",
        "arm: short cannot be played; the emergency stop is latched; reset it when it is safe",
    )


async def test_a_killed_stream_process_lets_the_actuators_go_and_a_new_one_plays(rig: Rig) -> None:
    rig.driver["command_lifetime_s"] = 3.0  # a busy machine may leave a stream without its time for a moment
    async with rig.running() as registry:
        goal_id = await start_long(rig, registry)
        seen = len(rig.reports)
        rig.send_signal(stream_pid(registry), signal.SIGKILL)
        result = await rig.result_of(goal_id)
        offline = await rig.until_state("offline", seen)
        await rig.until_state("idle", seen)
        again = await ask(registry, "play", motion="short")
        assert (await rig.result_of(again["goal_id"]))["code"] == "SUCCESSFUL"
    reason = "the stream process ended unasked (killed by signal 9)"
    assert (result["code"], result["message"], offline["message"]) == ("COMM_LOST", reason, reason)
    events = [report.data for report in rig.reports if report.subject == "event"]
    events = [event for event in events if event["kind"] != "torque"]  # they may hold still, or not
    assert [event["kind"] for event in events] == ["stream_lost", "back"]
    assert events[0]["message"] == reason


async def test_a_stream_process_that_hangs_is_killed_and_replaced(rig: Rig) -> None:
    rig.robot["stream_timeout_s"] = 2.0
    async with rig.running() as registry:
        goal_id = await start_long(rig, registry)
        seen = len(rig.reports)
        rig.send_signal(stream_pid(registry), signal.SIGSTOP)
        result = await rig.result_of(goal_id)
        await rig.until_state("idle", seen)
        assert registry.ticking
    assert result["code"] == "COMM_LOST"
    assert result["message"].startswith("the stream process did not tick for ")
    assert result["message"].endswith(" s and was killed")


SLOW_HZ = 0.2


async def start_slow(rig: Rig, registry: RobotRegistry) -> str:
    """Play a motion with a row every five seconds, up to the first of them."""
    await rig.until_state("idle")
    goal_id: str = (await ask(registry, "play", motion="slow"))["goal_id"]
    await rig.until_state("playing")
    return goal_id


@pytest.fixture
def slow_rig(rig: Rig) -> Rig:
    rig.driver["command_lifetime_s"] = None
    rig.robot["stream_timeout_s"] = 4.0  # a robot that is healthy, and a machine that is busy
    rows = np.zeros((4, 2))
    rows[1:] = 0.1
    write_seq(rig.folder / "motions" / "slow.seq", rows, JOINTS, SLOW_HZ)
    return rig


@pytest.mark.parametrize(("verb", "state"), [("stop", "stopping"), ("estop", "estopped")])
async def test_a_slow_motion_is_stopped_long_before_its_next_row(
    slow_rig: Rig, verb: str, state: str
) -> None:
    async with slow_rig.running() as registry:
        await start_slow(slow_rig, registry)
        rows = arm(registry).stream.observer.goal.ticks  # type: ignore[union-attr]
        await ask(registry, verb)
        await slow_rig.until_state(state)
        assert arm(registry).stream.observer.goal.ticks - rows <= 1  # type: ignore[union-attr]
        await ask(registry, "estop")


async def test_a_robot_whose_driver_cannot_open_is_offline_and_says_why(rig: Rig) -> None:
    rig.driver["trace"] = "missing/trace.npy"
    async with rig.running() as registry:
        lost = await rig.until("event", lambda data: data["kind"] == "stream_lost")
        with pytest.raises(RequestError) as refusal:
            await ask(registry, "play", motion="short")
    assert refusal.value.code == "OFFLINE"
    assert str(refusal.value) == f"arm: short cannot be played; the robot is offline; {lost['message']}"
    assert "missing/trace.npy" in lost["message"]


async def test_torque_of_actuators_that_do_not_answer_is_not_said_to_be_off(rig: Rig) -> None:
    rig.driver["trace"] = "missing/trace.npy"
    async with rig.running() as registry:
        lost = await rig.until("event", lambda data: data["kind"] == "stream_lost")
        with pytest.raises(RequestError) as refusal:
            await ask(registry, "disable")
    what = "arm: torque cannot be switched off; the robot is offline and its actuators may hold"
    assert (refusal.value.code, str(refusal.value)) == (
        "OFFLINE",
        f"{what}; {lost['message']}; use the robot's own switch",
    )


async def test_an_unknown_motion_is_refused_with_the_nearest_name(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        with pytest.raises(RequestError) as refusal:
            await ask(registry, "play", motion="shot")
    assert (refusal.value.code, str(refusal.value)) == (
        "UNKNOWN_MOTION",
        "arm: no motion 'shot'; there are long, short; did you mean 'short'?",
    )


async def test_a_motion_beyond_the_limits_is_listed_with_the_reason_and_refused(rig: Rig) -> None:
    write_seq(rig.folder / "motions" / "far.seq", 10 * sweep(0.5), JOINTS, RATE_HZ)
    async with rig.running() as registry:
        await rig.until_state("idle")
        motions = await rig.until("motions", lambda _: True)
        with pytest.raises(RequestError) as refusal:
            await ask(registry, "play", motion="far")
    far = next(motion for motion in motions["motions"] if motion["name"] == "far")
    assert (far["ok"], refusal.value.code) == (False, "INVALID_MOTION")
    assert str(refusal.value) == far["reason"]
    assert "upper limit is 2 rad" in far["reason"]


async def test_a_speed_beyond_the_limits_is_answered_with_the_fastest(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        with pytest.raises(RequestError) as refusal:
            await ask(registry, "play", motion="short", speed=9.0)
    assert refusal.value.code == "INVALID_MOTION"
    assert refusal.value.data["max_speed"] == pytest.approx(1.19, abs=0.01)


async def test_an_unknown_robot_is_refused_by_name(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        with pytest.raises(RequestError) as refusal:
            await registry.handle("army", "status", StatusRequest())
    assert (refusal.value.code, str(refusal.value)) == (
        "UNKNOWN_ROBOT",
        "no robot 'army'; there are arm; did you mean 'arm'?",
    )


async def test_a_robot_whose_actuators_are_looked_for_again_and_again_goes_offline_once(rig: Rig) -> None:
    hub = ReportHub()
    listener = make_registry(load_settings(rig.config), hub, FORKS).members["arm"].listener
    with hub.subscribe(frozenset({"availability"})) as reports:
        for _ in range(2):
            listener.on_notice(messages.Ready(1000.0, [], UNLIMITED))
            listener.on_notice(messages.Changed("idle", torque=False, goal_id=None, reference=None))
            for _ in range(3):
                listener.on_notice(messages.Lost("the port is gone"))
        told = [report.data for report in iter(reports.get_now, None)]
    assert told == [{"state": "online"}, {"state": "offline"}] * 2


async def test_a_warning_of_a_driver_is_told_once_also_when_its_actuators_come_back(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    hub = ReportHub()
    listener = make_registry(load_settings(rig.config), hub, FORKS).members["arm"].listener
    journal = asyncio.create_task(write_journal(hub))
    with hub.subscribe(frozenset({"event"})) as events:
        await asyncio.sleep(0)
        for warnings in (["servo 7: weak", "servo 7: weak"], ["servo 7: weak"], ["servo 7: weak", "hot"]):
            listener.on_notice(messages.Ready(1000.0, warnings, UNLIMITED))
            listener.on_notice(messages.Lost("the bus is lost"))
        told = [report.data for report in iter(events.get_now, None) if report.data["kind"] == "warning"]
    assert told == [{"kind": "warning", "message": text} for text in ("servo 7: weak", "hot")]
    await asyncio.sleep(0)
    assert [line for line in caplog.messages if "weak" in line or "hot" in line] == [
        "arm: servo 7: weak",
        "arm: hot",
    ]
    journal.cancel()
