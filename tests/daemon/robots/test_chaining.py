"""Behaviour of a motion that flows into the one that waits: setpoints, results, what comes between."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.robots.session import GoalPlanner
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, refused, sweep, write_seq

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.formats.arrays import Floats

pytestmark = pytest.mark.slow

LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 12.0}


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.robot["joints"] = {name: {"limits": LIMITS} for name in JOINTS}
    motions = rig.folder / "motions"
    write_seq(motions / "wave.seq", sweep(2.0), JOINTS, RATE_HZ)
    write_seq(motions / "nod.seq", sweep(2.0) + 0.05, JOINTS, RATE_HZ)
    write_seq(motions / "elbow.seq", sweep(2.0)[:, 1:], JOINTS[1:], RATE_HZ)
    for name in ("wave", "nod"):
        (motions / f"{name}.markers.yaml").write_text(
            "markers: {begin: {time: 0.1}, end: {time: 1.9}, late: {time: 2.0}}\n"
        )
    return rig


def setpoints(rig: Rig) -> Floats:
    positions: Floats = read_trace(rig.folder / "trace.npy")["position"]
    return positions


def keeps_limits(rows: Floats) -> bool:
    """Whether differences of setpoints alone keep velocity (1.000) and acceleration (1.02) limits."""
    steps, bends = np.diff(rows, axis=0) * RATE_HZ, np.diff(rows, 2, axis=0) * RATE_HZ**2
    return bool(np.abs(steps).max() <= 3.0 * (1 + 1e-9) and np.abs(bends).max() <= 12.0 * 1.02)


async def play(rig: Rig, registry: RobotRegistry, *motions: str, **how: Any) -> list[str]:
    """Play a motion, and let others wait for it."""
    await rig.until_state("idle")
    await ask(registry, "enable")
    goals = [(await ask(registry, "play", motion=motions[0]))["goal_id"]]
    for motion in motions[1:]:
        queued = await ask(registry, "play", motion=motion, on_busy="queue", **({"blend_s": 0.5} | how))
        goals.append(queued["goal_id"])
    return goals


def rests_between(rows: Floats) -> int:
    """Return how often the setpoints stand still after they have begun to move, and move again."""
    moves = np.abs(np.diff(rows, axis=0)).max(axis=1) > 0.0
    return int(np.count_nonzero(np.diff(moves.astype(int)) == 1)) - 1


async def test_the_end_of_one_flows_into_the_next_without_rest_and_each_has_its_result(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave", "nod", "wave")
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["SUCCESSFUL"] * 3
    assert [result["message"] for result in results] == [
        "it flows into nod",
        "it flows into wave",
        "the last row is out and held",
    ]
    assert results[0]["details"]["flowed_into"] == goals[1]
    assert [result["follows"] for result in results] == ["queue", "queue", "hold"]
    assert rig.results() == ["SUCCESSFUL"] * 3
    rows = setpoints(rig)
    assert keeps_limits(rows)
    played = rows[np.flatnonzero((rows == sweep(2.0)[0]).all(axis=1))[0] :]
    assert np.abs(np.diff(played[10:990], axis=0)).max(axis=1).min() > 1e-5
    assert (played[-1] == sweep(2.0)[-1]).all()


async def test_markers_of_both_are_reported_while_they_overlap(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave", "nod")
        await rig.result_of(goals[1])
    events = [event for event in rig.reports_on("event") if event["kind"] == "marker"]
    assert [(event["message"], event["goal_id"]) for event in events] == [
        ("wave: begin", goals[0]),
        ("nod: begin", goals[1]),
        ("wave: end", goals[0]),
        ("wave: late", goals[0]),
        ("nod: end", goals[1]),
        ("nod: late", goals[1]),
    ]


async def on_row(registry: RobotRegistry, goal_id: str, row: float) -> None:
    """Wait until a goal is that far on its motion."""
    async with asyncio.timeout(60.0):
        while True:
            status = await ask(registry, "status")
            if status["goal_id"] == goal_id and status["state"] == "playing" and status["frame"] >= row:
                return
            await asyncio.sleep(0.01)


MOMENTS = {"well before": (0, 200), "shortly before": (0, 285), "in the blend": (1, 40), "after": (1, 150)}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("act", ["pause", "stop", "speed", "seek"])
async def test_what_is_asked_at_any_moment_keeps_the_limits_and_one_result_each(
    rig: Rig, moment: str, act: str
) -> None:
    which, row = MOMENTS[moment]
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave", "nod")
        await on_row(registry, goals[which], row)
        if act == "pause":
            await ask(registry, "pause")
            paused = await rig.until_state("paused")
            assert paused["goal_id"] in goals
            await ask(registry, "resume")
        elif act == "speed":
            await ask(registry, "speed", speed=0.5)
        elif act == "seek":
            with suppress(RequestError):  # the pause that it begins with may lead into the next motion
                await ask(registry, "seek", time=0.5)
        else:
            await ask(registry, "stop")
        results = [await rig.result_of(goal) for goal in goals]
    stopped = act == "stop"
    ended = ["CANCELED" if stopped and not which else "SUCCESSFUL", "CANCELED" if stopped else "SUCCESSFUL"]
    assert [result["code"] for result in results] == ended
    assert sorted(rig.results()) == sorted(ended)
    assert keeps_limits(setpoints(rig))


async def test_a_stop_in_the_blend_ends_the_second_for_the_first_has_flowed_into_it(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave", "nod")
        await on_row(registry, goals[1], 20)
        answer = await ask(registry, "stop")
        results = [await rig.result_of(goal) for goal in goals]
    assert answer["goal_id"] == goals[1]
    assert [result["code"] for result in results] == ["SUCCESSFUL", "CANCELED"]
    assert results[1]["message"] == "stopped on request, softly, on the path"


@pytest.mark.parametrize("row", [100, 280])
@pytest.mark.parametrize("verb", ["queue/remove", "queue/clear"])
async def test_what_is_taken_out_before_the_blend_does_not_begin(rig: Rig, verb: str, row: int) -> None:
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave", "nod")
        await on_row(registry, goals[0], row)
        await ask(registry, verb, **({"goal_id": goals[1]} if verb == "queue/remove" else {}))
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["SUCCESSFUL", "CANCELED"]
    assert results[0]["message"] == "the last row is out and held"
    assert results[1]["message"].endswith("; it had not begun")
    rows = setpoints(rig)
    assert keeps_limits(rows)
    assert (rows[-1] == sweep(2.0)[-1]).all()


async def test_what_is_moved_in_the_queue_is_planned_for_what_is_before_it_then(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave", "nod", "elbow")
        await ask(registry, "queue/move", goal_id=goals[2], place=1)
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["message"] for result in results] == [
        "it flows into elbow",
        "the last row is out and held",
        "it flows into nod",
    ]
    assert keeps_limits(setpoints(rig))


async def test_a_replacement_before_the_blend_stops_the_first_and_the_second_does_not_begin(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave", "nod")
        await on_row(registry, goals[0], 280)
        goals.append((await ask(registry, "play", motion="elbow", on_busy="replace"))["goal_id"])
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["PREEMPTED", "PREEMPTED", "SUCCESSFUL"]
    assert keeps_limits(setpoints(rig))


async def test_a_seek_beyond_where_the_blend_begins_drops_it_and_the_robot_rests_between(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave", "nod")
        await on_row(registry, goals[0], 100)
        await ask(registry, "seek", time=1.8)
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["message"] for result in results] == ["the last row is out and held"] * 2
    (dropped,) = [event for event in rig.reports_on("event") if event["kind"] == "blend_dropped"]
    assert dropped["message"] == (
        "it does not flow into the next motion; it is sought beyond where the blend begins; it rests between"
    )
    assert dropped["details"] == {"goal_id": goals[1]}
    assert keeps_limits(setpoints(rig))


async def test_a_speed_at_which_the_blend_would_break_a_limit_drops_it_with_the_reason(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave", "nod")
        await on_row(registry, goals[0], 100)
        await ask(registry, "speed", speed=2.0)
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["message"] for result in results] == ["the last row is out and held"] * 2
    (dropped,) = [event for event in rig.reports_on("event") if event["kind"] == "blend_dropped"]
    assert dropped["message"].startswith(
        "wave does not flow into nod; nod: a blend of 0.5 s accelerates joint 'elbow' at"
    )
    assert keeps_limits(setpoints(rig))


async def test_a_joint_that_only_the_first_drives_ends_its_way_within_the_blend(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave", "elbow", blend_s=0.5)
        await ask(registry, "speed", speed=0.73)
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["SUCCESSFUL"] * 2
    rows = setpoints(rig)
    assert rows[-1, 0] == sweep(2.0)[-1, 0]
    assert keeps_limits(rows)


async def test_loops_flow_from_their_last_pass_and_ping_pong_from_where_it_ends(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        goals = [(await ask(registry, "play", motion="wave", loop=3))["goal_id"]]
        queued = {"on_busy": "queue", "blend_s": 0.5}
        loops = await ask(registry, "play", motion="nod", loop=2, ping_pong=True, **queued)
        goals += [loops["goal_id"], (await ask(registry, "play", motion="wave", **queued))["goal_id"]]
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["message"] for result in results] == [
        "it flows into nod",
        "it flows into wave",
        "the last row is out and held",
    ]
    assert keeps_limits(setpoints(rig))


async def test_a_blend_that_breaks_a_limit_is_refused_with_those_that_would_do(rig: Rig) -> None:
    async with rig.running() as registry:
        await play(rig, registry, "wave")
        code, message = await refused(registry, "play", motion="nod", on_busy="queue", blend_s=0.02)
        await ask(registry, "stop")
    assert code == "INVALID_MOTION"
    assert message == (
        "nod: a blend of 0.02 s accelerates joint 'elbow' at 589.5 rad/s²; its acceleration limit is "
        "12 rad/s²; 0.2 to 1.995 s would do"
    )


def late(gentle_s: float) -> Floats:
    """Begin gently, then speed up to 1.4 rad/s, and end likewise."""
    half = np.concatenate((np.full(round(gentle_s * RATE_HZ), 0.14), np.full(RATE_HZ // 4, 5.6)))
    bends = np.concatenate(([0.0], half, np.zeros(RATE_HZ // 4), -half[::-1]))
    return np.outer(np.cumsum(np.cumsum(bends)) / RATE_HZ**2, np.ones(len(JOINTS)))


@pytest.mark.parametrize("gentle_s", [0.3, 0.5, 0.8, 1.1])
@pytest.mark.parametrize("blend_s", [0.02, 0.2])
async def test_what_a_faster_motion_flows_into_keeps_the_limits_while_it_slows_down(
    rig: Rig, gentle_s: float, blend_s: float
) -> None:
    motions = rig.folder / "motions"
    write_seq(motions / "calm.seq", 0.1 * sweep(2.0), JOINTS, RATE_HZ)
    write_seq(motions / "late.seq", late(gentle_s) + 0.1 * sweep(2.0)[-1], JOINTS, RATE_HZ)
    async with rig.running() as registry:
        await rig.until_state("idle")
        goals = [(await ask(registry, "play", motion="calm", speed=2.0))["goal_id"]]
        how: dict[str, Any] = {"motion": "late", "on_busy": "queue", "blend_s": blend_s}
        if gentle_s < 0.8:
            code, message = await refused(registry, "play", **how)
            assert code == "INVALID_MOTION"
            assert " behind it, where it may still slow down from speed 2 to 1; " in message
            return
        goals.append((await ask(registry, "play", **how))["goal_id"])
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["SUCCESSFUL"] * 2
    assert results[0]["message"] == "it flows into late"
    assert keeps_limits(setpoints(rig))


async def test_a_motion_that_slows_down_yet_where_the_next_one_would_begin_rests_before_it(rig: Rig) -> None:
    motions = rig.folder / "motions"
    for name, duration_s in (("calm", 2.0), ("brief", 0.5)):
        write_seq(motions / f"{name}.seq", 0.03 * sweep(duration_s), JOINTS, RATE_HZ)
    write_seq(motions / "wave.seq", sweep(1.6) - sweep(1.6)[0] + 0.03 * sweep(0.5)[-1], JOINTS, RATE_HZ)
    (motions / "wave.markers.yaml").unlink()
    rig.robot["stop_duration_s"] = 0.5
    async with rig.running() as registry:
        await rig.until_state("idle")
        goals = [(await ask(registry, "play", motion="calm", speed=2.0))["goal_id"]]
        for motion in ("brief", "wave"):
            how = {"motion": motion, "on_busy": "queue", "blend_s": 0.2}
            goals.append((await ask(registry, "play", **how))["goal_id"])
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["SUCCESSFUL"] * 3
    assert [result["message"] for result in results] == [
        "it flows into brief",
        "the last row is out and held",
        "the last row is out and held",
    ]
    (dropped,) = [event for event in rig.reports_on("event") if event["kind"] == "blend_dropped"]
    assert dropped["message"].endswith("it came too late; it rests between")
    assert keeps_limits(setpoints(rig))


# -- what takes over --------------------------------------------------------------------------------------


async def taken_over(
    rig: Rig, registry: RobotRegistry, row: int, motion: str = "nod", **how: Any
) -> list[str]:
    """Play a motion, and let another take over once it is so far."""
    goals = await play(rig, registry, "wave")
    await on_row(registry, goals[0], row)
    taking = await ask(registry, "play", motion=motion, on_busy="blend", **how)
    return [*goals, taking["goal_id"]]


@pytest.fixture(params=["planned as it begins", "looked at before"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return how the way on which a motion takes over comes about."""
    monkeypatch.setattr(GoalPlanner, "foresees", request.param == "looked at before")
    return str(request.param)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("row", [20, 60, 110, 200, 290, 310])
