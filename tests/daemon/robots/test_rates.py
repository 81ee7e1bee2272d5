"""Behaviour of motions at different rates that are played together: rows, places, what is refused."""

from __future__ import annotations

import time
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.robots import GoalPlanner
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, refused, sweep, write_seq

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.formats.arrays import Floats

pytestmark = pytest.mark.slow

LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 20.0}
SLOW_HZ, FAST_HZ = RATE_HZ / 2, RATE_HZ * 2


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.robot["joints"] = {name: {"limits": LIMITS} for name in JOINTS}
    motions = rig.folder / "motions"
    for name, joints, rate_hz, duration_s in (
        ("wave", JOINTS[:1], RATE_HZ, 2.0),
        ("grip_slow", JOINTS[1:], SLOW_HZ, 1.0),
        ("grip_fast", JOINTS[1:], FAST_HZ, 1.0),
        ("swing", JOINTS, RATE_HZ, 2.0),
        ("nod_slow", JOINTS, SLOW_HZ, 2.0),
        ("nod_fast", JOINTS, FAST_HZ, 2.0),
    ):
        write_seq(motions / f"{name}.seq", sweep(duration_s, rate_hz, len(joints)), joints, rate_hz)
        if name != "wave":
            (motions / f"{name}.markers.yaml").write_text(f"markers: {{half: {{time: {duration_s / 2}}}}}\n")
    cut = sweep(1.0, SLOW_HZ, 1)
    cut[-1] = cut[-2] + (cut[-2] - cut[-3]) + 0.0005
    write_seq(motions / "cut.seq", cut, JOINTS[1:], SLOW_HZ)
    breath = 0.05 - 0.05 * np.cos(np.linspace(0.0, 2 * np.pi, round(2 * SLOW_HZ) + 1))
    write_seq(motions / "breathe.seq", breath[:, None], JOINTS[:1], SLOW_HZ)
    return rig


def setpoints(rig: Rig) -> Floats:
    positions: Floats = read_trace(rig.folder / "trace.npy")["position"]
    return positions


def keeps_limits(rows: Floats, rate_hz: float = RATE_HZ) -> bool:
    """Whether differences of setpoints keep velocity and acceleration limits (1.02 of it, as in blends)."""
    steps, bends = np.diff(rows, axis=0) * rate_hz, np.diff(rows, 2, axis=0) * rate_hz**2
    return bool(np.abs(steps).max() <= 3.0 * (1 + 1e-9) and np.abs(bends).max() <= 20.0 * 1.02)


async def play(registry: RobotRegistry, motion: str, **how: Any) -> str:
    goal_id: str = (await ask(registry, "play", motion=motion, **how))["goal_id"]
    return goal_id


async def begun(rig: Rig, registry: RobotRegistry, motion: str, **how: Any) -> str:
    await rig.until_state("idle")
    await ask(registry, "enable")
    goal_id = await play(registry, motion, **how)
    await rig.until_state("playing")
    return goal_id


def are_among(expected: Floats, rows: Floats, near: float = 0.0) -> bool:
    """Whether some rows in a row are as expected, and how near."""
    parts = np.lib.stride_tricks.sliding_window_view(rows, len(expected), axis=0)
    return bool((np.abs(parts - expected.T).max(axis=(1, 2)) <= near).any())


@pytest.mark.parametrize("motion", ["grip_slow", "grip_fast"])
async def test_a_motion_beside_others_has_the_rate_of_what_plays(rig: Rig, motion: str) -> None:
    async with rig.running() as registry:
        wave = await begun(rig, registry, "wave")
        grip = await play(registry, motion, on_busy="beside")
        results = [await rig.result_of(goal) for goal in (grip, wave)]
    assert [(result["motion"], result["code"]) for result in results] == [
        (motion, "SUCCESSFUL"),
        ("wave", "SUCCESSFUL"),
    ]
    assert results[0]["played_s"] == pytest.approx(1.0)
    rows = setpoints(rig)
    assert keeps_limits(rows)
    assert are_among(sweep(2.0, joints=1), rows[:, :1])
    assert are_among(sweep(1.0, joints=1), rows[:, 1:], 1e-12 if motion == "grip_fast" else 1e-4)


