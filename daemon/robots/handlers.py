"""What a client may ask of a robot, verb by verb: whether it is taken, and what it answers.

In come checked requests, out go goals to the robot, commands to its stream process, and the data of answers.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from motiond.drivers.base import DriverError
from motiond.drivers.registry import make_driver
from motiond.formats.errors import nearest

from ..api.requests import PlayRequest, RequestError
from ..ipc import messages as ch
from ..ipc.states import ACTIVE, HALTED, ResultCode, State
from ..planning.playback import PlaybackError
from .goal import Goal, new_goal
from .goal_planner import refuse_speed

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from ..api.requests import FaultRequest, GotoRequest, Request, SeekRequest, SpeedRequest
    from ..planning.playback import Playback
    from .robot import Robot

ANSWER_TIMEOUT_S = 5.0
RESTART_TIMEOUT_S = 25.0
SHUTS_DOWN = "the daemon shuts down"


class Verbs:
    """Takes the requests to one robot.

    Parameters
    ----------
    robot : Robot
    """

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._one_play = asyncio.Lock()
        self._seeks_on: bool | None = None
        self._verbs: dict[str, Callable[[Any], Coroutine[Any, Any, dict[str, Any]]]] = {
            "play": self._play,
            "goto": self._goto,
            "enable": self._enable,
            "disable": self._disable,
            "pause": self._pause,
            "resume": self._resume,
            "speed": self._set_speed,
            "seek": self._seek,
            "queue": self._list_queue,
            "queue/clear": self._clear_queue,
            "stop": self._stop,
            "estop": self._estop,
            "reset": self._reset,
            "fault": self._fault,
            "status": self._status,
            "motions/reload": self._reload_motions,
        }

    async def handle(self, verb: str, request: Request) -> dict[str, Any]:
        """Act on a request.

        Raises
        ------
        RequestError
            If it is refused.
        """
        return await self._verbs[verb](request)

    # -- begin ----------------------------------------------------------------------------------------------

    async def _play(self, request: PlayRequest) -> dict[str, Any]:
        return await self._begin(self._robot.goals.playback_for(request), request)

    async def _goto(self, request: GotoRequest) -> dict[str, Any]:
        playback = self._robot.goals.playback_to(request)
        motion = playback.plan.motion
        play = PlayRequest(motion=motion, on_busy=request.on_busy, transaction=request.transaction)
        return await self._begin(playback, play)

    async def _begin(self, playback: Playback, request: PlayRequest) -> dict[str, Any]:
        """Make the robot ready for a goal, and hand it over, or let it wait."""
        robot, what = self._robot, f"{playback.plan.motion} cannot be played"
        self._refuse_unless_able(what)
        goal = new_goal(playback, request)
        if robot.goal is not None or robot.queue or self._one_play.locked():
            if request.on_busy == "queue":
                return {"goal_id": goal.goal_id, "queued": robot.enqueue(goal)}
            if request.on_busy == "reject":
                raise self._busy()
        try:
            async with self._one_play:
                stops = robot.stops
                await self._preempt()
                await self._switch_on()
                self._refuse_unless_able(what)
                if robot.stops != stops:
                    why = "stopped before the motion began"
                    raise RequestError("CANCELED", f"{robot.name}: {why}; play it again")
                return robot.start(goal)
        finally:
            robot.start_next()

    def _refuse_unless_able(self, what: str) -> None:
        robot, where = self._robot, f"{self._robot.name}: {what}"
        if robot.leaving:
            raise RequestError("OFFLINE", f"{where}; {SHUTS_DOWN}")
        if robot.state is State.OFFLINE:
            raise RequestError("OFFLINE", f"{where}; the robot is offline; {robot.message}")
        if robot.state is State.ESTOPPED or robot.estop_latched:
            raise RequestError(
                "ESTOPPED", f"{where}; the emergency stop is latched; send reset when it is safe"
            )
        if robot.state is State.FAULT:
            raise RequestError("FAULT", f"{where}; {robot.message}; send reset when it is mended")

    def _busy(self) -> RequestError:
        goal = self._robot.goal
        playing = goal.motion if goal else "another motion"
        data = {"goal_id": goal.goal_id} if goal else {}
        what = f"{self._robot.name}: busy with {playing}; one motion plays at a time"
        return RequestError("BUSY", f"{what}; stop it first or send on_busy: replace", data)

    async def _preempt(self) -> None:
        robot, why = self._robot, "another motion was asked to replace this one"
        robot.clear_queue(ResultCode.PREEMPTED, why)
        if robot.goal is not None:
            robot.keeper.send(ch.Stop(ResultCode.PREEMPTED, why))
            await robot.until(lambda: robot.goal is None, RESTART_TIMEOUT_S, "the motion before did not end")
        await robot.until(
            lambda: robot.state not in ACTIVE, ANSWER_TIMEOUT_S, "the robot did not come to rest"
        )

    # -- torque ---------------------------------------------------------------------------------------------

    async def _enable(self, _request: Request) -> dict[str, Any]:
        self._refuse_unless_able("torque cannot be switched on")
        await self._switch_on()
        return {"state": self._robot.state, "torque": self._robot.torque}

    async def _disable(self, _request: Request) -> dict[str, Any]:
        robot = self._robot
        if robot.goal is not None:
            raise self._busy()
        robot.keeper.send(ch.Disable())
        await robot.until(lambda: not robot.torque, ANSWER_TIMEOUT_S, "torque could not be switched off")
        return {"state": robot.state, "torque": robot.torque}

    async def _switch_on(self) -> None:
        """Switch torque on where it is off; a driver that cannot leaves the robot in `fault`."""
        robot = self._robot
        if robot.state is State.IDLE and not robot.torque:
            robot.keeper.send(ch.Enable())
            await robot.until(
                lambda: robot.torque or robot.state is not State.IDLE,
                ANSWER_TIMEOUT_S,
                "torque could not be switched on",
            )

    # -- on the way -----------------------------------------------------------------------------------------

    def _playing(self, verb: str) -> Goal:
        robot = self._robot
        if robot.goal is None:
            raise RequestError(
                "NOT_PLAYING", f"{robot.name}: nothing to {verb}; the robot is {robot.state}; play first"
            )
        return robot.goal

    async def _pause(self, _request: Request) -> dict[str, Any]:
        robot, goal = self._robot, self._playing("pause")
        if self._seeks_on is not None:
            self._seeks_on = False
        await self._slow_down()
        return {"state": robot.state, "goal_id": goal.goal_id}

    async def _slow_down(self) -> None:
        robot = self._robot
        robot.keeper.send(ch.Pause())
        settled = {State.PAUSED, State.STOPPING, State.IDLE, *HALTED, State.OFFLINE}
        await robot.until(lambda: robot.state in settled, RESTART_TIMEOUT_S, "the robot did not come to rest")

    async def _resume(self, _request: Request) -> dict[str, Any]:
        robot, goal = self._robot, self._playing("resume")
        if self._seeks_on is not None:
            self._seeks_on = True
        else:
            robot.keeper.send(ch.Resume())
            waiting = {State.PAUSING, State.PAUSED}
            await robot.until(lambda: robot.state not in waiting, ANSWER_TIMEOUT_S, "the robot did not go on")
        return {"state": robot.state, "goal_id": goal.goal_id}

    async def _set_speed(self, request: SpeedRequest) -> dict[str, Any]:
        robot, goal = self._robot, self._playing("change the speed of")
        refuse_speed(goal.playback.track, request.speed)
        ramp = robot.goals.set_speed(goal, request.speed)
        robot.keeper.send(ch.Speed(request.speed, ramp))
        robot.report("state", robot.state_payload())
        return {"speed": request.speed, "goal_id": goal.goal_id}

    async def _seek(self, request: SeekRequest) -> dict[str, Any]:
        """Come to rest, go to the place, and on from there unless the motion was paused."""
        robot, goal = self._robot, self._playing("seek in")
        try:
            row = goal.playback.row_of(request.place)
        except PlaybackError as error:
            raise RequestError("UNKNOWN_PLACE", str(error)) from error
        if self._seeks_on is not None:
            raise RequestError("BUSY", f"{robot.name}: on the way to another place already; wait for it")
        self._seeks_on = robot.state not in {State.PAUSING, State.PAUSED}
        try:
            await self._slow_down()
            if robot.goal is not goal or robot.state is not State.PAUSED or robot.reference is None:
                raise RequestError("NOT_PLAYING", f"{robot.name}: {goal.motion} ended before; play it again")
            await self._go_to(goal, row, robot.reference, goes_on=self._seeks_on)
        finally:
            self._seeks_on = None
        return {"state": robot.state, "goal_id": goal.goal_id}

    async def _go_to(self, goal: Goal, row: int, start: list[float], *, goes_on: bool) -> None:
        robot, news = self._robot, self._robot.news
        with robot.goals.way_to(goal, row, start) as fd:
            robot.keeper.send(ch.Seek(goal.goal_id, row, start, goes_on), (fd,))
        await robot.until(lambda: robot.news != news, ANSWER_TIMEOUT_S, "the robot did not go there")

    # -- queue ----------------------------------------------------------------------------------------------

    async def _list_queue(self, _request: Request) -> dict[str, Any]:
        waiting = [{"goal_id": goal.goal_id, "motion": goal.motion} for goal in self._robot.queue]
        return {"queue": waiting}

    async def _clear_queue(self, _request: Request) -> dict[str, Any]:
        return {"cleared": self._robot.clear_queue(ResultCode.CANCELED, "the queue was cleared on request")}

    # -- end ------------------------------------------------------------------------------------------------

    async def _stop(self, _request: Request) -> dict[str, Any]:
        robot, goal = self._robot, self._robot.goal
        robot.stop("stopped on request, softly, on the path")
        within_s = goal.stops_within_s if goal else 0.0
        return {
            "state": robot.state,
            "goal_id": goal.goal_id if goal else None,
            "stops_within_s": round(within_s, 3),
        }

    async def _estop(self, _request: Request) -> dict[str, Any]:
        robot = self._robot
        robot.stops += 1
        robot.estop_latched = True
        if robot.keeper.send(ch.Estop()):
            await robot.until(
                lambda: robot.state in {State.ESTOPPED, State.FAULT, State.OFFLINE},
                ANSWER_TIMEOUT_S,
                "the stream process did not answer the emergency stop",
            )
        return {"state": robot.state, "latched": True}

    async def _reset(self, _request: Request) -> dict[str, Any]:
        robot = self._robot
        robot.estop_latched = False
        if robot.state is State.FAULT:
            robot.keeper.restart()
            await robot.until(
                lambda: robot.state is State.OFFLINE, RESTART_TIMEOUT_S, "the driver did not close"
            )
            await robot.until(lambda: robot.state is State.IDLE, RESTART_TIMEOUT_S, robot.message)
        elif robot.state is State.ESTOPPED:
            robot.keeper.send(ch.Reset())
            await robot.until(
                lambda: robot.state is not State.ESTOPPED,
                ANSWER_TIMEOUT_S,
                "the emergency stop did not end",
            )
        return {"state": robot.state}

    # -- simulated faults -----------------------------------------------------------------------------------

    async def _fault(self, request: FaultRequest) -> dict[str, Any]:
        """Check a fault on a driver that is not open, then hand it over."""
        robot, driver = self._robot, self._robot.settings.driver
        if not robot.settings.fault_requests:
            what = f"{robot.name}: faults cannot be asked for"
            raise RequestError("NOT_ALLOWED", f"{what}; set fault_requests where the actuators are simulated")
        fault = {"fault": request.fault, **(request.model_extra or {})}
        if request.joint is not None:
            fault["actuator"] = self._actuator_of(request.joint)
        try:
            make_driver(driver.type, driver.options, robot.joint_map.actuators).inject(fault)
        except DriverError as error:
            raise RequestError("INVALID_REQUEST", f"{robot.name}: {error}") from error
        if not robot.keeper.send(ch.Inject(fault)):
            raise RequestError("OFFLINE", f"{robot.name}: the robot is offline; {robot.message}")
        return {"fault": fault}

    def _actuator_of(self, joint: str) -> str:
        joints = self._robot.joint_map.joints
        if joint not in joints:
            known = f"it has {', '.join(joints)}"
            parts = (f"{self._robot.name}: no joint '{joint}'", known, nearest(joint, joints))
            raise RequestError("INVALID_REQUEST", "; ".join(part for part in parts if part))
        return self._robot.joint_map.actuator_of(joint)

    # -- look -----------------------------------------------------------------------------------------------

    async def _status(self, _request: Request) -> dict[str, Any]:
        return self._robot.state_payload()

    async def _reload_motions(self, _request: Request) -> dict[str, Any]:
        robot = self._robot
        await asyncio.to_thread(robot.library.load_all)
        payload = robot.library.payload()
        robot.report("motions", payload)
        return payload
