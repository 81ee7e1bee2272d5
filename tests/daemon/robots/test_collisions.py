"""A robot whose links would come too near to each other, or to what is around: nothing of it begins.

Two fingers lie side by side, 0.2 m apart, each 0.3 m long and turned by its joint about its lower end; a post
stands where the left one passes at 0.6 rad.
"""

from __future__ import annotations

import asyncio
import time
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.api import PlayRequest, RequestError
from motiond.daemon.config.settings import load_settings
from motiond.daemon.joints import build_joint_map
from motiond.daemon.physics import TOLERANCE_M, Clearance, make_world, walls_of
from motiond.daemon.planning.checks import CollisionCheck
from motiond.daemon.robots.session import GoalPlanner, body_checks
from motiond.daemon.tools.dry_run import run_dry
from motiond.drivers.sim.command_log import read_trace
from motiond.formats import load_robot
from tests.daemon.physics.robots import clearance_of
from tests.daemon.rig import Rig, ask, refused, write_seq

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.planning import Plan
    from motiond.daemon.robots.registry import RobotRegistry

RATE_HZ = 100
JOINTS = ("left", "right")
FINGER = """
  <link name="{name}_finger"><collision><origin xyz="0.15 0 0"/>
    <geometry><box size="0.3 0.04 0.04"/></geometry></collision></link>
  <joint name="{name}" type="revolute"><parent link="palm"/><child link="{name}_finger"/>
    <origin xyz="0 {y} 0"/><axis xyz="0 0 1"/>
    <limit lower="-1.5" upper="1.5" velocity="3" effort="5"/></joint>"""
PINCERS = f"""<robot name="pincers">
  <link name="palm"><collision><origin xyz="-0.1 0 0"/>
    <geometry><box size="0.1 0.3 0.04"/></geometry></collision></link>
  {FINGER.format(name="left", y=0.1)}{FINGER.format(name="right", y=-0.1)}
</robot>
"""
POST = {"name": "post", "box": [0.02, 0.02, 0.5], "position": [0.2, 0.24, 0.0]}
MOVE_APART = "`collision.margin_m` is 5 mm; move them apart, or name both in `collision.ignore`"


