"""Behaviour of motions that play beside others: what is accepted, what each stop ends, and what follows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, refused, sweep, write_seq

if TYPE_CHECKING:
    from motiond.daemon.robots.registry import RobotRegistry

WELL = "the last row is out and held"


@pytest.fixture
def rig(tmp_path: Any) -> Rig:
    rig = Rig(tmp_path)
    rig.robot["fault_requests"] = True
    for name, joint, duration_s, rate_hz in (
        ("wave", "shoulder", 4.0, RATE_HZ),
        ("nod", "shoulder", 1.0, RATE_HZ),
        ("grip", "elbow", 1.0, RATE_HZ),
        ("hold", "elbow", 8.0, RATE_HZ),
    ):
        rows = sweep(duration_s, rate_hz, joints=1)
        write_seq(rig.folder / "motions" / f"{name}.seq", rows, (joint,), rate_hz)
    return rig


async def play(registry: RobotRegistry, motion: str, **how: Any) -> str:
    goal_id: str = (await ask(registry, "play", motion=motion, **how))["goal_id"]
    return goal_id


async def beside(rig: Rig, registry: RobotRegistry, base: str = "wave", other: str = "grip") -> list[str]:
    """Play two motions at once; return their goals."""
    await rig.until_state("idle")
    goals = [await play(registry, base)]
    await rig.until_state("playing")
    return [*goals, await play(registry, other, on_busy="beside")]


async def until_both_play(rig: Rig) -> None:
    await rig.until("state", lambda data: states_of(data) == ["playing", "playing"], len(rig.reports) - 1)


def states_of(data: Any) -> list[str]:
    return [goal["state"] for goal in data["goals"]]


async def codes(rig: Rig, goals: list[str]) -> list[str]:
    results = [await rig.result_of(goal) for goal in goals]
    ids = [data["goal_id"] for data in rig.reports_on("result")]
    assert len(ids) == len(set(ids)), "a goal has two results"
    return [result["code"] for result in results]


async def test_two_motions_play_at_once_with_a_result_for_each(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry)
        status = await ask(registry, "status")
        result = await rig.result_of(goals[1])
        assert [goal["goal_id"] for goal in (await ask(registry, "status"))["goals"]] == goals[:1]
        assert await codes(rig, goals) == ["SUCCESSFUL", "SUCCESSFUL"]
        last = await rig.until("state", lambda data: not data["goals"], len(rig.reports) - 5)
    assert status["goal_id"] == goals[0]
    assert [(goal["motion"], goal["joints"], goal["beside"]) for goal in status["goals"]] == [
        ("wave", ["shoulder"], False),
        ("grip", ["elbow"], True),
    ]
    assert result["message"] == WELL
    assert result["timing"]["ticks"] > 0.9 * RATE_HZ
    assert result["worst_error"]["joint"] == "elbow"
    assert last["state"] == "idle"
    positions = read_trace(rig.folder / "trace.npy")["position"]
    for column, duration_s in ((0, 4.0), (1, 1.0)):
        rows = sweep(duration_s, joints=1)[:, 0]
        assert any((positions[k : k + len(rows), column] == rows).all() for k in range(len(positions)))


async def test_what_cannot_play_beside_is_refused_by_name(rig: Rig) -> None:
    async with rig.running() as registry:
        await beside(rig, registry)
        again = await refused(registry, "play", motion="nod", on_busy="beside")
        other = await refused(registry, "play", motion="hold", on_busy="beside")
    hint = "play it afterwards, or replace that"
    assert again == ("BUSY", f"arm: busy with wave; nod moves joint 'shoulder', too; {hint}")
    assert other == ("BUSY", f"arm: busy with grip; hold moves joint 'elbow', too; {hint}")


async def test_a_robot_that_plays_beside_nothing_is_busy_for_its_joints_alone(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry, "nod", "hold")
        assert await codes(rig, goals[:1]) == ["SUCCESSFUL"]
        status = await ask(registry, "status")
        assert (status["state"], status["motion"], len(status["goals"])) == ("playing", None, 1)
        busy = [
            await refused(registry, verb, **how)
            for verb, how in (("play", {"motion": "grip"}), ("disable", {}))
        ]
        taught = await refused(registry, "teach/start")
        goals.append(await play(registry, "nod"))
        assert await codes(rig, goals) == ["SUCCESSFUL"] * 3
    assert [code for code, _ in [*busy, taught]] == ["BUSY"] * 3


async def test_a_posture_is_gone_to_beside_a_motion(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        goals = [await play(registry, "nod")]
        goals.append((await ask(registry, "goto", joints={"elbow": 0.5}, on_busy="beside"))["goal_id"])
        assert await codes(rig, goals) == ["SUCCESSFUL", "SUCCESSFUL"]


@pytest.mark.parametrize("which", [0, 1])
async def test_a_stop_for_one_goal_lets_the_other_end_well(rig: Rig, which: int) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry)
        answer = await ask(registry, "stop", goal_id=goals[which])
        ended = await codes(rig, goals)
        gone = await refused(registry, "stop", goal_id=goals[which])
    assert answer["goal_id"] == goals[which]
    assert ended == (["CANCELED", "SUCCESSFUL"] if which == 0 else ["SUCCESSFUL", "CANCELED"])
    assert gone == (
        "UNKNOWN_GOAL",
        f"arm: no goal '{goals[which]}' plays or waits; it has ended or never was",
    )


async def test_a_stop_for_one_that_waits_takes_it_out_of_the_queue(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry)
        waiting = await play(registry, "nod", on_busy="queue")
        await ask(registry, "stop", goal_id=waiting)
        assert await codes(rig, [*goals, waiting]) == ["SUCCESSFUL", "SUCCESSFUL", "CANCELED"]


ENDS = {
    "stop": "CANCELED",
    "estop": "ESTOP",
    "replace": "PREEMPTED",
    "fault": "COMM_LOST",
}


@pytest.mark.parametrize("verb", ENDS)
@pytest.mark.parametrize("base", ["wave", "nod"])
async def test_what_ends_all_ends_each_with_one_result(rig: Rig, verb: str, base: str) -> None:
    """Of `nod`, what plays beside it is left when it has ended."""
    async with rig.running() as registry:
        goals = await beside(rig, registry, base, "hold")
        if base == "nod":
            await rig.result_of(goals[0])
        if verb == "replace":
            goals.append(await play(registry, "nod", on_busy="replace"))
        else:
            await ask(registry, verb, **({"fault": "bus_lost"} if verb == "fault" else {}))
        ended = await codes(rig, goals)
    assert ended == [ENDS[verb] if base == "wave" else "SUCCESSFUL", ENDS[verb], "SUCCESSFUL"][: len(goals)]


async def test_what_waits_begins_once_its_joints_are_free(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry, "nod", "hold")
        goals.append(await play(registry, "short", on_busy="queue"))  # which moves both joints
        goals.append(await play(registry, "nod", on_busy="queue"))
        assert await codes(rig, goals) == ["SUCCESSFUL"] * 4
    assert [data["goal_id"] for data in rig.reports_on("result")] == goals


async def test_what_waits_begins_once_the_goal_in_its_way_is_stopped(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry, "nod", "hold")
        goals.append(await play(registry, "grip", on_busy="queue"))
        await rig.result_of(goals[0])
        await ask(registry, "stop", goal_id=goals[1])
        assert await codes(rig, goals) == ["SUCCESSFUL", "CANCELED", "SUCCESSFUL"]


@pytest.mark.parametrize("on_end", ["release", "park"])
async def test_what_follows_a_motion_waits_for_those_beside_it(rig: Rig, on_end: str) -> None:
    rig.robot |= {"on_end": on_end, "poses": {"park": dict.fromkeys(JOINTS, 0.0)}}
    async with rig.running() as registry:
        goals = await beside(rig, registry, "nod", "grip")
        await codes(rig, goals)
        await rig.until("state", lambda data: not data["torque"] or data["motion"] == "park")
    results = rig.reports_on("result")
    assert [result["follows"] for result in results[:2]] == [None, on_end]


async def test_a_pause_is_of_the_motion_and_lets_the_other_play_on(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry)
        await ask(registry, "pause")
        assert await codes(rig, goals[1:]) == ["SUCCESSFUL"]
        status = await ask(registry, "status")
        assert (status["state"], [goal["state"] for goal in status["goals"]]) == ("paused", ["paused"])
        await ask(registry, "resume")
        assert await codes(rig, goals) == ["SUCCESSFUL", "SUCCESSFUL"]


@pytest.mark.parametrize("which", [0, 1])
async def test_one_goal_is_paused_and_resumed_while_the_other_plays_on(rig: Rig, which: int) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry, "wave", "hold")
        await until_both_play(rig)
        paused = await ask(registry, "pause", goal_id=goals[which])
        status = await ask(registry, "status")
        resumed = await ask(registry, "resume", goal_id=goals[which])
        assert await codes(rig, goals) == ["SUCCESSFUL", "SUCCESSFUL"]
    assert paused == {"state": "paused", "goal_id": goals[which]}
    states = ["playing", "playing"]
    states[which] = "paused"
    assert states_of(status) == states
    assert resumed == {"state": "playing", "goal_id": goals[which]}


async def test_what_is_paused_alone_leaves_the_robot_paused_and_its_joints_busy(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry, "nod", "hold")
        await ask(registry, "pause", goal_id=goals[1])
        assert await codes(rig, goals[:1]) == ["SUCCESSFUL"]
        status = await ask(registry, "status")
        busy = await refused(registry, "play", motion="grip", on_busy="beside")
        base = await refused(registry, "resume")
        goals.append(await play(registry, "nod"))
        assert await codes(rig, goals[2:]) == ["SUCCESSFUL"]
        await ask(registry, "resume", goal_id=goals[1])
        assert await codes(rig, goals) == ["SUCCESSFUL"] * 3
    assert (status["state"], status["goals"][0]["state"]) == ("paused", "paused")
    hint = "play it afterwards, or replace that"
    assert busy == ("BUSY", f"arm: busy with hold; grip moves joint 'elbow', too; {hint}")
    assert base == ("NOT_PLAYING", "arm: nothing to resume; the robot is paused; play first")


@pytest.mark.parametrize("which", [0, 1])
async def test_one_goal_is_slowed_and_the_state_shows_it(rig: Rig, which: int) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry, "wave", "hold")
        answer = await ask(registry, "speed", speed=2.0, goal_id=goals[which])
        status = await ask(registry, "status")
        assert await codes(rig, goals) == ["SUCCESSFUL", "SUCCESSFUL"]
    assert answer == {"speed": 2.0, "goal_id": goals[which]}
    assert [goal["speed"] for goal in status["goals"]] == [2.0 if k == which else 1.0 for k in range(2)]
    lasted_s = {data["goal_id"]: data["timing"]["ticks"] / RATE_HZ for data in rig.reports_on("result")}
    own_s = (4.0, 8.0)
    assert lasted_s[goals[which]] < 0.7 * own_s[which]
    assert lasted_s[goals[1 - which]] > 0.99 * own_s[1 - which]


@pytest.mark.parametrize("paused", [True, False])
async def test_one_goal_goes_to_another_place_while_the_other_plays_on(rig: Rig, *, paused: bool) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry, "wave", "hold")
        if paused:
            await ask(registry, "pause", goal_id=goals[1])
        await ask(registry, "seek", time=7.9, goal_id=goals[1])
        await rig.until("state", lambda data: states_of(data) == ["playing", "approaching"])
        if paused:
            await rig.until(
                "state", lambda data: states_of(data) == ["playing", "paused"], len(rig.reports) - 1
            )
            await ask(registry, "resume", goal_id=goals[1])
        assert await codes(rig, goals) == ["SUCCESSFUL", "SUCCESSFUL"]
    assert [data["goal_id"] for data in rig.reports_on("result")] == goals[::-1]


VERBS: dict[str, dict[str, Any]] = {"pause": {}, "resume": {}, "speed": {"speed": 0.5}, "seek": {"time": 0.0}}


@pytest.mark.parametrize("verb", VERBS)
async def test_a_goal_that_does_not_play_is_refused_by_its_id(rig: Rig, verb: str) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry)
        waiting = await play(registry, "nod", on_busy="queue")
        await codes(rig, goals[1:])
        for goal in (goals[1], waiting):
            assert await refused(registry, verb, goal_id=goal, **VERBS[verb]) == (
                "UNKNOWN_GOAL",
                f"arm: no goal '{goal}' plays; it waits, has ended or never was",
            )
        assert await codes(rig, [*goals, waiting]) == ["SUCCESSFUL"] * 3


@pytest.mark.parametrize("verb", ["pause", "seek"])
async def test_a_goal_that_ends_before_it_is_at_rest_is_refused_by_its_id(rig: Rig, verb: str) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry)
        await until_both_play(rig)
        await asyncio.sleep(0.95)  # of the second that it lasts
        assert await refused(registry, verb, goal_id=goals[1], **VERBS[verb]) == (
            "UNKNOWN_GOAL",
            f"arm: no goal '{goals[1]}' plays; it waits, has ended or never was",
        )
        assert await codes(rig, goals) == ["SUCCESSFUL", "SUCCESSFUL"]


async def test_a_stop_for_a_goal_ends_what_it_was_asked_before(rig: Rig) -> None:
    async with rig.running() as registry:
        goals = await beside(rig, registry, "wave", "hold")
        await until_both_play(rig)
        paused = asyncio.create_task(ask(registry, "pause", goal_id=goals[1]))
        sought = asyncio.create_task(refused(registry, "seek", goal_id=goals[1], time=0.0))
        await asyncio.sleep(0.02)
        await ask(registry, "stop", goal_id=goals[1])
        assert (await paused)["state"] == "stopping"
        assert await sought == ("NOT_PLAYING", "arm: hold ended before; play it again")
        assert await codes(rig, goals) == ["SUCCESSFUL", "CANCELED"]


async def test_the_daemon_ends_once_all_have_come_to_rest(rig: Rig) -> None:
    rig.robot["on_exit"] = "release"
    async with rig.running() as registry:
        goals = await beside(rig, registry, "nod", "hold")
        await rig.result_of(goals[0])
    assert rig.results() == ["SUCCESSFUL", "CANCELED"]
    assert np.abs(np.diff(read_trace(rig.folder / "trace.npy")["position"], axis=0))[-1].max() < 1e-4
    assert not rig.reports_on("state")[-2]["torque"]


async def test_each_goal_is_in_the_history_and_in_the_recording(rig: Rig) -> None:
    rig.robot["recording"] = {"when": "motion", "folder": "recordings"}
    async with rig.running() as registry:
        goals = await beside(rig, registry, "nod", "hold")
        await codes(rig, goals)
        history = await ask(registry, "history")
        recordings = (await ask(registry, "recordings"))["recordings"]
    assert [entry["goal_id"] for entry in history["results"]] == goals[::-1]
    assert [entry["recording"] for entry in history["results"]] == [recordings[0]["file"]] * 2
    assert recordings[0]["duration_s"] > 7.9


# -- what is added ------------------------------------------------------------------------------------------


@pytest.fixture
def limited(rig: Rig) -> Rig:
    """Its joints have limits of acceleration; `idle` sways both by a little, at rest at both ends."""
    limits = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 20.0}
    rig.robot["joints"] = {name: {"limits": limits} for name in JOINTS}
    at = np.linspace(0.0, 2.0 * np.pi, 2 * RATE_HZ + 1)
    write_seq(rig.folder / "motions" / "idle.seq", np.outer(1 - np.cos(at), [0.05, 0.08]), JOINTS, RATE_HZ)
    return rig


async def test_a_motion_is_added_to_what_plays_and_goes_on_while_others_come_and_go(limited: Rig) -> None:
    async with limited.running() as registry:
        await limited.until_state("idle")
        goals = [await play(registry, "idle", additive=True, loop="forever", weight=0.5)]
        for motion in ("nod", "grip"):
            goals.append(await play(registry, motion))
            assert (await limited.result_of(goals[-1]))["code"] == "SUCCESSFUL"
        status = await ask(registry, "status")
        goals.append(await play(registry, "nod"))
        goals.append(await play(registry, "nod", on_busy="replace"))
        assert await codes(limited, goals[-2:]) == ["PREEMPTED", "SUCCESSFUL"]
        await ask(registry, "stop", goal_id=goals[0])
        assert await codes(limited, goals[:1]) == ["CANCELED"]
        last = await limited.until("state", lambda data: not data["goals"], len(limited.reports) - 5)
    assert status["state"] == "playing"
    assert [(goal["motion"], goal["additive"], goal["weight"]) for goal in status["goals"]] == [
        ("idle", True, 0.5)
    ]
    assert last["state"] == "idle"


async def test_a_weight_that_would_break_a_limit_is_refused_with_one_that_does(limited: Rig) -> None:
    rows = 1.9 - sweep(1.0, joints=1) * 0.1
    write_seq(limited.folder / "motions" / "high.seq", rows, ("elbow",), RATE_HZ)
    async with limited.running() as registry:
        await limited.until_state("idle")
        goal = await play(registry, "high")
        await limited.result_of(goal)
        code, message = await refused(registry, "play", motion="idle", additive=True)
        weight = float(message.split("a weight of ")[1].split()[0])
        added = await play(registry, "idle", additive=True, weight=weight)
        assert await codes(limited, [added]) == ["SUCCESSFUL"]
    assert code == "INVALID_MOTION"
    assert message == (
        "idle: it cannot be added; joint 'elbow' would reach 2.05 rad; its upper limit is 2 rad; "
        f"a weight of {weight:.2g} would do"
    )


@pytest.fixture
def hasty(limited: Rig) -> Rig:
    """Its approaches leave nothing of a joint's acceleration, and its motions nearly all."""
    limited.robot["approach"] = {"velocity": 3.0, "acceleration": 20.0, "jerk": 1000.0}
    write_seq(limited.folder / "motions" / "far.seq", 1.0 + sweep(4.0), JOINTS, RATE_HZ)
    return limited


