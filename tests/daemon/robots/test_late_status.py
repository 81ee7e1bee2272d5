"""Behaviour of a robot that is asked for something before its stream process has told what it does now."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.api.errors import RequestError
from motiond.daemon.ipc import messages
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import JOINTS, Rig, ask
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.daemon.robots.stream_listener import StreamListener

PARK = {"park": {"shoulder": 0.5, "elbow": -0.5}}


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.robot |= {"poses": PARK, "on_end": "park"}
    return rig


class HeldBack:
    """Keeps from a listener that the first goal has ended, and what comes after it."""

    def __init__(self, listener: StreamListener, monkeypatch: pytest.MonkeyPatch) -> None:
        self._tell = listener.on_notice
        self._kept: list[messages.Notice] = []
        self._is_over = False
        self._told = asyncio.Event()
        monkeypatch.setattr(listener, "on_notice", self._take)

    def _take(self, notice: messages.Notice) -> None:
        if not self._is_over and (self._kept or (isinstance(notice, messages.Changed) and notice.ended)):
            self._kept.append(notice)
            self._told.set()
        else:
            self._tell(notice)

    async def until_ended(self) -> None:
        """Wait for the end."""
        async with asyncio.timeout(PATIENCE_S):
            await self._told.wait()

    async def let_through(self) -> None:
        """Wait for the end, and keep nothing any more."""
        await self.until_ended()
        self._is_over = True
        for notice in self._kept:
            self._tell(notice)


async def ended_and_not_known_to_have(
    rig: Rig, registry: RobotRegistry, monkeypatch: pytest.MonkeyPatch
) -> tuple[HeldBack, str]:
    await rig.until_state("idle")
    kept = HeldBack(registry.members["arm"].listener, monkeypatch)
    goal_id = (await ask(registry, "play", motion="short"))["goal_id"]
    await kept.until_ended()
    return kept, goal_id


async def test_a_robot_parks_though_its_motion_is_known_to_have_ended_late(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig.running() as registry:
        kept, _ = await ended_and_not_known_to_have(rig, registry, monkeypatch)
        await kept.let_through()
        await rig.until("result", lambda data: data["motion"] == "park")
    assert rig.results() == ["SUCCESSFUL", "SUCCESSFUL"]


@pytest.mark.parametrize("on_end", ["park", "release"])
async def test_a_stop_just_before_the_end_is_known_leaves_the_robot_where_it_is(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, on_end: str
) -> None:
    rig.robot["on_end"] = on_end
    async with rig.running() as registry:
        kept, goal_id = await ended_and_not_known_to_have(rig, registry, monkeypatch)
        stopping = asyncio.create_task(ask(registry, "stop"))
        await asyncio.sleep(0)
        queued = (await ask(registry, "play", motion="short", on_busy="queue"))["goal_id"]
        await kept.let_through()
        assert (await stopping)["goal_id"] == goal_id
        result, other = await rig.result_of(goal_id), await rig.result_of(queued)
        assert (result["code"], result["follows"]) == ("SUCCESSFUL", None)
        assert (other["code"], other["message"]) == (
            "CANCELED",
            "short, before it, was told to end; it had not begun",
        )
        robot = registry.members["arm"].robot
        assert robot.session.rests
        assert robot.session.is_ready
    assert rig.results() == ["SUCCESSFUL", "CANCELED"]


async def test_a_motion_after_one_that_was_told_to_end_is_followed_as_ever(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig.running() as registry:
        kept, _ = await ended_and_not_known_to_have(rig, registry, monkeypatch)
        stopping = asyncio.create_task(ask(registry, "stop"))
        await asyncio.sleep(0)
        await kept.let_through()
        await stopping
        goal_id = (await ask(registry, "play", motion="short"))["goal_id"]
        assert (await rig.result_of(goal_id))["follows"] == "park"
        await rig.until("result", lambda data: data["motion"] == "park")


async def test_a_pause_just_before_the_end_is_known_is_no_success(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig.running() as registry:
        kept, _ = await ended_and_not_known_to_have(rig, registry, monkeypatch)
        pausing = asyncio.create_task(ask(registry, "pause"))
        await asyncio.sleep(0)
        await kept.let_through()
        with pytest.raises(RequestError) as refusal:
            await pausing
    assert (refusal.value.code, str(refusal.value)) == (
        "NOT_PLAYING",
        "arm: short ended before; pause what follows, or stop it",
    )


async def test_a_play_that_is_followed_by_a_disable_at_once_does_not_begin(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        playing = asyncio.create_task(ask(registry, "play", motion="short"))
        await asyncio.sleep(0)  # torque is asked for, and not on yet
        assert not (await ask(registry, "disable"))["torque"]
        with pytest.raises(RequestError) as refusal:
            await playing
        assert (refusal.value.code, str(refusal.value)) == (
            "CANCELED",
            "arm: stopped before the motion began; play it again",
        )
        goal_id = (await ask(registry, "play", motion="short"))["goal_id"]
        assert (await rig.result_of(goal_id))["code"] == "SUCCESSFUL"


async def leaving_while_it_moves(rig: Rig, registry: RobotRegistry) -> None:
    """Let a robot end that is to park, as far as its own soft stop."""
    await rig.until_state("idle")
    await ask(registry, "play", motion="long")
    await rig.until_state("playing")
    registry.leave()


async def test_a_robot_that_is_stopped_while_the_daemon_ends_does_not_go_to_its_park_pose(rig: Rig) -> None:
    rig.robot["on_exit"] = "park"
    async with rig.running() as registry:
        await leaving_while_it_moves(rig, registry)
        await ask(registry, "stop")
    assert rig.results() == ["CANCELED"]


async def test_a_robot_that_was_halted_while_the_daemon_ends_stays_though_it_is_reset(rig: Rig) -> None:
    rig.robot["on_exit"] = "park"
    async with rig.running() as registry:
        await leaving_while_it_moves(rig, registry)
        assert (await ask(registry, "estop"))["state"] == "estopped"
        await ask(registry, "reset")
    assert rig.results() == ["ESTOP"]


async def test_a_pause_just_after_a_play_is_answered_when_the_robot_has_paused(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        goal_id = (await ask(registry, "play", motion="long"))["goal_id"]
        assert await ask(registry, "pause") == {"state": "paused", "goal_id": goal_id}


async def test_a_seek_just_after_a_play_goes_there(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        goal_id = (await ask(registry, "play", motion="long"))["goal_id"]
        assert (await ask(registry, "seek", frame=300))["goal_id"] == goal_id
        await rig.until("telemetry", lambda data: (data["frame"] or 0) >= 300)


async def test_a_shutdown_just_after_a_play_parks_and_gives_each_goal_its_result(rig: Rig) -> None:
    rig.robot |= {"on_end": "hold", "on_exit": "park"}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "goto", joints=dict.fromkeys(JOINTS, 0.2))
        await rig.until("result", lambda data: data["code"] == "SUCCESSFUL")
        await ask(registry, "play", motion="long")
    assert rig.results() == ["SUCCESSFUL", "CANCELED", "SUCCESSFUL"]
    position = read_trace(rig.folder / "trace.npy")["position"][-1]
    assert position.tolist() == list(PARK["park"].values())
