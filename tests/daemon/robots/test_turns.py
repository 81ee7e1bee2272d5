"""Joints that turn without end: every way leads to the nearest turn, and loops of whole turns go on."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, refused, sweep, write_seq
from tests.daemon.robots.test_leader import Pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

TURN = 2.0 * math.pi
VELOCITY = 8.0
LIMITS = {"velocity": VELOCITY}


def spin(turns: float, duration_s: float) -> NDArray[np.float64]:
    """Turn the elbow from rest to rest, while the shoulder stays; shape (rows, 2)."""
    at = np.linspace(0.0, 1.0, round(duration_s * RATE_HZ) + 1)
    return np.column_stack([np.zeros_like(at), TURN * turns * (0.5 - 0.5 * np.cos(np.pi * at))])


def steady(turns: int, duration_s: float) -> NDArray[np.float64]:
    """Turn the elbow all the time at one speed; the row after the last is the first, some turns on."""
    at = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    return np.column_stack([np.zeros_like(at), TURN * turns * at / duration_s])


@pytest.fixture
def rig(rig: Rig) -> Rig:
    rig.robot["joints"] = {"shoulder": {"limits": LIMITS | {"lower": -2.0, "upper": 2.0}}}
    rig.robot["joints"]["elbow"] = {"limits": LIMITS, "continuous": True}
    rig.robot |= {"poses": {"park": {"elbow": 1.0}}, "fault_requests": True}
    motions = rig.folder / "motions"
    write_seq(motions / "twice.seq", spin(2.0, 4.0), JOINTS, RATE_HZ)
    write_seq(motions / "part.seq", spin(0.8, 2.0), JOINTS, RATE_HZ)
    write_seq(motions / "steady.seq", steady(1, 2.0), JOINTS, RATE_HZ)
    return rig


def elbow_of(rig: Rig) -> NDArray[np.float64]:
    """Return what the elbow was sent."""
    column: NDArray[np.float64] = read_trace(rig.folder / "trace.npy")["position"][:, 1]
    return column


async def held(rig: Rig) -> float:
    """Return where the elbow is held."""
    report = await rig.until("telemetry", lambda _: True, len(rig.reports))
    return float(report["reference"]["position"][1])


async def plays(rig: Rig, registry: Any, verb: str = "play", **asked: Any) -> tuple[float, float]:
    """Play to the end; return how far the approach went, and where the elbow is held then."""
    accepted = await ask(registry, verb, **asked)
    result = await rig.rest_after(accepted["goal_id"])
    assert result["code"] == "SUCCESSFUL", result["message"]
    distance = accepted.get("start_distance", {"value": math.nan})["value"]
    return distance, await held(rig)


async def test_a_motion_plays_on_the_turn_where_the_joint_is(rig: Rig) -> None:
    rig.driver["initial"] = {"elbow": 7 * TURN + 0.5}
    async with rig.running() as registry:
        await rig.until_state("idle")
        distance, at = await plays(rig, registry, motion="short")
    rows = sweep(0.5)[:, 1] + 7 * TURN
    sent = elbow_of(rig)
    windows = np.lib.stride_tricks.sliding_window_view(sent, len(rows))
    assert distance == pytest.approx(0.5 - sweep(0.5)[0, 1])
    assert at == pytest.approx(rows[-1], abs=1e-12)
    assert np.abs(windows - rows).max(axis=1).min() < 1e-12
    assert np.ptp(sent) < 1.0


@pytest.mark.parametrize(
    ("initial", "asked", "way", "at"),
    [
        (5 * TURN, {"joints": {"elbow": 1.0}}, 1.0, 5 * TURN + 1.0),
        (5 * TURN - 0.2, {"joints": {"elbow": 30 * TURN}}, 0.2, 5 * TURN),
        (-3.0, {"joints": {"elbow": 3.0}}, TURN - 6.0, 3.0 - TURN),
        (-1.0, {"pose": "park"}, 2.0, 1.0),
    ],
)
async def test_a_posture_is_the_nearest_of_all_its_turns(
    rig: Rig, initial: float, asked: dict[str, Any], way: float, at: float
) -> None:
    rig.driver["initial"] = {"elbow": initial}
    async with rig.running() as registry:
        await rig.until_state("idle")
        went, held_at = await plays(rig, registry, "goto", **asked)
    assert went == pytest.approx(way)
    assert held_at == pytest.approx(at)
    assert np.ptp(elbow_of(rig)) <= way + 1e-9


async def test_park_after_a_motion_does_not_unwind(rig: Rig) -> None:
    rig.robot["on_end"] = "park"
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "play", motion="twice")
        await rig.until("result", lambda data: data["motion"] == "park")
        assert await held(rig) == pytest.approx(2 * TURN + 1.0)


@pytest.mark.parametrize("motion", ["twice", "steady"])
async def test_a_loop_of_whole_turns_goes_on_and_on(rig: Rig, motion: str) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        _, at = await plays(rig, registry, motion=motion, loop=5)
    turns = 10 if motion == "twice" else 5
    sent = elbow_of(rig)
    steps = np.diff(sent)
    assert at == pytest.approx(turns * TURN, abs=0.04)
    assert (steps >= 0.0).all()
    assert steps.max() * RATE_HZ <= VELOCITY
    reported = rig.reports_on("state")
    assert max(data.get("loop", 0) for data in reported) == 5
    assert [data["state"] for data in reported].count("playing") >= 1
    assert "approaching" not in [data["state"] for data in reported if data.get("loop", 1) > 1]


async def test_a_loop_that_is_not_closed_goes_on_to_the_nearest_turn(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        _, at = await plays(rig, registry, motion="part", loop=3, seam="approach")
        assert (await refused(registry, "play", motion="part", loop=3))[1] == (
            "part: its last row is 1.257 rad from its first at joint 'elbow'; that cannot be passed in one "
            "tick; choose seam approach, or ping-pong"
        )
    assert at == pytest.approx(2.8 * TURN)
    assert (np.diff(elbow_of(rig)) >= 0.0).all()


async def test_each_step_of_a_sequence_goes_on_from_where_the_one_before_it_ends(rig: Rig) -> None:
    steps = [{"motion": "twice"}, {"motion": "part", "repeat": 2}, {"motion": "short"}]
    async with rig.running() as registry:
        await rig.until_state("idle")
        _, at = await plays(rig, registry, "sequence", steps=steps)
    sent = elbow_of(rig)
    assert at == pytest.approx(4 * TURN + sweep(0.5)[-1, 1])
    assert (np.diff(sent[: int((sent > 3.8 * TURN).argmax())]) >= 0.0).all()
    assert sent.max() < 4 * TURN + 1.0


async def test_ping_pong_comes_back_as_before(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        _, at = await plays(rig, registry, motion="twice", loop=2, ping_pong=True)
    assert at == 0.0
    assert elbow_of(rig).max() == pytest.approx(2 * TURN)


async def test_a_seek_goes_to_the_nearest_turn_and_what_follows_goes_on_from_there(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        goal = await ask(registry, "play", motion="twice", loop=2)
        await rig.until("telemetry", lambda data: (data["frame"] or 0.0) > 600)  # of 800, after 1.7 turns
        await ask(registry, "pause")
        await rig.until_state("paused")
        paused = await held(rig)
        since = len(rig.reports)
        await ask(registry, "seek", frame=0)
        await rig.until_state("paused", since)
        sought = await held(rig)
        await ask(registry, "resume")
        assert (await rig.rest_after(goal["goal_id"]))["code"] == "SUCCESSFUL"
        at = await held(rig)
    assert abs(sought - paused) <= TURN / 2
    assert sought == pytest.approx(2 * TURN)
    assert at == pytest.approx(sought + 4 * TURN)


async def test_what_is_pushed_round_while_it_is_paused_goes_on_from_there(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        goal = await ask(registry, "play", motion="twice", loop=2)
        await rig.until("telemetry", lambda data: (data["frame"] or 0.0) > 300)
        await ask(registry, "pause")
        await rig.until_state("paused")
        await rig.has_held()
        paused = await held(rig)
        await rig.push(registry, "elbow", 3 * TURN + 0.3)
        await ask(registry, "fault", fault="clear")
        await ask(registry, "resume")
        found = await rig.until("event", lambda data: data["kind"] == "displaced")
        assert (await rig.rest_after(goal["goal_id"]))["code"] == "SUCCESSFUL"
        at = await held(rig)
    assert found["details"]["value"] == pytest.approx(3 * TURN + 0.3, abs=1e-3)
    assert at == pytest.approx(7 * TURN)
    sent = elbow_of(rig)
    back = sent[int(np.abs(np.diff(sent)).argmax()) + 1 :]
    assert back[0] == pytest.approx(paused + 3 * TURN + 0.3, abs=1e-3)
    assert back.min() >= paused + 3 * TURN - 1e-9


async def test_what_was_pushed_round_before_a_motion_plays_it_there(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        await rig.has_held()
        await rig.push(registry, "elbow", -2 * TURN - 0.3)
        await ask(registry, "fault", fault="clear")
        _, at = await plays(rig, registry, motion="twice")
    assert at == pytest.approx(0.0, abs=1e-9)


async def test_a_follower_goes_round_with_its_leader_on_the_turn_where_it_is(rig: Rig) -> None:
    leader = rig.driver | {"trace": "other.npy", "plant": "other.bin", "initial": {"elbow": 3 * TURN + 0.4}}
    rig.others = {"other": rig.robot | {"driver": leader}}
    async with rig.running() as registry:
        pair = Pair(rig, registry)
        for name in ("arm", "other"):
            while pair.robot(name).session.state != "idle":
                await pair.robot(name).change(1.0)
        await pair.follows()
        await pair.together()
        assert pair.measured("arm")[1] == pytest.approx(0.4, abs=0.01)
        await pair.ask("other", "goto", joints={"elbow": 3 * TURN - 0.5})
        await asyncio.sleep(4.0)
        assert pair.measured("arm")[1] == pytest.approx(-0.5, abs=0.01)
    assert np.ptp(elbow_of(rig)) < 1.0


async def test_who_turns_a_joint_by_hand_may_turn_it_round_and_play_that_anywhere(rig: Rig) -> None:
    (rig.folder / "taught").mkdir()
    rig.robot["motions"] = [{"folder": "taught", "upload": True}]
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "teach/start")
        await ask(registry, "fault", fault="hand", joint="elbow", to=3 * TURN, for_s=6.0)
        await asyncio.sleep(6.5)
        assert (await ask(registry, "teach/stop"))["problems"] == []
        await ask(registry, "teach/save", name="round")
        _, at = await plays(rig, registry, motion="round")
    assert at == pytest.approx(6 * TURN, abs=0.05)
