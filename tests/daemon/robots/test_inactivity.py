"""A robot that nobody uses rests after a while, if that is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.ipc import messages
from motiond.daemon.robots.inactivity import Inactivity
from tests.daemon.rig import Rig, ask

if TYPE_CHECKING:
    from pathlib import Path


def ended(number: int) -> messages.Ended:
    return messages.Ended(f"goal {number}", "CANCELED", "", None, {})


@dataclass
class Session:
    known: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(torque=True, reference=[0.0, 0.0]))
    is_ready: bool = True
    leaving: bool = False
    used: bool = True
    done: list[str] = field(default_factory=list)
    last: messages.Ended | None = None

    def release(self) -> None:
        self.done.append("release")

    def start(self, _goal: messages.Ended) -> None:
        self.done.append("park")


@dataclass
class Settings:
    rest: str = "release"


@dataclass
class Robot:
    """What `Inactivity` sees of a robot."""

    settings: Settings
    name: str = "arm"
    in_use: bool = False
    refusal: str = ""
    session: Session = field(default_factory=Session)
    events: list[dict[str, Any]] = field(default_factory=list)
    planner: Any = None

    def __post_init__(self) -> None:
        playback = SimpleNamespace(
            ends_at=np.array([0.5, 0.5]), plan=SimpleNamespace(driven=np.array([True, True]))
        )
        self.planner = SimpleNamespace(playback_to_park=lambda: playback)

    def park_goal(self) -> messages.Ended:
        if self.refusal:
            raise RequestError("INVALID_MOTION", "arm", self.refusal)
        return ended(len(self.session.done) + 1)

    def report(self, _subject: str, data: dict[str, Any]) -> None:
        self.events.append(data)

    def watched(self) -> Inactivity:
        inactivity = Inactivity(self, 600.0, lambda: self.in_use)  # type: ignore[arg-type]
        inactivity.look(0.0)
        return inactivity


def test_a_robot_that_nobody_uses_is_released_once_its_time_is_over() -> None:
    robot = Robot(Settings())
    inactivity = robot.watched()
    inactivity.look(599.0)
    assert robot.session.done == []
    inactivity.look(600.0)
    assert robot.session.done == ["release"]
    assert robot.events == [
        {
            "kind": "rested",
            "message": "nothing was asked of the robot for 600 s (rest_after_s); torque is switched off",
        }
    ]
    robot.session.known.torque = robot.session.is_ready = False
    inactivity.look(9000.0)
    assert robot.session.done == ["release"]


@pytest.mark.parametrize(
    "use",
    [
        lambda robot: setattr(robot, "in_use", True),
        lambda robot: setattr(robot.session, "used", True),
        lambda robot: setattr(robot.session, "leaving", True),
        lambda robot: setattr(robot.session, "is_ready", False),
    ],
)
def test_whatever_is_a_use_of_it_puts_its_rest_off(use: Any) -> None:
    robot = Robot(Settings())
    inactivity = robot.watched()
    inactivity.look(599.0)
    use(robot)
    inactivity.look(600.0)
    inactivity.look(1199.0)
    assert robot.session.done == []


def test_it_goes_to_its_pose_and_stays_there() -> None:
    robot = Robot(Settings("park"))
    inactivity = robot.watched()
    inactivity.look(600.0)
    robot.session.known.reference = [0.5, 0.5]
    inactivity.look(1200.0)
    assert (robot.session.done, [event["kind"] for event in robot.events]) == (["park"], ["rested"])


def test_a_pose_that_cannot_be_reached_is_reported() -> None:
    robot = Robot(Settings("park"))
    robot.refusal = "there is no way"
    robot.watched().look(600.0)
    assert robot.events == [{"kind": "not_parked", "message": "arm: there is no way"}]


@pytest.mark.parametrize("refusal", ["", "there is no way"])
def test_a_way_to_its_pose_that_did_not_get_there_is_tried_again_only_after_something_else(
    refusal: str,
) -> None:
    robot = Robot(Settings("park"))
    robot.refusal = refusal
    inactivity = robot.watched()
    inactivity.look(600.0)
    robot.session.last = None if refusal else ended(1)  # it was stopped; or none began
    robot.session.used = True
    for now_s in (601.0, 1300.0, 2000.0, 2700.0):
        inactivity.look(now_s)
    assert len(robot.events) == 1
    robot.session.last = ended(99)
    inactivity.look(3400.0)
    assert len(robot.events) == 2
    inactivity.look(4100.0)
    robot.session.known.torque = False
    inactivity.look(4200.0)
    robot.session.known.torque = True
    inactivity.look(4201.0)
    inactivity.look(4801.0)
    assert len(robot.events) == 3


@pytest.mark.parametrize("rest", ["release", "park"])
async def test_a_daemon_lets_its_robot_rest(tmp_path: Path, rest: str) -> None:
    rig = Rig(tmp_path)
    rig.robot |= {"rest_after_s": 1.0, "rest": rest, "poses": {"park": {"elbow": 0.01}}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        await rig.until("event", lambda event: event["kind"] == "rested")
        if rest == "release":
            await rig.until("state", lambda state: not state["torque"])
        else:
            await rig.until(
                "result", lambda result: (result["motion"], result["code"]) == ("park", "SUCCESSFUL")
            )
