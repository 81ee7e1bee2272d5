"""What waits on one robot until those before it have ended, and what flows into it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import echoed

from ...api import RequestError
from ...ipc import messages
from ...ipc.states import ResultCode, State
from .facts import Removed, RobotFacts
from .goal import MotionGoal

if TYPE_CHECKING:
    from .goal import Goal
    from .outlet import Outlet

MOST_WAITING = 100


class WaitingGoals(RobotFacts):
    """The goals that wait on one robot, in their order; as `RobotFacts`."""

    def __init__(self, robot: str, outlet: Outlet) -> None:
        super().__init__(robot, outlet)
        self._unchained = 0
        self._blend_speed = 0.0

    def enqueue(self, goal: Goal) -> int:
        """Let a goal wait until those before it have ended well, and return its place, from 1.

        Raises RequestError: BUSY, if too many wait already, or one before it has no end.
        """
        if len(self.queue) >= MOST_WAITING:
            what, fix = f"{MOST_WAITING} motions wait already", "clear the queue or wait"
            raise RequestError("BUSY", self._robot, what, "no more fit in", fix)
        begin = self._begin_of_base
        before = [begin.goal] if begin else [self.goal] if self.goal and self._may_be_followed else []
        self._refuse_endless([*before, *self.queue, goal])
        for other in self.in_the_way(goal):
            self._refuse_endless([other, goal])
        self.queue.append(goal)
        self._outlet.report_state()
        self._look_at_chain()
        return len(self.queue)

    def ends_before(self, held: list[float]) -> tuple[MotionGoal | None, list[float]]:
        """Return the goal behind which the next would be queued, and where joints hold that it does not move.

        - `held`: where the robot is; None for what does not play rows
        """
        *others, last = [goal for goal in (self.begin.goal if self.begin else self.goal, *self.queue) if goal]
        first = (others or [last])[0]
        posture = np.array(first.holds or held if isinstance(first, MotionGoal) else held)
        for goal in others:
            if isinstance(goal, MotionGoal):
                np.copyto(posture, goal.playback.last_pass[-1], where=goal.plan.driven)
        return last if isinstance(last, MotionGoal) else None, posture.tolist()

    def move(self, goal_id: str, place: int) -> None:
        """Let a goal wait at another place, from 1; beyond the last it is the last.

        Raises RequestError: UNKNOWN_GOAL, if it does not wait; BUSY, if a goal would then wait for one
        without end.
        """
        goal = self._waiting(goal_id)
        order = [other for other in self.queue if other is not goal]
        order.insert(place - 1, goal)
        self._refuse_endless(order)
        self.queue = order
        self._look_at_chain()

    def _refuse_endless(self, order: list[Goal]) -> None:
        """Refuse to let a goal wait for one without end: the stop that ends it clears the queue, too."""
        for goal, after in pairwise(order):
            if goal.is_endless:
                problem, reason = (
                    f"{after.motion} would wait for ever",
                    f"{goal.motion}, before it, goes on until it is stopped",
                )
                fix = "stop that, or replace it"
                raise RequestError("BUSY", self._robot, problem, reason, fix, goal_id=goal.goal_id)

    def _waiting(self, goal_id: str) -> Goal:
        for goal in self.queue:
            if goal.goal_id == goal_id:
                return goal
        what, fix = f"no goal '{echoed(goal_id)}' waits", "list those that do by `queue`"
        raise RequestError("UNKNOWN_GOAL", self._robot, what, "it plays, has ended or never was", fix)

    def clear_queue(self, code: ResultCode, reason: str) -> list[str]:
        """End all goals that wait and return their ids."""
        return self._end_waiting([*self.queue], code, reason)

    def take_out(self, goal_id: str, reason: str) -> None:
        """End one goal that waits.

        Raises RequestError: UNKNOWN_GOAL, if it does not wait.
        """
        self._end_waiting([self._waiting(goal_id)], ResultCode.CANCELED, reason)
        self._look_at_chain()

    def _end_waiting(self, goals: list[Goal], code: ResultCode, reason: str) -> list[str]:
        for goal in goals:
            self.queue.remove(goal)
            if goal is self.chained:
                self._removed.append(Removed(goal, code, reason, self._unchain(goal)))
            else:
                self._end_unbegun(goal, code, reason)
        if goals:
            self._outlet.report_state()
        return [goal.goal_id for goal in goals]

    def _end_unbegun(self, goal: Goal, code: ResultCode, reason: str) -> None:
        ended = messages.Ended(goal.goal_id, code, f"{reason}; it had not begun", None)
        self._outlet.report_result(goal, ended, None)

    # -- what flows into what waits -------------------------------------------------------------------------

    def _look_at_chain(self) -> None:
        """Let what plays flow into what waits first, where that is asked for, and nothing has ended it."""
        before, following = self.goal, self.queue[0] if self.queue else None
        if isinstance(before, MotionGoal) and not before.holds and self.state is State.PLAYING:
            before.holds = self.known.reference or []  # it has taken over, and all others rest now
        if self.chained is not None and self.chained is not following:
            self._unchain(self.chained)
        if (
            self.chained is None
            and isinstance(before, MotionGoal)
            and isinstance(following, MotionGoal)
            and following.blend_s
            and before.holds
            and self.begin is None
            and self._may_be_followed
            and self.known.goal_id == before.goal_id
            and self.state is not State.STOPPING
            and not any(map(following.why_not_beside, self.beside))
        ):
            self._chain(before, following)

    def _chain(self, before: MotionGoal, goal: MotionGoal) -> None:
        try:
            goal.number = self._note_sent(self._outlet.chain(before, goal))
            self.chained, self._blend_speed = goal, max(before.speed, goal.speed)
        except RequestError as error:
            goal.blend_s = 0.0
            self._report_rest(before, goal, error)

    def _report_rest(self, before: Goal | None, goal: Goal, reason: RequestError) -> None:
        """Report that the robot rests between two goals, and why."""
        what = f"{before.motion if before else 'what moves'} does not flow into {goal.motion}"
        event = {"kind": "blend_dropped", "message": f"{what}; {reason}; it rests between"}
        self._outlet.report("event", event | {"details": {"goal_id": goal.goal_id}})

    def _unchain(self, goal: MotionGoal) -> int:
        """Let what plays end by itself, where it has not flowed into a goal yet."""
        self.chained = None
        self._unchained = self._send(messages.Unchain(goal.goal_id))
        return self._unchained

    def drop_blend(self, goal_id: str) -> None:
        """Mark that nothing flows into a goal any more."""
        for goal in self.queue:
            if isinstance(goal, MotionGoal) and goal.goal_id == goal_id:
                goal.blend_s = 0.0
                self.chained = None if self.chained is goal else self.chained

    def _settle_removed(self) -> None:
        """End what was taken out of the queue, once it is known that nothing flows into it."""
        for removed in [one for one in self._removed if self.is_obeyed(one.number)]:
            self._removed.remove(removed)
            self._end_unbegun(removed.goal, removed.code, removed.reason)