async def test_an_approach_counts_until_it_is_over(hasty: Rig) -> None:
    async with hasty.running() as registry:
        await hasty.until_state("idle")
        goals = [await play(registry, "far")]
        await hasty.until_state("approaching")
        code, message = await refused(registry, "play", motion="idle", additive=True)
        await hasty.until_state("playing")
        goals.append(await play(registry, "idle", additive=True))
        assert await codes(hasty, goals) == ["SUCCESSFUL", "SUCCESSFUL"]
    assert code == "INVALID_MOTION"
    assert message == (
        "idle: it cannot be added; joint 'shoulder' would move at up to 3.345 rad/s; "
        "its velocity limit is 3 rad/s; no weight would do"
    )
    assert keeps_limits(hasty)


async def test_a_way_to_a_sought_place_counts_until_it_is_over(hasty: Rig) -> None:
    write_seq(hasty.folder / "motions" / "wide.seq", 1.0 - 2.0 * sweep(8.0), JOINTS, RATE_HZ)
    async with hasty.running() as registry:
        await hasty.until_state("idle")
        goals = [await play(registry, "wide")]
        await hasty.until_state("playing")
        await ask(registry, "pause")
        since = len(hasty.reports)
        await ask(registry, "seek", time=4.0)
        await ask(registry, "resume")
        await hasty.until_state("approaching", since)
        assert (await refused(registry, "play", motion="idle", additive=True))[0] == "INVALID_MOTION"
        await hasty.until_state("playing", since)
        goals.append(await play(registry, "idle", additive=True))
        assert await codes(hasty, goals) == ["SUCCESSFUL", "SUCCESSFUL"]
    assert keeps_limits(hasty)


