"""Behaviour of a loop that acknowledges commands: one notice in each tick in which something has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.states import State
from tests.daemon.stream.test_loop import Bench, Slow
from tests.daemon.stream.watched import STATES, Robot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


COMMANDS: tuple[messages.Command, ...] = (
    messages.Speed(0.5, 2.0),
    messages.Reboot(["shoulder"]),
    messages.Inject({"fault": "unknown"}),
    messages.Enable(),
    messages.Resume(),
    messages.Pause(),
    messages.Stop(),
    messages.Disable(),
    messages.Estop(),
    messages.Reset(),
)
"""Those without an effect in most states come first."""
MOVING = [state for state in STATES if state != "settling"]  # perfect actuators need not settle


@pytest.fixture
def robot(tmp_path: Path) -> Iterator[Robot]:
    robot = Robot(tmp_path)
    yield robot
    robot.leave()


def changes_in(robot: Bench) -> list[messages.Changed]:
    """Make one tick, and return what it reports to have changed."""
    robot.notices.clear()
    robot.step()
    return robot.notices_of(messages.Changed)


@pytest.mark.parametrize("state", MOVING)
def test_each_command_is_acknowledged_in_the_tick_that_obeys_it(robot: Robot, state: str) -> None:
    robot.enable()
    STATES[state](robot)
    for number, command in enumerate(COMMANDS, 1):
        robot.channel.send(command, number=number)
        (changed,) = changes_in(robot)
        assert changed.after == number
        assert (changed.state, changed.torque) == (robot.state(), robot.loop.player.torque)


def test_the_last_of_several_commands_is_acknowledged_once(robot: Robot) -> None:
    commands: tuple[messages.Command, ...] = (messages.Enable(), messages.Stop(), messages.Disable())
    for number, command in enumerate(commands, 1):
        robot.channel.send(command, number=number)
    (changed,) = changes_in(robot)
    assert (changed.after, changed.torque) == (3, False)
    assert changes_in(robot) == []


def test_goals_that_end_in_one_tick_are_reported_in_one_notice_with_the_state_after_them(
    robot: Robot,
) -> None:
    robot.enable()
    robot.begin(goal_id="first")
    robot.step(3)
    robot.channel.send(messages.Estop(), number=1)
    robot.begin(goal_id="halted")
    robot.channel.send(messages.Reset(), number=2)
    robot.begin(goal_id="second", start=[9.0, 9.0])
    (changed,) = changes_in(robot)
    assert sorted((ended.goal_id, ended.code) for ended in changed.ended) == [
        ("first", "ESTOP"),
        ("halted", "INVALID_GOAL"),
        ("second", "INVALID_GOAL"),
    ]
    assert (changed.state, changed.goal_id, changed.after) == (State.IDLE, None, 2)


def test_a_slow_motion_acknowledges_before_its_next_row(tmp_path: Path) -> None:
    slow = Slow(tmp_path)
    slow.clock.hears = True
    slow.bench.channel.send(messages.Speed(1.0, 2.0), number=5)
    slow.bench.step()
    heard = [at_s for at_s, notice in slow.clock.heard if isinstance(notice, messages.Changed)]
    assert [changed.after for changed in slow.bench.notices_of(messages.Changed)][-1] == 5
    assert slow.row_s <= heard[-1] < slow.row_s + 0.011
    slow.close()


def test_a_loop_that_leaves_acknowledges_what_it_was_asked_for_last(tmp_path: Path) -> None:
    robot = Robot(tmp_path)
    robot.enable()
    robot.begin()
    robot.step(10)
    robot.channel.send(messages.Shutdown(), number=1)
    for _ in robot.steps_to_the_end():
        if robot.state() is State.STOPPING:
            robot.channel.send(messages.Estop(), number=2)
    robot.hear()
    last = robot.notices_of(messages.Changed)[-1]
    assert (last.state, last.after) == (State.ESTOPPED, 2)
    robot.driver.close()
    robot.close()
