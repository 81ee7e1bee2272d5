"""A robot that nobody uses rests after a while, if that is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.api.errors import RequestError
from motiond.daemon.ipc import messages
from motiond.daemon.ipc.states import State
from motiond.daemon.robots.inactivity import Inactivity
from tests.daemon.rig import Rig, ask

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Status:
    state: State = State.IDLE
    torque: bool = True
    releasing: bool = False
    updates: int = 0


def ended(number: int) -> messages.Ended:
    return messages.Ended(f"goal {number}", "CANCELED", "", None, {})


@dataclass
class Goals:
    is_parked: bool = False
    refusal: str = ""
    done: list[str] = field(default_factory=list)
    goal: messages.Ended | None = None
    last: messages.Ended | None = None

    def release(self) -> None:
        self.done.append("release")

    def park(self) -> None:
        if self.refusal:
            raise RequestError("INVALID_MOTION", "arm", self.refusal)
        self.done.append("park")
        self.goal = ended(len(self.done))


@dataclass
class Settings:
    rest: str = "release"


@dataclass
class Robot:
    """What `Inactivity` sees of a robot."""

    settings: Settings
    name: str = "arm"
    stops: int = 0
    leaving: bool = False
    in_use: bool = False
    status: Status = field(default_factory=Status)
    goals: Goals = field(default_factory=Goals)
    events: list[dict[str, Any]] = field(default_factory=list)

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
    assert robot.goals.done == []
    inactivity.look(600.0)
    assert robot.goals.done == ["release"]
    assert robot.events == [
        {
            "kind": "rested",
            "message": "nothing was asked of the robot for 600 s (rest_after_s); torque is switched off",
        }
    ]
    robot.status.torque, robot.status.updates = False, 1
    inactivity.look(9000.0)
    assert robot.goals.done == ["release"]


@pytest.mark.parametrize(
    "use",
    [
        lambda robot: setattr(robot, "in_use", True),
        lambda robot: setattr(robot, "stops", 1),
        lambda robot: setattr(robot, "leaving", True),
        lambda robot: setattr(robot.status, "updates", 1),
        lambda robot: setattr(robot.status, "torque", False),
        lambda robot: setattr(robot.status, "releasing", True),
        *(
            lambda robot, state=state: setattr(robot.status, "state", state)
            for state in State
            if state is not State.IDLE
        ),
    ],
)
def test_whatever_is_a_use_of_it_puts_its_rest_off(use: Any) -> None:
    robot = Robot(Settings())
    inactivity = robot.watched()
    inactivity.look(599.0)
    use(robot)
    inactivity.look(600.0)
    inactivity.look(1199.0)
    assert robot.goals.done == []


def test_it_goes_to_its_pose_and_stays_there() -> None:
    robot = Robot(Settings("park"))
    inactivity = robot.watched()
    inactivity.look(600.0)
    robot.goals.is_parked = True
    inactivity.look(1200.0)
    assert (robot.goals.done, [event["kind"] for event in robot.events]) == (["park"], ["rested"])


def test_a_pose_that_cannot_be_reached_is_reported() -> None:
    robot = Robot(Settings("park"))
    robot.goals.refusal = "there is no way"
    robot.watched().look(600.0)
    assert robot.events == [{"kind": "not_parked", "message": "arm: there is no way"}]


@pytest.mark.parametrize("refusal", ["", "there is no way"])
def test_a_way_to_its_pose_that_did_not_get_there_is_tried_again_only_after_something_else(
    refusal: str,
) -> None:
    robot = Robot(Settings("park"))
    robot.goals.refusal = refusal
    inactivity = robot.watched()
    inactivity.look(600.0)
    robot.goals.last = robot.goals.goal  # it was stopped; or none began
    robot.stops = robot.status.updates = 1
    for now_s in (601.0, 1300.0, 2000.0, 2700.0):
        inactivity.look(now_s)
    assert len(robot.events) == 1
    robot.goals.last = ended(99)
    inactivity.look(3400.0)
    assert len(robot.events) == 2
    inactivity.look(4100.0)
    robot.status.torque = False
    inactivity.look(4200.0)
    robot.status.torque = True
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
