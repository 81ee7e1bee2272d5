"""One robot in the daemon: its life, what it is told to do, and what it reports of itself.

The state that is reported is the stream process's own, which `stream_listener` hears. `handlers` says which
requests are taken; this module carries them out.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..api.reports import Report
from ..ipc import messages
from ..ipc.states import ACTIVE, HALTED, ResultCode, State
from . import payloads
from .goal_planner import GoalPlanner
from .goal_runner import GoalRunner
from .learned_limits import LearnedLimits
from .motion_loader import MotionLoader
from .numbering import Numbering
from .shutdown import SHUTS_DOWN, go_home
from .status import RobotStatus
from .telemetry_reporter import TelemetryReporter

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..api.reports import ReportHub, Subject
    from ..clock.monitor import ClockMonitor
    from ..config.robot import RobotSettings
    from ..joints.joint_map import JointMap
    from ..planning.library import MotionLibrary
    from .goal import Goal
    from .stream_supervisor import Listener, StreamSupervisor
    from .telemetry_reporter import TelemetryRates

log = logging.getLogger(__name__)


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

    Attributes
    ----------
    status : RobotStatus
        What its stream process has told last.
    goals : GoalRunner
        What it plays and what waits.
    estop_latched : bool
        Until a reset, whatever becomes of the stream process.
    leaves_for : str
        Why it leaves, once it does.
    stops : int
        Counts the stops, so that a play that has not begun does not begin after one.
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
    ) -> None:
        self.name = name
        self.settings = settings
        self.library = library
        self.stream = stream
        self.clock = clock
        self.planner = GoalPlanner(name, settings, library, clock)
        self.status = RobotStatus(name)
        self.goals = GoalRunner(
            name,
            settings.on_end,
            planner=self.planner,
            status=self.status,
            stream=stream,
            report=self.report,
            report_state=self.report_state,
        )
        self.estop_latched = False
        self.stops = 0
        self._releases = 0
        self.leaves_for = SHUTS_DOWN
        self.max_rate_hz: float | None = None
        self._hub = hub
        self._numbering = Numbering()
        self._leaving = asyncio.Event()
        self._goes_home = True
        self.motions = MotionLoader(name, library, self._take_motions)
        self.limits = LearnedLimits(joint_map, library, self.motions, self.status)
        self.telemetry = TelemetryReporter(self.report, telemetry, hub.is_heard, clock)

    # -- life -----------------------------------------------------------------------------------------------

    async def run(self, listener: Listener) -> None:
        """Keep the robot on line until `leave`; may be called again after it has failed.

        Parameters
        ----------
        listener : Listener
            Is told what the stream process does.
        """
        try:
            self.report("availability", {"state": "offline"})
            await self.motions.load_first()
            if self.leaving:
                return
            self.describe()
            self.report_state()
            async with asyncio.TaskGroup() as tasks:
                farewell = tasks.create_task(self._say_farewell(), name=f"{self.name}.farewell")
                await self.stream.run(listener)
                farewell.cancel()
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

    @property
    def rests(self) -> bool:
        """Whether nothing plays, waits or is about to follow, and nothing moves."""
        return self.goals.rests and self.status.state not in ACTIVE

    def leave(self, why: str = SHUTS_DOWN, *, goes_home: bool = True) -> None:
        """Stop softly, do what `on_exit` asks for, let the stream process end, and let `run` return.

        Parameters
        ----------
        why : str
            As clients are told.
        goes_home : bool
            Whether to do what `on_exit` asks for; without it, the actuators are left as they are.
        """
        if not self.leaving:
            self.leaves_for, self._goes_home = why, goes_home
        self._goes_home |= goes_home
        self.goals.leaving = True
        self.goals.stay()
        self.motions.leave(self.leaves_for)
        self._leaving.set()
        self.status.wake()

    async def _say_farewell(self) -> None:
        """Wait for `leave`; whatever becomes of the way home, the stream process is then told to end."""
        await self._leaving.wait()
        if self._goes_home:
            await go_home(self)
        self.goals.clear_queue(ResultCode.CANCELED, self.leaves_for)
        self.stream.leave()

    def _take_motions(self) -> None:
        """Tell what the library holds now, and free what it has dropped."""
        self.planner.forget_dropped()
        self.report("motions", self.library.payload())

    # -- what it is told to do; the methods that wait raise RequestError, TIMEOUT ----------------------------

    def stop(self, why: str) -> None:
        """Stop softly; a play that has not begun does not begin."""
        self.stops += 1
        self.status.wake()
        self.goals.stay()
        self.goals.clear_queue(ResultCode.CANCELED, why)
        self.stream.send(messages.Stop(ResultCode.CANCELED, why))

    def preempt(self, why: str) -> None:
        """End what plays, what waits and what is about to begin, softly; `come_to_rest` waits for it."""
        self.goals.stay()
        self.goals.clear_queue(ResultCode.PREEMPTED, why)
        if self.goals.goal is not None:
            self.stream.send(messages.Stop(ResultCode.PREEMPTED, why))
        self.status.wake()

    async def come_to_rest(self, refuse: Callable[[], None]) -> None:
        """Wait until what was told to end has ended and nothing moves; `refuse` as of `RobotStatus.until`."""
        await self.status.until(
            lambda: self.goals.goal is None and self.status.state not in ACTIVE,
            "rest",
            refuse=refuse,
        )

    async def pause(self) -> None:
        """Slow down on the path and wait until the robot is at rest, whatever for."""
        goal = self.goals.goal
        self.stream.send(messages.Pause())
        settled = {State.PAUSED, State.STOPPING, *HALTED, State.OFFLINE}
        # It is idle still, too, where a goal has only just been sent.
        await self.status.until(lambda: self.status.state in settled or self.goals.goal is not goal, "rest")

    async def resume(self) -> None:
        """Go on along the path."""
        self.stream.send(messages.Resume())
        waiting = {State.PAUSING, State.PAUSED}
        await self.status.until(lambda: self.status.state not in waiting, "the end of the pause")

    def set_speed(self, goal: Goal, speed: float) -> None:
        """Play the goal at another speed from now on."""
        self.stream.send(messages.Speed(speed, self.planner.set_speed(goal, speed)))
        self.report_state()

    async def seek(self, goal: Goal, row: int, start: list[float], *, goes_on: bool) -> None:
        """Go from where the robot holds to a row of its goal's track, and on from there if `goes_on`.

        Raises
        ------
        RequestError
            If there is no way from there.
        """
        statuses = self.status.updates
        with self.planner.way_to(goal, row, start) as fd:
            self.stream.send(messages.Seek(goal.goal_id, row, start, goes_on), (fd,))
        await self.status.until(lambda: self.status.updates != statuses, "the way there")

    async def enable(self, refuse: Callable[[], None] = lambda: None) -> None:
        """Switch torque on where it is off or about to be; a driver that cannot leaves a robot in `fault`."""
        await self.status.settled(refuse)
        if self.status.state is State.IDLE and not self.status.torque:
            self.stream.send(messages.Enable())
            releases = self._releases
            await self.status.until(
                lambda: (
                    self.status.torque or self.status.state is not State.IDLE or self._releases != releases
                ),
                "torque on",
                refuse=refuse,
            )

    async def disable(self, refuse: Callable[[], None] = lambda: None) -> None:
        """Switch torque off, where the robot is not halted; a play that has not begun does not begin."""
        self.stops += 1
        self._releases += 1
        self.status.wake()
        self.goals.stay()
        status, updates = self.status, self.status.updates
        self.goals.release()
        await status.until(
            lambda: not status.torque and not (status.is_on and status.updates == updates),
            "torque off",
            refuse=refuse,
        )

    async def latch_estop(self) -> None:
        """Halt in the next tick, and stay so until `reset`, whatever becomes of the stream process."""
        self.stops += 1
        self.goals.stay()
        if not self.estop_latched:  # it may be sent very often
            log.info(
                "%s: emergency stop; it stays latched until reset", self.name, extra={"robot": self.name}
            )
        self.estop_latched = True
        self.status.wake()
        if self.stream.send(messages.Estop()):
            ended = {State.ESTOPPED, State.FAULT, State.OFFLINE}
            # After a reset that came at once, it may have been halted without being reported so.
            await self.status.until(lambda: self.status.state in ended or not self.estop_latched, "the halt")

    # -- reports --------------------------------------------------------------------------------------------

    def report(self, subject: Subject, data: dict[str, Any], *, renews: bool = False) -> None:
        """Tell the world; of samples, a page that falls behind wants but the newest."""
        self._publish(subject, data, renews=renews or subject == "samples")

    def report_state(self, *, renews: bool = False) -> None:
        """Tell what the robot does now; whether only how far it is."""
        self._publish("state", self.state_payload(), renews=renews)

    def _publish(self, subject: Subject, data: dict[str, Any], *, renews: bool) -> None:
        self._hub.publish(Report(self.name, subject, self._numbering.number(subject, data), renews=renews))

    @property
    def loose(self) -> list[str]:
        """The actuators that do not hold while others do."""
        holds = self.status.holds
        names = zip(self.library.joint_map.actuators, holds, strict=False)
        return [name for name, on in names if not on] if any(holds) else []

    def state_payload(self) -> dict[str, Any]:
        """Return what the robot does now, JSON-ready."""
        observer = self.stream.observer
        return payloads.state_payload(
            self.goals.goal,
            observer.sample if observer else None,
            state=self.status.state,
            torque=self.status.is_on,
            loose=self.loose,
            estop_latched=self.estop_latched,
            message=self.status.why,
            displaced=self.status.displaced,
            queued=len(self.goals.queue),
        )

    def describe(self) -> None:
        """Tell what the robot is."""
        description = payloads.description_payload(self.library.joint_map, self.settings, self.max_rate_hz)
        self.report("description", description)