def swing(*by: float, duration_s: float = 1.0, start: float = 0.0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Swing joints there and back from rest to rest; shape (rows, joints)."""
    at = np.linspace(0.0, 1.0, round(duration_s * RATE_HZ) + 1)
    return start + np.outer(0.5 - 0.5 * np.cos(2 * np.pi * at), by)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    (tmp_path / "pincers.urdf").write_text(PINCERS)
    rig.robot["model"] = "pincers.urdf"
    del rig.robot["joints"]
    rig.robot["collision"] = {"workspace": [POST]}
    for path in (tmp_path / "motions").iterdir():
        path.unlink()
    for name, joints, rows in (
        ("close", JOINTS, swing(-0.4, 0.4)),
        ("nod", JOINTS, swing(-0.2, 0.2)),
        ("left_in", ("left",), swing(-0.4)),
        ("long_left", ("left",), swing(-0.4, duration_s=6.0)),
        ("right_in", ("right",), swing(0.4)),
        ("right_out", ("right",), swing(-0.4)),
        ("far", ("left",), 1.0 + swing(0.1)),
    ):
        write_seq(tmp_path / "motions" / f"{name}.seq", rows, joints, RATE_HZ)
    return rig


async def go(rig: Rig, registry: RobotRegistry, **joints: float) -> None:
    goal_id = (await ask(registry, "goto", joints=joints))["goal_id"]
    assert (await rig.rest_after(goal_id))["code"] == "SUCCESSFUL"


def moved(rig: Rig) -> bool:
    positions = read_trace(rig.folder / "trace.npy")["position"]
    return bool(np.ptp(np.nan_to_num(positions), axis=0).any())


async def test_a_motion_in_which_links_meet_is_listed_and_refused(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        listed = {one["name"]: one for one in rig.reports_on("motions")[-1]["motions"]}
        refusal = await refused(registry, "play", motion="close")
    close, nod = listed["close"], listed["nod"]
    assert refusal == ("INVALID_MOTION", close["reason"])
    assert close["reason"] == (
        "close: links 'left_finger' and 'right_finger' are 40 mm in each other at 0.400 s (frame 40); "
        + MOVE_APART
    )
    assert close["nearest"]["links"] == nod["nearest"]["links"] == ["left_finger", "right_finger"]
    assert nod["ok"]
    assert nod["nearest"]["distance_m"] > 0.03
    assert nod["nearest"]["time"] == pytest.approx(0.5, abs=0.05)


async def test_what_a_motion_leaves_where_it_is_counts_when_it_begins(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        accepted = await ask(registry, "play", motion="left_in")
        assert (await rig.rest_after(accepted["goal_id"]))["code"] == "SUCCESSFUL"
        await go(rig, registry, right=0.4)
        code, message = await refused(registry, "play", motion="left_in")
        status = await ask(registry, "status")
    assert code == "INVALID_MOTION"
    assert message == (
        "left_in: links 'left_finger' and 'right_finger' are 40 mm in each other at 0.350 s; " + MOVE_APART
    )
    assert (status["state"], status["goals"]) == ("idle", [])


async def test_a_way_that_leads_through_something_is_refused_and_nothing_moves(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        to_far = await refused(registry, "play", motion="far")
        to_posture = await refused(registry, "goto", joints={"left": 1.0})
        await go(rig, registry, left=0.2)
    assert to_far[0] == to_posture[0] == "INVALID_MOTION"
    assert to_far[1].startswith("far: on the way, 'post' and 'left_finger' are ")
    assert to_posture[1].startswith("goto: on the way, 'post' and 'left_finger' are ")
    assert to_posture[1].endswith(MOVE_APART)


async def test_the_refusal_says_where_they_are_nearest_for_programs(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        with pytest.raises(RequestError) as refusal:
            await ask(registry, "goto", joints={"left": 1.0})
    nearest = refusal.value.data["nearest"]
    assert nearest["links"] == ["post", "left_finger"]
    assert nearest["distance_m"] < 0.0
    assert np.shape(nearest["points"]) == (2, 3)


async def test_a_robot_that_is_in_a_collision_is_led_out_of_it_and_not_deeper_in(rig: Rig) -> None:
    rig.driver["initial"] = {"left": 0.62}
    async with rig.running() as registry:
        await rig.until_state("idle")
        code, through = await refused(registry, "goto", joints={"left": 0.2})
        await go(rig, registry, left=0.7)
        await go(rig, registry, left=1.0)
    assert code == "INVALID_MOTION"
    assert through.startswith("goto: on the way, 'post' and 'left_finger' come nearer, and are ")


async def test_warned_of_it_is_played(rig: Rig) -> None:
    rig.robot["collision"]["on_violation"] = "warn"
    async with rig.running() as registry:
        await rig.until_state("idle")
        await go(rig, registry, right=0.4)
        accepted = await ask(registry, "play", motion="left_in")
        assert (await rig.rest_after(accepted["goal_id"]))["code"] == "SUCCESSFUL"
        close = next(one for one in rig.reports_on("motions")[-1]["motions"] if one["name"] == "close")
    warnings = [event["message"] for event in rig.reports_on("event") if event["kind"] == "warning"]
    expected = "links 'left_finger' and 'right_finger' are 40 mm in each other at 0.350 s"
    assert f"left_in: {expected}; {MOVE_APART}" in warnings
    assert [line for line in close["warnings"] if "in each other" in line] == [
        "close: links 'left_finger' and 'right_finger' are 40 mm in each other at 0.400 s (frame 40); "
        + MOVE_APART
    ]
    assert close["ok"]


async def test_pairs_that_are_ignored_may_meet(rig: Rig) -> None:
    rig.robot["collision"] = {"ignore": [["right_finger", "left_finger"], ["left_finger", "post"]]} | {
        "workspace": [POST]
    }
    async with rig.running() as registry:
        await rig.until_state("idle")
        await go(rig, registry, left=1.0)
        accepted = await ask(registry, "play", motion="close")
        assert (await rig.rest_after(accepted["goal_id"]))["code"] == "SUCCESSFUL"


async def test_every_link_has_to_stay_in_what_is_allowed(rig: Rig) -> None:
    cell = {"name": "cell", "kind": "allowed", "box": [1.0, 0.5, 1.0]}
    rig.robot["collision"] = {"workspace": [cell]}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await go(rig, registry, left=0.3)
        code, message = await refused(registry, "goto", joints={"left": 1.2})
    assert code == "INVALID_MOTION"
    assert "'cell +y' and 'left_finger' are " in message


# -- beside others ------------------------------------------------------------------------------------------


async def test_what_may_meet_what_plays_beside_it_does_not_begin(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        base = (await ask(registry, "play", motion="long_left"))["goal_id"]
        await rig.until_state("playing")
        code, message = await refused(registry, "play", motion="right_in", on_busy="beside")
        beside = (await ask(registry, "play", motion="right_out", on_busy="beside"))["goal_id"]
        results = [(await rig.result_of(goal))["code"] for goal in (beside, base)]
    assert code == "INVALID_MOTION"
    assert message.startswith("right_in: links 'left_finger' and 'right_finger' are ")
    assert ", and what plays beside may take " in message
    assert results == ["SUCCESSFUL", "SUCCESSFUL"]


@pytest.mark.parametrize("begins", [True, False])
async def test_what_just_keeps_clear_of_what_plays_beside_it_begins(
    rig: Rig,
    monkeypatch: pytest.MonkeyPatch,
    begins: bool,  # noqa: FBT001
) -> None:
    """It is clear of each part of the other, which what is known of the whole does not say."""
    if not begins:
        monkeypatch.setattr(body_checks, "_tracks_of", lambda goal: [goal.playback.track.track][:0])
    write_seq(rig.folder / "motions" / "right_some.seq", swing(0.135), ("right",), RATE_HZ)
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "play", motion="long_left")
        await rig.until_state("playing")
        if begins:
            beside = (await ask(registry, "play", motion="right_some", on_busy="beside"))["goal_id"]
            assert (await rig.result_of(beside))["code"] == "SUCCESSFUL"
        else:
            refusal = await refused(registry, "play", motion="right_some", on_busy="beside")
            assert refusal[0] == "INVALID_MOTION"
        await ask(registry, "stop")


async def test_what_only_the_other_moves_was_looked_at_with_it(rig: Rig) -> None:
    """The left finger goes from far to far, past the post half way between in no row of its own."""
    at = np.linspace(0.0, 1.0, 601)
    there = np.stack([at**3 * (10 - 15 * at + 6 * at**2), 0 * at], axis=1)[:, :1]
    rig.robot["collision"] = {"workspace": [POST | {"position": [0.27, 0.255, 0.0]}]}
    write_seq(rig.folder / "motions" / "wide.seq", -0.4 + 0.8 * there, ("left",), RATE_HZ)
    async with rig.running() as registry:
        await rig.until_state("idle")
        base = (await ask(registry, "play", motion="wide"))["goal_id"]
        await rig.until_state("playing")
        beside = (await ask(registry, "play", motion="right_out", on_busy="beside"))["goal_id"]
        assert [(await rig.result_of(goal))["code"] for goal in (beside, base)] == ["SUCCESSFUL"] * 2


async def test_what_is_added_leaves_links_clear_of_each_other(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        base = (await ask(registry, "play", motion="long_left"))["goal_id"]
        await rig.until_state("playing")
        code, message = await refused(registry, "play", motion="right_in", on_busy="beside", additive=True)
        light = await ask(registry, "play", motion="right_in", on_busy="beside", additive=True, weight=0.1)
        await rig.result_of(light["goal_id"])
        await ask(registry, "stop")
        await rig.result_of(base)
    assert code == "INVALID_MOTION"
    assert message.startswith("right_in: added to long_left, links 'left_finger' and 'right_finger' are ")


# -- one after the other ------------------------------------------------------------------------------------


async def test_a_sequence_whose_ways_lead_through_something_is_refused(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        code, message = await refused(
            registry, "sequence", steps=[{"motion": "left_in"}, {"motion": "far"}, {"motion": "left_in"}]
        )
    assert code == "INVALID_MOTION"
    assert message.startswith("sequence: 'post' and 'left_finger' are ")


async def test_what_waits_ends_where_its_way_leads_through_something(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        first = (await ask(registry, "play", motion="nod"))["goal_id"]
        queued = (await ask(registry, "play", motion="far", on_busy="queue"))["goal_id"]
        results = [await rig.result_of(goal) for goal in (first, queued)]
    assert [one["code"] for one in results] == ["SUCCESSFUL", "INVALID_GOAL"]
    assert results[1]["message"].startswith("far: on the way, 'post' and 'left_finger'")


async def test_a_file_that_is_uploaded_is_looked_at_before_it_is_kept(rig: Rig) -> None:
    write_seq(rig.folder / "again.seq", swing(-0.4, 0.4), JOINTS, RATE_HZ)
    async with rig.running() as registry:
        await rig.until_state("idle")
        robot = registry.members["arm"].robot
        (entry,) = robot.library.check(rig.folder / "again.seq")
    assert entry.plan is None
    assert entry.reason.startswith("again: links 'left_finger' and 'right_finger' are 40 mm in each other")


async def test_a_blend_that_leads_through_something_is_refused(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "play", motion="long_left")
        code, message = await refused(registry, "play", motion="far", on_busy="queue", blend_s=0.9)
        await ask(registry, "stop")
    assert code == "INVALID_MOTION"
    assert "'post' and 'left_finger' are " in message


async def test_a_motion_takes_over_on_a_way_that_is_clear(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        first = (await ask(registry, "play", motion="long_left"))["goal_id"]
        await rig.until_state("playing")
        second = (await ask(registry, "play", motion="nod", on_busy="blend"))["goal_id"]
        results = [(await rig.result_of(goal))["code"] for goal in (first, second)]
    assert results == ["PREEMPTED", "SUCCESSFUL"]
    assert "stopping" not in {data["state"] for data in rig.reports_on("state")}
    assert not any(event["kind"] == "blend_dropped" for event in rig.reports_on("event"))


async def test_a_motion_does_not_take_over_on_a_way_that_leads_through_something(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        first = (await ask(registry, "play", motion="long_left"))["goal_id"]
        await rig.until_state("playing")
        code, message = await refused(registry, "play", motion="far", on_busy="blend")
        result = await rig.result_of(first)
    assert (code, result["code"]) == ("INVALID_MOTION", "PREEMPTED")
    assert message.startswith("far: on the way, 'post' and 'left_finger' are ")
    (dropped,) = [event for event in rig.reports_on("event") if event["kind"] == "blend_dropped"]
    begin = "long_left does not flow into far; far: on the way, 'post' and 'left_finger' are "
    assert dropped["message"].startswith(begin)
    assert dropped["message"].endswith("; it rests between")


async def test_a_stop_while_a_way_from_what_moves_is_looked_at_holds(rig: Rig, slow_look: Event) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        slow_look.set()
        first = (await ask(registry, "play", motion="long_left"))["goal_id"]
        await rig.until_state("playing")
        slow_look.clear()
        taking = asyncio.create_task(refused(registry, "play", motion="nod", on_busy="blend"))
        await asyncio.sleep(0.1)
        await ask(registry, "stop")
        code, _ = await taking
        slow_look.set()
        assert (await rig.result_of(first))["code"] == "CANCELED"
        await rig.until_state("idle")
    assert code == "CANCELED"


async def test_a_way_to_park_that_leads_through_something_is_not_gone(rig: Rig) -> None:
    rig.robot |= {"on_end": "park", "poses": {"park": {"left": 1.0}}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        played = (await ask(registry, "play", motion="nod"))["goal_id"]
        assert (await rig.result_of(played))["follows"] == "park"
        parked = await rig.until("result", lambda data: data["motion"] == "park")
    assert parked["code"] == "INVALID_GOAL"
    assert parked["message"].startswith("park: on the way, 'post' and 'left_finger' are ")


async def test_a_robot_parks_after_a_motion_and_on_exit(rig: Rig) -> None:
    rig.robot |= {"on_end": "park", "on_exit": "park", "poses": {"park": {"left": 0.1}}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        played = (await ask(registry, "play", motion="nod"))["goal_id"]
        await rig.result_of(played)
        assert (await rig.until("result", lambda data: data["motion"] == "park"))["code"] == "SUCCESSFUL"
        await go(rig, registry, left=0.3)
    assert read_trace(rig.folder / "trace.npy")["position"][-1, 0] == pytest.approx(0.1, abs=1e-6)


async def test_a_seek_goes_where_the_way_is_clear(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        goal_id = (await ask(registry, "play", motion="long_left"))["goal_id"]
        await rig.until_state("playing")
        answer = await ask(registry, "seek", time=5.9)
        assert answer["goal_id"] == goal_id
        assert (await rig.result_of(goal_id))["code"] == "SUCCESSFUL"


async def test_no_setpoint_of_what_is_accepted_is_within_the_margin(rig: Rig) -> None:
    """Random postures, each gone to or refused; what refuses leaves the robot where it is."""
    chosen, refusals = np.random.default_rng(7).uniform(-0.9, 0.9, (60, 2)), list[RequestError]()
    rig.robot["approach"] = {"velocity": 3.0, "acceleration": 30.0, "jerk": 600.0}
    async with rig.running() as registry:
        await rig.until_state("idle")
        for left, right in chosen.tolist():
            try:
                await go(rig, registry, left=left, right=right)
            except RequestError as refusal:
                refusals.append(refusal)
    assert {refusal.code for refusal in refusals} == {"INVALID_MOTION"}
    assert all("links " in str(refusal) or "'post'" in str(refusal) for refusal in refusals)
    assert 10 < len(refusals) < 50
    settings = load_settings(rig.config).robots["arm"]
    assert settings.collision is not None
    model = load_robot(rig.folder / "pincers.urdf")
    joint_map = build_joint_map("arm", model, {})
    walls = walls_of("arm", settings.collision.workspace)
    look = Clearance(make_world(model, joint_map, workspace=walls), joint_map).look()
    setpoints = read_trace(rig.folder / "trace.npy")["position"]
    rows = np.unique(setpoints[np.isfinite(setpoints).all(axis=1)], axis=0)
    nearest = min(found.distance_m for row in rows if (found := look.nearest(row)) is not None)
    assert 0.005 - TOLERANCE_M <= nearest < 0.02


# -- while it is looked at ----------------------------------------------------------------------------------


@pytest.fixture
def slow_look(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Let each look at a way take until the event is set."""
    go_on, look = Event(), CollisionCheck.of_way

    def slowly(self: CollisionCheck, way: Any, meanwhile: Any, joint_map: Any) -> Any:
        while not go_on.is_set():
            time.sleep(0.01)  # others go on meanwhile
        return look(self, way, meanwhile, joint_map)

    monkeypatch.setattr(CollisionCheck, "of_way", slowly)
    return go_on


async def test_the_daemon_goes_on_while_a_way_is_looked_at(rig: Rig, slow_look: Event) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        asked = asyncio.create_task(ask(registry, "goto", joints={"left": 0.3}))
        for _ in range(5):
            assert (await ask(registry, "status"))["goals"] == []
            await asyncio.sleep(0.01)
        assert not asked.done()
        slow_look.set()
        assert (await rig.rest_after((await asked)["goal_id"]))["code"] == "SUCCESSFUL"


async def test_a_look_that_takes_longer_than_a_client_waits_is_found_done_by_who_asks_again(
    rig: Rig, slow_look: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, look = list[Any](), GoalPlanner.look_ahead

    def count(self: GoalPlanner, goal: Any, *others: Any) -> None:
        looks.append(goal)
        look(self, goal, *others)

    monkeypatch.setattr(GoalPlanner, "look_ahead", count)
    async with rig.running() as registry:
        await rig.until_state("idle")
        with monkeypatch.context() as impatient:
            impatient.setattr("motiond.daemon.robots.robot.ANSWER_TIMEOUT_S", 0.2)
            first = await refused(registry, "goto", joints={"left": 0.3})
            second = await refused(registry, "goto", joints={"left": 0.3})
            slow_look.set()
        await go(rig, registry, left=0.3)
        assert rig.results() == ["SUCCESSFUL"]
    reason = "the robot is idle with torque on, and the look at where it leads is still awaited"
    fix = "it does not begin any more, but the look goes on; ask again in some seconds"
    assert first == second == ("TIMEOUT", f"arm: not done in 0.2 s; {reason}; {fix}")
    assert len(looks) == 1


async def test_a_robot_is_idle_while_a_motion_is_checked_for_long_and_lists_it_so(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, look = Event(), CollisionCheck.of_plan

    def slowly(self: CollisionCheck, planned: Plan, *others: Any) -> Any:
        while planned.motion == "nod" and not go_on.is_set():
            time.sleep(0.01)
        return look(self, planned, *others)

    monkeypatch.setattr(CollisionCheck, "of_plan", slowly)
    async with rig.running() as registry:
        await rig.until_state("idle")
        listed = {one["name"]: one for one in rig.reports_on("motions")[-1]["motions"]}
        answer = await refused(registry, "play", motion="nod")
        await go(rig, registry, left=0.1)
        go_on.set()
        await rig.until(
            "motions", lambda data: any(one["name"] == "nod" and one["ok"] for one in data["motions"])
        )
        await rig.rest_after((await ask(registry, "play", motion="nod"))["goal_id"])
        assert rig.results() == ["SUCCESSFUL"] * 2
    reason = "it is being read and checked; it can be played once that is done"
    assert (listed["nod"]["ok"], listed["nod"]["reason"]) == (False, f"nod: {reason}")
    assert listed["left_in"]["ok"]
    assert answer == ("BUSY", "arm: nod is being read and checked; wait until the motions are published")


async def test_a_stop_while_it_is_looked_at_holds(rig: Rig, slow_look: Event) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        asked = asyncio.create_task(refused(registry, "goto", joints={"left": 0.3}))
        await asyncio.sleep(0.05)
        await ask(registry, "stop")
        assert (await asked)[0] == "CANCELED"
        slow_look.set()
        await rig.has_held()
        assert (await ask(registry, "status"))["state"] == "idle"
    assert not moved(rig)


# -- without a daemon ---------------------------------------------------------------------------------------


def test_a_dry_run_refuses_as_a_daemon_does(rig: Rig) -> None:
    settings = load_settings(rig.config)
    assert run_dry(settings, "arm", PlayRequest(motion="nod")).result["code"] == "SUCCESSFUL"
    for motion, says in (("close", "links 'left_finger'"), ("far", "on the way, 'post'")):
        with pytest.raises(RequestError) as refusal:
            run_dry(settings, "arm", PlayRequest(motion=motion))
        assert str(refusal.value).startswith(f"{motion}: {says}")


# -- while targets are followed ------------------------------------------------------------------------------


async def follow_together(rig: Rig) -> tuple[dict[str, Any], float]:
    """Send targets by which the fingers would meet; return the result, and how near they came in m."""
    async with rig.running() as registry:
        await rig.until_state("idle")
        goal_id = (await ask(registry, "follow/start", timeout_s=5.0))["goal_id"]
        for _ in range(30):
            await ask(registry, "follow/target", goal_id=goal_id, positions=[-0.6, 0.6])
            await asyncio.sleep(0.1)
        state: dict[str, Any] = {**registry.members["arm"].robot.state_payload()}
        assert state["state"] == "following"
        await ask(registry, "follow/stop")
        result = await rig.rest_after(goal_id)
    model = load_robot(rig.folder / "pincers.urdf")
    look = clearance_of(model)[0].look()
    rows = read_trace(rig.folder / "trace.npy")["position"]
    found = [nearest.distance_m for row in rows if (nearest := look.nearest(row)) is not None]
    return result | {"held_by": state["follow"]["held_by"]}, min(found)


async def test_a_robot_that_follows_targets_stops_before_its_links_touch(rig: Rig) -> None:
    result, nearest_m = await follow_together(rig)
    assert 0.005 <= nearest_m < 0.006
    assert result["code"] == "SUCCESSFUL"
    assert result["held_by"]["links"] == ["left_finger", "right_finger"]
    assert result["held_by"]["distance_m"] == pytest.approx(nearest_m, abs=1e-3)


async def test_where_collisions_are_only_warned_of_targets_are_followed_into_them(rig: Rig) -> None:
    rig.robot["collision"] = {"on_violation": "warn"}
    result, nearest_m = await follow_together(rig)
    assert nearest_m < 0.0
    assert result["held_by"] is None


async def test_what_is_in_the_way_is_reported_as_soon_as_it_is(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        goal_id = (await ask(registry, "follow/start", timeout_s=5.0))["goal_id"]
        positions, held = [], None
        while held is None:
            await ask(registry, "follow/target", goal_id=goal_id, positions=[-0.6, 0.6])
            await asyncio.sleep(0.02)
            positions.append(read_trace(rig.folder / "trace.npy")["position"][-1].tolist())
            held = rig.reports_on("state")[-1]["follow"]["held_by"]
        assert held["links"] == ["left_finger", "right_finger"]
        speeds = np.abs(np.diff(positions[-4:], axis=0)).max(axis=1) / 0.02
        assert speeds.max() > 0.01  # it has yet to come to rest