async def test_a_motion_takes_over_on_the_way_and_the_one_before_is_preempted(rig: Rig, row: int) -> None:
    async with rig.running() as registry:
        goals = await taken_over(rig, registry, row)
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["PREEMPTED", "SUCCESSFUL"]
    assert results[0]["message"] == "nod was asked to replace it, and has taken over on the way"
    assert rig.results() == ["PREEMPTED", "SUCCESSFUL"]
    assert "stopping" not in [state["state"] for state in rig.reports_on("state")]
    rows = setpoints(rig)
    assert keeps_limits(rows)
    assert (rows[-1] == (sweep(2.0) + 0.05)[-1]).all()
    assert rests_between(rows) == 2  # on the first row of either


async def test_a_way_that_is_looked_at_is_not_there_in_time_shortly_before_an_end(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GoalPlanner, "foresees", True)
    async with rig.running() as registry:
        goals = await taken_over(rig, registry, 385)
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["PREEMPTED", "SUCCESSFUL"]
    (dropped,) = [event for event in rig.reports_on("event") if event["kind"] == "blend_dropped"]
    assert dropped["message"] == (
        "wave does not flow into nod; arm: it goes another way within 0.3 s; it rests between"
    )
    assert keeps_limits(setpoints(rig))


async def test_a_motion_takes_over_shortly_before_an_end_by_a_way_that_nobody_looks_at(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await taken_over(rig, registry, 385)
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["PREEMPTED", "SUCCESSFUL"]
    assert rests_between(setpoints(rig)) == 2


@pytest.mark.usefixtures("way")
async def test_joints_that_the_new_motion_does_not_drive_come_to_rest(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await taken_over(rig, registry, 60, "elbow")
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["PREEMPTED", "SUCCESSFUL"]
    rows = setpoints(rig)
    assert keeps_limits(rows)
    assert 0.1 < rows[-1, 0] < 0.4


async def states_around_an_addition(registry: RobotRegistry) -> tuple[list[str], str]:
    """Add a motion; return the states when it is asked for and when it is accepted, and its goal."""
    before = (await ask(registry, "status"))["state"]
    added = await ask(registry, "play", motion="elbow", additive=True, weight=0.01, ramp_s=0.1)
    return [before, (await ask(registry, "status"))["state"]], added["goal_id"]


async def test_what_is_added_on_the_way_from_what_moved_begins_once_that_is_over(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await taken_over(rig, registry, 110)
        states, added = await states_around_an_addition(registry)
        results = [await rig.result_of(goal) for goal in (goals[1], added)]
    assert states == ["approaching", "playing"]
    assert [result["code"] for result in results] == ["SUCCESSFUL"] * 2
    assert keeps_limits(setpoints(rig))


async def test_what_is_added_on_a_blend_begins_once_that_is_over(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave", "nod")
        await on_row(registry, goals[1], 5)
        row = (await ask(registry, "status"))["frame"]
        _, added = await states_around_an_addition(registry)
        begun_on = (await ask(registry, "status"))["frame"]
        results = [await rig.result_of(goal) for goal in (goals[1], added)]
    assert row < 0.5 * RATE_HZ <= begun_on
    assert [result["code"] for result in results] == ["SUCCESSFUL"] * 2
    assert keeps_limits(setpoints(rig))


@pytest.mark.parametrize("way", ["on a blend", "from what was taken over"])
async def test_what_plays_beside_a_way_that_moves_its_joints_begins_once_that_is_over(
    rig: Rig, way: str
) -> None:
    write_seq(rig.folder / "motions" / "shoulder.seq", sweep(1.0)[:, :1], JOINTS[:1], RATE_HZ)
    async with rig.running() as registry:
        if way == "on a blend":
            goals = await play(rig, registry, "wave", "elbow")
            await on_row(registry, goals[1], 5)
        else:
            goals = await taken_over(rig, registry, 60, "elbow")
        beside = await ask(registry, "play", motion="shoulder", on_busy="beside")
        begun = await ask(registry, "status")
        results = [await rig.result_of(goal) for goal in (goals[1], beside["goal_id"])]
    assert (begun["state"], begun["motion"]) == ("playing", "elbow")
    assert begun["frame"] >= (0.5 * RATE_HZ if way == "on a blend" else 0.0)
    assert [result["code"] for result in results] == ["SUCCESSFUL"] * 2
    assert keeps_limits(setpoints(rig))


async def test_what_plays_beside_a_blend_on_other_joints_begins_at_once(rig: Rig) -> None:
    write_seq(rig.folder / "motions" / "shoulder.seq", sweep(1.0)[:, :1], JOINTS[:1], RATE_HZ)
    async with rig.running() as registry:
        goals = await play(rig, registry, "elbow", "elbow")
        await on_row(registry, goals[1], 5)
        beside = await ask(registry, "play", motion="shoulder", on_busy="beside")
        begun_on = (await ask(registry, "status"))["frame"]
        results = [await rig.result_of(goal) for goal in (goals[1], beside["goal_id"])]
    assert begun_on < 0.5 * RATE_HZ
    assert [result["code"] for result in results] == ["SUCCESSFUL"] * 2


async def test_what_is_added_on_a_blend_that_is_paused_is_given_up_with_what_is_awaited(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave", "nod")
        await on_row(registry, goals[1], 5)
        await ask(registry, "pause")
        with monkeypatch.context() as impatient:
            impatient.setattr("motiond.daemon.robots.robot.ANSWER_TIMEOUT_S", 0.5)
            given_up = await refused(registry, "play", motion="elbow", additive=True, weight=0.01)
        await ask(registry, "resume")
        result = await rig.result_of(goals[1])
    reason = "the robot is paused with torque on, and the end of the blend is still awaited"
    fix = "it does not begin any more; ask again"
    assert given_up == ("TIMEOUT", f"arm: not done in 0.5 s; {reason}; {fix}")
    assert result["code"] == "SUCCESSFUL"


@pytest.mark.usefixtures("way")
async def test_it_takes_over_from_a_pause_and_on_the_way_to_one(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave")
        await on_row(registry, goals[0], 60)
        await ask(registry, "pause")
        goals.append((await ask(registry, "play", motion="nod", on_busy="blend"))["goal_id"])
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["PREEMPTED", "SUCCESSFUL"]
    assert keeps_limits(setpoints(rig))


@pytest.mark.usefixtures("way")
async def test_one_takes_over_from_one_that_has_just_taken_over(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await taken_over(rig, registry, 60)
        for motion in ("wave", "elbow", "nod"):
            await asyncio.sleep(0.1)
            goals.append((await ask(registry, "play", motion=motion, on_busy="blend"))["goal_id"])
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["PREEMPTED"] * 4 + ["SUCCESSFUL"]
    assert keeps_limits(setpoints(rig))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.1, 0.3])
async def test_a_stop_on_the_way_from_what_moved_keeps_the_limits_and_ends_the_new_one(
    rig: Rig, after_s: float
) -> None:
    async with rig.running() as registry:
        goals = await taken_over(rig, registry, 60)
        await asyncio.sleep(after_s)
        await ask(registry, "stop")
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["PREEMPTED", "CANCELED"]
    assert keeps_limits(setpoints(rig))


@pytest.mark.usefixtures("way")
async def test_what_waits_is_ended_and_what_is_queued_behind_it_flows_on(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave", "nod")
        await on_row(registry, goals[0], 100)
        goals.append((await ask(registry, "play", motion="nod", on_busy="blend"))["goal_id"])
        queued = await ask(registry, "play", motion="wave", on_busy="queue", blend_s=0.5)
        goals.append(queued["goal_id"])
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["PREEMPTED", "PREEMPTED", "SUCCESSFUL", "SUCCESSFUL"]
    assert results[2]["message"] == "it flows into wave"
    assert keeps_limits(setpoints(rig))


async def test_where_no_way_is_within_the_limits_it_stops_first_and_says_so(rig: Rig) -> None:
    narrow = LIMITS | {"lower": 0.09, "upper": 0.51, "acceleration": 3.3}
    rig.robot["joints"] = {name: {"limits": narrow} for name in JOINTS}
    rig.robot["stop_duration_s"] = 0.05
    (rig.folder / "motions" / "wave.markers.yaml").unlink()
    write_seq(rig.folder / "motions" / "wave.seq", sweep(1.6), JOINTS, RATE_HZ)
    async with rig.running() as registry:
        goals = await play(rig, registry, "wave")
        await on_row(registry, goals[0], 90)
        goals.append((await ask(registry, "play", motion="wave", on_busy="blend"))["goal_id"])
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["PREEMPTED", "SUCCESSFUL"]
    (dropped,) = [event for event in rig.reports_on("event") if event["kind"] == "blend_dropped"]
    assert dropped["message"] == (
        "it does not flow into the next motion; it would lead beyond a limit of position; it rests between"
    )
    rows = setpoints(rig)
    assert rows[200:].min() >= 0.09
    assert rows.max() <= 0.51


async def test_it_begins_as_any_other_where_nothing_plays(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        answer = await ask(registry, "play", motion="nod", on_busy="blend")
        assert (await rig.result_of(answer["goal_id"]))["code"] == "SUCCESSFUL"
