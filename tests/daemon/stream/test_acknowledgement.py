"""Behaviour of a loop that acknowledges commands: one notice in each tick in which something has changed."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.states import State
from motiond.daemon.trajectory.track import Track, share
from tests.daemon.stream.test_loop import Bench, Slow
from tests.daemon.stream.watched import RATE_HZ, STATES, Robot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


COMMANDS: tuple[messages.Command, ...] = (
    messages.Speed(0.5, 2.0),
    messages.Recover(["shoulder"], "reboot"),
    messages.Inject({"fault": "unknown"}),
    messages.Teach("released"),
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


def expiring(robot: Robot, name: str, in_s: float) -> None:
    """Send what begins to move or to hold, from a daemon that was kept from sending it earlier."""
    expires_at, held = time.time() + in_s, robot.loop.player.position.tolist()
    if name == "play":
        robot.begin(robot.way(3.0), expires_at=expires_at)
    elif name == "seek":
        rows = np.array([held, held])
        fd = share(Track(rows, np.zeros_like(rows), np.array([True, True]), RATE_HZ, 2.0))
        robot.channel.send(messages.Seek("goal-1", 200, held, goes_on=True, expires_at=expires_at), (fd,))
        os.close(fd)
    else:
        robot.channel.send(messages.Resume(expires_at) if name == "resume" else messages.Enable(expires_at))


@pytest.mark.parametrize("in_s", [-0.5, 60.0], ids=["late", "in time"])
@pytest.mark.parametrize(
    ("before", "name", "refusal"),
    [("paused", "resume", "not resumed; it "), ("paused", "seek", "it "), ("holding", "play", "it ")],
)
def test_what_nobody_waits_for_any_more_does_not_begin(
    robot: Robot, before: str, name: str, refusal: str, in_s: float
) -> None:
    robot.enable()
    STATES[before](robot)
    at_rest = robot.state()
    robot.notices.clear()
    expiring(robot, name, in_s)
    robot.step(3)
    said = [
        *(one.message for one in robot.notices_of(messages.Happened)),
        *(one.message for one in robot.ends()),
    ]
    late = re.compile(rf"{refusal}expired \d+\.\d{{3}} s ago; send it again, or with more time")
    assert [late.fullmatch(one) is not None for one in said] == ([True] if in_s < 0.0 else [])
    assert (robot.state() is at_rest) == (in_s < 0.0)


@pytest.mark.parametrize("in_s", [-0.5, 60.0], ids=["late", "in time"])
def test_torque_that_nobody_waits_for_any_more_stays_off(robot: Robot, in_s: float) -> None:
    expiring(robot, "enable", in_s)
    robot.step(3)
    assert robot.loop.player.torque == (in_s > 0.0)
