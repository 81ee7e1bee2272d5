"""Behaviour of several robots in one daemon: what fails in one of them ends neither it nor the others."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from motiond.daemon.config.robot import LeaseSettings
from motiond.daemon.robots import member as module
from motiond.daemon.robots.member import Member
from motiond.daemon.robots.process.stream_supervisor import StreamSupervisor
from motiond.daemon.robots.registry import RobotRegistry
from tests.daemon.rig import Rig, ask
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from motiond.daemon.joints.joint_map import JointMap
    from motiond.daemon.robots.robot import Robot


class FakeRobot:
    """Fails by the errors it was given, then runs until it leaves."""

    def __init__(self, name: str, *errors: Exception) -> None:
        self.name, self.session = name, self
        self.settings = SimpleNamespace(
            lease=LeaseSettings(), groups=[], watched_folders=(), rest_after_s=None
        )
        self.errors = list(errors)
        self.reasons: list[str] = []
        self.rests: list[float] = []
        self.left, self.on_line = asyncio.Event(), asyncio.Event()
        self.failing_stop = False
        self.limits = SimpleNamespace(watch=self.left.wait)
        self.uploads = SimpleNamespace(remove_leftovers=lambda: None)

    @property
    def leaving(self) -> bool:
        return self.left.is_set()

    async def run(self) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.on_line.set()
        await self.left.wait()

    async def rest(self, duration_s: float) -> None:
        self.rests.append(duration_s)

    def on_exit(self, reason: str) -> None:
        self.reasons.append(reason)

    def stop(self, reason: str) -> None:
        if self.failing_stop:
            raise ZeroDivisionError
        self.reasons.append(reason)

    def report(self, *_: object, **__: object) -> None:
        pass

    def wake(self) -> None:
        pass

    def leave(self) -> None:
        self.left.set()


def registry_of(*robots: FakeRobot, monkeypatch: pytest.MonkeyPatch) -> RobotRegistry:
    monkeypatch.setattr(module, "RequestHandlers", lambda robot, *_: robot)
    joint_map = cast("JointMap", None)
    return RobotRegistry([Member(cast("Robot", robot), None, joint_map) for robot in robots])


async def test_a_robot_that_fails_is_offline_and_tried_again_while_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    errors = [ExceptionGroup("tasks", [ValueError("one"), KeyError("two")]), *[OSError(24, "too many")] * 7]
    arm, leg = FakeRobot("arm", *errors), FakeRobot("leg")
    registry = registry_of(arm, leg, monkeypatch=monkeypatch)
    running = asyncio.create_task(registry.run())
    async with asyncio.timeout(PATIENCE_S):
        await arm.on_line.wait()
    assert leg.on_line.is_set()
    assert not running.done()
    assert arm.reasons == [
        "failed inside motiond; ValueError('one') and KeyError('two'); the daemon's log says more",
        *["failed inside motiond; OSError(24, 'too many'); the daemon's log says more"] * 7,
    ]
    assert arm.rests == [0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 30.0, 30.0]
    assert (leg.reasons, caplog.messages) == ([], ["arm: failed inside motiond"] * 8)
    registry.leave()
    await asyncio.wait_for(running, PATIENCE_S)


async def test_a_stop_reaches_every_robot_also_after_one_that_cannot_be_stopped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    arm, leg = FakeRobot("arm"), FakeRobot("leg")
    arm.failing_stop = True
    registry_of(arm, leg, monkeypatch=monkeypatch).stop("the broker has been away")
    assert (arm.reasons, leg.reasons) == ([], ["the broker has been away"])
    assert caplog.messages == ["arm: failed inside motiond"]


async def test_a_real_robot_that_failed_comes_back_and_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BACK_OFF_S", (0.1,))
    rig = Rig(tmp_path)
    usual, failing = StreamSupervisor.run, asyncio.Event()

    async def fail_once(stream: StreamSupervisor, listener: Any) -> None:
        if not failing.is_set():
            running = asyncio.create_task(usual(stream, listener))
            await failing.wait()
            running.cancel()
            await asyncio.wait((running,))
            raise ZeroDivisionError("nobody expected it")
        await usual(stream, listener)

    monkeypatch.setattr(StreamSupervisor, "run", fail_once)
    async with rig.running() as registry:
        await rig.until_state("idle")
        accepted = await ask(registry, "play", motion="long")
        failing.set()
        result = await rig.result_of(accepted["goal_id"])
        assert result["code"] == "COMM_LOST"
        lost = "failed inside motiond; ZeroDivisionError('nobody expected it'); "
        offline = await rig.until("state", lambda data: data["message"].startswith(lost))
        assert offline["state"] == "offline"
        await rig.until_state("idle", rig.place_of(offline))
        accepted = await ask(registry, "play", motion="short")
        assert (await rig.result_of(accepted["goal_id"]))["code"] == "SUCCESSFUL"
