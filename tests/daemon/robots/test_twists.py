"""A frame of a robot is moved by twists, with its real stream process, on virtual time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pydantic import ValidationError

from motiond.drivers.sim.command_log import read_trace
from motiond.formats import load_robot
from tests.daemon.rig import Rig, ask, refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.formats.arrays import Floats

DESCRIPTION = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"
ARM = load_robot(DESCRIPTION)
JOINTS = ("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3")
BENT = (0.3, 0.9, 1.4, 0.4, 0.8, -0.2)
LIMITS = {"lower": -2.5, "upper": 2.5, "velocity": 1.5, "acceleration": 8.0}
RATE_HZ = 200.0


class Tool:
    """The arm, whose tool is moved from a bent posture."""

    def __init__(self, rig: Rig, registry: RobotRegistry) -> None:
        self.rig, self.registry = rig, registry
        self._rows = 0

    async def follow(self, **how: Any) -> str:
        going = await ask(self.registry, "goto", joints=dict(zip(JOINTS, BENT, strict=True)))
        assert (await self.rig.result_of(going["goal_id"]))["code"] == "SUCCESSFUL"
        self._rows = len(self._trace())
        asked = {"mode": "twist", "frame": "tool", "timeout_s": 0.5} | how
        return str((await ask(self.registry, "follow/start", **asked))["goal_id"])

    async def move(self, goal_id: str, twist: list[float], for_s: float, rate_hz: float = 50.0) -> None:
        for _ in range(round(for_s * rate_hz)):
            await ask(self.registry, "follow/target", goal_id=goal_id, twist=twist)
            await asyncio.sleep(1 / rate_hz)

    async def stop(self, goal_id: str) -> dict[str, Any]:
        await ask(self.registry, "follow/stop", goal_id=goal_id)
        return await self.rig.rest_after(goal_id)

    def _trace(self) -> Floats:
        return read_trace(self.rig.folder / "trace.npy")["position"]

    def setpoints(self) -> Floats:
        """Return all since it has followed, shape (ticks, joints)."""
        return self._trace()[self._rows :]

    def status(self) -> dict[str, Any]:
        return {**self.registry.members["arm"].robot.state_payload()}


@pytest.fixture
async def tool(rig: Rig) -> AsyncIterator[Tool]:
    rig.robot |= {
        "model": str(DESCRIPTION),
        "motions": [],
        "joints": {name: {"limits": LIMITS} for name in JOINTS}
        | {"elbow": {"limits": LIMITS | {"upper": 1.7}}},
    }
    async with rig.running() as registry:
        await rig.until_state("idle")
        yield Tool(rig, registry)


def keeps_limits(positions: Floats) -> None:
    velocity = np.diff(positions, axis=0) * RATE_HZ
    assert np.abs(positions).max() <= 2.5 + 1e-9
    assert np.abs(velocity).max() <= 1.5 * 1.000_001
    assert np.abs(np.diff(velocity, axis=0)).max() * RATE_HZ <= 8.0 * 1.02


@pytest.mark.parametrize("rate_hz", [50.0, 30.0])
async def test_a_tool_goes_along_a_straight_line(tool: Tool, rate_hz: float) -> None:
    way = np.array([0.0, 0.6, 0.8])
    goal_id = await tool.follow()
    begin = ARM.forward_kinematics(BENT)["tool"]
    await tool.move(goal_id, [*(0.1 * way), 0.0, 0.0, 0.0], 2.0, rate_hz)
    assert (await tool.stop(goal_id))["code"] == "SUCCESSFUL"
    keeps_limits(tool.setpoints())
    places = ARM.forward_kinematics(tool.setpoints())["tool"]
    moved = places[:, :3, 3] - begin[:3, 3]
    assert moved[-1] @ way == pytest.approx(0.2, abs=0.01)
    assert np.linalg.norm(np.cross(moved, way), axis=1).max() < 0.002
    np.testing.assert_allclose(
        places[:, :3, :3], np.broadcast_to(begin[:3, :3], (len(places), 3, 3)), atol=5e-3
    )


async def test_a_tool_turns_about_its_own_axes_where_it_is(tool: Tool) -> None:
    goal_id = await tool.follow(reference="tool")
    begin = ARM.forward_kinematics(BENT)["tool"]
    await tool.move(goal_id, [0.0, 0.0, 0.0, 0.0, 0.0, 0.5], 1.0)
    await tool.stop(goal_id)
    end = ARM.forward_kinematics(tool.setpoints()[-1])["tool"]
    np.testing.assert_allclose(end[:3, 3], begin[:3, 3], atol=0.003)
    np.testing.assert_allclose(end[:3, 2], begin[:3, 2], atol=0.01)
    turned = np.arccos(end[:3, 0] @ begin[:3, 0])
    assert turned == pytest.approx(0.5, abs=0.03)


async def test_it_stands_at_a_joints_limit_which_the_state_names_and_comes_back(tool: Tool) -> None:
    goal_id = await tool.follow()
    back = [-0.1, 0.0, 0.0, 0.0, 0.0, 0.0]
    await tool.move(goal_id, back, 3.0)
    follow = tool.status()["follow"]
    assert (follow["mode"], follow["frame"], follow["slowed_by"]) == ("twist", "tool", "elbow")
    rested = tool.setpoints()[-1]
    assert rested[2] == pytest.approx(1.7, abs=0.01)
    await tool.move(goal_id, back, 0.5)
    np.testing.assert_allclose(tool.setpoints()[-1], rested, atol=0.005)
    await tool.move(goal_id, [0.1, 0.0, 0.0, 0.0, 0.0, 0.0], 0.5)
    assert tool.status()["follow"]["slowed_by"] is None
    await tool.stop(goal_id)
    keeps_limits(tool.setpoints())


async def test_that_it_stands_before_a_singularity_is_reported_at_once(tool: Tool) -> None:
    goal_id = await tool.follow(free=[])
    up = [0.0, 0.0, 0.3, 0.0, 0.0, 0.0]
    while (by := tool.status()["follow"]["slowed_by"]) is None:
        await tool.move(goal_id, up, 0.02)
    assert tool.rig.reports_on("state")[-1]["follow"]["slowed_by"] == by
    await tool.move(goal_id, up, 3.0)
    assert tool.rig.reports_on("state")[-1]["follow"]["slowed_by"] == "singularity"
    await tool.stop(goal_id)
    keeps_limits(tool.setpoints())


async def test_what_cannot_be_moved_is_refused_by_name(tool: Tool) -> None:
    code, message = await refused(tool.registry, "follow/start", mode="twist", frame="tol")
    assert code == "INVALID_REQUEST"
    assert message.startswith("six_axis: there is no frame 'tol'; it has base, shoulder, ")
    assert message.endswith("did you mean 'tool'?")
    goal_id = await tool.follow()
    assert await refused(tool.registry, "follow/target", goal_id=goal_id, positions=[0.0] * 6) == (
        "INVALID_REQUEST",
        "arm/follow: it has no twist, which this follow takes; correct it",
    )
    assert tool.status()["follow"]["refused"] == 1


@pytest.mark.parametrize(
    "keys", [{"mode": "twist"}, {"frame": "tool"}, {"mode": "twist", "frame": "tool", "free": ["vq"]}]
)
async def test_a_frame_goes_with_twists(tool: Tool, keys: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        await ask(tool.registry, "follow/start", **keys)
