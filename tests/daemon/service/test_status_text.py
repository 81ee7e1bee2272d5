"""What `systemctl status` shows of the daemon in one line."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from motiond.daemon.ipc.states import State
from motiond.daemon.service.systemd import status_text

if TYPE_CHECKING:
    from motiond.daemon.robots.robot import Robot


def robot(name: str, state: str = "idle", *motions: str) -> Robot:
    goals = [SimpleNamespace(motion=motion) for motion in motions]
    session = SimpleNamespace(state=State(state), goals=goals)
    return cast("Robot", SimpleNamespace(name=name, session=session))


@pytest.mark.parametrize(
    ("robots", "text"),
    [
        ([robot("arm")], "1 robot, idle"),
        ([robot("arm", "playing", "wave"), robot("leg")], "2 robots, arm plays wave"),
        (
            [robot("arm", "approaching", "wave"), robot("leg", "paused", "step")],
            "2 robots, arm goes to the first row of wave, leg pauses step",
        ),
        ([robot("arm", "following", "follow")], "1 robot, arm is following"),
        ([robot("arm", "playing", "wave", "grip")], "1 robot, arm plays wave and grip"),
        ([robot("arm", "offline"), robot("leg", "estopped")], "2 robots, arm is offline, leg is estopped"),
        (
            [robot(f"r{number}", "playing", "wave") for number in range(8)],
            f"8 robots, {', '.join(f'r{number} plays wave' for number in range(6))}, and 2 more",
        ),
        ([robot("arm", "playing", "x" * 400)], f"1 robot, arm plays {'x' * 280}…"),
    ],
)
def test_it_says_how_many_robots_there_are_and_what_they_do(robots: list[Robot], text: str) -> None:
    assert status_text(robots) == text