@pytest.mark.parametrize("how", [{"on_busy": "queue", "blend_s": 0.5}, {"on_busy": "blend"}])
async def test_a_way_between_passes_counts_also_where_another_motion_led_into_them(
    hasty: Rig, how: dict[str, Any]
) -> None:
    rows = sweep(2.0)[: RATE_HZ + 1]
    write_seq(hasty.folder / "motions" / "half.seq", rows, JOINTS, RATE_HZ)
    looped = how | {"loop": 2, "seam": "approach"}
    async with hasty.running() as registry:
        await hasty.until_state("idle")
        first = await play(registry, "wave")
        await hasty.until_state("playing")
        goals = [first, await play(registry, "half", **looped)]
        await hasty.result_of(first)
        await hasty.until("state", lambda data: data["state"] == "playing" and data["motion"] == "half")
        code, message = await refused(registry, "play", motion="idle", additive=True)
        assert len(await codes(hasty, goals)) == 2
    assert code == "INVALID_MOTION"
    assert message.startswith("idle: it cannot be added; joint 'shoulder' would accelerate at up to ")


def keeps_limits(rig: Rig) -> bool:
    """Whether differences of setpoints alone keep velocity (1.000) and acceleration (1.02) limits."""
    rows = read_trace(rig.folder / "trace.npy")["position"]
    steps, bends = np.diff(rows, axis=0) * RATE_HZ, np.diff(rows, 2, axis=0) * RATE_HZ**2
    return bool(np.abs(steps).max() <= 3.0 * (1 + 1e-9) and np.abs(bends).max() <= 20.0 * 1.02)


