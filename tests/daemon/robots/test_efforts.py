"""A robot whose actuators could not bear what it is asked for: nothing of it begins.

An arm of two links of 1 kg and 0.5 m hangs down at 0; stretched out at an angle q its shoulder bears
`9.81 sin q` N·m, and may bear 5.9.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.sim.command_log import read_trace
from motiond.text import rounded_down
from tests.daemon.rig import Rig, ask, refused, write_seq

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry

RATE_HZ = 100
LINK = """
  <link name="{name}_link"><inertial><origin xyz="0 0 -0.25"/><mass value="1"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}_link"/>
    <origin xyz="0 0 {z}"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="3" effort="{effort}"/></joint>"""
ARM = f"""<robot name="lifter"><link name="post"/>
  {LINK.format(name="shoulder", parent="post", z=1.0, effort=5.9)}
  {LINK.format(name="elbow", parent="shoulder_link", z=-0.5, effort=5.0)}
</robot>
"""


def swing(by: float, duration_s: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    at = np.linspace(0.0, 1.0, round(duration_s * RATE_HZ) + 1)
    rows: np.ndarray[Any, np.dtype[np.float64]] = by * (0.5 - 0.5 * np.cos(2 * np.pi * at))[:, None]
    return rows


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    (tmp_path / "lifter.urdf").write_text(ARM)
    rig.robot["model"] = "lifter.urdf"
    del rig.robot["joints"]
    rig.robot["effort"] = {}
    rig.robot["approach"] = {"velocity": 0.5, "acceleration": 1.6, "jerk": 5.0}
    for path in (tmp_path / "motions").iterdir():
        path.unlink()
    write_seq(tmp_path / "motions" / "lift.seq", swing(0.6, 6.0), ("shoulder",), RATE_HZ)
    write_seq(tmp_path / "motions" / "raise.seq", swing(0.8, 6.0), ("shoulder",), RATE_HZ)
    return rig


async def go(rig: Rig, registry: RobotRegistry, **joints: float) -> None:
    goal_id = (await ask(registry, "goto", joints=joints))["goal_id"]
    assert (await rig.rest_after(goal_id))["code"] == "SUCCESSFUL"


async def test_a_motion_that_is_too_heavy_is_listed_and_refused(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        listed = {one["name"]: one for one in rig.reports_on("motions")[-1]["motions"]}
        refusal = await refused(registry, "play", motion="raise")
    assert refusal == ("INVALID_MOTION", listed["raise"]["reason"])
    assert refusal[1].startswith("raise: joint 'shoulder' needs ")
    shoulder, elbow = listed["lift"]["effort"]["joints"]
    assert (listed["lift"]["ok"], shoulder["limit"], elbow["limit"]) == (True, 5.9, 5.0)
    assert 5.2 < shoulder["peak"] < 5.9


async def test_a_posture_that_could_not_be_held_is_not_gone_to(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        code, message = await refused(registry, "goto", joints={"shoulder": 1.0})
        await go(rig, registry, shoulder=0.5)
    assert code == "INVALID_MOTION"
    posture, way = message.splitlines()
    assert posture == (
        "goto: joint 'shoulder' needs 8.25 N·m at 0.000 s (frame 0), and too much at any speed; its effort "
        "limit is 5.9 N·m; lighten the payload, choose another posture or raise the model's limit"
    )
    assert way.startswith("goto: on the way, joint 'shoulder' needs 8.")


async def test_where_joints_are_that_a_motion_leaves_alone_counts_when_it_begins(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await go(rig, registry, elbow=1.57)
        code, message = await refused(registry, "play", motion="lift")
        await go(rig, registry, elbow=0.0)
        accepted = await ask(registry, "play", motion="lift")
        assert (await rig.rest_after(accepted["goal_id"]))["code"] == "SUCCESSFUL"
    assert code == "INVALID_MOTION"
    assert message.startswith("lift: joint 'shoulder' needs 6.")


async def test_an_arm_that_bears_too_much_already_may_come_down(rig: Rig) -> None:
    rig.robot["driver"]["initial"] = {"shoulder": 1.2}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await go(rig, registry, shoulder=0.0)
        code, _ = await refused(registry, "goto", joints={"shoulder": 1.2})
    assert code == "INVALID_MOTION"


async def test_a_motion_flows_into_the_next_one(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "play", motion="lift")
        goal_id = (await ask(registry, "play", motion="lift", on_busy="queue", blend_s=0.5))["goal_id"]
        assert (await rig.rest_after(goal_id))["code"] == "SUCCESSFUL"


async def test_a_speed_that_actuators_could_not_bear_is_refused(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        listed = {one["name"]: one for one in rig.reports_on("motions")[-1]["motions"]}
        fastest = listed["lift"]["max_speed"]
        asked = round(fastest + 0.1, 3)
        code, message = await refused(registry, "play", motion="lift", speed=asked)
    assert code == "INVALID_MOTION"
    allowed = rounded_down(fastest)
    assert message == f"lift: speed {asked:g} is too fast; joint 'shoulder' allows {allowed}; lower the speed"


@pytest.mark.parametrize("does", ["reject", "slow"])
async def test_ways_are_slowed_where_motions_are(rig: Rig, does: str) -> None:
    rig.robot["approach"] = {"velocity": 2.0, "acceleration": 20.0, "jerk": 500.0}
    rig.robot["effort"] = {"on_violation": does}
    async with rig.running() as registry:
        await rig.until_state("idle")
        if does == "reject":
            code, message = await refused(registry, "goto", joints={"shoulder": 0.6})
            assert code == "INVALID_MOTION"
            assert message.startswith("goto: on the way, joint 'shoulder' needs ")
            return
        answer = await ask(registry, "goto", joints={"shoulder": 0.6})
        assert (await rig.rest_after(answer["goal_id"]))["code"] == "SUCCESSFUL"
        (warning,) = [one["message"] for one in rig.reports_on("event") if one["kind"] == "warning"]
    assert warning.startswith("goto: on the way, slowed to 0.")
    assert " of its speed: joint 'shoulder' needs " in warning
    assert 0.5 < answer["approach_s"] < 3.0


async def test_a_posture_that_is_too_heavy_at_any_speed_is_refused_also_where_ways_are_slowed(
    rig: Rig,
) -> None:
    rig.robot["effort"] = {"on_violation": "slow"}
    async with rig.running() as registry:
        await rig.until_state("idle")
        code, message = await refused(registry, "goto", joints={"shoulder": 1.0})
    assert code == "INVALID_MOTION"
    assert "and too much at any speed" in message


async def test_a_speed_is_held_to_where_other_joints_are(rig: Rig) -> None:
    write_seq(rig.folder / "motions" / "wag.seq", swing(-0.8, 3.0), ("elbow",), RATE_HZ)
    async with rig.running() as registry:
        await rig.until_state("idle")
        await go(rig, registry, shoulder=0.6)
        goal_id = (await ask(registry, "play", motion="wag"))["goal_id"]
        await rig.until_state("playing")
        for speed in (0.5, 1.0, 1.2):
            assert (await ask(registry, "speed", speed=speed))["speed"] == speed
        code, message = await refused(registry, "speed", speed=3.0)
        assert (await rig.rest_after(goal_id))["code"] == "SUCCESSFUL"
    assert code == "INVALID_MOTION"
    assert message == (
        "wag: at speed 3, joint 'shoulder' needs 6.06 N·m at 1.700 s (frame 170, the worst of 89); "
        "its effort limit is 5.9 N·m; lighten the motion or raise the model's limit"
    )


async def test_a_speed_is_held_to_where_other_joints_are_also_behind_a_faster_motion(rig: Rig) -> None:
    for name, rows in (("wag", -0.8 * swing(1.0, 4.0) ** 2), ("twitch", swing(-0.05, 3.0))):
        write_seq(rig.folder / "motions" / f"{name}.seq", rows, ("elbow",), RATE_HZ)
    rig.robot["approach"]["acceleration"] = 100.0
    async with rig.running() as registry:
        await rig.until_state("idle")
        await go(rig, registry, shoulder=0.6)
        goals = [(await ask(registry, "play", motion="twitch", speed=3.0))["goal_id"]]
        goals.append((await ask(registry, "play", motion="wag", on_busy="queue", blend_s=0.1))["goal_id"])
        assert (await rig.result_of(goals[0]))["message"] == "it flows into wag"
        code, message = await refused(registry, "speed", speed=3.0)
        assert (await rig.rest_after(goals[1]))["code"] == "SUCCESSFUL"
    assert code == "INVALID_MOTION"
    assert message.startswith("wag: at speed 3, joint 'shoulder' needs ")


async def test_a_posture_that_is_too_much_for_long_is_gone_to_with_a_warning(rig: Rig) -> None:
    rig.robot["joints"] = {"shoulder": {"limits": {"continuous_effort": 4.0}}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await go(rig, registry, shoulder=0.5)
        warnings = [one["message"] for one in rig.reports_on("event") if one["kind"] == "warning"]
    message = "joint 'shoulder' bears 4.7 N·m where it comes to rest; its continuous effort limit is 4 N·m"
    assert warnings == [f"goto: {message}; do not hold it there for long"]


@pytest.mark.parametrize(("speed", "fits"), [(1.0, True), (3.0, False)])
async def test_a_blend_is_held_to_what_it_takes_at_its_speed(
    rig: Rig,
    speed: float,
    fits: bool,  # noqa: FBT001 - a row of a table
) -> None:
    rig.robot["approach"]["acceleration"] = 100.0
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "play", motion="lift", speed=speed)
        how = {"on_busy": "queue", "blend_s": 2.5, "speed": speed}
        if fits:
            assert await ask(registry, "play", motion="lift", **how)
        else:
            code, message = await refused(registry, "play", motion="lift", **how)
            assert code == "INVALID_MOTION"
            assert message.startswith("lift: on the way, joint 'shoulder' needs ")
            assert message.splitlines()[0].endswith(
                "; lighten the motion or raise the model's limit, "
                "or lower `speed` from 3, choose a longer `blend_s` or none"
            )
        await ask(registry, "stop")


@pytest.fixture
def slowing(rig: Rig) -> Rig:
    """Slow what is too much; `up` begins half up, so that a short blend would throw the arm there."""
    rig.robot["effort"] = {"on_violation": "slow"}
    rig.robot["approach"]["acceleration"] = 100.0
    write_seq(rig.folder / "motions" / "up.seq", 0.3 + swing(0.2, 6.0), ("shoulder",), RATE_HZ)
    write_seq(rig.folder / "motions" / "brief.seq", 0.3 + swing(0.01, 0.4), ("shoulder",), RATE_HZ)
    return rig


def worst_effort(rig: Rig) -> float:
    """Return the highest effort of the shoulder that setpoints ask for while the elbow is at 0, in N·m.

    That of two rods as one, by its inertia about the shoulder and its weight.
    """
    rows = read_trace(rig.folder / "trace.npy")["position"][:, 0]
    inertia = 0.002 + 0.25**2 + 0.75**2
    bends = np.diff(rows, 2) * RATE_HZ**2
    return float(np.abs(inertia * bends + 9.81 * np.sin(rows[1:-1])).max())


def warnings_of(rig: Rig) -> list[str]:
    return [one["message"] for one in rig.reports_on("event") if one["kind"] == "warning"]


@pytest.mark.parametrize("asked_s", [0.2, 0.3, 0.45])
async def test_a_blend_is_lengthened_where_motions_are_slowed_as_far_as_it_has_to_be(
    slowing: Rig, asked_s: float
) -> None:
    async with slowing.running() as registry:
        await slowing.until_state("idle")
        first = (await ask(registry, "play", motion="lift"))["goal_id"]
        answer = await ask(registry, "play", motion="up", on_busy="queue", blend_s=asked_s)
        results = [await slowing.result_of(goal_id) for goal_id in (first, answer["goal_id"])]
        status = await ask(registry, "status")
    assert [result["code"] for result in results] == ["SUCCESSFUL"] * 2
    assert status["state"] == "idle"
    (warning,) = answer["warnings"]
    begin = f"up: its blend is lengthened from {asked_s:g} to 0.46 s: joint 'shoulder' needs "
    assert (answer["blend_s"], warning[: len(begin)]) == (0.46, begin)
    assert warning.endswith("; its effort limit is 5.9 N·m; lighten the motion or raise the model's limit")
    assert [result["warnings"] for result in results] == [[], [warning]]
    assert warnings_of(slowing) == [warning]
    assert 5.5 < worst_effort(slowing) < 5.9


async def test_a_blend_that_no_longer_one_could_replace_is_refused(slowing: Rig) -> None:
    async with slowing.running() as registry:
        await slowing.until_state("idle")
        await ask(registry, "play", motion="lift")
        how = {"motion": "brief", "on_busy": "queue", "blend_s": 0.3}
        code, message = await refused(registry, "play", **how)
        await ask(registry, "stop")
    assert code == "INVALID_MOTION"
    assert message.startswith("brief: on the way, joint 'shoulder' needs 12.")
    assert message.endswith(
        "; its effort limit is 5.9 N·m; lighten the motion or raise the model's limit, "
        "or leave `blend_s` out, as no longer blend would do"
    )


async def test_a_blend_is_lengthened_again_for_what_comes_to_be_faster(slowing: Rig) -> None:
    async with slowing.running() as registry:
        await slowing.until_state("idle")
        first = (await ask(registry, "play", motion="lift", speed=0.8))["goal_id"]
        answer = await ask(registry, "play", motion="up", on_busy="queue", blend_s=0.46)
        await slowing.until_state("playing")
        await ask(registry, "speed", speed=1.1)
        results = [await slowing.result_of(goal_id) for goal_id in (first, answer["goal_id"])]
    assert [result["code"] for result in results] == ["SUCCESSFUL"] * 2
    assert answer["blend_s"] == 0.46
    assert "warnings" not in answer
    (warning,) = results[1]["warnings"]
    assert warning.startswith("up: its blend is lengthened from 0.46 to 0.5")
    assert results[0]["message"] == "it flows into up"
    assert worst_effort(slowing) < 5.9


async def test_a_sequence_has_blends_and_ways_that_actuators_bear(slowing: Rig) -> None:
    steps = [{"motion": "lift"}, {"motion": "up", "blend_s": 0.3, "repeat": 2}, {"motion": "lift"}]
    slowing.robot["approach"] = {"velocity": 2.0, "acceleration": 100.0, "jerk": 2000.0}
    async with slowing.running() as registry:
        await slowing.until_state("idle")
        answer = await ask(registry, "sequence", steps=steps)
        result = await slowing.rest_after(answer["goal_id"])
    assert result["code"] == "SUCCESSFUL"
    assert answer["warnings"] == result["warnings"] == warnings_of(slowing)
    begins = [warning.split(" needs ")[0] for warning in result["warnings"]]
    assert begins == [
        "steps[1].blend_s: up: lengthened from 0.3 to 0.46 s: joint 'shoulder'",
        "steps[2].motion: lift: the way to it is slowed to 0.391 of its speed: joint 'shoulder'",
    ]
    assert 5.5 < worst_effort(slowing) < 5.9


async def test_a_sequence_that_no_longer_blend_could_save_is_refused(slowing: Rig) -> None:
    steps = [{"motion": "lift"}, {"motion": "brief", "blend_s": 0.3}]
    async with slowing.running() as registry:
        await slowing.until_state("idle")
        code, message = await refused(registry, "sequence", steps=steps)
    assert code == "INVALID_MOTION"
    assert message.startswith("steps[1].blend_s: brief: joint 'shoulder' needs ")
    assert message.endswith("model's limit, or leave `blend_s` out, as no longer blend would do")


async def test_a_higher_speed_that_is_asked_for_on_a_blend_comes_behind_it(slowing: Rig) -> None:
    """The blend is as short as the limit allows at speed 1."""
    async with slowing.running() as registry:
        await slowing.until_state("idle")
        first = (await ask(registry, "play", motion="lift"))["goal_id"]
        second = await ask(registry, "play", motion="up", on_busy="queue", blend_s=0.46)
        await slowing.result_of(first)
        assert (await ask(registry, "status"))["frame"] < 0.3 * RATE_HZ
        await ask(registry, "speed", speed=1.2)
        result = await slowing.result_of(second["goal_id"])
    assert result["code"] == "SUCCESSFUL"
    assert result["timing"]["ticks"] < 5.3 * RATE_HZ
    assert 5.5 < worst_effort(slowing) < 5.9


@pytest.mark.parametrize("does", ["reject", "slow", "warn"])
async def test_a_motion_takes_over_on_the_way_whatever_efforts_are_held_to(rig: Rig, does: str) -> None:
    rig.robot["effort"] = {"on_violation": does}
    async with rig.running() as registry:
        await rig.until_state("idle")
        first = (await ask(registry, "play", motion="lift"))["goal_id"]
        await rig.until_state("playing")
        await asyncio.sleep(0.5)
        second = (await ask(registry, "play", motion="lift", on_busy="blend"))["goal_id"]
        results = [(await rig.result_of(goal))["code"] for goal in (first, second)]
    assert results == ["PREEMPTED", "SUCCESSFUL"]
    dropped = [event for event in rig.reports_on("event") if event["kind"] == "blend_dropped"]
    assert dropped == []
    assert "stopping" not in {data["state"] for data in rig.reports_on("state")}


async def taken_over(rig: Rig, registry: RobotRegistry) -> tuple[str, dict[str, Any]]:
    """Let `up` take over from `lift` after half a second of that; return the first goal, and the answer."""
    await rig.until_state("idle")
    first = (await ask(registry, "play", motion="lift"))["goal_id"]
    await rig.until_state("playing")
    await asyncio.sleep(0.5)
    return first, await ask(registry, "play", motion="up", on_busy="blend")


async def test_a_way_from_what_moves_is_as_slow_as_actuators_bear(slowing: Rig) -> None:
    slowing.robot["approach"] = {"velocity": 2.0, "acceleration": 20.0, "jerk": 500.0}
    async with slowing.running() as registry:
        first, answer = await taken_over(slowing, registry)
        results = [await slowing.result_of(goal_id) for goal_id in (first, answer["goal_id"])]
    assert [result["code"] for result in results] == ["PREEMPTED", "SUCCESSFUL"]
    assert results[0]["message"] == "up was asked to replace it, and has taken over on the way"
    (warning,) = answer["warnings"]
    assert warning.startswith("up: on the way, slowed to 0.")
    assert " of its speed: joint 'shoulder' needs " in warning
    assert [result["warnings"] for result in results] == [[], [warning]]
    assert warnings_of(slowing) == [warning]
    assert 5.0 < worst_effort(slowing) < 5.9


async def test_a_way_from_what_moves_that_is_too_much_is_not_gone_and_the_reason_is_reported(
    slowing: Rig,
) -> None:
    slowing.robot["effort"] = {"on_violation": "reject"}
    slowing.robot["approach"] = {"velocity": 2.0, "acceleration": 8.0, "jerk": 60.0}
    async with slowing.running() as registry:
        await slowing.until_state("idle")
        first = (await ask(registry, "play", motion="lift"))["goal_id"]
        await slowing.until_state("playing")
        await asyncio.sleep(1.8)
        code, message = await refused(registry, "play", motion="up", on_busy="blend")
        result = await slowing.result_of(first)
    assert (code, result["code"]) == ("INVALID_MOTION", "PREEMPTED")
    assert message.startswith("up: on the way, joint 'shoulder' needs ")
    (dropped,) = [event for event in slowing.reports_on("event") if event["kind"] == "blend_dropped"]
    assert dropped["message"].startswith(
        "lift does not flow into up; up: on the way, joint 'shoulder' needs "
    )
    assert dropped["message"].endswith("; it rests between")
    assert worst_effort(slowing) < 5.9
