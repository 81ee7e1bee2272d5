"""What a robot does when the daemon ends: its `on_exit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ..ipc.states import HALTED, State

if TYPE_CHECKING:
    from ..config.robot import RobotSettings
    from .status import RobotStatus

SHUTS_DOWN = "the daemon shuts down"


class Leaver(Protocol):
    """The robot that is to come to rest."""

    settings: RobotSettings
    status: RobotStatus
    goal: Any

    def stop(self, why: str) -> None:
        """Stop softly."""

    def park(self) -> None:
        """Go to the pose `park`."""

    async def disable(self) -> None:
        """Switch torque off."""


async def go_home(robot: Leaver) -> None:
    """Come to rest, and park or release a robot that holds; one that is halted stays as it is.

    Raises
    ------
    RequestError
        If it cannot be parked, or something does not happen in time.
    """
    status, settings = robot.status, robot.settings
    if settings.on_exit == "hold" or not status.torque or status.state in HALTED:
        return
    robot.stop(SHUTS_DOWN)
    await status.until(lambda: status.state is State.IDLE, "the robot did not come to rest")
    if settings.on_exit == "park":
        robot.park()
        await status.until(lambda: robot.goal is None, "it did not get there", settings.exit_timeout_s)
    else:
        await robot.disable()