async def test_frames_and_markers_are_those_of_the_file(rig: Rig) -> None:
    async with rig.running() as registry:
        wave = await begun(rig, registry, "wave")
        half = {"marker": "half"}
        grip = await play(registry, "grip_slow", on_busy="beside", first=half, last={"frame": 80})
        await rig.result_of(wave)
        await rig.result_of(grip)
        goal = await begun(rig, registry, "swing")
        nod = await play(registry, "nod_slow", on_busy="queue", blend_s=0.3)
        await rig.result_of(goal)
        status = await ask(registry, "status")
        await ask(registry, "seek", frame=150)
        await rig.result_of(nod)
    assert (status["motion"], status["duration"]) == ("nod_slow", 2.0)
    assert status["frame"] == pytest.approx(status["time"] * SLOW_HZ)
    assert status["progress"] == pytest.approx(status["frame"] / 200.0)
    markers = [event for event in rig.reports_on("event") if event["kind"] == "marker"]
    assert [event["message"] for event in markers] == ["grip_slow: half", "swing: half"]
    rows, column = setpoints(rig), sweep(1.0, SLOW_HZ, 1)[:, 0]
    played = rows[np.flatnonzero(np.abs(np.diff(rows[:, 1], prepend=0.0)) > 0.0), 1]
    assert np.abs(played - column[50]).min() < 1e-12
    assert np.abs(played - column[80]).min() < 1e-12


async def test_limits_are_checked_on_the_rows_that_would_be_played(rig: Rig) -> None:
    """The recording ends in motion: at twice its rate it comes to rest in half the time."""
    rig.robot["joints"]["elbow"] = {"limits": LIMITS | {"acceleration": 5.0}}
    async with rig.running() as registry:
        alone = await begun(rig, registry, "cut")
        assert (await rig.result_of(alone))["code"] == "SUCCESSFUL"
        wave = await play(registry, "wave")
        code, message = await refused(registry, "play", motion="cut", on_busy="beside")
        assert (await rig.result_of(wave))["code"] == "SUCCESSFUL"
    assert code == "INVALID_MOTION"
    assert message == (
        "cut: at the 200 rows/s of what plays, joint 'elbow' accelerates at 6.31 rad/s² at 0.990 s "
        "(frame 99, the worst of 2); its acceleration limit is 5 rad/s²; let `on_violation: slow` slow it "
        "to 0.854 of its speed or raise `joints.elbow.limits.acceleration`"
    )


