"""What goes on in the daemon, in one line, as `systemctl status` shows it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NoReturn

from motiond.text import shortened

from ..ipc.states import State
from . import systemd

if TYPE_CHECKING:
    from ..robots import Robot, RobotRegistry

LOOK_PERIOD_S = 0.5
MOST_NAMED, LONGEST = 6, 300
DOING = {
    State.APPROACHING: "goes to the first row of",
    State.PLAYING: "plays",
    State.PAUSING: "pauses",
    State.PAUSED: "pauses",
    State.STOPPING: "stops",
}


async def report_status(robots: RobotRegistry) -> NoReturn:
    """Tell systemd what goes on whenever that has changed, until cancelled."""
    sent = ""
    while True:
        text = status_text([member.robot for member in robots.members.values()])
        if text != sent and systemd.notify(f"STATUS={text}"):
            sent = text
        await asyncio.sleep(LOOK_PERIOD_S)


def status_text(robots: list[Robot]) -> str:
    """Return how many robots there are and what they do: `2 robots, arm plays wave`."""
    number = f"{len(robots)} robot" + ("" if len(robots) == 1 else "s")
    busy = [did for robot in robots if (did := _doing(robot))]
    more = [f"and {len(busy) - MOST_NAMED} more"] if len(busy) > MOST_NAMED else []
    return shortened(", ".join([number, *(busy[:MOST_NAMED] or ["idle"]), *more]), LONGEST)


def _doing(robot: Robot) -> str:
    """Return what one robot does; '' where it is idle."""
    state, goal = robot.session.state, robot.session.goal
    if state in DOING and goal is not None:
        return f"{robot.name} {DOING[state]} {goal.motion}"
    return "" if state is State.IDLE else f"{robot.name} is {state}"
