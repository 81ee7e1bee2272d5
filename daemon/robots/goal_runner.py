"""What one robot plays and what waits: goals begun, ended and followed by what the configuration asks for."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ..api.errors import RequestError
from ..api.schemas import PlayRequest
from ..ipc import messages
from ..ipc.states import ResultCode, State
from ..telemetry.drift import Drift
from . import payloads
from .goal import new_goal
from .goal_queue import GoalQueue, refuse_endless

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..api.reports import Subject
    from .goal import Goal
    from .goal_planner import GoalPlanner
    from .status import RobotStatus
    from .stream_supervisor import StreamSupervisor

log = logging.getLogger(__name__)


class GoalRunner:
    """The goals of one robot, one after the other.

    Parameters
    ----------
    robot : str
        The robot's name, for messages.
    on_end : {'hold', 'release', 'park'}
        What follows a goal that has ended well, when nothing waits.
    planner : GoalPlanner
    status : RobotStatus
    stream : StreamSupervisor
    report : callable
        Tells the world of a subject.
    report_state : callable
        Tells the world what the robot does now.

    Attributes
    ----------
    goal : Goal or None
        What plays.
    beginning : Goal or None
        What is about to play, once that has ended and torque is on; what waits has come after it.
    queue : GoalQueue
        What waits for that.
    leaving : bool
        Whether the robot is about to end, so that nothing follows a goal.
    last : Ended or None
        How the last goal ended that has begun.
    """

    def __init__(
        self,
        robot: str,
        on_end: str,
        *,
        planner: GoalPlanner,
        status: RobotStatus,
        stream: StreamSupervisor,
        report: Callable[[Subject, dict[str, Any]], None],
        report_state: Callable[[], None],
    ) -> None:
        self.goal: Goal | None = None
        self.beginning: Goal | None = None
        self.queue = GoalQueue(robot)
        self.leaving = False
        self.last: messages.Ended | None = None
        self._robot = robot
        self._on_end = on_end
        self._planner = planner
        self._status = status
        self._stream = stream
        self._report = report
        self._report_state = report_state
        self._ended_well = False
        self._stays_after: Goal | None = None

    @property
    def rests(self) -> bool:
        """Whether nothing plays, waits or is about to follow."""
        return self.goal is None and not self.queue and not self._ended_well

    def start(self, goal: Goal) -> dict[str, Any]:
        """Hand a goal over to the stream process, to begin where the robot holds.

        Raises
        ------
        RequestError
            If it cannot begin there.
        """
        if self._status.reference is None:
            raise RequestError("OFFLINE", self._robot, "the robot went offline", self._status.message)
        with self._planner.prepare(goal, self._status.reference) as prepared:
            if not self._stream.send(prepared.command, prepared.fds):
                raise RequestError(
                    "OFFLINE", self._robot, "the stream process does not listen", mend="try again"
                )
            told = prepared.told
        self.goal = goal
        if self._stream.observer is not None:
            self._stream.observer.start_goal(_drift_of(goal))
        return {"goal_id": goal.goal_id, **told}

    def enqueue(self, goal: Goal) -> int:
        """Let a goal wait until those before it have ended well, and return its place, from 1.

        Raises
        ------
        RequestError
            If too many wait already, or one before it has no end.
        """
        before = self.beginning or self.goal
        if before is not None and before is not self._stays_after:
            refuse_endless(self._robot, [before, goal])
        place = self.queue.add(goal)
        self._report_state()
        return place

    def clear_queue(self, code: ResultCode, why: str) -> list[str]:
        """End all goals that wait and return their ids."""
        return self._end_waiting(self.queue.clear(), code, why)

    def take_out(self, goal_id: str, why: str) -> None:
        """End one goal that waits.

        Raises
        ------
        RequestError
            If it does not wait.
        """
        self._end_waiting([self.queue.remove(goal_id)], ResultCode.CANCELED, why)

    def _end_waiting(self, goals: list[Goal], code: ResultCode, why: str) -> list[str]:
        """End goals that have been taken out of the queue and return their ids."""
        for goal in goals:
            self._report_result(
                goal, messages.Ended(goal.goal_id, code, f"{why}; it had not begun", None, {})
            )
        if goals:
            self._report_state()
        return [goal.goal_id for goal in goals]

    def start_next(self) -> None:
        """Begin what waits, if nothing plays; what cannot begin ends, and all that wait for it."""
        if (
            not self.queue
            or self.goal is not None
            or self.beginning is not None
            or self._status.state is not State.IDLE
            or not self._status.torque
            or self._status.releasing
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

    def go_on(self) -> None:
        """Let what follows a goal that has ended well begin, now that the robot is at rest."""
        if self._ended_well:
            self._ended_well = False
            self._follow()

    def stay(self) -> None:
        """Let nothing follow the goal that has ended, or that plays and may have ended by now."""
        self._ended_well = False
        self._stays_after = self.goal

    def _follow(self) -> None:
        """Go on with what waits; without that, do what `on_end` asks for."""
        if self.queue:
            self.start_next()
        elif self._on_end == "release":
            self.release()
        elif self._on_end == "park":
            try:
                self.park()
            except RequestError as error:
                self._report("event", {"kind": "not_parked", "message": str(error)})

    def release(self) -> None:
        """Switch torque off; until it is off, nothing can begin where the robot still holds."""
        if self._stream.send(messages.Disable()):
            self._status.expect_release()

    def park(self) -> None:
        """Go to the pose `park`, from the last setpoint."""
        playback = self._planner.playback_to_park()
        self.start(new_goal(playback, PlayRequest(motion=playback.plan.motion)))

    @property
    def is_parked(self) -> bool:
        """Whether the robot holds at the pose `park` already."""
        reference, playback = self._status.reference, self._planner.playback_to_park()
        return reference is not None and bool((playback.ends_at == reference)[playback.plan.driven].all())

    def conclude(self, ended: messages.Ended) -> None:
        """End the goal that plays."""
        goal = self.goal
        if goal is None or goal.goal_id != ended.goal_id:
            message = "%s: a result for goal %s, which is not active: %s"
            log.error(message, self._robot, ended.goal_id, ended.code)
            return
        self.goal = None
        follows = self._what_follows(goal, ended)
        self._report_result(goal, ended, follows)
        if self.beginning is None:  # else what waits, waits for that
            if ended.code != ResultCode.SUCCESSFUL:
                self.clear_queue(ResultCode.CANCELED, f"{goal.motion}, before it, ended with {ended.code}")
            elif goal is self._stays_after:
                self.clear_queue(ResultCode.CANCELED, f"{goal.motion}, before it, was told to end")
        self._stays_after = None
        self._ended_well, self.last = follows is not None, ended
        self._status.wake()

    def _what_follows(self, goal: Goal, ended: messages.Ended) -> str | None:
        """Return what the robot does after a goal by itself: `queue`, or what `on_end` asks for."""
        if ended.code != ResultCode.SUCCESSFUL or goal is self._stays_after:
            return None
        if self.queue:
            return "queue"
        return None if goal.motion == "park" or self.leaving else self._on_end

    def _report_result(self, goal: Goal, ended: messages.Ended, follows: str | None = None) -> None:
        observer = self._stream.observer if ended.played_s is not None else None
        timing, drift = (observer.goal, observer.drift) if observer else (None, None)
        self._report("result", payloads.result_payload(goal, ended, timing, follows, drift=drift))


def _drift_of(goal: Goal) -> Drift | None:
    """Return what counts how far a goal is from its appointed time, if it has one."""
    start_at = goal.request.start_at
    return None if start_at is None else Drift(start_at, goal.playback.track.rate_hz)
