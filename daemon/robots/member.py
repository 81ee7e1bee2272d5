"""One robot of a registry, with all that serves it."""

from __future__ import annotations

import asyncio
import logging
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from motiond.text import shortened

from ..physics import PhysicsError, drawn_workspace, simulated_surroundings
from .control import Control
from .handlers import RequestHandlers
from .inactivity import Inactivity
from .motions import MotionWatch
from .reservation import Reservation

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from motiond.formats import RobotModel

    from ..joints import JointMap
    from ..physics import Surrounding
    from .gamepad import GamepadFile
    from .robot import Robot

log = logging.getLogger(__name__)

BACK_OFF_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
LONGEST_REASON = 300


class Member:
    """One robot and what serves it: the owner of its stream process and of all its tasks.

    - `model`: its description, if it has one
    - `joint_map`: the columns of its telemetry
    - `robots`: all of the daemon, any of which may lead it
    - `gamepad`: how a gamepad jogs it
    """

    def __init__(
        self,
        robot: Robot,
        model: RobotModel | None,
        joint_map: JointMap,
        robots: Mapping[str, Robot],
        gamepad: GamepadFile,
    ) -> None:
        self.robot = robot
        self.model = model
        self.joint_map = joint_map
        self.control = Control(robot)
        self.reservation = Reservation(robot, self.control.tenure)
        self.handlers = RequestHandlers(robot, self.control, self.reservation, robots, gamepad)

    def surroundings(self) -> tuple[Surrounding, ...]:
        """Return what stands around the robot, as far as the configuration says it; it may read files."""
        driver, collision = self.robot.settings.driver, self.robot.settings.collision
        try:
            around = simulated_surroundings(driver.type, driver.options, self.model, self.joint_map)
            return (
                around
                if collision is None
                else around + drawn_workspace(self.robot.name, collision.workspace)
            )
        except PhysicsError as error:  # it was checked, so a file is another one by now
            log.warning("%s", error)
            return ()

    @property
    def in_use(self) -> bool:
        """Whether anything moves, is about to, or was promised to, or a client is in control."""
        lease = self.control.lease
        has_holder = lease is not None and lease.tenure is not None
        return has_holder or not self.robot.session.rests or self.reservation.holds

    async def run(self) -> None:
        """Run the robot until it leaves; nothing else ends it."""
        robot = self.robot
        beside: dict[str, Coroutine[Any, Any, None]] = {
            "limits": robot.limits.watch(),
            "recorder": robot.recorder.run(),
            "repair": robot.recorder.repair(),
            "leader": self.handlers.following.mirror(),
            "leftovers": asyncio.to_thread(self.handlers.uploads.remove_leftovers),
        }
        if self.control.lease:
            beside["lease"] = self.control.watch()
        if robot.settings.groups:
            beside["reservation"] = self.reservation.watch()
        if folders := robot.settings.watched_folders:
            is_incomplete = robot.library.is_incomplete
            watch = MotionWatch(robot.name, folders, robot.motions.load_again, is_incomplete)
            beside["motions"] = watch.run()
        if rest_after_s := robot.settings.rest_after_s:
            beside["inactivity"] = Inactivity(robot, rest_after_s, lambda: self.in_use).watch()
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(run, name=f"{robot.name}.{name}") for name, run in beside.items()]
            self.control.report()
            self.reservation.report()
            self.robot.draft.report()
            await self._keep_running()
            self.handlers.recorded.end()
            for task in running:
                task.cancel()

    async def _keep_running(self) -> None:
        """Run the robot until it leaves; one that fails unforeseen is offline meanwhile, and tried again."""
        robot = self.robot
        for wait_s in chain(BACK_OFF_S, repeat(BACK_OFF_S[-1])):
            try:
                await robot.run()
            except Exception as error:
                log.exception("%s: failed inside motiond", robot.name)
                self._report_failure(error)
            if robot.session.leaving:
                return
            await robot.rest(wait_s)

    def _report_failure(self, error: Exception) -> None:
        """Report a robot that has failed as offline, as far as possible."""
        causes = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
        reason = shortened(" and ".join(map(repr, causes)), LONGEST_REASON)
        try:
            self.robot.on_exit(f"failed inside motiond; {reason}; the daemon's log says more")
        except Exception:
            log.exception("%s: failed inside motiond", self.robot.name)
        finally:
            self.robot.recorder.end("the robot failed inside motiond")
