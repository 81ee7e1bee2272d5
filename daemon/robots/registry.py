"""All robots of one daemon: run together, stopped together, asked by name, and exchanged where they rest."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..api import PlannedMotion, unknown_robot
from ..clock import ClockMonitor
from ..planning.preview import curves, preview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from motiond.formats import RobotModel
    from motiond.formats.arrays import Floats

    from ..api import Lease, Request
    from ..joints import JointMap
    from .group_start import Reservation
    from .member import Member
    from .robot import Robot

log = logging.getLogger(__name__)

TAKEN_OUT = "it is not in the configuration any more"
EXCHANGED = "its configuration has changed"


class RobotRegistry:
    """All robots of one daemon.

    Parameters
    ----------
    members : iterable of Member
    clock : ClockMonitor, optional
        Of the machine; kept fresh while the robots run.

    Attributes
    ----------
    clock : ClockMonitor
    models : dict of str to (RobotModel or None, JointMap)
        Each robot's description, where it has one, with the columns of its telemetry; as of now.
    reservations : dict of str to Reservation
        For which starts of their groups the robots are reserved; as of now.
    """

    def __init__(self, members: Iterable[Member], clock: ClockMonitor | None = None) -> None:
        self.clock = clock or ClockMonitor()
        self.models: dict[str, tuple[RobotModel | None, JointMap]] = {}
        self.reservations: dict[str, Reservation] = {}
        self._members: dict[str, Member] = {}
        for member in members:
            self._know(member)
        self._tasks: asyncio.TaskGroup | None = None
        self._running: dict[str, asyncio.Task[None]] = {}
        self._exchanges = 0
        self._leaving = False
        self._changed = asyncio.Event()

    def _know(self, member: Member) -> None:
        name = member.robot.name
        self._members[name] = member
        self.models[name] = (member.parts.model, member.parts.joint_map)
        self.reservations[name] = member.reservation

    @property
    def robots(self) -> tuple[str, ...]:
        """The names of all robots."""
        return tuple(self._members)

    @property
    def members(self) -> dict[str, Member]:
        """All robots, with what serves them, by name."""
        return dict(self._members)

    @property
    def leases(self) -> dict[str, Lease]:
        """The lease of each robot that requires one."""
        controls = {name: member.control for name, member in self._members.items()}
        return {name: control.lease for name, control in controls.items() if control.lease}

    @property
    def grouped(self) -> tuple[str, ...]:
        """The names of the robots that are in groups."""
        return tuple(name for name, member in self._members.items() if member.robot.settings.groups)

    async def until_grouped(self) -> None:
        """Wait until a robot is in a group."""
        while not self.grouped:
            await self._changed.wait()

    @property
    def ticking(self) -> bool:
        """Whether every stream process ticks, or its end is being dealt with."""
        return not any(member.robot.stream.stuck for member in self._members.values())

    # -- life -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run all robots until `leave`; each ends by itself, and none ends another."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            watching = tasks.create_task(self.clock.run(), name="clock")
            for member in self._members.values():
                self._begin(member)
            while self._running or self._exchanges:
                await self._changed.wait()
            self._tasks = None
            watching.cancel()

    def _begin(self, member: Member) -> None:
        """Run a robot beside the others, from now on until it leaves."""
        if self._tasks is None or self._leaving:
            return
        name = member.robot.name
        task = self._running[name] = self._tasks.create_task(member.run(), name=f"{name}.run")

        def end(_: asyncio.Task[None]) -> None:
            del self._running[name]
            self._tell_change()

        task.add_done_callback(end)

    def _tell_change(self) -> None:
        """Let whoever waits for a change look again."""
        self._changed.set()
        self._changed.clear()

    def leave(self) -> None:
        """Stop all robots softly and let `run` return."""
        self._leaving = True
        self._each(lambda robot: robot.leave())

    # -- who there is ---------------------------------------------------------------------------------------

    def add(self, member: Member) -> None:
        """Run another robot beside those that there are."""
        self._know(member)
        self._begin(member)
        self._tell_change()

    async def remove(self, name: str) -> None:
        """Let a robot that rests do what its `on_exit` asks for, and go; return when all of it has ended."""
        with self.staying():
            self._members[name].robot.leave(TAKEN_OUT)
            await self._ended(name)
            del self._members[name], self.models[name], self.reservations[name]

    async def exchange(self, member: Member) -> None:
        """Let a robot that rests go where it stands, and run another one of its name in its place."""
        name = member.robot.name
        with self.staying():
            former = self._members[name]
            member.succeed(former)
            former.robot.leave(EXCHANGED, goes_home=False)
            await self._ended(name)
            member.robot.session.latched |= former.robot.session.latched  # it may have come meanwhile
            self.add(member)

    async def _ended(self, name: str) -> None:
        while name in self._running:
            await self._changed.wait()

    @contextmanager
    def staying(self) -> Iterator[None]:
        """Keep `run` from returning while one robot has ended and another is about to begin."""
        self._exchanges += 1
        try:
            yield
        finally:
            self._exchanges -= 1
            self._tell_change()

    # -- what they are asked for ----------------------------------------------------------------------------

    def stop(self, message: str) -> None:
        """Stop all robots softly that nobody can stop; they stay on line.

        Who stands and waits for the first row that its group has agreed on is left out until then: by now
        others cannot be told in time, and would begin without it. Stopped after it, all are.
        """
        self._each(lambda robot: None if self.reservations[robot.name].waits_agreed else robot.stop(message))

    def _each(self, act: Callable[[Robot], None]) -> None:
        """Act on every robot, also where acting on one of them fails."""
        for name, member in self._members.items():
            try:
                act(member.robot)
            except Exception:
                log.exception("%s: failed inside motiond", name)

    async def handle(self, robot: str, verb: str, request: Request) -> Mapping[str, Any]:
        """Act on a request.

        Raises
        ------
        RequestError
            If it is refused.
        """
        return await self._known(robot).handlers.handle(verb, request)

    async def preview(self, robot: str, motion: str) -> PlannedMotion:
        """Return the setpoints that a play of a motion would begin with.

        Raises
        ------
        RequestError
            If there is no such robot or motion, or the motion cannot be played.
        """
        one = self._known(robot).robot
        playback = one.planner.whole_motion(motion)
        return PlannedMotion(*await asyncio.to_thread(preview, playback, one.library.joint_map))

    def curves(self, robot: str, motion: str) -> Floats:
        """Return the positions of the joints that a motion moves, at a few of its rows, shape (rows, joints).

        Raises
        ------
        RequestError
            If there is no such robot or motion, or the motion cannot be played.
        """
        return curves(self._known(robot).robot.planner.whole_motion(motion).plan)

    async def upload(self, robot: str, name: str, content: bytes) -> dict[str, Any]:
        """Check a file, keep it if all of it can be played, and return what is in it.

        Raises
        ------
        RequestError
            If it is not taken, with what is in it.
        """
        one = self._known(robot)
        entries = await asyncio.to_thread(one.handlers.uploads.take, name, content)
        await one.robot.motions.load_again()
        return {"motions": [{**entry.payload(), "file": name} for entry in entries]}

    def _known(self, robot: str) -> Member:
        if robot not in self._members:
            raise unknown_robot(robot, self._members)
        return self._members[robot]
