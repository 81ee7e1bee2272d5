"""What a robot does when the daemon ends: its `on_exit`."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from ..api.errors import RequestError
from ..ipc.states import HALTED, State

if TYPE_CHECKING:
    from ..config.robot import RobotSettings
    from .goal_runner import GoalRunner
    from .status import RobotStatus

log = logging.getLogger(__name__)

SHUTS_DOWN = "the daemon shuts down"
NOT_MOVED = HALTED | {State.OFFLINE}


class Leaver(Protocol):
    """The robot that is to come to rest."""

    name: str
    settings: RobotSettings
    status: RobotStatus
    goals: GoalRunner
    stops: int

    def stop(self, why: str) -> None:
        """Stop softly."""

    async def disable(self) -> None:
        """Switch torque off."""


async def go_home(robot: Leaver) -> None:
    """Do what `on_exit` asks for; what cannot be done, or not in time, is given up with a warning."""
    settings = robot.settings
    try:
        async with asyncio.timeout(settings.exit_timeout_s):
            await _rest(robot)
    except (TimeoutError, RequestError) as error:
        log.warning("%s: on_exit %s was given up; %s", robot.name, settings.on_exit, error or "timeout")
    except Exception:  # it leaves all the same
        log.exception("%s: on_exit %s was given up", robot.name, settings.on_exit)


async def _rest(robot: Leaver) -> None:
    """Come to rest, and park or release a robot that holds; one that is halted stays as it is."""
    status, settings = robot.status, robot.settings
    if settings.on_exit == "hold" or not status.torque or status.state in HALTED:
        return
    robot.stop(SHUTS_DOWN)
    stops = robot.stops
    # It is idle still, too, where a goal has only just been sent.
    await status.until(
        lambda: status.state in NOT_MOVED or (status.state is State.IDLE and robot.goals.goal is None),
        "rest",
    )
    if status.state in NOT_MOVED:
        return
    if settings.on_exit == "park":
        if robot.stops != stops:
            raise RequestError("CANCELED", robot.name, "it was stopped", mend="move it yourself")
        robot.goals.park()
        await status.until(lambda: robot.goals.goal is None, "the pose `park`", settings.exit_timeout_s)
    else:
        await robot.disable()
