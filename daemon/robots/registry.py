"""All robots of one daemon: run together, stopped together, asked by name."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, BinaryIO

from ..api import PlannedMotion, RequestError, unknown_robot
from ..clock import ClockMonitor
from ..planning import curves, preview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from motiond.formats import RobotModel, Run
    from motiond.formats.arrays import Floats

    from ..api import Follower, Lease, Request, Streamed
    from ..history import History
    from ..joints import JointMap
    from ..physics import Surrounding
    from .member import Member
    from .reservation import Reservation
    from .robot import Robot

log = logging.getLogger(__name__)


class RobotRegistry:
    """All robots of one daemon.

    Parameters
    ----------
    members : iterable of Member
    clock : ClockMonitor, optional
        Of the machine; kept fresh while the robots run.
    history : History, optional
        Keeps their results; closed once they have ended.

    Attributes
    ----------
    members : dict of str to Member
        All robots, with what serves them, by name.
    models : dict of str to (RobotModel or None, JointMap)
        Each robot's description, where it has one, with the columns of its telemetry.
    reservations : dict of str to Reservation
        For which starts of their groups the robots are reserved.
    """

    def __init__(
        self, members: Iterable[Member], clock: ClockMonitor | None = None, history: History | None = None
    ) -> None:
        self.clock = clock or ClockMonitor()
        self._history = history
        self.members: dict[str, Member] = {member.robot.name: member for member in members}
        self.models: dict[str, tuple[RobotModel | None, JointMap]] = {
            name: (member.model, member.joint_map) for name, member in self.members.items()
        }
        self.reservations: dict[str, Reservation] = {
            name: member.reservation for name, member in self.members.items()
        }

    def surroundings(self, robot: str) -> tuple[Surrounding, ...]:
        """Return what stands around a robot; it may read files."""
        return self.members[robot].surroundings()

    @property
    def robots(self) -> tuple[str, ...]:
        """The names of all robots."""
        return tuple(self.members)

    @property
    def leases(self) -> dict[str, Lease]:
        """The lease of each robot that requires one."""
        controls = {name: member.control for name, member in self.members.items()}
        return {name: control.lease for name, control in controls.items() if control.lease}

    @property
    def grouped(self) -> tuple[str, ...]:
        """The names of the robots that are in groups."""
        return tuple(name for name, member in self.members.items() if member.robot.settings.groups)

    @property
    def ticking(self) -> bool:
        """Whether every stream process ticks, or its end is being dealt with."""
        return not any(member.robot.stream.stuck for member in self.members.values())

    # -- life -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run all robots until `leave`; each ends by itself, and none ends another."""
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self.clock.run(), name="clock")
            running = [
                tasks.create_task(member.run(), name=f"{name}.run") for name, member in self.members.items()
            ]
            await asyncio.wait(running)
            watching.cancel()
        if self._history is not None:
            await self._history.close()

    def leave(self) -> None:
        """Stop all robots softly and let `run` return."""
        self._each(lambda robot: robot.leave())

    # -- what they are asked for ----------------------------------------------------------------------------

    def stop(self, message: str) -> None:
        """Stop all robots softly; they stay on line."""
        self._each(lambda robot: robot.session.stop(message))

    def heed(self, why_nobody_could_stop: Callable[[], tuple[str, str] | None]) -> None:
        """Let no robot begin anything while there is a reason; that comes with what helps."""
        for member in self.members.values():
            member.robot.session.gate.why_nobody_could_stop = why_nobody_could_stop

    def _each(self, act: Callable[[Robot], object]) -> None:
        """Act on every robot, also where acting on one of them fails."""
        for name, member in self.members.items():
            try:
                act(member.robot)
            except Exception:
                log.exception("%s: failed inside motiond", name)

    async def handle(
        self, robot: str, verb: str, request: Request, asked_by: str | None = None
    ) -> Mapping[str, Any]:
        """Act on a request; raises RequestError if it is refused. `asked_by` is who asks, for people."""
        return await self._known(robot).handlers.handle(verb, request, asked_by)

    def take(self, robot: str, request: Streamed) -> None:
        """Pass on a target; raises RequestError if it is refused."""
        self._known(robot).handlers.following.take(request)

    def follower(self, goal_id: str) -> Follower:
        """Return the robot that follows targets of a goal; raises RequestError where none does."""
        followers = (member.handlers.following.follower(goal_id) for member in self.members.values())
        follower = next(filter(None, followers), None)
        if follower is None:
            reason, hint = "it is over, or never was", "send follow/start first"
            raise RequestError("UNKNOWN_GOAL", "", f"goal '{goal_id}' is not followed", reason, hint)
        return follower

    async def preview(self, robot: str, motion: str) -> PlannedMotion:
        """Return the setpoints that a play of a motion would begin with.

        Raises RequestError if there is no such robot or motion, or the motion cannot be played.
        """
        one = self._known(robot).robot
        playback = one.planner.whole_motion(motion)
        return PlannedMotion(*await asyncio.to_thread(preview, playback, one.library.joint_map))

    def curves(self, robot: str, motion: str) -> Floats:
        """Return the positions of the joints that a motion moves, at a few of its rows, shape (rows, joints).

        Raises RequestError if there is no such robot or motion, or the motion cannot be played.
        """
        return curves(self._known(robot).robot.planner.whole_motion(motion).plan)

    async def upload(self, robot: str, name: str, content: bytes) -> dict[str, Any]:
        """Check a file, keep it if all of it can be played, and return what is in it.

        Raises RequestError if it is not taken, with what is in it.
        """
        one = self._known(robot)
        entries = await asyncio.to_thread(one.handlers.uploads.take, name, content)
        await one.robot.motions.load_again()
        return {"motions": [{**entry.payload(), "file": name} for entry in entries]}

    async def open_recording(self, robot: str, name: str) -> tuple[BinaryIO, str]:
        """Open the file of a recording for the caller, who closes it; return its name besides.

        Raises RequestError if there is no such robot or recording, or it is being written.
        """
        return await self._known(robot).handlers.recorded.opened(name)

    async def recorded_run(self, robot: str, name: str) -> Run:
        """Return what a recording holds, thinned; raises RequestError likewise, or if it is damaged."""
        return await self._known(robot).handlers.recorded.run(name)

    def _known(self, robot: str) -> Member:
        if robot not in self.members:
            raise unknown_robot(robot, self.members)
        return self.members[robot]
