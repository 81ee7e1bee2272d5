"""All robots of one daemon: run together, stopped together, and asked by name."""

from __future__ import annotations

import asyncio
import logging
from itertools import chain, repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from motiond.formats.errors import listed, nearest, shortened

from ..api.errors import RequestError
from ..api.motions import PlannedMotion
from ..clock.monitor import ClockMonitor
from ..planning.preview import curves, preview
from .control import Control
from .handlers import RequestHandlers
from .reservation import Reservation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from motiond.formats import RobotModel
    from motiond.formats.arrays import Floats

    from ..api.lease import Lease
    from ..api.schemas import Request
    from ..joints.joint_map import JointMap
    from .robot import Robot

log = logging.getLogger(__name__)

BACK_OFF_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
LONGEST_REASON = 300


class RobotRegistry:
    """All robots of one daemon.

    Parameters
    ----------
    robots : mapping of str to Robot
    models : mapping of str to RobotModel or None
        Their descriptions; None, or nothing, of one that has only joints.
    clock : ClockMonitor, optional
        Of the machine; kept fresh while the robots run.

    Attributes
    ----------
    clock : ClockMonitor
    reservations : dict of str to Reservation
        For which starts of their groups the robots are reserved.
    """

    def __init__(
        self,
        robots: Mapping[str, Robot],
        models: Mapping[str, RobotModel | None] = MappingProxyType({}),
        clock: ClockMonitor | None = None,
    ) -> None:
        self.clock = clock or ClockMonitor()
        self._robots = robots
        self._models = models
        self._controls = {name: Control(robot) for name, robot in robots.items()}
        self.reservations = {name: Reservation(robot) for name, robot in robots.items()}
        self._handlers = {
            name: RequestHandlers(robot, self._controls[name], self.reservations[name])
            for name, robot in robots.items()
        }

    @property
    def robots(self) -> tuple[str, ...]:
        """The names of all robots."""
        return tuple(self._robots)

    @property
    def models(self) -> dict[str, tuple[RobotModel | None, JointMap]]:
        """Each robot's description, where it has one, with the columns of its telemetry."""
        return {name: (self._models.get(name), robot.joint_map) for name, robot in self._robots.items()}

    @property
    def leases(self) -> dict[str, Lease]:
        """The lease of each robot that requires one."""
        return {name: control.lease for name, control in self._controls.items() if control.lease}

    @property
    def grouped(self) -> tuple[str, ...]:
        """The names of the robots that are in groups."""
        return tuple(name for name, robot in self._robots.items() if robot.settings.groups)

    @property
    def ticking(self) -> bool:
        """Whether every stream process ticks, or its end is being dealt with."""
        return not any(robot.stream.stuck for robot in self._robots.values())

    async def run(self) -> None:
        """Run all robots until `leave`; each ends by itself, and none ends another."""
        async with asyncio.TaskGroup() as watches:
            watching = [
                watches.create_task(self._controls[name].watch(), name=f"{name}.lease")
                for name in self.leases
            ]
            watching.append(watches.create_task(self.clock.run(), name="clock"))
            watching += [
                watches.create_task(self.reservations[name].watch(), name=f"{name}.reservation")
                for name in self.grouped
            ]
            for control in self._controls.values():
                control.tell()
            for reservation in self.reservations.values():
                reservation.tell()
            async with asyncio.TaskGroup() as tasks:
                for name, robot in self._robots.items():
                    tasks.create_task(_keep_running(robot), name=f"{name}.run")
            for watch in watching:
                watch.cancel()

    def leave(self) -> None:
        """Stop all robots softly and let `run` return."""
        self._each(lambda robot: robot.leave())

    def stop(self, message: str) -> None:
        """Stop all robots softly; they stay on line."""
        self._each(lambda robot: robot.stop(message))

    def _each(self, act: Callable[[Robot], None]) -> None:
        """Act on every robot, also where acting on one of them fails."""
        for name, robot in self._robots.items():
            try:
                act(robot)
            except Exception:
                log.exception("%s: failed inside motiond", name)

    async def handle(self, robot: str, verb: str, request: Request) -> dict[str, Any]:
        """Act on a request.

        Raises
        ------
        RequestError
            If it is refused.
        """
        self._known(robot)
        return await self._handlers[robot].handle(verb, request)

    async def preview(self, robot: str, motion: str) -> PlannedMotion:
        """Return the setpoints that a play of a motion would begin with.

        Raises
        ------
        RequestError
            If there is no such robot or motion, or the motion cannot be played.
        """
        one = self._known(robot)
        playback = one.planner.whole_motion(motion)
        return PlannedMotion(*await asyncio.to_thread(preview, playback, one.joint_map))

    def curves(self, robot: str, motion: str) -> Floats:
        """Return the positions of the joints that a motion moves, at a few of its rows, shape (rows, joints).

        Raises
        ------
        RequestError
            If there is no such robot or motion, or the motion cannot be played.
        """
        return curves(self._known(robot).planner.whole_motion(motion).plan)

    async def upload(self, robot: str, name: str, content: bytes) -> dict[str, Any]:
        """Check a file, keep it if all of it can be played, and return what is in it.

        Raises
        ------
        RequestError
            If it is not taken, with what is in it.
        """
        one = self._known(robot)
        entries = await asyncio.to_thread(self._handlers[robot].uploads.take, name, content)
        await one.motions.load_again()
        return {"motions": [{**entry.payload(), "file": name} for entry in entries]}

    def _known(self, robot: str) -> Robot:
        if robot not in self._robots:
            known, mend = f"there are {listed(self._robots)}", nearest(robot, self._robots)
            raise RequestError("UNKNOWN_ROBOT", "", f"no robot '{shortened(robot, 60)}'", known, mend)
        return self._robots[robot]


async def _keep_running(robot: Robot) -> None:
    """Run a robot until it leaves; one that fails unforeseen is offline for a while, and is tried again."""
    for wait_s in chain(BACK_OFF_S, repeat(BACK_OFF_S[-1])):
        try:
            await robot.run()
        except Exception as error:
            log.exception("%s: failed inside motiond", robot.name)
            _tell_failure(robot, error)
        if robot.leaving:
            return
        await robot.rest(wait_s)


def _tell_failure(robot: Robot, error: Exception) -> None:
    """Let a robot that has failed be offline, as far as it still can."""
    causes = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
    told = shortened(" and ".join(map(repr, causes)), LONGEST_REASON)
    try:
        robot.on_exit(f"failed inside motiond; {told}; the daemon's log says more")
    except Exception:
        log.exception("%s: failed inside motiond", robot.name)
