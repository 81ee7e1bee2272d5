"""One robot in the daemon: turns requests into goals, and says what becomes of them.

In come checked requests and the stream process's notices and records, out go commands to it and reports to
the hub. The state that is reported is the stream process's own; what is decided here is only whether a
request is taken.
"""

from __future__ import annotations

import asyncio
import logging
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from daemon import channel as ch
from daemon.goals import Goal, GoalMaker, refuse_speed
from daemon.player import ACTIVE, HALTED, ResultCode, State
from daemon.reports import Report
from daemon.requests import PlayRequest, Request, RequestError
from formats.registry import MOTIONS, ROBOTS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from daemon.config import RobotSettings
    from daemon.joint_map import JointMap
    from daemon.keeper import StreamKeeper
    from daemon.library import MotionLibrary
    from daemon.planner import Plan
    from daemon.reports import ReportHub, Subject
    from daemon.requests import GotoRequest, SpeedRequest
    from daemon.telemetry import Observer

log = logging.getLogger("motiond.robot")

ANSWER_TIMEOUT_S = 5.0
RESTART_TIMEOUT_S = 25.0
SHUTS_DOWN = "the daemon shuts down"


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
        self.state = State.OFFLINE
        self._hub = hub
        self._message = "starting"
        self._torque = False
        self._reference: list[float] | None = None
        self._max_rate_hz: float | None = None
        self._goal: Goal | None = None
        self._frames_per_tick = 1.0
        self._estop_latched = False
        self._stops = 0
        self._one_play = asyncio.Lock()
        self._changed = asyncio.Event()
        self._leaving = asyncio.Event()
        self._home_next = False
        self._second_s = 0.0
        self._goals = GoalMaker(name, settings, joint_map, library)
        self._verbs: dict[str, Callable[[Any], Coroutine[Any, Any, dict[str, Any]]]] = {
            "play": self._play,
            "goto": self._goto,
            "enable": self._enable,
            "disable": self._disable,
            "pause": self._pause,
            "resume": self._resume,
            "speed": self._set_speed,
            "stop": self._stop,
            "estop": self._estop,
            "reset": self._reset,
            "status": self._status,
            "motions/reload": self._reload_motions,
        }

    async def run(self) -> None:
        """Keep the robot on line until `leave`."""
        try:
            await asyncio.to_thread(self.library.load_all)
            self._report("availability", {"state": "offline"})
            self._report("description", self._description())
            self._report("motions", self.library.payload())
            self._report("state", self._state_payload())
            async with asyncio.TaskGroup() as tasks:
                farewell = tasks.create_task(self._say_farewell(), name=f"{self.name}.farewell")
                await self.keeper.run(self)
                farewell.cancel()
        finally:
            self._goals.close()

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
        self.keeper.leave()

    async def _go_home(self) -> None:
        """Come to rest, and park or release a robot that holds; one that is halted stays as it is."""
        if self.settings.on_exit == "hold" or not self._torque or self.state in HALTED:
            return
        self.stop(SHUTS_DOWN)
        await self._until(
            lambda: self.state is State.IDLE, ANSWER_TIMEOUT_S, "the robot did not come to rest"
        )
        if self.settings.on_exit == "park":
            self._park()
            await self._until(
                lambda: self._goal is None, self.settings.exit_timeout_s, "it did not get there"
            )
        else:
            await self._disable(Request())

    def _park(self) -> None:
        """Go to the pose `park`, from the last setpoint."""
        plan = self._goals.plan_park()
        self._start(plan, PlayRequest(motion=plan.motion))

    async def handle(self, verb: str, request: Request) -> dict[str, Any]:
        """Act on a request.

        Raises
        ------
        RequestError
            If it is refused.
        """
        return await self._verbs[verb](request)

    # -- requests -------------------------------------------------------------------------------------------

    async def _play(self, request: PlayRequest) -> dict[str, Any]:
        return await self._begin(self._goals.plan_for(request), request)

    async def _goto(self, request: GotoRequest) -> dict[str, Any]:
        plan = self._goals.plan_to(request)
        play = PlayRequest(motion=plan.motion, on_busy=request.on_busy, transaction=request.transaction)
        return await self._begin(plan, play)

    async def _begin(self, plan: Plan, request: PlayRequest) -> dict[str, Any]:
        """Make the robot ready for a goal, and hand it over."""
        self._refuse_unless_able(f"{plan.motion} cannot be played")
        if request.on_busy == "reject" and (self._goal is not None or self._one_play.locked()):
            raise self._busy()
        async with self._one_play:
            stops = self._stops
            await self._preempt()
            await self._switch_on()
            self._refuse_unless_able(f"{plan.motion} cannot be played")
            if self._stops != stops:
                raise RequestError("CANCELED", f"{self.name}: stopped before the motion began; play it again")
            return {"goal_id": self._start(plan, request)}

    def _refuse_unless_able(self, what: str) -> None:
        where = f"{self.name}: {what}"
        if self._leaving.is_set():
            raise RequestError("OFFLINE", f"{where}; {SHUTS_DOWN}")
        if self.state is State.OFFLINE:
            raise RequestError("OFFLINE", f"{where}; the robot is offline; {self._message}")
        if self.state is State.ESTOPPED or self._estop_latched:
            raise RequestError(
                "ESTOPPED", f"{where}; the emergency stop is latched; send reset when it is safe"
            )
        if self.state is State.FAULT:
            raise RequestError("FAULT", f"{where}; {self._message}; send reset when it is mended")

    def _busy(self) -> RequestError:
        playing = self._goal.plan.motion if self._goal else "another motion"
        data = {"goal_id": self._goal.goal_id} if self._goal else {}
        what = f"{self.name}: busy with {playing}; one motion plays at a time"
        return RequestError("BUSY", f"{what}; stop it first or send on_busy: replace", data)

    async def _preempt(self) -> None:
        if self._goal is not None:
            self.keeper.send(ch.Stop(ResultCode.PREEMPTED, "another motion was asked to replace this one"))
            await self._until(lambda: self._goal is None, RESTART_TIMEOUT_S, "the motion before did not end")
        await self._until(
            lambda: self.state not in ACTIVE, ANSWER_TIMEOUT_S, "the robot did not come to rest"
        )

    async def _enable(self, _request: Request) -> dict[str, Any]:
        self._refuse_unless_able("torque cannot be switched on")
        await self._switch_on()
        return {"state": self.state, "torque": self._torque}

    async def _disable(self, _request: Request) -> dict[str, Any]:
        if self._goal is not None:
            raise self._busy()
        self.keeper.send(ch.Disable())
        await self._until(lambda: not self._torque, ANSWER_TIMEOUT_S, "torque could not be switched off")
        return {"state": self.state, "torque": self._torque}

    async def _switch_on(self) -> None:
        """Switch torque on where it is off; a driver that cannot leaves the robot in `fault`."""
        if self.state is State.IDLE and not self._torque:
            self.keeper.send(ch.Enable())
            await self._until(
                lambda: self._torque or self.state is not State.IDLE,
                ANSWER_TIMEOUT_S,
                "torque could not be switched on",
            )

    def _start(self, plan: Plan, request: PlayRequest) -> str:
        """Hand a goal over to the stream process, to begin where the robot holds."""
        if self._reference is None:
            raise RequestError("OFFLINE", f"{self.name}: the robot went offline; {self._message}")
        with self._goals.made(plan, request, self._reference) as (goal, play, fds):
            if not self.keeper.send(play, fds):
                raise RequestError("OFFLINE", f"{self.name}: the stream process does not listen; try again")
        self._goal, self._frames_per_tick = goal, plan.frames_per_tick
        if self.keeper.observer is not None:
            self.keeper.observer.start_goal()
        return goal.goal_id

    async def _pause(self, _request: Request) -> dict[str, Any]:
        goal = self._playing("pause")
        self.keeper.send(ch.Pause())
        settled = {State.PAUSED, State.STOPPING, State.IDLE, *HALTED, State.OFFLINE}
        await self._until(lambda: self.state in settled, RESTART_TIMEOUT_S, "the robot did not come to rest")
        return {"state": self.state, "goal_id": goal.goal_id}

    async def _resume(self, _request: Request) -> dict[str, Any]:
        goal = self._playing("resume")
        self.keeper.send(ch.Resume())
        waiting = {State.PAUSING, State.PAUSED}
        await self._until(lambda: self.state not in waiting, ANSWER_TIMEOUT_S, "the robot did not go on")
        return {"state": self.state, "goal_id": goal.goal_id}

    async def _set_speed(self, request: SpeedRequest) -> dict[str, Any]:
        goal = self._playing("change the speed of")
        refuse_speed(goal.plan, request.speed)
        goal.speed = request.speed
        self.keeper.send(ch.Speed(request.speed, self._goals.clock_acceleration(goal.plan, request.speed)))
        self._report("state", self._state_payload())
        return {"speed": request.speed, "goal_id": goal.goal_id}

    def _playing(self, verb: str) -> Goal:
        if self._goal is None:
            raise RequestError(
                "NOT_PLAYING", f"{self.name}: nothing to {verb}; the robot is {self.state}; play first"
            )
        return self._goal

    def stop(self, message: str) -> None:
        """Stop softly; a play that has not begun does not begin."""
        self._stops += 1
        self.keeper.send(ch.Stop(ResultCode.CANCELED, message))

    async def _stop(self, _request: Request) -> dict[str, Any]:
        self.stop("stopped on request, softly, on the path")
        return {"state": self.state, "goal_id": self._goal.goal_id if self._goal else None}

    async def _estop(self, _request: Request) -> dict[str, Any]:
        self._stops += 1
        self._estop_latched = True
        if self.keeper.send(ch.Estop()):
            await self._until(
                lambda: self.state in {State.ESTOPPED, State.FAULT, State.OFFLINE},
                ANSWER_TIMEOUT_S,
                "the stream process did not answer the emergency stop",
            )
        return {"state": self.state, "latched": True}

    async def _reset(self, _request: Request) -> dict[str, Any]:
        self._estop_latched = False
        if self.state is State.FAULT:
            self.keeper.restart()
            await self._until(
                lambda: self.state is State.OFFLINE, RESTART_TIMEOUT_S, "the driver did not close"
            )
            await self._until(lambda: self.state is State.IDLE, RESTART_TIMEOUT_S, self._message)
        elif self.state is State.ESTOPPED:
            self.keeper.send(ch.Reset())
            await self._until(
                lambda: self.state is not State.ESTOPPED, ANSWER_TIMEOUT_S, "the emergency stop did not end"
            )
        return {"state": self.state}

    async def _status(self, _request: Request) -> dict[str, Any]:
        return self._state_payload()

    async def _reload_motions(self, _request: Request) -> dict[str, Any]:
        await asyncio.to_thread(self.library.load_all)
        payload = self.library.payload()
        self._report("motions", payload)
        return payload

    async def _until(self, holds: Callable[[], bool], timeout_s: float, failure: str) -> None:
        """Wait for a change of state; refuse the request if it does not come, or cannot come any more."""
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
                self._message = notice.message
            case ch.Status():
                self._torque, self._reference = notice.torque, notice.reference
                self._enter(State(notice.state))
            case ch.Ended():
                self._conclude(notice.goal_id, notice.code, notice.message, notice.played_s, notice.details)
            case ch.Happened():
                self._message = notice.message
                self._report("event", {"kind": notice.kind, "message": notice.message})

    def observed(self, observer: Observer) -> None:
        """Report telemetry, and once a second diagnostics and, in motion, the state."""
        if observer.sample is not None:
            self._report("telemetry", observer.sample.payload(self._frames_per_tick))
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._second_s:
            self._second_s = now_s + 1.0
            self._report("diagnostics", observer.diagnostics())
            observer.start_second()
            if self.state in ACTIVE:
                self._report("state", self._state_payload())

    def lost(self, why: str) -> None:
        """Say that the stream process has ended, and end its goal truthfully."""
        self._message = why or "shut down"
        if why:
            log.error("%s: %s", self.name, why)
            self._report("event", {"kind": "stream_lost", "message": why})
        if self._goal is not None:
            self._conclude(self._goal.goal_id, ResultCode.COMM_LOST, self._message, None, {})
        self._torque, self._reference = False, None
        self._report("availability", {"state": "offline"})
        self._enter(State.OFFLINE)

    def _come_on_line(self, ready: ch.Ready) -> None:
        for warning in ready.warnings:
            log.warning("%s: %s", self.name, warning)
            self._report("event", {"kind": "warning", "message": warning})
        self._max_rate_hz = ready.max_rate_hz
        self._message = ""
        if self._estop_latched:
            self.keeper.send(ch.Estop())
        self._report("description", self._description())

    def _enter(self, state: State) -> None:
        before, self.state = self.state, state
        if state is State.IDLE:
            self._message = ""
        self._changed.set()
        self._changed.clear()
        self._report("state", self._state_payload())
        if before is State.OFFLINE and state is not State.OFFLINE:
            self._report("availability", {"state": "online"})
        if state is State.IDLE and self._home_next:
            self._home_next = False
            self._end_as_configured()

    def _end_as_configured(self) -> None:
        """Do what `on_end` asks for after a motion that ended well."""
        if self.settings.on_end == "release":
            self.keeper.send(ch.Disable())
        elif self.settings.on_end == "park":
            try:
                self._park()
            except RequestError as error:
                self._report("event", {"kind": "not_parked", "message": str(error)})

    def _conclude(
        self, goal_id: str, code: str, message: str, played_s: float | None, details: dict[str, Any]
    ) -> None:
        goal, self._goal = self._goal, None
        if goal is None or goal.goal_id != goal_id:
            log.error("%s: a result for goal %s, which is not active: %s", self.name, goal_id, code)
            return
        observer = self.keeper.observer
        result = {
            "goal_id": goal_id,
            "motion": goal.plan.motion,
            "code": code,
            "message": message,
            "transaction": goal.transaction,
            "played_s": played_s,
            "details": details,
            "timing": observer.goal.payload() if observer else None,
        }
        self._report("result", result)
        parks = goal.plan.motion == "park" or self._leaving.is_set()
        self._home_next = code == ResultCode.SUCCESSFUL and not parks
        self._changed.set()
        self._changed.clear()

    # -- reports --------------------------------------------------------------------------------------------

    def _report(self, subject: Subject, data: dict[str, Any]) -> None:
        self._hub.publish(Report(self.name, subject, data))

    def _state_payload(self) -> dict[str, Any]:
        goal, observer = self._goal, self.keeper.observer
        payload: dict[str, Any] = {
            "state": self.state,
            "torque": self._torque,
            "estop_latched": self._estop_latched,
            "message": self._message,
            "motion": None,
            "goal_id": None,
        }
        if goal is None:
            return payload
        row = observer.sample.scalar("frame") if observer and observer.sample else 0.0
        time_s = row / goal.plan.rate_hz
        return payload | {
            "motion": goal.plan.motion,
            "goal_id": goal.goal_id,
            "frame": row * goal.plan.frames_per_tick,
            "time": time_s,
            "duration": goal.plan.duration_s,
            "progress": time_s / goal.plan.duration_s if goal.plan.duration_s else 1.0,
            "speed": goal.speed,
            "loop": 1,
        }

    def _description(self) -> dict[str, Any]:
        return {
            **self.joint_map.payload(),
            "driver": self.settings.driver.type,
            "formats": {kind.name: [one.NAME for one in kind.formats()] for kind in (ROBOTS, MOTIONS)},
            "rates": {"idle_hz": self.settings.idle_rate_hz, "max_hz": self._max_rate_hz},
            "version": version("motiond"),
        }
