"""Behaviour of several robots in one daemon: what fails in one of them ends neither it nor the others."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.api import ReportHub
from motiond.daemon.config.settings import load_settings
from motiond.daemon.joints import description
from motiond.daemon.robots.assembly import make_registry
from motiond.daemon.robots.process.stream_supervisor import StreamSupervisor
from motiond.daemon.robots.robot import Robot
from motiond.formats import load_robot
from tests.daemon.rig import FORKS, ask, make_clock, refused

if TYPE_CHECKING:
    from motiond.formats import RobotModel
    from tests.daemon.rig import Rig

ARM = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"


async def test_a_robot_that_fails_is_offline_and_tried_again_while_the_others_go_on(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    errors = [ExceptionGroup("tasks", [ValueError("one"), KeyError("two")]), *[OSError(24, "too many")] * 7]
    run, rests = Robot.run, list[float]()

    async def fail_at_first(robot: Robot) -> None:
        if robot.name == "arm" and errors:
            raise errors.pop(0)
        await run(robot)

    async def rest(_robot: Robot, duration_s: float) -> None:
        rests.append(duration_s)

    monkeypatch.setattr(Robot, "run", fail_at_first)
    monkeypatch.setattr(Robot, "rest", rest)
    rig.others = {"leg": {**rig.robot, "driver": {"type": "sim"}}}
    async with rig.running():
        await rig.until_state("idle")
    lost = [report for report in rig.reports if report.data.get("kind") == "stream_lost"]
    assert [(report.robot, report.data["message"]) for report in lost] == [
        ("arm", "failed inside motiond; ValueError('one') and KeyError('two'); the daemon's log says more"),
        ("arm", "failed inside motiond; OSError(24, 'too many'); the daemon's log says more"),
    ]
    assert rests == [0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 30.0, 30.0]
    assert caplog.messages.count("arm: failed inside motiond") == 8


async def test_a_stop_reaches_every_robot_also_after_one_that_cannot_be_stopped(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig.others = {"leg": {**rig.robot, "driver": {"type": "sim"}}}
    stopped: list[str] = []

    def fail(_reason: str) -> None:
        raise ZeroDivisionError

    async with rig.running() as registry:
        arm, leg = (registry.members[name].robot for name in ("arm", "leg"))
        with monkeypatch.context() as patched:
            patched.setattr(arm.session, "stop", fail)
            patched.setattr(leg.session, "stop", stopped.append)
            registry.stop("the broker has been away")
    assert stopped == ["the broker has been away"]
    assert "arm: failed inside motiond" in caplog.messages


@pytest.mark.parametrize(
    ("verb", "body", "problem"),
    [
        ("follow/start", {}, "it cannot follow"),
        ("play", {"motion": "long"}, "long cannot be played"),
        ("play", {"motion": "long", "on_busy": "queue"}, "long cannot be played"),
        ("goto", {"joints": {"elbow": 0.2}}, "goto cannot be played"),
        ("sequence", {"steps": [{"motion": "short"}]}, "sequence cannot be played"),
        ("teach/start", {}, "it cannot be taught"),
        ("fleet/prepare", {"motion": "long", "start": "s1"}, "long cannot be prepared"),
    ],
)
async def test_what_nobody_could_stop_does_not_begin_but_the_robot_is_enabled_and_stopped(
    rig: Rig, verb: str, body: dict[str, Any], problem: str
) -> None:
    rig.robot["groups"] = ["choir"]
    async with rig.running() as registry:
        await rig.until_state("idle")
        registry.heed(lambda: ("the broker has been away", "bring it back"))
        refusal = f"arm: {problem}; the broker has been away; bring it back"
        assert await refused(registry, verb, **body) == ("NOT_ALLOWED", refusal)
        assert (await ask(registry, "enable"))["torque"]
        await ask(registry, "stop")
        await ask(registry, "estop")
        assert (await ask(registry, "reset"))["state"] == "idle"
        registry.heed(lambda: None)
        await ask(registry, verb, **body)


async def test_a_robot_that_failed_comes_back_and_plays(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
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
        assert (await rig.result_of(accepted["goal_id"]))["code"] == "COMM_LOST"
        lost = "failed inside motiond; ZeroDivisionError('nobody expected it'); "
        offline = await rig.until("state", lambda data: data["message"].startswith(lost))
        assert offline["state"] == "offline"
        await rig.until_state("idle", rig.place_of(offline))
        accepted = await ask(registry, "play", motion="short")
        assert (await rig.result_of(accepted["goal_id"]))["code"] == "SUCCESSFUL"


def test_robots_of_one_kind_share_what_is_read_of_their_description(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def noted(path: Path, *given: Any, **options: Any) -> RobotModel:
        read.append(path)
        return load_robot(path, *given, **options)

    monkeypatch.setattr(description, "load_robot", noted)
    one = {"model": str(ARM), "driver": {"type": "sim"}}
    other = {**one, "model": {"file": str(ARM), "joint_names": ["a", "b", "c", "d", "e", "f"]}}
    rig.robot = one
    rig.others = {"second": one, "other": other, "third": one}
    registry = make_registry(load_settings(rig.config), ReportHub(), FORKS, make_clock())
    assert read == [ARM, ARM]
    arm, second, third = (registry.members[name] for name in ("arm", "second", "third"))
    assert arm.model is second.model is third.model
    assert registry.members["other"].joint_map.joints == ("a", "b", "c", "d", "e", "f")