async def test_a_motion_that_has_no_room_beside_what_is_added_is_refused(limited: Rig) -> None:
    rows = 1.9 - sweep(1.0, joints=1) * 0.1
    write_seq(limited.folder / "motions" / "high.seq", rows, ("elbow",), RATE_HZ)
    async with limited.running() as registry:
        await limited.until_state("idle")
        added = await play(registry, "idle", additive=True, loop="forever")
        code, message = await refused(registry, "play", motion="high")
        going = await refused(registry, "goto", joints={"elbow": 1.95})
        await ask(registry, "stop")
        assert await codes(limited, [added]) == ["CANCELED"]
        goal = await play(registry, "high")
        assert await codes(limited, [goal]) == ["SUCCESSFUL"]
    assert code == "INVALID_MOTION"
    assert message.startswith("high: idle is added to it; joint 'elbow' would reach 2.05 rad; ")
    assert "stop idle, or add it with a weight of 0." in message
    assert going[0] == "INVALID_MOTION"


async def test_a_speed_that_leaves_no_room_is_refused_and_the_old_one_goes_on(limited: Rig) -> None:
    async with limited.running() as registry:
        await limited.until_state("idle")
        goals = [await play(registry, "wave"), await play(registry, "idle", additive=True, loop="forever")]
        code, message = await refused(registry, "speed", speed=8.0)
        assert (await ask(registry, "status"))["speed"] == 1.0
        assert await codes(limited, goals[:1]) == ["SUCCESSFUL"]
        await ask(registry, "stop")
        assert await codes(limited, goals) == ["SUCCESSFUL", "CANCELED"]
    assert code == "INVALID_MOTION"
    assert message.startswith("wave: idle is added to it; joint 'shoulder' would ")


