"""Which requests a robot takes, verb by verb, and what it answers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from motiond.drivers.base import DriverError
from motiond.drivers.registry import make_driver

from ..api.errors import RequestError
from ..api.requests import VERBS
from ..api.schemas import PlayRequest
from ..ipc import messages
from ..ipc.states import HALTED, ResultCode, State
from ..planning.playback import PlaybackError
from .goal import Goal, new_goal
from .goal_planner import refuse_speed
from .readiness import actuator_of, busy, refuse_unless_able
from .recovery import confirm_stop, reboot, reset, unreached
from .uploads import Uploads

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from ..api.schemas import (
        DeleteMotionRequest,
        FaultRequest,
        GotoRequest,
        MoveInQueueRequest,
        PrepareRequest,
        RebootServosRequest,
        RemoveFromQueueRequest,
        Request,
        SeekRequest,
        SpeedRequest,
        TorqueRequest,
    )
    from ..planning.playback import Playback
    from .control import Control
    from .reservation import Reservation
    from .robot import Robot

    Handler = Callable[[Any], Coroutine[Any, Any, dict[str, Any]]]


class RequestHandlers:
    """Takes or refuses the requests to one robot; `requests.VERBS` names the method for each verb.

    Parameters
    ----------
    robot : Robot
    control : Control
        Who commands it.
    reservation : Reservation
        For which start of its group it is reserved.

    Attributes
    ----------
    uploads : Uploads
        The folder for motions of clients.
    """

    def __init__(self, robot: Robot, control: Control, reservation: Reservation) -> None:
        self._robot = robot
        self.acquire_lease, self.renew_lease = control.acquire, control.renew
        self.release_lease, self.take_lease = control.release, control.take
        self._reservation, self.release_start = reservation, reservation.release
        self.uploads = Uploads(robot.name, robot.settings.upload_folder, robot.library)
        self._seeks_on: bool | None = None
        self._handlers: dict[str, Handler] = {
            name: getattr(self, verb.handler) for name, verb in VERBS.items()
        }

    @property
    def begins(self) -> bool:
        """Whether a motion is about to begin."""
        return self._robot.goals.beginning is not None

    async def handle(self, verb: str, request: Request) -> dict[str, Any]:
        """Act on a request.

        Raises
        ------
        RequestError
            If it is refused.
        """
        if VERBS[verb].interferes:
            self._reservation.refuse(verb)
        return await self._handlers[verb](request)

    # -- begin ----------------------------------------------------------------------------------------------

    async def play(self, request: PlayRequest) -> dict[str, Any]:
        """Play a motion, now or after those that wait; the answer means accepted."""
        await self._robot.limits.checked()
        return await self._begin(self._robot.planner.playback_for(request), request)

    async def goto(self, request: GotoRequest) -> dict[str, Any]:
        """Go to a posture."""
        playback = self._robot.planner.playback_to(request)
        motion = playback.plan.motion
        play = PlayRequest(motion=motion, on_busy=request.on_busy, transaction=request.transaction)
        return await self._begin(playback, play, from_beyond=request.from_beyond)

    async def _begin(
        self, playback: Playback, request: PlayRequest, *, from_beyond: bool = False
    ) -> dict[str, Any]:
        """Make the robot ready for a goal, and hand it over, or let it wait."""
        robot, what = self._robot, f"{playback.plan.motion} cannot be played"
        refuse_unless_able(robot, what)
        goal, goals = new_goal(playback, request), robot.goals
        goal.from_beyond = from_beyond
        if goals.goal is not None or goals.queue or self.begins:
            if request.on_busy == "queue":
                return {"goal_id": goal.goal_id, "queued": goals.enqueue(goal)}
            if request.on_busy == "reject":
                raise busy(self._robot)
        goals.beginning = goal  # from here on, others that have not begun do not begin
        robot.preempt("another motion was asked to replace this one")
        try:
            return await self._start(goal, what)
        finally:
            if goals.beginning is goal:
                goals.beginning = None
                goals.start_next()

    async def _start(self, goal: Goal, what: str) -> dict[str, Any]:
        """Start a goal once the robot is at rest and holds, unless a stop or a newer motion comes before."""
        robot, stops = self._robot, self._robot.stops

        def refuse_given_up() -> None:
            if robot.goals.beginning is not goal:
                displaced = f"{goal.motion} did not begin"
                why, mend = "a newer request replaced it", "send it again after that"
                raise RequestError("PREEMPTED", robot.name, displaced, why, mend)
            refuse_unless_able(robot, what)
            if robot.stops != stops:
                stopped = "stopped before the motion began"
                raise RequestError("CANCELED", robot.name, stopped, mend="play it again")

        await robot.come_to_rest(refuse_given_up)
        await robot.enable(refuse_given_up)
        refuse_given_up()
        return robot.goals.start(goal)

    async def prepare(self, request: PrepareRequest) -> dict[str, Any]:
        """Plan a motion from where the robot stands, and reserve the robot for a start of its group."""
        if self.begins:
            raise busy(self._robot, "stop it first")
        return await self._reservation.prepare(request)

    # -- torque ---------------------------------------------------------------------------------------------

    async def enable(self, _request: Request) -> dict[str, Any]:
        """Switch torque on, holding where the joints are."""
        refuse_unless_able(self._robot, "torque cannot be switched on")
        await self._robot.enable()
        return {"state": self._robot.status.state, "torque": self._robot.status.is_on}

    async def disable(self, _request: Request) -> dict[str, Any]:
        """Switch torque off, while nothing plays; what does not answer may hold, so that is no success."""
        robot = self._robot
        if robot.goals.goal is not None:
            raise busy(robot)

        def refuse_halted(*, latched: bool = False) -> None:
            if robot.status.torque and (latched or robot.status.state in HALTED):
                refuse_unless_able(robot, "torque cannot be switched off")

        refuse_halted(latched=robot.estop_latched)
        await robot.disable(refuse_halted)
        if robot.status.state is State.OFFLINE:
            why = f"the robot is offline and its actuators may hold; {robot.status.message}"
            mend = "use the robot's own switch"
            raise RequestError("OFFLINE", robot.name, "torque cannot be switched off", why, mend)
        return {"state": robot.status.state, "torque": robot.status.is_on}

    async def switch_torque(self, request: TorqueRequest) -> dict[str, Any]:
        """Switch torque on or off."""
        return await (self.enable(request) if request.on else self.disable(request))

    # -- on the way -----------------------------------------------------------------------------------------

    def _playing(self, verb: str) -> Goal:
        """Return what plays; refuse if nothing does."""
        robot = self._robot
        if robot.goals.goal is None:
            why = f"the robot is {robot.status.state}"
            raise RequestError("NOT_PLAYING", robot.name, f"nothing to {verb}", why, "play first")
        return robot.goals.goal

    async def pause(self, _request: Request) -> dict[str, Any]:
        """Slow down on the path and wait there."""
        robot, goal = self._robot, self._playing("pause")
        if self._seeks_on is not None:
            self._seeks_on = False
        await robot.pause()
        last = robot.goals.last
        if robot.goals.goal is not goal and last is not None and last.code == ResultCode.SUCCESSFUL:
            # What follows goes on, so that it is not paused.
            raise RequestError(
                "NOT_PLAYING",
                robot.name,
                f"{goal.motion} ended before",
                mend="pause what follows, or stop it",
            )
        return {"state": robot.status.state, "goal_id": goal.goal_id}

    async def resume(self, _request: Request) -> dict[str, Any]:
        """Go on along the path; on the way of a seek, once it is there."""
        robot, goal = self._robot, self._playing("resume")
        if self._seeks_on is not None:
            self._seeks_on = True
        else:
            await robot.resume()
        return {"state": robot.status.state, "goal_id": goal.goal_id}

    async def set_speed(self, request: SpeedRequest) -> dict[str, Any]:
        """Play at another speed from now on."""
        goal = self._playing("change the speed of")
        refuse_speed(goal.playback.track, request.speed)
        self._robot.set_speed(goal, request.speed)
        return {"speed": request.speed, "goal_id": goal.goal_id}

    async def seek(self, request: SeekRequest) -> dict[str, Any]:
        """Come to rest, go to the place, and on from there unless the motion was paused."""
        robot, goal = self._robot, self._playing("seek in")
        try:
            row = goal.playback.row_of(request.place)
        except PlaybackError as error:
            raise RequestError.of("UNKNOWN_PLACE", error) from error
        if self._seeks_on is not None:
            raise RequestError("BUSY", robot.name, "on the way to another place already", mend="wait for it")
        self._seeks_on = robot.status.state not in {State.PAUSING, State.PAUSED}
        try:
            await robot.pause()
            start = robot.status.reference
            if robot.goals.goal is not goal or robot.status.state is not State.PAUSED or start is None:
                ended = f"{goal.motion} ended before"
                raise RequestError("NOT_PLAYING", robot.name, ended, mend="play it again")
            await robot.seek(goal, row, start, goes_on=self._seeks_on)
        finally:
            self._seeks_on = None
        return {"state": robot.status.state, "goal_id": goal.goal_id}

    # -- queue ----------------------------------------------------------------------------------------------

    async def list_queue(self, _request: Request) -> dict[str, Any]:
        """List the goals that wait."""
        return self._queue_payload()

    async def remove_from_queue(self, request: RemoveFromQueueRequest) -> dict[str, Any]:
        """End one goal that waits, and list the others."""
        self._robot.goals.take_out(request.goal_id, "it was taken out of the queue on request")
        return self._queue_payload()

    async def move_in_queue(self, request: MoveInQueueRequest) -> dict[str, Any]:
        """Let a goal that waits have another place, tell everybody, and list all."""
        queue = self._robot.goals.queue
        queue.move(request.goal_id, request.place)
        places = {goal.goal_id: (place, goal.motion) for place, goal in enumerate(queue, 1)}
        place, motion = places[request.goal_id]
        message = f"{motion} waits as number {place} of {len(places)}"
        self._robot.report("event", {"kind": "queue_moved", "message": message, "goal_id": request.goal_id})
        return self._queue_payload()

    def _queue_payload(self) -> dict[str, Any]:
        return {
            "queue": [{"goal_id": goal.goal_id, "motion": goal.motion} for goal in self._robot.goals.queue]
        }

    async def clear_queue(self, _request: Request) -> dict[str, Any]:
        """End the goals that wait."""
        return {
            "cleared": self._robot.goals.clear_queue(ResultCode.CANCELED, "the queue was cleared on request")
        }

    # -- end ------------------------------------------------------------------------------------------------

    async def stop(self, _request: Request) -> dict[str, Any]:
        """Stop softly, and tell how long it takes at most."""
        robot, goal = self._robot, self._robot.goals.goal
        robot.stop("stopped on request, softly, on the path")
        if goal is not None:
            await confirm_stop(robot, goal)
        within_s = goal.stops_within_s(self._robot.settings.max_skip_s) if goal else 0.0
        return {
            "state": robot.status.state,
            "goal_id": goal.goal_id if goal else None,
            "stops_within_s": round(within_s, 3),
            **unreached(robot),
        }

    async def estop(self, _request: Request) -> dict[str, Any]:
        """Halt and latch."""
        await self._robot.latch_estop()
        latched = self._robot.estop_latched
        return {"state": self._robot.status.state, "latched": latched, **unreached(self._robot)}

    async def reset(self, _request: Request) -> dict[str, Any]:
        """Leave `estopped` or `fault`, or find lost actuators."""
        await reset(self._robot)
        return {"state": self._robot.status.state}

    async def reboot_servos(self, request: RebootServosRequest) -> dict[str, Any]:
        """Restart servos of a robot that does not hold."""
        if self.begins or self._robot.goals.goal is not None:
            raise busy(self._robot, "stop it first")
        return await reboot(self._robot, request.servos)

    # -- simulated faults -----------------------------------------------------------------------------------

    async def inject_fault(self, request: FaultRequest) -> dict[str, Any]:
        """Check a fault on a driver that is not open, then hand it over."""
        robot, driver = self._robot, self._robot.settings.driver
        if not robot.settings.fault_requests:
            mend = "set fault_requests where the actuators are simulated"
            raise RequestError("NOT_ALLOWED", robot.name, "faults cannot be asked for", mend=mend)
        fault = {"fault": request.fault, **(request.model_extra or {})}
        if request.joint is not None:
            fault["actuator"] = actuator_of(robot, request.joint)
        try:
            make_driver(driver.type, driver.options, robot.library.joint_map.actuators).inject(fault)
        except DriverError as error:
            raise RequestError("INVALID_REQUEST", robot.name, str(error)) from error
        if not robot.stream.send(messages.Inject(fault)):
            raise RequestError("OFFLINE", robot.name, "the robot is offline", robot.status.message)
        return {"fault": fault}

    # -- look -----------------------------------------------------------------------------------------------

    async def status(self, _request: Request) -> dict[str, Any]:
        """Say what the robot does."""
        return self._robot.state_payload()

    async def delete_motion(self, request: DeleteMotionRequest) -> dict[str, Any]:
        """Remove a motion's file; what plays of it plays on."""
        deleted = await asyncio.to_thread(self.uploads.delete, request.motion)
        await self._robot.motions.load_again()
        return {"deleted": deleted}

    async def reload_motions(self, _request: Request) -> dict[str, Any]:
        """Read the motion folders again."""
        await self._robot.motions.load()
        return self._robot.library.payload()
