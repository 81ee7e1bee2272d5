"""Which requests a robot takes, verb by verb, and what it answers."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from motiond.drivers import DriverError, make_driver
from motiond.text import echoed, listed, nearest

from ..api import (
    VERBS,
    ClearQueueAnswer,
    DeletedAnswer,
    DeleteRecordingAnswer,
    EstopAnswer,
    FaultAnswer,
    GoalAnswer,
    KeepRecordingAnswer,
    PlayRequest,
    ProgressAnswer,
    QueueAnswer,
    ReachedAnswer,
    RecordingsAnswer,
    RecoveryAnswer,
    RequestError,
    ResetAnswer,
    RobotStatus,
    SpeedAnswer,
    StartRecordingAnswer,
    StopAnswer,
    StopRecordingAnswer,
    TorqueAnswer,
)
from ..ipc import messages
from ..ipc.states import HALTED, ResultCode, State
from ..planning import PlaybackError
from .following import FollowRequests
from .motions import RecordedMotions, Sequences, Uploads
from .request_planning import RequestPlanning
from .robot import ANSWER_TIMEOUT_S
from .session import POSE_RATE_HZ, FollowGoal, MotionGoal, new_goal, refuse_speed
from .teaching import TeachingRequests

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from motiond.drivers import Driver

    from ..api import (
        ClearServosRequest,
        DeleteMotionRequest,
        DeleteRecordingRequest,
        FaultRequest,
        GamepadAnswer,
        GotoRequest,
        HistoryAnswer,
        HistoryRequest,
        KeepRecordingRequest,
        MoveInQueueRequest,
        PauseRequest,
        RebootServosRequest,
        RemoveFromQueueRequest,
        Request,
        ResumeRequest,
        SaveGamepadAnswer,
        SaveGamepadRequest,
        SeekRequest,
        SequenceRequest,
        SpeedRequest,
        StartRecordingRequest,
        StopRequest,
        TorqueRequest,
    )
    from ..planning import Playback
    from .control import Control
    from .gamepad import GamepadFile
    from .reservation import Reservation
    from .robot import Robot
    from .session import Goal, Pending, PlannedBlend

    Handler = Callable[[Any], Awaitable[Mapping[str, Any]]]
    GoalHandler = Callable[[Any, str | None], Awaitable[Mapping[str, Any]]]


READ_WITHIN_S = 4.0
"""So long a request may wait for a recording to be read, or rows to be planned; clients wait for 5 s."""


class RequestHandlers:
    """Takes or refuses the requests to one robot; each verb of `VERBS` has a method.

    - `control`: who commands it
    - `reservation`: for which start of its group it is reserved
    - `robots`: all of the daemon
    - `gamepad`: how a gamepad jogs it

    - `uploads`: the folder for motions of clients
    - `recorded`: its recordings, for those who read them
    - `following`: takes the targets that it follows
    """

    def __init__(
        self,
        robot: Robot,
        control: Control,
        reservation: Reservation,
        robots: Mapping[str, Robot],
        gamepad: GamepadFile,
    ) -> None:
        self._robot, self._session = robot, robot.session
        self.lease_acquire, self.lease_renew = control.acquire, control.renew
        self.lease_release, self.lease_take = control.release, control.take
        self._reservation, self.fleet_prepare = reservation, reservation.prepare
        self.fleet_commit, self.fleet_release = reservation.commit, reservation.release
        self._gamepad = gamepad
        self.uploads = Uploads(robot.name, robot.settings.upload_folder, robot.library)
        self.recorded = RecordedMotions(robot.name, robot.recorder.folder, robot.library)
        teaching = self._teaching = TeachingRequests(robot, self.uploads, control)
        self.teach_start, self.teach_pose = teaching.start, teaching.pose
        self.teach_stop, self.teach_save = teaching.stop, teaching.save
        self._planning = RequestPlanning(robot.name)
        self._sequences = Sequences(robot.name, robot.settings, robot.library, self._whole_motion)
        following = self.following = FollowRequests(robot, control, robots)
        self.follow_target = self.follow_chunk = following.target
        self.follow_keep_alive, self.follow_stop = following.keep_alive, following.stop
        self._of_goals: dict[str, GoalHandler] = {
            "play": self.play,
            "sequence": self.sequence,
            "follow/start": following.start,
            "goto": self.goto,
            "fleet/prepare": self.fleet_prepare,
        }
        self._handlers: dict[str, Handler] = {
            name: getattr(self, name.replace("/", "_")) for name in VERBS.keys() - self._of_goals.keys()
        }

    async def handle(self, verb: str, request: Request, asked_by: str | None = None) -> Mapping[str, Any]:
        """Act on a request; `asked_by` is who asks, for people.

        Raises RequestError if it is refused.
        """
        if VERBS[verb].interferes:
            self._reservation.refuse(verb)
        if verb in self._of_goals:
            return await self._of_goals[verb](request, asked_by)
        return await self._handlers[verb](request)

    # -- begin ----------------------------------------------------------------------------------------------

    async def play(self, request: PlayRequest, asked_by: str | None = None) -> GoalAnswer:
        """Play a motion, now or after those that wait; the answer means accepted."""
        stopped, came_s = self._session.stopped, asyncio.get_running_loop().time()
        await self._robot.limits.checked()
        entry = await self.recorded.entry_of(request.motion, request.source, came_s + READ_WITHIN_S)
        self._refuse_overtaken(stopped)
        playback = self._robot.planner.playback_for(request, entry)
        goal = new_goal(playback, request, asked_by=asked_by)
        goal.notes = entry.warnings if entry else ()  # which no list of motions has
        await self._lay_out(goal, request, came_s + READ_WITHIN_S)
        blended = await self._blended(goal, came_s + READ_WITHIN_S) if goal.blend_s else None
        self._refuse_overtaken(stopped)
        return await self._begin(goal, request, came_s, blended)

    async def _lay_out(
        self, goal: MotionGoal, request: PlayRequest | SequenceRequest, until_s: float
    ) -> None:
        """Lay a goal out at the rate of what it is to be played with, and so what waits, for when it begins.

        `until_s`: until when by the loop's clock that may take. Raises RequestError where it takes longer, or
        it is beyond a limit so, and could not wait until it plays alone.
        """
        session, begins_beside = self._session, goal.is_additive or request.on_busy == "beside"
        rate_hz = session.rate_hz
        if rate_hz is None or not (begins_beside or session.beside):
            return
        for one in (goal, *(session.queue if begins_beside else ())):
            try:
                if isinstance(one, MotionGoal):
                    await self._lay_out_at(one, rate_hz, until_s)
            except RequestError:
                if one is goal and request.on_busy in {"beside", "reject"}:
                    raise
        goal.take_rate(rate_hz)

    async def _lay_out_at(self, goal: MotionGoal, rate_hz: float, until_s: float) -> None:
        if goal.has_rate(rate_hz):
            return
        planner = self._robot.planner
        key = "rate", goal.own.plan, rate_hz, _passes_of(goal.request), id(planner.joint_map)
        what = f"{goal.motion} at {rate_hz:g} rows a second"
        call = partial(planner.at_rate, goal, rate_hz)
        goal.at_rates.append(await self._planning.planned(key, what, call, until_s))

    async def _blended(self, goal: MotionGoal, until_s: float) -> PlannedBlend | None:
        """Plan how the goal before flows into one that is to wait, at its rate; None where it would not.

        `until_s`: as of `_lay_out`. Raises RequestError where it could not, or that takes longer.
        """
        session = self._session
        held = session.known.reference
        if held is None or not (session.begin or session.goal or session.queue):
            return None
        before, held = session.ends_before(held)
        if before is None:
            problem, reason = f"nothing flows into {goal.motion}", "what is before it plays no rows"
            raise RequestError("INVALID_MOTION", self._robot.name, problem, reason, "leave blend_s out")
        await self._lay_out_at(goal, before.rate_hz, until_s)
        with suppress(RequestError):  # if that is not blended itself
            await self._lay_out_at(goal, before.own.plan.rate_hz, until_s)
        planner, beside = self._robot.planner, [*session.beside]
        call = partial(planner.blend_of, before, goal, held, beside)
        others = (*(one.goal_id for one in beside), *held, id(planner.joint_map))
        speeds = before.speed, before.blended_rows, goal.speed, goal.blend_s, before.rate_hz
        key = "blend", before.goal_id, goal.own.plan, _passes_of(goal.request), speeds, others
        return await self._planning.planned(key, f"the blend into {goal.motion}", call, until_s)

    def _refuse_overtaken(self, stopped: int) -> None:
        """Refuse what a stop has overtaken while files were read, or rows planned.

        - `stopped`: the session's, when the request came
        """
        if self._session.stopped != stopped:
            problem = "stopped before the motion began"
            raise RequestError("CANCELED", self._robot.name, problem, hint="play it again")

    async def _whole_motion(self, motion: str, until_s: float) -> Playback:
        """Return a motion as it is planned, maybe a recording; raises RequestError."""
        entry = await self.recorded.entry_of(motion, "reference", until_s)
        return self._robot.planner.whole_motion(motion, entry)

    async def sequence(self, request: SequenceRequest, asked_by: str | None = None) -> GoalAnswer:
        """Play several motions as one goal."""
        stopped, came_s = self._session.stopped, asyncio.get_running_loop().time()
        await self._robot.limits.checked()
        planned = await self._sequences.planned(request, came_s + READ_WITHIN_S)
        self._refuse_overtaken(stopped)
        whole = PlayRequest(
            motion=planned.plan.motion, loop=request.repeat, seam="approach", transaction=request.transaction
        )
        playback = self._robot.planner.playback_of(planned, whole)
        goal = new_goal(playback, whole, asked_by=asked_by)
        goal.notes = planned.warnings
        await self._lay_out(goal, request, came_s + READ_WITHIN_S)
        self._refuse_overtaken(stopped)
        return await self._begin(goal, request, came_s)

    async def goto(self, request: GotoRequest, asked_by: str | None = None) -> GoalAnswer:
        """Go to a posture."""
        playback = self._robot.planner.playback_to(request, self._session.rate_hz or POSE_RATE_HZ)
        play = PlayRequest(motion=playback.plan.motion, transaction=request.transaction)
        goal = new_goal(playback, play, asked_by=asked_by)
        goal.from_beyond = request.from_beyond
        return await self._begin(goal, request)

    async def _begin(
        self,
        goal: Goal,
        request: PlayRequest | SequenceRequest | GotoRequest,
        came_s: float | None = None,
        blended: PlannedBlend | None = None,
    ) -> GoalAnswer:
        session, what = self._session, f"{goal.motion} cannot be played"
        session.gate.refuse_to_begin(what)
        begin: Callable[[Goal, str], Pending] = session.begin_instead
        if goal.is_additive or (request.on_busy == "beside" and session.goals):
            goal.is_beside, begin = True, session.begin_beside
        elif session.goal or session.begin or session.queue or session.in_the_way(goal):
            if request.on_busy == "queue":
                return _queued(goal, session.enqueue(goal), blended)
            if request.on_busy not in {"replace", "blend"}:
                raise session.busy()
            if request.on_busy == "blend":
                begin = session.begin_over
        elif session.beside and request.on_busy not in {"replace", "blend"}:
            begin = session.begin_beside
        goal.expires_at = request.expires_at
        return cast("GoalAnswer", await self._robot.settled(begin(goal, what), came_s))

    # -- torque ---------------------------------------------------------------------------------------------

    async def enable(self, request: Request) -> TorqueAnswer:
        """Switch torque on, holding where the joints are."""
        problem = "torque cannot be switched on"
        self._session.gate.refuse_unless_able(problem)
        await self._robot.obeyed(self._session.enable(request.expires_at), "torque on")
        if not self._session.is_on:  # a driver that cannot has left it in `fault`
            self._session.gate.refuse_unless_able(problem)
        return self._torque()

    async def disable(self, _request: Request) -> TorqueAnswer:
        """Switch torque off, while nothing plays; what does not answer may hold, so that is no success."""
        session, problem = self._session, "torque cannot be switched off"
        session.gate.refuse_while_taught(problem)
        if session.goals:
            goal = session.goals[0]
            reason = "it follows targets" if isinstance(goal, FollowGoal) else f"{goal.motion} plays"
            ids = {"goal_id": goal.goal_id}
            raise RequestError("BUSY", self._robot.name, problem, reason, "stop it first", **ids)
        if session.is_on and (session.latched or session.state in HALTED):
            session.gate.refuse_unless_able(problem)
        await self._robot.obeyed(session.disable(), "torque off")
        if session.is_on and session.state in HALTED:
            session.gate.refuse_unless_able(problem)
        if session.state is State.OFFLINE:
            reason = f"the robot is offline and its actuators may hold; {session.message}"
            raise RequestError("OFFLINE", self._robot.name, problem, reason, "use the robot's own switch")
        return self._torque()

    def _torque(self) -> TorqueAnswer:
        return {"state": self._session.state, "torque": self._session.is_on}

    async def torque(self, request: TorqueRequest) -> TorqueAnswer:
        """Switch torque on or off."""
        return await (self.enable(request) if request.on else self.disable(request))

    # -- on the way -----------------------------------------------------------------------------------------

    def _playing(self, verb: str, goal_id: str | None) -> MotionGoal:
        """Return the goal of an id that plays, or without one what plays alone; refuse if no motion does.

        Raises RequestError: UNKNOWN_GOAL or NOT_PLAYING.
        """
        session = self._session
        goal = session.goal if goal_id is None else self._playing_of(goal_id)
        if not isinstance(goal, MotionGoal):
            reason = f"the robot is {session.state}"
            raise RequestError("NOT_PLAYING", self._robot.name, f"nothing to {verb}", reason, "play first")
        return goal

    def _playing_of(self, goal_id: str) -> Goal:
        for goal in self._session.goals:
            if goal.goal_id == goal_id:
                return goal
        what, why = f"no goal '{echoed(goal_id)}' plays", "it waits, has ended or never was"
        raise RequestError("UNKNOWN_GOAL", self._robot.name, what, why)

    def _refuse_added(self, goal: MotionGoal, problem: str, hint: str) -> None:
        if goal.is_additive:
            reason = f"{goal.motion} is added, and its sum was checked as it began"
            raise RequestError("NOT_ALLOWED", self._robot.name, problem, reason, hint)

    def _progress(self, goal: Goal, goal_id: str | None) -> ProgressAnswer:
        """Return what a goal does; one that was named, and has ended meanwhile, is refused as unknown."""
        if goal_id is not None and goal not in self._session.goals:
            self._playing_of(goal_id)
        state = self._session.state_of(goal) if goal.is_beside else self._session.state
        return {"state": state, "goal_id": goal.goal_id}

    async def pause(self, request: PauseRequest) -> ProgressAnswer:
        """Slow down on the path and wait there."""
        pause = self._session.pause(self._playing("pause", request.goal_id))
        await self._robot.settled(pause)
        goal = pause.goal  # it may have flowed into another
        answer = self._progress(goal, request.goal_id)
        last = self._session.last
        if last is not None and (last.goal_id, last.code) == (goal.goal_id, ResultCode.SUCCESSFUL):
            # What follows goes on, so that it is not paused.
            ended, fix = f"{goal.motion} ended before", "pause what follows, or stop it"
            raise RequestError("NOT_PLAYING", self._robot.name, ended, hint=fix)
        return answer

    async def resume(self, request: ResumeRequest) -> ProgressAnswer:
        """Go on along the path; on the way of a seek, once it is there."""
        goal = self._playing("resume", request.goal_id)
        self._session.gate.refuse_to_begin(f"{goal.motion} cannot be resumed", start=goal.group_start)
        await self._robot.obeyed(self._session.resume(goal, request.expires_at), "the end of the pause")
        return self._progress(goal, request.goal_id)

    async def speed(self, request: SpeedRequest) -> SpeedAnswer:
        """Play at another speed from now on."""
        goal = self._playing("change the speed of", request.goal_id)
        self._refuse_added(goal, "its speed stays as it is", "stop it, and add it at another speed")
        refuse_speed(goal.playback.track, request.speed)
        await self._refuse_speed_by_body(goal, request)
        self._session.set_speed(goal, request.speed, self._robot.planner.set_speed(goal, request.speed))
        self._robot.report_state()
        return {"speed": request.speed, "goal_id": goal.goal_id}

    async def _refuse_speed_by_body(self, goal: MotionGoal, request: SpeedRequest) -> None:
        """Refuse a speed that would be too much for where other joints hold; raises RequestError."""
        planner, held = self._robot.planner, self._session.known.reference
        if held is None or not planner.looks_at_speed(goal, request.speed):
            return
        playing = [*self._session.goals]
        call = partial(planner.refuse_speed, goal, request.speed, held, playing)
        key = "speed", request.speed, *held, *(one.goal_id for one in playing), id(planner.joint_map)
        what, until_s = (
            f"{goal.motion} at speed {request.speed:g}",
            asyncio.get_running_loop().time() + READ_WITHIN_S,
        )
        planner.warn_of(goal, await self._planning.planned((goal.goal_id, *key), what, call, until_s))
        if self._playing("change the speed of", request.goal_id) is not goal:
            ended, hint = f"{goal.motion} ended before", "change the speed of what follows"
            raise RequestError("NOT_PLAYING", self._robot.name, ended, hint=hint)

    async def seek(self, request: SeekRequest) -> ProgressAnswer:
        """Come to rest, go to the place, and on from there unless the motion was paused."""
        goal = self._playing("seek in", request.goal_id)
        self._refuse_added(goal, "it stays on its path", "stop it, and add it from another place")
        self._session.gate.refuse_to_begin(f"no seek in {goal.motion}", start=goal.group_start)
        try:
            row = goal.playback.row_of(request)
        except PlaybackError as error:
            raise RequestError.of("UNKNOWN_PLACE", error) from error
        try:
            await self._robot.settled(self._session.seek(goal, row, request.expires_at))
        except RequestError:
            self._progress(goal, request.goal_id)  # which refuses it by its id, where it has ended
            raise
        return self._progress(goal, request.goal_id)

    # -- queue ----------------------------------------------------------------------------------------------

    async def queue(self, _request: Request) -> QueueAnswer:
        """List the goals that wait."""
        return self._queue_payload()

    async def queue_remove(self, request: RemoveFromQueueRequest) -> QueueAnswer:
        """End one goal that waits, and list the others."""
        self._session.take_out(request.goal_id, "it was taken out of the queue on request")
        return self._queue_payload()

    async def queue_move(self, request: MoveInQueueRequest) -> QueueAnswer:
        """Let a goal that waits have another place, report that, and list all."""
        self._session.move(request.goal_id, request.place)
        places = {goal.goal_id: (place, goal.motion) for place, goal in enumerate(self._session.queue, 1)}
        place, motion = places[request.goal_id]
        message = f"{motion} waits as number {place} of {len(places)}"
        self._robot.report("event", {"kind": "queue_moved", "message": message, "goal_id": request.goal_id})
        return self._queue_payload()

    def _queue_payload(self) -> QueueAnswer:
        return {"queue": [{"goal_id": goal.goal_id, "motion": goal.motion} for goal in self._session.queue]}

    async def queue_clear(self, _request: Request) -> ClearQueueAnswer:
        """End the goals that wait."""
        return {"cleared": self._session.clear_queue(ResultCode.CANCELED, "the queue was cleared on request")}

    # -- end, recovery -------------------------------------------------------------------------------------

    async def stop(self, request: StopRequest) -> StopAnswer:
        """Stop softly, and say how long it takes at most."""
        session, goals = self._session, self._session.goals
        is_taught = session.teaching is not None
        has_path = not (is_taught or isinstance(session.goal, FollowGoal))
        reason = "stopped on request" + (", softly, on the path" if has_path else "")
        if request.goal_id is not None:
            goals, number = self._stop_goal(request.goal_id, reason)
        else:
            number = session.stop(reason)
        if goals or is_taught:
            awaited = "an answer of its stream process"
            await self._robot.obeyed(number, awaited, "use the robot's own switch")
        within_s = max((goal.stops_within_s(self._robot.settings.max_skip_s) for goal in goals), default=0.0)
        if is_taught:
            within_s = self._teaching.caught_within_s
        return {
            **self._reached(),
            "goal_id": goals[0].goal_id if goals else None,
            "stops_within_s": round(within_s, 3),
            "ended_teaching": is_taught,
            "holds": session.is_on and all(session.holds),
        }

    def _stop_goal(self, goal_id: str, reason: str) -> tuple[list[Goal], int]:
        """Stop one goal; return it where it plays, and the number of the command that is waited for.

        Raises RequestError: UNKNOWN_GOAL, if it neither plays nor waits.
        """
        session = self._session
        for goal in session.goals:
            if goal.goal_id == goal_id:
                return [goal], session.stop_goal(goal, reason)
        if all(goal.goal_id != goal_id for goal in session.queue):
            what = f"no goal '{echoed(goal_id)}' plays or waits"
            raise RequestError("UNKNOWN_GOAL", self._robot.name, what, "it has ended or never was")
        session.take_out(goal_id, "stopped on request")
        return [], 0

    async def estop(self, _request: Request) -> EstopAnswer:
        """Halt and latch."""
        await self._robot.obeyed(self._session.estop(), "the halt")
        return {**self._reached(), "latched": self._session.latched}

    def _reached(self) -> ReachedAnswer:
        """Return whether a stop has reached the actuators, and why not."""
        is_offline = self._session.state is State.OFFLINE
        message = self._session.message if is_offline else ""
        return {"state": self._session.state, "reached": not is_offline, "message": message}

    async def reset(self, _request: Request) -> ResetAnswer:
        """Leave `estopped`, leave `fault` by a new stream process, or try at once to find lost actuators.

        What it has begun goes on after the answer.
        """
        robot, session = self._robot, self._session
        was_latched, session.latched = session.latched, False
        if session.state in {State.FAULT, State.OFFLINE}:
            opening = session.expect_opening()
            (robot.stream.restart if session.state is State.FAULT else robot.stream.try_again)()
            await robot.settled(opening)
        elif was_latched or session.state is State.ESTOPPED:
            await robot.obeyed(session.reset(), "the end of the emergency stop")
        if session.latched:
            reason, fix = "an emergency stop came after the reset", "reset it when it is safe"
            raise RequestError("ESTOPPED", robot.name, "halted again", reason, fix)
        if session.state is State.FAULT:
            raise RequestError("FAULT", robot.name, "in fault after the reset", session.message)
        if session.state is State.OFFLINE and not session.leaving:
            problem, fix = "offline after the reset", "it is tried again by itself"
            raise RequestError("OFFLINE", robot.name, problem, session.message, fix)
        return {"state": session.state}

    async def servo_reboot(self, request: RebootServosRequest) -> RecoveryAnswer:
        """Restart servos of a robot that is offline, in fault, or at rest without torque."""
        return await self._recover(request.servos, "reboot", "servos cannot be restarted")

    async def servo_clear(self, request: ClearServosRequest) -> RecoveryAnswer:
        """Clear errors that servos keep, of such a robot."""
        return await self._recover(request.servos, "clear", "errors of servos cannot be cleared")

    async def _recover(
        self, servos: Sequence[str], by: Literal["reboot", "clear"], problem: str
    ) -> RecoveryAnswer:
        robot, session = self._robot, self._session
        if session.begin or session.goals:
            raise session.busy("stop it first")
        actuators = [self._actuator_of(name) for name in dict.fromkeys(servos)]
        driver = self._unopened_driver()
        try:
            (driver.refuse_reboot if by == "reboot" else driver.refuse_clear)(actuators)
        except DriverError as error:
            raise RequestError("NOT_ALLOWED", robot.name, str(error)) from error
        session.gate.refuse_unless_loose(problem)
        command = messages.Recover(actuators, by)
        recovery = session.expect_recovery(command, problem)
        until_s = asyncio.get_running_loop().time() + ANSWER_TIMEOUT_S
        robot.stream.recover(command)
        try:
            await robot.settled(recovery)
        finally:
            robot.stream.forget_recovery()
        if session.state is State.OFFLINE:  # its driver is opened next
            with suppress(RequestError, TimeoutError):  # that may take longer, and is reported
                async with asyncio.timeout_at(until_s):
                    await robot.settled(session.expect_opening())
        return {"actuators": actuators, "state": session.state, "message": session.message}

    def _unopened_driver(self) -> Driver:
        driver = self._robot.settings.driver
        return make_driver(driver.type, driver.options, self._robot.library.joint_map.actuators)

    def _actuator_of(self, name: str) -> str:
        """Return the actuator of a joint, or, where no joint is called so, the actuator of this name."""
        joint_map = self._robot.library.joint_map
        if name in joint_map.joints:
            return joint_map.actuator_of(name)
        if name in joint_map.actuators:
            return name
        what, known = f"no joint '{echoed(name)}'", f"it has {listed(joint_map.joints)}"
        raise RequestError("INVALID_REQUEST", self._robot.name, what, known, nearest(name, joint_map.joints))

    # -- simulated faults -----------------------------------------------------------------------------------

    async def fault(self, request: FaultRequest) -> FaultAnswer:
        """Check a fault on a driver that is not open, then hand it over."""
        robot = self._robot
        if not robot.settings.fault_requests:
            fix = "set fault_requests where the actuators are simulated"
            raise RequestError("NOT_ALLOWED", robot.name, "faults cannot be asked for", hint=fix)
        fault = {"fault": request.fault, **(request.model_extra or {})}
        if request.joint is not None:
            fault["actuator"] = self._actuator_of(request.joint)
        try:
            self._unopened_driver().inject(fault)
        except DriverError as error:
            raise RequestError("INVALID_REQUEST", robot.name, str(error)) from error
        if not robot.send(messages.Inject(fault)):
            raise RequestError("OFFLINE", robot.name, "the robot is offline", self._session.message)
        return {"fault": fault}

    # -- gamepad --------------------------------------------------------------------------------------------

    async def gamepad(self, _request: Request) -> GamepadAnswer:
        """Report how a gamepad jogs the robot."""
        return await asyncio.to_thread(self._gamepad.read)

    async def gamepad_save(self, request: SaveGamepadRequest) -> SaveGamepadAnswer:
        """Keep how a gamepad jogs the robot."""
        return await asyncio.to_thread(self._gamepad.save, request.mapping)

    # -- recordings -----------------------------------------------------------------------------------------

    async def record_start(self, request: StartRecordingRequest) -> StartRecordingAnswer:
        """Record from the next tick on."""
        self._robot.read_records()
        recording = await self._robot.recorder.start(request.name or "")
        return {"file": recording.file}

    async def record_stop(self, _request: Request) -> StopRecordingAnswer:
        """End what is recorded, with all ticks until now."""
        self._robot.read_records()
        recording = await self._robot.recorder.stop()
        return {
            "file": recording.file,
            "ticks": recording.ticks,
            "gaps": recording.gaps,
            "duration_s": round(recording.duration_s, 6),
            "bytes": recording.size,
        }

    async def recordings(self, _request: Request) -> RecordingsAnswer:
        """List the recordings, with what is being written."""
        recorder = self._robot.recorder
        listed, count, size = await recorder.in_folder(recorder.folder.listed)
        now = recorder.listed()
        return {
            "recordings": [now, *listed] if now else listed,
            "count": count + (now is not None),
            "bytes": size,
            "keep_bytes": recorder.folder.keep_bytes,
        }

    async def recordings_keep(self, request: KeepRecordingRequest) -> KeepRecordingAnswer:
        """Mark a recording to be kept, or take the mark off."""
        recorder = self._robot.recorder
        file = await recorder.in_folder(recorder.folder.keep, request.name, request.keep)
        return {"file": file, "kept": request.keep}

    async def recordings_delete(self, request: DeleteRecordingRequest) -> DeleteRecordingAnswer:
        """Remove a recording."""
        recorder = self._robot.recorder
        return {"file": await recorder.in_folder(recorder.folder.delete, request.name)}

    # -- look -----------------------------------------------------------------------------------------------

    async def status(self, _request: Request) -> RobotStatus:
        """Say what the robot does."""
        return self._robot.state_payload()

    async def history(self, request: HistoryRequest) -> HistoryAnswer:
        """List the last results."""
        return await self._robot.history.answer(self._robot.name, request.limit, request.before)

    async def motions_delete(self, request: DeleteMotionRequest) -> DeletedAnswer:
        """Remove a motion's file; what plays of it plays on."""
        deleted = await asyncio.to_thread(self.uploads.delete, request.motion)
        await self._robot.motions.load_again()
        return {"deleted": deleted}

    async def motions_reload(self, _request: Request) -> dict[str, Any]:
        """Read the motion folders again."""
        await self._robot.motions.load()
        return self._robot.library.payload()


def _passes_of(request: PlayRequest) -> str:
    """Return how a request lays a motion out, for comparisons."""
    return repr((request.first, request.last, request.loop, request.ping_pong, request.seam))


def _queued(goal: Goal, place: int, blended: PlannedBlend | None) -> GoalAnswer:
    """Return the answer to what waits at a place, and how what is before it flows into it."""
    answer: GoalAnswer = {"goal_id": goal.goal_id, "queued": place}
    warnings = [*goal.notes] if isinstance(goal, MotionGoal) else []
    if blended is not None:
        answer["blend_s"] = blended.blend.lasts_s
        warnings += blended.warnings
    return {**answer, "warnings": warnings} if warnings else answer
