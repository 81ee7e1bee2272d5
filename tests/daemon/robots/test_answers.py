"""How long a request waits for what a stream process answers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.api import ReportHub, RequestError
from motiond.daemon.config.settings import load_settings
from motiond.daemon.ipc import messages
from motiond.daemon.robots.assembly import make_registry
from tests.daemon.rig import FORKS, Rig
from tests.virtual import VirtualLoop

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.robots.robot import Robot


@pytest.fixture
def robot(tmp_path: Path) -> Robot:
    robot = make_registry(load_settings(Rig(tmp_path).config), ReportHub(), FORKS).members["arm"].robot
    robot.answer_timeout_s = 0.1
    return robot


def changed(state: str, *, torque: bool, after: int = 0) -> messages.Changed:
    return messages.Changed(state, torque=torque, goal_id=None, reference=None, after=after)


@pytest.mark.parametrize(
    ("state", "torque", "message", "state_text"),
    [
        ("stopping", True, "", "stopping with torque on"),
        ("idle", False, "", "idle with torque off"),
        ("fault", True, "j1: overload", "fault (j1: overload)"),
    ],
)
async def test_an_answer_that_does_not_come_names_the_state_and_what_is_awaited(
    robot: Robot, state: str, message: str, state_text: str, *, torque: bool
) -> None:
    robot.session.take(changed(state, torque=torque))
    robot.session.message = message
    with pytest.raises(RequestError) as refused:
        await robot.obeyed(1, "torque off")
    assert str(refused.value) == (
        f"arm: not done in 0.1 s; the robot is {state_text}, and torque off is still awaited; "
        "it may come yet; its state shows it"
    )
    assert refused.value.data == {"state": state, "torque": torque, "awaited": "torque off"}


@pytest.mark.parametrize("before", ["sent", "lost"])
async def test_nothing_is_awaited_of_a_robot_that_is_offline(robot: Robot, before: str) -> None:
    robot.session.take(changed("idle", torque=False))
    if before == "sent":
        number = robot.session.stop("stopped")
        robot.session.lose("no answer from j1")
    else:
        robot.session.lose("no answer from j1")
        number = robot.session.stop("stopped")
    await robot.obeyed(number, "torque off")
    robot.session.take(changed("idle", torque=False))
    if before == "sent":
        await robot.obeyed(1, "torque off")


async def test_an_answer_counts_that_came_while_the_daemon_stood_still(robot: Robot) -> None:
    robot.answer_timeout_s = 1.0
    robot.session.take(changed("idle", torque=False))
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)

    def stand_still() -> None:
        loop.stand_still(1.2)
        pass_on(2)

    def pass_on(rounds: int) -> None:
        if rounds:
            loop.call_soon(pass_on, rounds - 1)
        else:
            robot.session.take(changed("idle", torque=True, after=1))

    loop.call_soon(stand_still)
    await robot.obeyed(1, "torque on")
