"""A robot that nobody uses rests after a while, if that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.ipc import messages
from motiond.daemon.robots.inactivity import Inactivity
from tests.daemon.rig import UNLIMITED, Rig, ask
from tests.daemon.robots.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

ON = messages.Changed("idle", torque=True, goal_id=None, reference=[0.0, 0.0])
OFF = messages.Changed("idle", torque=False, goal_id=None, reference=None)


class Resting(Stage):
    """A robot that holds, and is watched from 0 s on."""

    def __init__(self, rig: Rig, monkeypatch: pytest.MonkeyPatch, rest: str, park: float = 0.5) -> None:
        rig.robot |= {"rest_after_s": 600.0, "rest": rest, "poses": {"park": {"elbow": park}}}
        super().__init__(rig, monkeypatch)
        self.is_used = False
        self.inactivity = Inactivity(self.robot, 600.0, lambda: self.is_used)
        self.notify(messages.Ready(1000.0, [], UNLIMITED), ON)
        self.look(0.0)

    def look(self, *times_s: float) -> list[str]:
        """Look at these times; return what was reported."""
        with self.hub.subscribe(frozenset({"event"})) as reports:
            for now_s in times_s:
                self.inactivity.look(now_s)
            return [report.data["message"] for report in iter(reports.get_now, None)]


@pytest.fixture
def releasing(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Resting:
    return Resting(rig, monkeypatch, "release")


@pytest.fixture
def parking(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Iterator[Resting]:
    stage = Resting(rig, monkeypatch, "park")
    yield stage
    stage.robot.planner.close()


UNUSED = "nothing was asked of the robot for 600 s (rest_after_s)"


async def test_a_robot_that_nobody_uses_is_released_once_its_time_is_over(releasing: Resting) -> None:
    assert (releasing.look(599.0), releasing.sent) == ([], [])
    assert releasing.look(600.0) == [f"{UNUSED}; torque is switched off"]
    releasing.notify(OFF)
    assert releasing.look(9000.0) == []
    assert releasing.sent == [messages.Disable()]


@pytest.mark.parametrize(
    "use",
    [
        lambda stage: setattr(stage, "is_used", True),
        lambda stage: stage.notify(ON),
        lambda stage: stage.robot.leave(),
        lambda stage: stage.robot.session.estop(),
    ],
    ids=["promised", "reported", "leaving", "halted"],
)
async def test_whatever_is_a_use_of_it_puts_its_rest_off(releasing: Resting, use: Any) -> None:
    releasing.look(599.0)
    use(releasing)
    assert releasing.look(600.0, 1199.0) == []


async def test_it_goes_to_its_pose_and_stays_there(parking: Resting) -> None:
    assert parking.look(600.0) == [f"{UNUSED}; it goes to the pose park"]
    (play,) = parking.sent
    assert isinstance(play, messages.Play)
    assert parking.robot.session.goal is not None
    assert parking.robot.session.goal.asked_by == "motiond, by rest_after_s"
    ended = messages.Ended(play.goal_id, "SUCCESSFUL", "the last row is out and held", 0.5)
    parking.notify(messages.Changed("idle", True, None, [0.0, 0.5], ended=[ended]))
    assert (parking.look(700.0, 1400.0), len(parking.sent)) == ([], 1)


async def test_a_way_to_its_pose_that_was_stopped_is_tried_again_only_after_something_else(
    parking: Resting,
) -> None:
    def stopped() -> None:
        play = parking.sent[-1]
        assert isinstance(play, messages.Play)
        ended = messages.Ended(play.goal_id, "CANCELED", "stopped", None)
        parking.notify(messages.Changed("idle", True, None, [0.0, 0.0], ended=[ended]))

    assert len(parking.look(600.0)) == 1
    stopped()
    assert parking.look(601.0, 1300.0, 2000.0) == []
    parking.notify(OFF)
    parking.look(2001.0)
    parking.notify(ON)
    assert len(parking.look(2002.0, 2700.0)) == 1


async def test_a_pose_that_cannot_be_reached_is_reported_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    beyond = Resting(rig, monkeypatch, "park", park=3.0)
    (why,) = beyond.look(600.0, 1300.0, 2000.0)
    assert why.startswith("park: joint 'elbow' reaches 3 rad at ")


@pytest.mark.parametrize("rest", ["release", "park"])
async def test_a_daemon_lets_its_robot_rest(rig: Rig, rest: str) -> None:
    rig.robot |= {"rest_after_s": 1.0, "rest": rest, "poses": {"park": {"elbow": 0.01}}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        await rig.until("event", lambda event: event["kind"] == "rested")
        if rest == "release":
            await rig.until("state", lambda state: not state["torque"])
        else:
            await rig.until("result", lambda result: result["code"] == "SUCCESSFUL")
