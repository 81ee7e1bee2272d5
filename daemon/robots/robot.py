"""One robot in the daemon: its life, and the shell around its session, which decides what it does.

`handlers` makes requests of clients events of the session, and `stream_listener` what the stream process
reports; this module carries out what follows, and waits.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..api import PlayRequest, Report, RequestError
from ..ipc.messages import Seek as SeekCommand
from ..telemetry import Drift
from . import payloads
from .motions import LearnedLimits, MotionLoader
from .payloads import Numbering
from .session import GoalPlanner, RobotSession, new_goal
from .telemetry_reporter import TelemetryReporter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..api import Follows, ReportHub, RobotStatus, Subject
    from ..clock import ClockMonitor
    from ..config.robot import RobotSettings
    from ..ipc.messages import Command, Ended
    from ..joints import JointMap
    from ..planning import MotionLibrary
    from .process import Listener, StreamSupervisor
    from .session import Goal, Pending, Seek
    from .telemetry_reporter import TelemetryRates

log = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 4.5
"""Clients wait for 5 s."""
MAY_COME = "it may come yet; its state shows it"
TURNS = 10
"""In how many turns an answer is waited for: while the daemon stands still, only one of them goes by."""


class Robot:
    """One robot.

    Parameters
    ----------
    name : str
    settings : RobotSettings
    joint_map : JointMap
        Its joints and actuators, with the limits of the description and the configuration.
    library : MotionLibrary
        Its motions; loaded by `run`.
    stream : StreamSupervisor
        Of its stream process.
    telemetry : TelemetryRates
        How often telemetry is reported.
    hub : ReportHub
        Takes the reports.
    clock : ClockMonitor
        Of the machine.
    answer_timeout_s : float
        How long a request waits for what it has asked for.

    Attributes
    ----------
    session : RobotSession
        What it does, and what follows.
    max_rate_hz : float or None
        The highest rate at which its driver takes setpoints; None until it was open.
    planner : GoalPlanner
    limits : LearnedLimits
        Those that its actuators report.
    motions : MotionLoader
    telemetry : TelemetryReporter
        Reports what its stream process records.
    """

    def __init__(
        self,
        name: str,
        settings: RobotSettings,
        *,
        joint_map: JointMap,
        library: MotionLibrary,
        stream: StreamSupervisor,
        telemetry: TelemetryRates,
        hub: ReportHub,
        clock: ClockMonitor,
        answer_timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        self.name = name
        self.settings = settings
        self.library = library
        self.stream = stream
        self.clock = clock
        self.answer_timeout_s = answer_timeout_s
        self.planner = GoalPlanner(name, settings, library, clock)
        self.session = RobotSession(name, on_end=settings.on_end, on_exit=settings.on_exit, outlet=self)
        self.max_rate_hz: float | None = None
        self._hub = hub
        self._numbering = Numbering()
        self._leaving, self._changed = asyncio.Event(), asyncio.Event()
        self.motions = MotionLoader(name, library, self._take_motions)
        self.limits = LearnedLimits(joint_map, library, self.motions)
        self.telemetry = TelemetryReporter(self.report, telemetry, hub.has_listeners, clock)

    # -- life -----------------------------------------------------------------------------------------------

    async def run(self, listener: Listener) -> None:
        """Keep the robot on line until `leave`; may be called again after it has failed.

        Parameters
        ----------
        listener : Listener
            Receives what the stream process reports.
        """
        try:
            self.report("availability", {"state": "offline"})
            await self.motions.load_first()
            if self.leaving:
                return
            self.describe()
            self.report_state()
            async with asyncio.TaskGroup() as tasks:
                exiting = tasks.create_task(self._exit(), name=f"{self.name}.exit")
                await self.stream.run(listener)
                exiting.cancel()
        finally:
            self.planner.close()

    @property
    def leaving(self) -> bool:
        """Whether it is about to end."""
        return self._leaving.is_set()

    async def rest(self, duration_s: float) -> None:
        """Wait, but no longer than until `leave`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(duration_s):
                await self._leaving.wait()

    def leave(self) -> None:
        """Stop softly, do what `on_exit` asks for, let the stream process end, and let `run` return."""
        self._leaving.set()
        self.session.leave()
        self.motions.leave()

    async def _exit(self) -> None:
        """Bound the time that `on_exit` may take."""
        await self._leaving.wait()
        try:
            async with asyncio.timeout(self.settings.exit_timeout_s):
                while not self.session.has_left:
                    await self._changed.wait()
        except TimeoutError:
            self.session.end_exit("timeout")
            self.stream.leave()  # whatever the session makes of it

    def stop(self, reason: str) -> None:
        """Stop softly; a play that has not begun does not begin."""
        self.session.stop(reason)

    def _take_motions(self) -> None:
        """Report what the library holds now, and free what it has dropped."""
        self.planner.forget_dropped()
        self.report("motions", self.library.payload())

    # -- what requests wait for -----------------------------------------------------------------------------

    def wake(self) -> None:
        """Let those look again who wait for a change."""
        self._changed.set()
        self._changed.clear()

    async def change(self, within_s: float | None) -> None:
        """Wait until something has changed, or for so long; None for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._changed.wait()

    async def obeyed(self, number: int, awaited: str, fix: str = MAY_COME) -> None:
        """Wait until a command has been obeyed, or the robot is lost.

        Parameters
        ----------
        awaited : str
            What it leads to, for the message.

        Raises
        ------
        RequestError
            TIMEOUT, with the state and what was awaited.
        """
        await self._until(lambda: self.session.is_obeyed(number), lambda: awaited, fix)

    async def settled(self, pending: Pending) -> dict[str, Any]:
        """Wait for what the session has begun, and return what came of it; raises as `obeyed`, or what came.

        Who does not wait any more gives it up.
        """
        try:
            await self._until(lambda: pending.outcome is not None, lambda: pending.awaits)
        finally:
            self.session.give_up(pending)
        if isinstance(pending.outcome, RequestError):
            raise pending.outcome
        return pending.outcome or {}

    async def _until(self, holds: Callable[[], bool], awaits: Callable[[], str], fix: str = MAY_COME) -> None:
        """Wait for a change; time in which the daemon itself stood still does not count.

        The time begins again where something else is awaited.
        """
        turns, awaited, timeout_s = 0, awaits(), self.answer_timeout_s
        while turns < TURNS:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s / TURNS):
                    while not holds():
                        await self._changed.wait()
                    return
            turns, awaited = turns + 1 if awaits() == awaited else 0, awaits()
        reason = f"the robot is {self.session.in_words}, and {awaited} is still awaited"
        data: dict[str, Any] = {
            "state": self.session.state,
            "torque": self.session.known.torque,
            "awaited": awaited,
        }
        raise RequestError("TIMEOUT", self.name, f"not done in {timeout_s:g} s", reason, fix, **data)

    # -- what the session has decided (`session.Outlet`) ----------------------------------------------------

    def send(self, command: Command) -> int:
        """Send a command and return its number; 0 if nobody takes it."""
        return self.stream.send(command)

    def begin(self, goal: Goal, start: list[float]) -> tuple[int, dict[str, Any]]:
        """Send a goal; return the command's number, and what its answer holds; raises RequestError."""
        with self.planner.prepare(goal, start) as prepared:
            number = self.stream.send(prepared.command, prepared.fds)
            if not number:
                problem = "the stream process does not listen"
                raise RequestError("OFFLINE", self.name, problem, hint="try again")
            answer = {"goal_id": goal.goal_id, **prepared.answer}
        if self.stream.observer is not None:
            self.stream.observer.start_goal(_drift_of(goal))
        return number, answer

    def seek(self, seek: Seek, start: list[float]) -> int:
        """Send the way to a row; return the command's number; raises RequestError."""
        with self.planner.way_to(seek.goal, seek.row, start) as fd:
            command = SeekCommand(seek.goal.goal_id, seek.row, start, seek.goes_on)
            return self.stream.send(command, (fd,))

    def park_goal(self) -> Goal:
        """Return a goal that goes to the pose `park`; raises RequestError."""
        playback = self.planner.playback_to_park()
        return new_goal(playback, PlayRequest(motion=playback.plan.motion))

    def end(self) -> None:
        """Let the stream process end."""
        self.stream.leave()

    def warn(self, message: str) -> None:
        """Write to the log."""
        log.warning("%s: %s", self.name, message, extra={"robot": self.name})

    # -- reports --------------------------------------------------------------------------------------------

    def report(self, subject: Subject, data: Mapping[str, Any], *, renews: bool = False) -> None:
        """Publish a report; of samples, a page that falls behind wants but the newest."""
        self._publish(subject, data, renews=renews or subject == "samples")

    def report_state(self, *, renews: bool = False) -> None:
        """Publish what the robot does now; whether only how far it is."""
        self._publish("state", self.state_payload(), renews=renews)

    def report_result(self, goal: Goal, ended: Ended, follows: Follows | None) -> None:
        """Publish how a goal ended, and what the robot then does by itself."""
        observer = self.stream.observer if ended.played_s is not None else None
        timing, drift = (observer.goal, observer.drift) if observer else (None, None)
        self.report("result", payloads.result_payload(goal, ended, timing, follows, drift=drift))

    def _publish(self, subject: Subject, data: Mapping[str, Any], *, renews: bool) -> None:
        self._hub.publish(Report(self.name, subject, self._numbering.number(subject, data), renews=renews))

    def state_payload(self) -> RobotStatus:
        """Return what the robot does now, JSON-ready."""
        return payloads.state_payload(self.session, self.stream.observer, self.library.joint_map.actuators)

    def describe(self) -> None:
        """Publish what the robot is."""
        description = payloads.description_payload(self.library.joint_map, self.settings, self.max_rate_hz)
        self.report("description", description)


def _drift_of(goal: Goal) -> Drift | None:
    """Return what counts how far a goal is from its appointed time, if it has one."""
    start_at = goal.request.start_at
    return None if start_at is None else Drift(start_at, goal.playback.track.rate_hz)