async def test_a_motion_is_added_at_the_rate_of_what_plays_and_leaves_room_for_what_comes(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = [await begun(rig, registry, "swing")]
        goals.append(await play(registry, "nod_fast", on_busy="queue"))
        added = await play(registry, "breathe", additive=True, loop="forever", weight=0.5)
        goals.append(await play(registry, "nod_slow", on_busy="queue"))
        results = [await rig.result_of(goal) for goal in goals]
        status = await ask(registry, "status")
        await ask(registry, "stop", goal_id=added)
        results.append(await rig.result_of(added))
    assert [result["code"] for result in results] == ["SUCCESSFUL"] * 3 + ["CANCELED"]
    assert [goal["motion"] for goal in status["goals"]] == ["breathe"]
    assert keeps_limits(setpoints(rig))


async def test_what_begins_beside_what_is_added_has_its_rate_and_its_own_without(rig: Rig) -> None:
    async with rig.running() as registry:
        added = await begun(rig, registry, "breathe", additive=True, loop="forever", weight=0.1)
        fast = await play(registry, "nod_fast")
        replaced = [fast, await play(registry, "swing", on_busy="replace")]
        first = [await rig.result_of(goal) for goal in replaced]
        await ask(registry, "stop")
        await rig.result_of(added)
        await rig.until_state("idle", len(rig.reports) - 5)
        alone = await rig.result_of(await play(registry, "nod_fast"))
    assert [result["code"] for result in first] == ["PREEMPTED", "SUCCESSFUL"]
    assert first[1]["timing"]["tick_rate_hz"] == pytest.approx(SLOW_HZ, rel=0.1)
    assert alone["timing"]["tick_rate_hz"] == pytest.approx(FAST_HZ, rel=0.1)


@pytest.mark.parametrize("motion", ["nod_slow", "nod_fast"])
async def test_a_motion_flows_into_one_of_another_rate(rig: Rig, motion: str) -> None:
    async with rig.running() as registry:
        goals = [await begun(rig, registry, "swing")]
        queued = {"on_busy": "queue", "blend_s": 0.3}
        goals += [await play(registry, name, **queued) for name in (motion, "swing", motion)]
        results = [await rig.result_of(goal) for goal in goals]
    assert [(result["motion"], result["message"]) for result in results] == [
        ("swing", f"it flows into {motion}"),
        (motion, "it flows into swing"),
        ("swing", f"it flows into {motion}"),
        (motion, "the last row is out and held"),
    ]
    assert not [event for event in rig.reports_on("event") if event["kind"] == "blend_dropped"]
    rows = setpoints(rig)
    assert keeps_limits(rows)
    assert (rows[-1] == sweep(2.0)[-1]).all()


async def test_a_blend_with_what_waits_from_rest_is_at_the_rate_of_that(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = [await begun(rig, registry, "swing"), await play(registry, "nod_fast", on_busy="queue")]
        goals.append(await play(registry, "nod_slow", on_busy="queue", blend_s=0.3))
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["message"] for result in results] == [
        "the last row is out and held",
        "it flows into nod_slow",
        "the last row is out and held",
    ]
    assert results[2]["timing"]["tick_rate_hz"] == pytest.approx(FAST_HZ, rel=0.1)


async def test_a_blend_is_dropped_where_another_motion_comes_to_be_before_it(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = [await begun(rig, registry, "swing"), await play(registry, "nod_fast", on_busy="queue")]
        goals.append(await play(registry, "swing", on_busy="queue", blend_s=0.3))
        await ask(registry, "queue/remove", goal_id=goals[1])
        results = [await rig.result_of(goal) for goal in goals]
    assert [result["code"] for result in results] == ["SUCCESSFUL", "CANCELED", "SUCCESSFUL"]
    assert results[2]["timing"]["tick_rate_hz"] == pytest.approx(RATE_HZ, rel=0.1)


@pytest.mark.parametrize("planned", ["at_rate", "blend_of"])
async def test_what_takes_long_to_be_planned_is_refused_in_time_and_found_done_by_who_asks_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, planned: str
) -> None:
    """It is planned once, while the daemon goes on."""
    asked_for, go_on, plan = list[Any](), Event(), getattr(GoalPlanner, planned)

    def slowly(self: GoalPlanner, *asked: Any) -> Any:
        asked_for.append(asked)
        while not go_on.is_set():
            time.sleep(0.01)
        return plan(self, *asked)

    how: dict[str, Any] = {"motion": "nod_slow", "on_busy": "queue", "blend_s": 0.3}
    what = "the blend into nod_slow"
    if planned == "at_rate":
        how, what = {"motion": "grip_slow", "on_busy": "beside"}, "grip_slow at 200 rows a second"
    async with rig.running() as registry:
        first = await begun(rig, registry, "wave" if planned == "at_rate" else "swing")
        with monkeypatch.context() as slow:
            slow.setattr(GoalPlanner, planned, slowly)
            slow.setattr("motiond.daemon.robots.handlers.READ_WITHIN_S", 0.1)
            answers = [await refused(registry, "play", **how) for _ in range(3)]
        count = len(asked_for)
        go_on.set()
        second = await play(registry, **how)
        results = [await rig.result_of(goal) for goal in (first, second)]
    assert (
        answers
        == [("BUSY", f"arm: {what} is still being planned; that takes long; send it again in a moment")] * 3
    )
    assert count == 1
    assert [result["code"] for result in results] == ["SUCCESSFUL"] * 2


async def test_a_recording_of_both_plays_again_bit_for_bit(rig: Rig) -> None:
    rig.robot["recording"] = {"when": "motion", "folder": "recordings"}
    async with rig.running() as registry:
        goals = [await begun(rig, registry, "wave"), await play(registry, "grip_slow", on_busy="beside")]
        results = [await rig.result_of(goal) for goal in goals]
    rows, wave = setpoints(rig), sweep(2.0, joints=1)
    first = next(k for k in range(len(rows)) if (rows[k : k + len(wave), :1] == wave).all())
    async with rig.running() as registry:
        await rig.until_state("idle", len(rig.reports))
        again = await play(registry, results[0]["recording"].removesuffix(".mcap"))
        assert (await rig.result_of(again))["code"] == "SUCCESSFUL"
    assert are_among(rows[first : first + len(wave)], setpoints(rig)[len(rows) :])
