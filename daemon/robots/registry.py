"""All robots of one daemon: run together, stopped together, and asked by name."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from motiond.formats.errors import listed, nearest

from ..api.errors import RequestError
from .handlers import RequestHandlers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..api.schemas import Request
    from .robot import Robot


class RobotRegistry:
    """All robots of one daemon.

    Parameters
    ----------
    robots : mapping of str to Robot
    """

    def __init__(self, robots: Mapping[str, Robot]) -> None:
        self._robots = robots
        self._handlers = {name: RequestHandlers(robot) for name, robot in robots.items()}

    @property
    def robots(self) -> tuple[str, ...]:
        """The names of all robots."""
        return tuple(self._robots)

    @property
    def ticking(self) -> bool:
        """Whether every stream process ticks, or its end is being dealt with."""
        return not any(robot.stream.stuck for robot in self._robots.values())

    async def run(self) -> None:
        """Run all robots until `leave`; each ends by itself."""
        async with asyncio.TaskGroup() as tasks:
            for name, robot in self._robots.items():
                tasks.create_task(robot.run(), name=f"{name}.run")

    def leave(self) -> None:
        """Stop all robots softly and let `run` return."""
        for robot in self._robots.values():
            robot.leave()

    def stop(self, message: str) -> None:
        """Stop all robots softly; they stay on line."""
        for robot in self._robots.values():
            robot.stop(message)

    async def handle(self, robot: str, verb: str, request: Request) -> dict[str, Any]:
        """Act on a request.

        Raises
        ------
        RequestError
            If it is refused.
        """
        if robot not in self._robots:
            known, mend = f"there are {listed(self._robots)}", nearest(robot, self._robots)
            raise RequestError("UNKNOWN_ROBOT", "", f"no robot '{robot}'", known, mend)
        return await self._handlers[robot].handle(verb, request)
