"""One robot in the daemon: its goals, one after the other, and what becomes of them.

In come goals and the stream process's notices and records, out go commands to it and reports to the hub. The
state that is reported is the stream process's own. Requests are taken by `verbs`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from motiond.formats.registry import MOTIONS, ROBOTS

from ..api.reports import Report
from ..api.requests import PlayRequest, RequestError
from ..ipc import messages as ch
from ..ipc.states import ACTIVE, HALTED, ResultCode, State
from .goal import new_goal
from .goal_planner import GoalPlanner
from .handlers import SHUTS_DOWN, Verbs

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..api.reports import ReportHub, Subject
    from ..api.requests import Request
    from ..config.settings import RobotSettings
    from ..joints.joint_map import JointMap
    from ..planning.library import MotionLibrary
    from ..telemetry.observer import Observer
    from .goal import Goal
    from .stream_supervisor import StreamKeeper

log = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 5.0
LONGEST_QUEUE = 100


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
    keeper : StreamKeeper
        Of its stream process.
    hub : ReportHub
        Takes the reports.

    Attributes
    ----------
    state : State
        The stream process's own; `offline` without one.
    torque : bool
        Whether the actuators hold.
    message : str
        Why it is offline or in fault.
    goal : Goal or None
        What it plays.
    queue : deque of Goal
        What waits for that.
    reference : list of float or None
        The setpoint that is held, per joint; None while torque is off.
    estop_latched : bool
        Until a reset, whatever becomes of the stream process.
    stops : int
        Counts the stops, so that a play that has not begun does not begin after one.
    news : int
        Counts what the stream process has said of its state.
    goals : GoalPlanner
    """

    def __init__(
        self,
        name: str,
        settings: RobotSettings,
        *,
        joint_map: JointMap,
        library: MotionLibrary,
        keeper: StreamKeeper,
        hub: ReportHub,
    ) -> None:
        self.name = name
        self.settings = settings
        self.joint_map = joint_map
        self.library = library
        self.keeper = keeper
        self.goals = GoalPlanner(name, settings, joint_map, library)
        self.state = State.OFFLINE
        self.torque = False
        self.message = "starting"
        self.goal: Goal | None = None
        self.queue: deque[Goal] = deque()
        self.reference: list[float] | None = None
        self.estop_latched = False
        self.stops = self.news = 0
        self._hub = hub
        self._max_rate_hz: float | None = None
        self._changed = asyncio.Event()
        self._leaving = asyncio.Event()
        self._next: Callable[[], None] | None = None
        self._second_s = 0.0
        self._lost_for = ""
        self._verbs = Verbs(self)

    async def handle(self, verb: str, request: Request) -> dict[str, Any]:
        """Act on a request.

        Raises
        ------
        RequestError
            If it is refused.
        """
        return await self._verbs.handle(verb, request)

    # -- life -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep the robot on line until `leave`."""
        try:
            await asyncio.to_thread(self.library.load_all)
            self.report("availability", {"state": "offline"})
            self.report("description", self._description())
            self.report("motions", self.library.payload())
            self.report("state", self.state_payload())
            async with asyncio.TaskGroup() as tasks:
                farewell = tasks.create_task(self._say_farewell(), name=f"{self.name}.farewell")
                await self.keeper.run(self)
                farewell.cancel()
        finally:
            self.goals.close()

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
                await self._go_home()
        except (TimeoutError, RequestError) as error:
            log.warning(
                "%s: on_exit %s was given up; %s", self.name, self.settings.on_exit, error or "timeout"
            )
        self.clear_queue(ResultCode.CANCELED, SHUTS_DOWN)
        self.keeper.leave()

    async def _go_home(self) -> None:
        """Come to rest, and park or release a robot that holds; one that is halted stays as it is."""
        if self.settings.on_exit == "hold" or not self.torque or self.state in HALTED:
            return
        self.stop(SHUTS_DOWN)
        await self.until(lambda: self.state is State.IDLE, ANSWER_TIMEOUT_S, "the robot did not come to rest")
        if self.settings.on_exit == "park":
            self._park()
            await self.until(lambda: self.goal is None, self.settings.exit_timeout_s, "it did not get there")
        else:
            self.keeper.send(ch.Disable())
            await self.until(lambda: not self.torque, ANSWER_TIMEOUT_S, "torque could not be switched off")

    def _park(self) -> None:
        """Go to the pose `park`, from the last setpoint."""
        playback = self.goals.playback_to_park()
        self.start(new_goal(playback, PlayRequest(motion=playback.plan.motion)))

    # -- goals ----------------------------------------------------------------------------------------------

    def start(self, goal: Goal) -> dict[str, Any]:
        """Hand a goal over to the stream process, to begin where the robot holds.

        Raises
        ------
        RequestError
            If it cannot begin there.
        """
        if self.reference is None:
            raise RequestError("OFFLINE", f"{self.name}: the robot went offline; {self.message}")
        with self.goals.prepare(goal, self.reference) as made:
            if not self.keeper.send(made.command, made.fds):
                raise RequestError("OFFLINE", f"{self.name}: the stream process does not listen; try again")
            told = made.told
        self.goal = goal
        if self.keeper.observer is not None:
            self.keeper.observer.start_goal()
        return {"goal_id": goal.goal_id, **told}

    def enqueue(self, goal: Goal) -> int:
        """Let a goal wait until those before it have ended well; give its place, from 1.

        Raises
        ------
        RequestError
            If too many wait already.
        """
        if len(self.queue) >= LONGEST_QUEUE:
            what = f"{self.name}: {LONGEST_QUEUE} motions wait already"
            raise RequestError("BUSY", f"{what}; no more fit in; clear the queue or wait")
        self.queue.append(goal)
        self.report("state", self.state_payload())
        return len(self.queue)

    def clear_queue(self, code: ResultCode, why: str) -> list[str]:
        """End all goals that wait; give their ids."""
        cleared = list(self.queue)
        self.queue.clear()
        for goal in cleared:
            self._report_result(goal, code, f"{why}; it had not begun", None, {})
        if cleared:
            self.report("state", self.state_payload())
        return [goal.goal_id for goal in cleared]

    def start_next(self) -> None:
        """Begin what waits, if nothing plays; what cannot begin ends, and all that wait for it."""
        if not self.queue or self.goal is not None or self.state is not State.IDLE or not self.torque:
            return
        goal = self.queue.popleft()
        try:
            self.start(goal)
        except RequestError as error:
            self._report_result(goal, ResultCode.INVALID_GOAL, str(error), None, error.data)
            self.clear_queue(ResultCode.CANCELED, f"{goal.motion}, before it, could not be played")

    def stop(self, message: str) -> None:
        """Stop softly; a play that has not begun does not begin."""
        self.stops += 1
        self.clear_queue(ResultCode.CANCELED, message)
        self.keeper.send(ch.Stop(ResultCode.CANCELED, message))

    async def until(self, holds: Callable[[], bool], timeout_s: float, failure: str) -> None:
        """Wait for a change of state; refuse the request if it does not come, or cannot come any more.

        Raises
        ------
        RequestError
            TIMEOUT.
        """
        try:
            async with asyncio.timeout(timeout_s):
                while not holds():
                    await self._changed.wait()
        except TimeoutError as error:
            raise RequestError(
                "TIMEOUT", f"{self.name}: {failure}; waited {timeout_s:g} s; ask for status"
            ) from error

    # -- what the stream process does -----------------------------------------------------------------------

    def heard(self, notice: ch.Notice) -> None:
        """Take a notice of the stream process."""
        match notice:
            case ch.Ready():
                self._come_on_line(notice)
            case ch.Failed():
                self.message = notice.message
            case ch.Lost():
                self._go_offline(notice.message)
            case ch.Status():
                self.torque, self.reference = notice.torque, notice.reference
                self.news += 1
                self._enter(State(notice.state))
            case ch.Ended():
                self._conclude(notice.goal_id, notice.code, notice.message, notice.played_s, notice.details)
            case ch.Reached():
                self._report_marker(notice)
            case ch.Happened():
                self.message = notice.message
                self.report("event", {"kind": notice.kind, "message": notice.message})

    def observed(self, observer: Observer) -> None:
        """Report telemetry, and once a second diagnostics and, in motion, the state."""
        if observer.sample is not None:
            frames_per_tick = self.goal.playback.plan.frames_per_tick if self.goal else 1.0
            self.report("telemetry", observer.sample.payload(frames_per_tick))
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._second_s:
            self._second_s = now_s + 1.0
            self.report("diagnostics", observer.diagnostics())
            observer.start_second()
            if self.state in ACTIVE:
                self.report("state", self.state_payload())

    def lost(self, why: str) -> None:
        """Say that the stream process has ended, and end its goal truthfully."""
        self._go_offline(why)

    def _go_offline(self, why: str) -> None:
        """Take note that nothing can be moved; without a reason, because it was to end."""
        if why and why != self._lost_for:
            log.error("%s: %s", self.name, why)
            self.report("event", {"kind": "stream_lost", "message": why})
            self._lost_for = why
        self.message = why or "shut down"
        if self.goal is not None:
            self._conclude(self.goal.goal_id, ResultCode.COMM_LOST, self.message, None, {})
        self.clear_queue(ResultCode.CANCELED, self.message)
        self.torque, self.reference = False, None
        self.report("availability", {"state": "offline"})
        self._enter(State.OFFLINE)

    def _come_on_line(self, ready: ch.Ready) -> None:
        for warning in ready.warnings:
            log.warning("%s: %s", self.name, warning)
            self.report("event", {"kind": "warning", "message": warning})
        if self._lost_for:
            self._lost_for = ""
            back = "the actuators are back; torque is off until it is enabled, or a motion plays"
            self.report("event", {"kind": "back", "message": back})
        self._max_rate_hz = ready.max_rate_hz
        self.message = ""
        if self.estop_latched:
            self.keeper.send(ch.Estop())
        self.report("description", self._description())

    def _enter(self, state: State) -> None:
        before, self.state = self.state, state
        if state is State.IDLE:
            self.message = ""
        self._changed.set()
        self._changed.clear()
        self.report("state", self.state_payload())
        if before is State.OFFLINE and state is not State.OFFLINE:
            self.report("availability", {"state": "online"})
        if state in HALTED:
            self.clear_queue(ResultCode.CANCELED, f"the robot is in {state}")
        if state is State.IDLE and self._next is not None:
            follow, self._next = self._next, None
            follow()

    def _end_as_configured(self) -> None:
        """Go on with what waits; without that, do what `on_end` asks for."""
        if self.queue:
            self.start_next()
        elif self.settings.on_end == "release":
            self.keeper.send(ch.Disable())
        elif self.settings.on_end == "park":
            try:
                self._park()
            except RequestError as error:
                self.report("event", {"kind": "not_parked", "message": str(error)})

    def _conclude(
        self, goal_id: str, code: str, message: str, played_s: float | None, details: dict[str, Any]
    ) -> None:
        goal, self.goal = self.goal, None
        if goal is None or goal.goal_id != goal_id:
            log.error("%s: a result for goal %s, which is not active: %s", self.name, goal_id, code)
            return
        self._report_result(goal, code, message, played_s, details)
        if code != ResultCode.SUCCESSFUL:
            self.clear_queue(ResultCode.CANCELED, f"{goal.motion}, before it, ended with {code}")
        elif self.queue or (goal.motion != "park" and not self.leaving):
            self._next = self._end_as_configured
        self._changed.set()
        self._changed.clear()

    # -- reports --------------------------------------------------------------------------------------------

    def report(self, subject: Subject, data: dict[str, Any]) -> None:
        """Tell the world."""
        self._hub.publish(Report(self.name, subject, data))

    def _report_result(
        self, goal: Goal, code: str, message: str, played_s: float | None, details: dict[str, Any]
    ) -> None:
        observer = self.keeper.observer if played_s is not None else None
        result = {
            "goal_id": goal.goal_id,
            "motion": goal.motion,
            "code": code,
            "message": message,
            "transaction": goal.request.transaction,
            "played_s": played_s,
            "details": details,
            "timing": observer.goal.payload() if observer else None,
        }
        self.report("result", result)

    def _report_marker(self, reached: ch.Reached) -> None:
        if self.goal is None or self.goal.goal_id != reached.goal_id:
            return
        marker = self.goal.playback.markers[reached.marker]
        event = {
            "kind": "marker",
            "message": f"{self.goal.motion}: {marker.name}",
            "marker": marker.name,
            "payload": marker.payload,
            "goal_id": reached.goal_id,
            "loop": reached.loop,
            "lateness_s": reached.lateness_s,
        }
        self.report("event", event)

    def state_payload(self) -> dict[str, Any]:
        """Tell what the robot does, JSON-ready."""
        goal, observer = self.goal, self.keeper.observer
        payload: dict[str, Any] = {
            "state": self.state,
            "torque": self.torque,
            "estop_latched": self.estop_latched,
            "message": self.message,
            "motion": None,
            "goal_id": None,
            "queued": len(self.queue),
        }
        if goal is None:
            return payload
        sample = observer.sample if observer else None
        row, loop = (sample.scalar("frame"), sample.scalar("loop")) if sample else (0.0, 1.0)
        passes, plan = goal.playback.passes, goal.playback.plan
        first, length = goal.playback.offset + passes.first, passes.last - passes.first
        return payload | {
            "motion": goal.motion,
            "goal_id": goal.goal_id,
            "frame": row * plan.frames_per_tick,
            "time": row / plan.rate_hz,
            "duration": plan.duration_s,
            "progress": min(1.0, max(0.0, (row - first) / length)) if length else 1.0,
            "speed": goal.speed,
            "loop": int(loop),
            "loops": passes.count or None,
        }

    def _description(self) -> dict[str, Any]:
        return {
            **self.joint_map.payload(),
            "driver": self.settings.driver.type,
            "formats": {kind.name: [one.NAME for one in kind.formats()] for kind in (ROBOTS, MOTIONS)},
            "rates": {"idle_hz": self.settings.idle_rate_hz, "max_hz": self._max_rate_hz},
            "version": version("motiond"),
        }
