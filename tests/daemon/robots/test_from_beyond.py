"""Joints far outside their limits: what is refused there, and the slow way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.trajectory.beyond import FROM_BEYOND
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import Rig, ask, refused

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

LOWER, UPPER, BEYOND = -2.0, 2.0, 2.6
VELOCITY = 2.0  # of the rig's approaches
REFUSED = (
    f"arm: joint 'elbow' is at {BEYOND:g} rad, far outside its limits of {LOWER:g} to {UPPER:g} rad; "
    "check the actuator, its offset and its turns; if it is there, go to a posture with from_beyond"
)


def rig_beyond(folder: Path, **robot: Any) -> Rig:
    rig = Rig(folder)
    rig.driver |= {"initial": {"elbow": BEYOND}}
    rig.robot |= {"poses": {"park": {"shoulder": 0.5, "elbow": 1.0}}, "clock": "virtual"} | robot
    del rig.driver["plant"]
    return rig


@pytest.mark.parametrize(
    ("verb", "asked", "what"),
    [
        ("play", {"motion": "short"}, "short"),
        ("goto", {"pose": "park"}, "park"),
        ("goto", {"joints": {"elbow": 1.0}, "from_beyond": False}, "goto"),
    ],
)
async def test_from_far_outside_nothing_goes_without_being_asked_to(
    tmp_path: Path, verb: str, asked: dict[str, Any], what: str
) -> None:
    rig = rig_beyond(tmp_path)
    async with rig.running() as registry:
        await rig.until_state("idle")
        assert await refused(registry, verb, **asked) == ("INVALID_MOTION", f"{what}: {REFUSED}")
    assert len(np.unique(read_trace(tmp_path / "trace.npy")["position"], axis=0)) <= 1


async def test_asked_to_a_joint_comes_back_straight_and_slowly_and_then_plays(tmp_path: Path) -> None:
    rig = rig_beyond(tmp_path)
    async with rig.running() as registry:
        await rig.until_state("idle")
        accepted = await ask(registry, "goto", pose="park", from_beyond=True)
        result = await rig.rest_after(accepted["goal_id"])
        way = read_trace(tmp_path / "trace.npy")
        played = await rig.rest_after((await ask(registry, "play", motion="short"))["goal_id"])
    assert (result["code"], played["code"]) == ("SUCCESSFUL", "SUCCESSFUL")
    positions = way["position"]
    assert positions[[0, -1]].tolist() == [[0.0, BEYOND], [0.5, 1.0]]
    assert (np.diff(positions, axis=0) * [1, -1] >= 0.0).all()
    steps, took_s = np.abs(np.diff(positions, axis=0)), np.diff(way["time"])[:, None]
    assert steps.any()
    assert (steps <= FROM_BEYOND * VELOCITY * took_s * (1 + 1e-6) + 1e-12).all()


async def test_a_stop_on_the_way_holds_beyond_the_limit_until_it_is_asked_for_again(tmp_path: Path) -> None:
    rig = rig_beyond(tmp_path, clock="real")
    async with rig.running() as registry:
        await rig.until_state("idle")
        accepted = await ask(registry, "goto", joints={"elbow": 0.0}, from_beyond=True)
        await rig.until("telemetry", lambda data: data["reference"]["position"][1] < BEYOND - 0.01)
        await ask(registry, "stop")
        result = await rig.rest_after(accepted["goal_id"])
        with pytest.raises(RequestError) as refusal:
            await ask(registry, "goto", joints={"elbow": 0.0})
        held = (await rig.until("telemetry", lambda _: True, len(rig.reports)))["reference"]["position"][1]
    assert result["code"] == "CANCELED"
    assert UPPER + 0.2 < held < BEYOND
    assert "go to a posture with from_beyond" in str(refusal.value)


async def test_on_exit_does_not_park_from_beyond(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rig = rig_beyond(tmp_path, on_exit="park")
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
    assert f"arm: on_exit park was given up; park: {REFUSED}" in caplog.messages
    assert len(np.unique(read_trace(tmp_path / "trace.npy")["position"], axis=0)) == 1


def rig_to_push(folder: Path, initial: float) -> Rig:
    rig = rig_beyond(folder, clock="real", fault_requests=True)
    rig.driver |= {"initial": {"elbow": initial}, "lower_stop": -10.0, "upper_stop": 10.0}
    return rig


@pytest.mark.parametrize("by", [2.6, 6.283])
async def test_a_joint_pushed_far_outside_its_limits_does_not_come_back_unasked(
    tmp_path: Path, by: float
) -> None:
    rig = rig_to_push(tmp_path, 0.0)
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        await rig.has_held()
        await rig.push(registry, "elbow", by)
        result = await rig.result_of((await ask(registry, "play", motion="short"))["goal_id"])
        positions = read_trace(tmp_path / "trace.npy")["position"]
        slow = await ask(registry, "goto", pose="park", from_beyond=True)
        event = await rig.until("event", lambda data: data["kind"] == "displaced")
        await rig.until("telemetry", lambda data: data["reference"]["position"][1] < by - 0.01)
        await ask(registry, "stop")
        await rig.result_of(slow["goal_id"])
    reason = f"joint 'elbow' is at {by:.4g} rad, far outside its limits of -2 to 2 rad; check the actuator"
    moved = f"joint 'elbow' was moved {by:.4g} rad from where it was held"
    hint = "its offset and its turns; if it is there, go to a posture with from_beyond"
    assert (result["code"], result["message"]) == ("INVALID_GOAL", f"{moved}; {reason}, {hint}")
    assert np.unique(positions, axis=0).tolist() == [[0.0, 0.0]]
    assert event["message"] == f"{moved}; it goes on slowly from where it is; look for what moved it"
    assert goes_inward_slowly(tmp_path, begins=by)


async def test_a_joint_pushed_inward_from_beyond_is_not_pushed_out_again(tmp_path: Path) -> None:
    rig = rig_to_push(tmp_path, BEYOND)
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        await rig.has_held()
        await rig.push(registry, "elbow", -0.3)
        slow = await ask(registry, "goto", pose="park", from_beyond=True)
        await rig.until("telemetry", lambda data: data["reference"]["position"][1] < BEYOND - 0.31)
        await ask(registry, "stop")
        await rig.result_of(slow["goal_id"])
    assert goes_inward_slowly(tmp_path, begins=BEYOND - 0.3)


async def test_a_paused_way_back_does_not_push_a_joint_out_again(tmp_path: Path) -> None:
    rig = rig_to_push(tmp_path, BEYOND)
    async with rig.running() as registry:
        await rig.until_state("idle")
        slow = await ask(registry, "goto", pose="park", from_beyond=True)
        await rig.until("telemetry", lambda data: data["reference"]["position"][1] < BEYOND - 0.01)
        await ask(registry, "pause")
        await rig.has_held()
        await rig.push(registry, "elbow", -0.2)
        await ask(registry, "resume")
        result = await rig.result_of(slow["goal_id"])
    assert result["code"] == "PATH_TOLERANCE_VIOLATED"
    positions = read_trace(tmp_path / "trace.npy")["position"][:, 1]
    assert (np.diff(positions) <= 0.0).all()


def goes_inward_slowly(folder: Path, begins: float) -> bool:
    """Whether the elbow's setpoints, from the one that the push has left on, only decrease, and slowly."""
    trace = read_trace(folder / "trace.npy")
    positions, velocities = trace["position"][:, 1], trace["velocity"][:, 1]
    first = int(np.abs(positions - begins).argmin())
    assert abs(positions[first] - begins) < 1e-3
    steps = np.diff(positions[first:])
    fastest = np.abs(velocities).max()
    return bool((steps <= 0.0).all() and steps.any() and fastest <= FROM_BEYOND * VELOCITY * (1 + 1e-6))