async def test_one_motion_is_added_at_a_time(limited: Rig) -> None:
    async with limited.running() as registry:
        await limited.until_state("idle")
        await play(registry, "idle", additive=True, loop="forever")
        second = await refused(registry, "play", motion="idle", additive=True)
        await ask(registry, "stop")
    assert second == (
        "BUSY",
        "arm: busy with idle; one motion is added at a time; stop idle by its goal_id first",
    )


@pytest.mark.parametrize("verb", ["stop", "estop"])
async def test_what_ends_all_ends_what_is_added(limited: Rig, verb: str) -> None:
    async with limited.running() as registry:
        await limited.until_state("idle")
        goals = [await play(registry, "wave"), await play(registry, "idle", additive=True, loop="forever")]
        await ask(registry, verb)
        assert await codes(limited, goals) == [ENDS[verb]] * 2


async def test_what_is_added_is_paused_and_resumed_but_neither_sought_nor_slowed(limited: Rig) -> None:
    async with limited.running() as registry:
        await limited.until_state("idle")
        goals = [await play(registry, "wave"), await play(registry, "idle", additive=True, loop="forever")]
        await limited.until_state("playing")
        paused = await ask(registry, "pause", goal_id=goals[1])
        resumed = await ask(registry, "resume", goal_id=goals[1])
        slowed = await refused(registry, "speed", goal_id=goals[1], speed=0.5)
        sought = await refused(registry, "seek", goal_id=goals[1], time=0.5)
        assert await codes(limited, goals[:1]) == ["SUCCESSFUL"]
        await ask(registry, "stop")
        assert await codes(limited, goals) == ["SUCCESSFUL", "CANCELED"]
    assert [answer["state"] for answer in (paused, resumed)] == ["paused", "playing"]
    why = "idle is added, and its sum was checked as it began"
    assert slowed == (
        "NOT_ALLOWED",
        f"arm: its speed stays as it is; {why}; stop it, and add it at another speed",
    )
    assert sought == (
        "NOT_ALLOWED",
        f"arm: it stays on its path; {why}; stop it, and add it from another place",
    )
