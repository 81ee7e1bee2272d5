"""Whole robots in a physical world, on virtual time: what gravity, walls and hands do to goals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.daemon.rig import JOINTS, Rig, ask
from tests.drivers.sim.physics.worlds import ARM, world

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry

pytestmark = pytest.mark.slow

WALL = '<geom name="wall" type="box" size="0.5 0.5 0.05" pos="0.4 0 {}"/>'


def in_a_world(rig: Rig, around: str = "", **options: Any) -> None:
    """Let the robot stand in a world."""
    rig.driver.pop("plant")
    rig.driver |= {"physics": world(ARM + around, *JOINTS), **options}


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    in_a_world(rig, effort_limit=60.0)
    rig.robot["fault_requests"] = True
    return rig


async def lies(rig: Rig) -> list[float]:
    """Wait until nothing moves any more; return where the joints are."""
    data = await rig.until(
        "telemetry",
        lambda data: max(map(abs, data["feedback"]["velocity"])) < 1e-3,
        len(rig.reports),
    )
    position: list[float] = data["feedback"]["position"]
    return position


async def test_a_motion_is_played_under_gravity_and_held(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        result = await rig.rest_after((await ask(registry, "play", motion="short"))["goal_id"])
        assert result["code"] == "SUCCESSFUL"
        assert result["worst_error"]["value"] < 0.01  # half a tick of its velocity included
        assert result["peak_effort"]["value"] > 10.0


async def test_a_warning_tells_what_begins_in_something_else(rig: Rig) -> None:
    shelf = '<geom name="shelf" type="box" size="0.1 0.1 0.05" pos="0.6 0 -0.06"/>'
    rig.driver["physics"] = world(ARM + shelf, *JOINTS)
    async with rig.running():
        await rig.until_state("idle")
        said = [event["message"] for event in rig.reports_on("event") if event["kind"] == "warning"]
    begins = "the world begins with shelf and fore (20 mm) in each other; that pushes them apart; "
    assert said == [begins + "choose another posture by `initial`, or another place for what stands there"]


async def test_without_torque_it_falls_and_a_motion_comes_from_where_it_lies(rig: Rig) -> None:
    rig.driver |= {"upper_stop": {"shoulder": 1.2, "elbow": 0.6}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        fallen = await lies(rig)
        assert fallen == pytest.approx([1.2, 0.37], abs=0.05)  # both hang
        goal = (await ask(registry, "play", motion="short"))["goal_id"]
        await rig.until_state("approaching")
        assert (await rig.rest_after(goal))["code"] == "SUCCESSFUL"
        await ask(registry, "disable")
        assert await lies(rig) == pytest.approx(fallen, abs=0.01)


async def test_an_emergency_stop_holds_the_weight(rig: Rig) -> None:
    async with rig.running() as registry:
        goal = await rig.swings(registry)
        await ask(registry, "estop")
        assert (await rig.result_of(goal))["code"] == "ESTOP"
        held = await lies(rig)
        await rig.has_held()
        assert await lies(rig) == pytest.approx(held, abs=1e-6)
        await ask(registry, "reset")
        await ask(registry, "enable")
        goal = (await ask(registry, "play", motion="short"))["goal_id"]
        assert (await rig.rest_after(goal))["code"] == "SUCCESSFUL"


async def test_a_stop_is_as_soft_as_without_a_world(rig: Rig) -> None:
    async with rig.running() as registry:
        goal = await rig.swings(registry)
        await ask(registry, "stop")
        assert (await rig.rest_after(goal))["code"] == "CANCELED"
        assert (await ask(registry, "play", motion="short"))["goal_id"]


async def test_a_stuck_joint_ends_the_motion_and_the_other_holds(rig: Rig) -> None:
    async with rig.running() as registry:
        goal = await rig.swings(registry)
        await ask(registry, "fault", fault="stuck", joint="elbow")
        result = await rig.rest_after(goal)
        assert (result["code"], result["details"]["joint"]) == ("PATH_TOLERANCE_VIOLATED", "elbow")


async def test_a_wall_in_the_way_ends_the_motion(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    in_a_world(rig, WALL.format(-0.2), effort_limit=60.0)
    rig.robot["tolerances"] = {"path": 0.2}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await lies(rig)
        goal = (await ask(registry, "play", motion="long"))["goal_id"]
        result = await rig.rest_after(goal)
        assert result["code"] == "PATH_TOLERANCE_VIOLATED"
        samples = [data.get("contacts", []) for data in rig.reports_on("telemetry")]
        assert any("wall" in str(sample) for sample in samples)


async def test_a_joint_that_drops_its_torque_falls_and_is_a_fault(rig: Rig) -> None:
    async with rig.running() as registry:
        goal = await rig.swings(registry)
        before = await rig.until("telemetry", lambda _: True, len(rig.reports))
        await ask(registry, "fault", fault="torque_drop", joint="elbow")
        result = await rig.result_of(goal)
        assert (result["code"], result["details"]["where"]) == ("HARDWARE_FAULT", "elbow")
        fallen = await lies(rig)
        assert fallen[1] > before["feedback"]["position"][1] + 0.5


async def test_guided_it_carries_itself_and_released_it_has_to_be_held(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await rest_at(rig, registry, [0.2, 0.3])
        await ask(registry, "teach/start", mode="gravity")
        await rig.has_held()
        assert await lies(rig) == pytest.approx([0.2, 0.3], abs=5e-3)
        await ask(registry, "teach/stop")


async def rest_at(rig: Rig, registry: RobotRegistry, position: list[float]) -> None:
    goal = await ask(registry, "goto", joints=dict(zip(JOINTS, position, strict=True)))
    assert (await rig.rest_after(goal["goal_id"]))["code"] == "SUCCESSFUL"


async def test_too_weak_a_motor_never_ends_well(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    in_a_world(rig, effort_limit={"shoulder": 2.0, "elbow": 60.0})
    async with rig.running() as registry:
        await rig.until_state("idle")
        await lies(rig)
        goal = (await ask(registry, "play", motion="short"))["goal_id"]
        assert (await rig.rest_after(goal))["code"] in {"PATH_TOLERANCE_VIOLATED", "GOAL_TOLERANCE_VIOLATED"}
