"""One robot in the daemon: its goals, one after the other, and what becomes of them.

The state that is reported is the stream process's own. `handlers` says which requests are taken; this module
carries them out.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from ..api.errors import RequestError
from ..api.reports import Report
from ..api.schemas import PlayRequest
from ..ipc import messages
from ..ipc.states import ACTIVE, HALTED, ResultCode, State
from . import payloads
from .goal import new_goal
from .goal_planner import GoalPlanner
from .goal_queue import GoalQueue
from .shutdown import SHUTS_DOWN, go_home
from .status import RobotStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..api.reports import ReportHub, Subject
    from ..config.robot import RobotSettings
    from ..joints.joint_map import JointMap
    from ..planning.library import MotionLibrary
    from ..telemetry.observer import Observer
    from .goal import Goal
    from .stream_supervisor import StreamSupervisor

log = logging.getLogger(__name__)

RESTART_TIMEOUT_S = 25.0

REASONS = frozenset({"fault", "deadline_missed"})
"""Kinds of events that are why a robot is in the state that it is in."""


class Robot:
    """One robot.

    Parameters
    ----------
    name : str
    settings : RobotSettings
    joint_map : JointMap
        Its joints, actuators and limits.
    library : MotionLibrary
        Its motions; loaded by `run`.
    stream : StreamSupervisor
        Of its stream process.
    hub : ReportHub
        Takes the reports.

    Attributes
    ----------
    status : RobotStatus
        What its stream process has told last.
    goal : Goal or None
        What it plays.
    queue : GoalQueue
        What waits for that.
    estop_latched : bool
        Until a reset, whatever becomes of the stream process.
    stops : int
        Counts the stops, so that a play that has not begun does not begin after one.
    planner : GoalPlanner
    """

    def __init__(
        self,
        name: str,
        settings: RobotSettings,
        *,
        joint_map: JointMap,
        library: MotionLibrary,
        stream: StreamSupervisor,
        hub: ReportHub,
    ) -> None:
        self.name = name
        self.settings = settings
        self.joint_map = joint_map
        self.library = library
        self.stream = stream
        self.planner = GoalPlanner(name, settings, joint_map, library)
        self.status = RobotStatus(name)
        self.goal: Goal | None = None
        self.queue = GoalQueue(name)
        self.estop_latched = False
        self.stops = 0
        self._hub = hub
        self._max_rate_hz: float | None = None
        self._leaving = asyncio.Event()
        self._next: Callable[[], None] | None = None
        self._second_s = 0.0
        self._lost_for = ""

    # -- life -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep the robot on line until `leave`."""
        try:
            await asyncio.to_thread(self.library.load_all)
            self.report("availability", {"state": "offline"})
            self._describe()
            self.report("motions", self.library.payload())
            self.report_state()
            async with asyncio.TaskGroup() as tasks:
                farewell = tasks.create_task(self._say_farewell(), name=f"{self.name}.farewell")
                await self.stream.run(self)
                farewell.cancel()
        finally:
            self.planner.close()

    @property
    def leaving(self) -> bool:
        """Whether it is about to end."""
        return self._leaving.is_set()

    def leave(self) -> None:
        """Stop softly, do what `on_exit` asks for, let the stream process end, and let `run` return."""
        self._leaving.set()

    async def _say_farewell(self) -> None:
        """Wait for `leave`; whatever becomes of the way home, the stream process is then told to end."""
        await self._leaving.wait()
        try:
            async with asyncio.timeout(self.settings.exit_timeout_s):
                await go_home(self)
        except (TimeoutError, RequestError) as error:
            log.warning(
                "%s: on_exit %s was given up; %s", self.name, self.settings.on_exit, error or "timeout"
            )
        self.clear_queue(ResultCode.CANCELED, SHUTS_DOWN)
        self.stream.leave()

    def park(self) -> None:
        """Go to the pose `park`, from the last setpoint."""
        playback = self.planner.playback_to_park()
        self.start(new_goal(playback, PlayRequest(motion=playback.plan.motion)))

    async def reload_motions(self) -> dict[str, Any]:
        """Read the motion folders again, and return and report what is in them."""
        await asyncio.to_thread(self.library.load_all)
        motions = self.library.payload()
        self.report("motions", motions)
        return motions

    # -- goals ----------------------------------------------------------------------------------------------

    def start(self, goal: Goal) -> dict[str, Any]:
        """Hand a goal over to the stream process, to begin where the robot holds.

        Raises
        ------
        RequestError
            If it cannot begin there.
        """
        if self.status.reference is None:
            raise RequestError("OFFLINE", self.name, "the robot went offline", self.status.message)
        with self.planner.prepare(goal, self.status.reference) as prepared:
            if not self.stream.send(prepared.command, prepared.fds):
                raise RequestError(
                    "OFFLINE", self.name, "the stream process does not listen", mend="try again"
                )
            told = prepared.told
        self.goal = goal
        if self.stream.observer is not None:
            self.stream.observer.start_goal()
        return {"goal_id": goal.goal_id, **told}

    def enqueue(self, goal: Goal) -> int:
        """Let a goal wait until those before it have ended well, and return its place, from 1.

        Raises
        ------
        RequestError
            If too many wait already.
        """
        place = self.queue.add(goal)
        self.report_state()
        return place

    def clear_queue(self, code: ResultCode, why: str) -> list[str]:
        """End all goals that wait and return their ids."""
        cleared = self.queue.clear()
        for goal in cleared:
            self._report_result(
                goal, messages.Ended(goal.goal_id, code, f"{why}; it had not begun", None, {})
            )
        if cleared:
            self.report_state()
        return [goal.goal_id for goal in cleared]

    def start_next(self) -> None:
        """Begin what waits, if nothing plays; what cannot begin ends, and all that wait for it."""
        if (
            not self.queue
            or self.goal is not None
            or self.status.state is not State.IDLE
            or not self.status.torque
        ):
            return
        goal = self.queue.take()
        try:
            self.start(goal)
        except RequestError as error:
            self._report_result(
                goal, messages.Ended(goal.goal_id, ResultCode.INVALID_GOAL, str(error), None, error.data)
            )
            self.clear_queue(ResultCode.CANCELED, f"{goal.motion}, before it, could not be played")

    def _end_as_configured(self) -> None:
        """Go on with what waits; without that, do what `on_end` asks for."""
        if self.queue:
            self.start_next()
        elif self.settings.on_end == "release":
            self.stream.send(messages.Disable())
        elif self.settings.on_end == "park":
            try:
                self.park()
            except RequestError as error:
                self.report("event", {"kind": "not_parked", "message": str(error)})

    # -- what it is told to do; the methods that wait raise RequestError, TIMEOUT ----------------------------

    def stop(self, why: str) -> None:
        """Stop softly; a play that has not begun does not begin."""
        self.stops += 1
        self.clear_queue(ResultCode.CANCELED, why)
        self.stream.send(messages.Stop(ResultCode.CANCELED, why))

    async def preempt(self, why: str) -> None:
        """End what plays and what waits, softly, and wait until the robot is at rest."""
        self.clear_queue(ResultCode.PREEMPTED, why)
        if self.goal is not None:
            self.stream.send(messages.Stop(ResultCode.PREEMPTED, why))
            await self.status.until(
                lambda: self.goal is None, "the motion before did not end", RESTART_TIMEOUT_S
            )
        await self.status.until(lambda: self.status.state not in ACTIVE, "the robot did not come to rest")

    async def pause(self) -> None:
        """Slow down on the path and wait until the robot is at rest, whatever for."""
        self.stream.send(messages.Pause())
        settled = {State.PAUSED, State.STOPPING, State.IDLE, *HALTED, State.OFFLINE}
        await self.status.until(
            lambda: self.status.state in settled, "the robot did not come to rest", RESTART_TIMEOUT_S
        )

    async def resume(self) -> None:
        """Go on along the path."""
        self.stream.send(messages.Resume())
        waiting = {State.PAUSING, State.PAUSED}
        await self.status.until(lambda: self.status.state not in waiting, "the robot did not go on")

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
        await self.status.until(lambda: self.status.updates != statuses, "the robot did not go there")

    async def enable(self) -> None:
        """Switch torque on where it is off; a driver that cannot leaves the robot in `fault`."""
        if self.status.state is State.IDLE and not self.status.torque:
            self.stream.send(messages.Enable())
            await self.status.until(
                lambda: self.status.torque or self.status.state is not State.IDLE,
                "torque could not be switched on",
            )

    async def disable(self) -> None:
        """Switch torque off."""
        self.stream.send(messages.Disable())
        await self.status.until(lambda: not self.status.torque, "torque could not be switched off")

    async def latch_estop(self) -> None:
        """Halt in the next tick, and stay so until `reset`, whatever becomes of the stream process."""
        self.stops += 1
        self.estop_latched = True
        if self.stream.send(messages.Estop()):
            ended = {State.ESTOPPED, State.FAULT, State.OFFLINE}
            failure = "the stream process did not answer the emergency stop"
            await self.status.until(lambda: self.status.state in ended, failure)

    async def reset(self) -> None:
        """Leave `estopped`, or `fault` by a new start of the stream process."""
        status, self.estop_latched = self.status, False
        if status.state is State.FAULT:
            self.stream.restart()
            await self.status.until(
                lambda: status.state is State.OFFLINE, "the driver did not close", RESTART_TIMEOUT_S
            )
            await self.status.until(
                lambda: self.status.state is State.IDLE, self.status.message, RESTART_TIMEOUT_S
            )
        elif self.status.state is State.ESTOPPED:
            self.stream.send(messages.Reset())
            await self.status.until(
                lambda: status.state is not State.ESTOPPED, "the emergency stop did not end"
            )

    def inject(self, fault: dict[str, Any]) -> bool:
        """Let a fault of simulated actuators happen; False if the stream process does not listen."""
        return self.stream.send(messages.Inject(fault))

    # -- what the stream process does -----------------------------------------------------------------------

    def on_notice(self, notice: messages.Notice) -> None:
        """Take a notice of the stream process."""
        match notice:
            case messages.Ready():
                self._come_on_line(notice)
            case messages.Failed():
                self.status.message = notice.message
            case messages.Lost():
                self._go_offline(notice.message)
            case messages.Status():
                before = self.status.state
                self.status.take(notice)
                self._enter(before)
            case messages.Ended():
                self._conclude(notice)
            case messages.Reached() if self.goal is not None and self.goal.goal_id == notice.goal_id:
                self.report("event", payloads.marker_event(self.goal, notice))
            case messages.Happened():
                if notice.kind in REASONS:
                    self.status.message = notice.message
                self.report("event", {"kind": notice.kind, "message": notice.message})

    def on_records(self, observer: Observer) -> None:
        """Report telemetry, and once a second diagnostics and, in motion, the state."""
        if observer.sample is not None:
            frames_per_tick = self.goal.playback.plan.frames_per_tick if self.goal else 1.0
            self.report("telemetry", observer.sample.payload(frames_per_tick))
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._second_s:
            self._second_s = now_s + 1.0
            self.report("diagnostics", observer.diagnostics())
            observer.start_second()
            if self.status.state in ACTIVE:
                self.report_state()

    def on_exit(self, why: str) -> None:
        """Say that the stream process has ended, and end its goal truthfully."""
        self._go_offline(why)

    def _go_offline(self, why: str) -> None:
        """Take note that nothing can be moved; without a reason, because it was to end."""
        if why and why != self._lost_for:
            log.error("%s: %s", self.name, why)
            self.report("event", {"kind": "stream_lost", "message": why})
            self._lost_for = why
        self.status.message = why or "shut down"
        if self.goal is not None:
            self._conclude(
                messages.Ended(self.goal.goal_id, ResultCode.COMM_LOST, self.status.message, None, {})
            )
        self.clear_queue(ResultCode.CANCELED, self.status.message)
        self.report("availability", {"state": "offline"})
        before = self.status.state
        self.status.go_offline(self.status.message)
        self._enter(before)

    def _come_on_line(self, ready: messages.Ready) -> None:
        for warning in ready.warnings:
            log.warning("%s: %s", self.name, warning)
            self.report("event", {"kind": "warning", "message": warning})
        if self._lost_for:
            self._lost_for = ""
            back = "the actuators are back; torque is off until it is enabled, or a motion plays"
            self.report("event", {"kind": "back", "message": back})
        self._max_rate_hz = ready.max_rate_hz
        self.status.message = ""
        if self.estop_latched:
            self.stream.send(messages.Estop())
        self._describe()

    def _enter(self, before: State) -> None:
        """Tell of a new status, and do what it asks for."""
        state = self.status.state
        if state is State.IDLE:
            self.status.message = ""
        self.status.wake()
        self.report_state()
        if before is State.OFFLINE and state is not State.OFFLINE:
            self.report("availability", {"state": "online"})
        if state in HALTED:
            self.clear_queue(ResultCode.CANCELED, f"the robot is in {state}")
        if state is State.IDLE and self._next is not None:
            follow, self._next = self._next, None
            follow()

    def _conclude(self, ended: messages.Ended) -> None:
        """End the goal that plays."""
        goal, self.goal = self.goal, None
        if goal is None or goal.goal_id != ended.goal_id:
            message = "%s: a result for goal %s, which is not active: %s"
            log.error(message, self.name, ended.goal_id, ended.code)
            return
        self._report_result(goal, ended)
        if ended.code != ResultCode.SUCCESSFUL:
            self.clear_queue(ResultCode.CANCELED, f"{goal.motion}, before it, ended with {ended.code}")
        elif self.queue or (goal.motion != "park" and not self.leaving):
            self._next = self._end_as_configured
        self.status.wake()

    # -- reports --------------------------------------------------------------------------------------------

    def report(self, subject: Subject, data: dict[str, Any]) -> None:
        """Tell the world."""
        self._hub.publish(Report(self.name, subject, data))

    def report_state(self) -> None:
        """Tell what the robot does now."""
        self.report("state", self.state_payload())

    def state_payload(self) -> dict[str, Any]:
        """Return what the robot does now, JSON-ready."""
        observer = self.stream.observer
        return payloads.state_payload(
            self.goal,
            observer.sample if observer else None,
            state=self.status.state,
            torque=self.status.torque,
            estop_latched=self.estop_latched,
            message=self.status.message,
            queued=len(self.queue),
        )

    def _describe(self) -> None:
        description = payloads.description_payload(self.joint_map, self.settings, self._max_rate_hz)
        self.report("description", description)

    def _report_result(self, goal: Goal, ended: messages.Ended) -> None:
        observer = self.stream.observer if ended.played_s is not None else None
        self.report("result", payloads.result_payload(goal, ended, observer))
