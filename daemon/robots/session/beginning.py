"""What begins on one robot, at rest or from what moves; whatever moves it passes the gate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from ...api import RequestError
from ...ipc import messages
from ...ipc.states import ResultCode
from .gate import OUT_OF_ORDER, Gate
from .goal import MotionGoal
from .pending import UNSENT, Begin, Pause, Seek
from .waiting import WaitingGoals

if TYPE_CHECKING:
    from .goal import Goal
    from .goal_planner import WayOver
    from .outlet import Outlet
    from .pending import Pending

REPLACED = "another motion was asked to replace this one"
LOOKED_AT = "the look at where it leads"


class BeginningGoals(WaitingGoals, ABC):
    """What is about to begin on one robot; as `WaitingGoals`.

    - `gate`: what keeps the robot from what is asked for
    """

    def __init__(self, robot: str, outlet: Outlet) -> None:
        super().__init__(robot, outlet)
        self.gate = Gate(robot, self)
        self._pending: list[Pending] = []
        self._claimed: Goal | None = None

    @abstractmethod
    def _advance(self) -> None:
        """Look at all that is waited for."""

    def begin_over(self, goal: Goal, problem: str) -> Begin:
        """Begin a goal from what moves, where that can be; else as `begin_instead`.

        Raises RequestError: BUSY, while another one is about to take over.
        """
        return self.begin_instead(goal, problem, takes_over=True)

    def begin_instead(self, goal: Goal, problem: str, *, takes_over: bool = False) -> Begin:
        """End all that plays, waits and is about to begin; then begin a goal (`problem`, if it cannot).

        Raises RequestError: BUSY, while another one is about to take over what moves.
        """
        self._refuse_while_handed_over()
        reason = REPLACED
        begin = Begin("rest", goal=goal, problem=problem)
        before, self.begin = self.begin, begin
        self._pending.append(begin)
        if before is not None:
            did_not = f"{before.goal.motion} did not begin"
            replaced, fix = "a newer request replaced it", "send it again after that"
            before.outcome = RequestError("PREEMPTED", self._robot, did_not, replaced, fix)
        self.clear_queue(ResultCode.PREEMPTED, reason)
        takes_over &= isinstance(self.goal, MotionGoal) and not self.beside
        if not takes_over:
            self._end_for(goal, reason)
        self.stopped = self.sent
        if takes_over:
            self._hand_over(begin)
        self._advance()
        return begin

    def _end_for(self, goal: Goal, reason: str) -> None:
        """Stop all that plays but what is added, where that may be added to a goal as well."""
        spared = [one for one in self.beside if one.is_additive and not goal.why_not_beside(one)]
        if self.goals and not spared:
            self._send(messages.Stop(ResultCode.PREEMPTED, reason))
        for other in self.goals if spared else ():
            if other not in spared:
                self._send(messages.Stop(ResultCode.PREEMPTED, reason, goal_id=other.goal_id))

    def _refuse_while_handed_over(self) -> None:
        if self.begin is not None and self.begin.may_have_begun:
            what, why = "another motion is about to take over", "one at a time"
            raise RequestError("BUSY", self._robot, what, why, "send it again")

    def _hand_over(self, begin: Begin) -> None:
        """Let what moves be taken over, or stop it where that cannot be asked for."""
        begin.before = self.goal
        try:
            if self._outlet.foresee(begin.goal):
                begin.hand_over = UNSENT
            else:
                self._take_over(begin)
        except RequestError as error:
            self._rest_before(begin, error)

    def hand_over(self, goal: Goal, over: WayOver | RequestError) -> None:
        """Let a goal take over by a way that was looked at, unless that is not wanted any more.

        `over`: a RequestError where there is none, so that the robot rests before.
        """
        begin = self.begin
        if begin is None or begin.goal is not goal:
            return
        self._advance()  # what keeps it from beginning may have come meanwhile
        if begin is not self.begin or begin.hand_over != UNSENT:
            return
        try:
            if isinstance(over, RequestError):
                raise over
            self._take_over(begin, over)
        except RequestError as error:
            self._rest_before(begin, error)
        self._advance()

    def _take_over(self, begin: Begin, over: WayOver | None = None) -> None:
        begin.hand_over = begin.goal.number = self._note_sent(self._outlet.take_over(begin.goal, over))

    def _rest_before(self, begin: Begin, reason: RequestError) -> None:
        """Stop what moves softly, so that a goal begins from rest, and report why."""
        begin.hand_over = 0
        self._report_rest(self.goal, begin.goal, reason)
        self._end_for(begin.goal, REPLACED)
        self.stopped = self.sent

    def _preempt(self, goal: Goal) -> None:
        """Stop a goal that is to rest and that another is about to take over: that begins from there."""
        begin = self.begin
        if begin is None or goal is not self.goal:
            return
        if begin.may_have_begun:
            self._send(messages.Stop(ResultCode.PREEMPTED, REPLACED, goal_id=goal.goal_id))
        elif begin.hand_over:
            asked = RequestError("CANCELED", self._robot, "something else was asked for meanwhile")
            self._rest_before(begin, asked)

    def _take_up(self, before: Goal, goal: Goal, since: int = 0) -> None:
        """Let what was asked of a goal, which has ended in motion, be asked of the one that goes on.

        `since`: the number of the command after which that was asked.
        """
        for pending in self._pending:
            if not isinstance(pending, Pause | Seek) or pending.goal is not before or pending.number < since:
                continue
            if isinstance(pending, Pause):
                pending.goal = goal
            elif pending.goes_on:
                goal.resumed = self._send(messages.Resume())

    def _claim(self, goal_id: str | None) -> None:
        """Take what was to take over as what plays, once it does."""
        begin = self.begin
        if begin is not None and begin.hand_over and begin.goal.goal_id == goal_id and self.goal is None:
            self.goal = self._claimed = begin.goal
            self.flowed = None
            self._outlet.flow(begin.goal)
            if begin.before is not None:
                self._take_up(begin.before, begin.goal, begin.goal.number)

    def _settle_hand_over(self, begin: Begin) -> bool:
        """Look whether a motion has taken over; return whether that is settled, or still to come."""
        if not self.is_obeyed(begin.hand_over):
            begin.awaits = "the way from what moves"
            return True
        begin.hand_over = 0
        has_begun = begin.goal is self.goal or begin.goal is self._claimed
        if has_begun:
            self._end_begin(begin, begin.goal.accepted())
        elif begin.is_canceled:
            self._cancel_begin()
        elif self.goals:
            self._send(messages.Stop(ResultCode.PREEMPTED, REPLACED))
            self.stopped = self.sent
        return has_begun or begin.outcome is not None

    def begin_beside(self, goal: Goal, problem: str) -> Begin:
        """Begin a goal while others play on, of which none moves a joint of its own.

        Raises RequestError: BUSY.
        """
        if self.begin is not None:
            raise self.busy("another motion is about to begin; send it again")
        if goal.is_additive and self.chained is not None:
            raise self.busy("one motion is about to flow into another; send it again")
        self.refuse_in_the_way(goal)
        begin = self.begin = Begin("rest", goal=goal, problem=problem)
        self._pending.append(begin)
        self._advance()
        return begin

    def refuse_in_the_way(self, goal: Goal) -> None:
        """Refuse a goal that cannot play beside what plays; raises RequestError: BUSY."""
        for other in self.in_the_way(goal):
            what, fix = f"busy with {other.motion}", "play it afterwards, or replace that"
            if goal.is_additive:
                fix = f"stop {other.motion} by its goal_id first"
            reason = goal.why_not_beside(other)
            raise RequestError("BUSY", self._robot, what, reason, fix, goal_id=other.goal_id)

    def _blends_against(self, goal: Goal) -> bool:
        """Whether what plays may be on its way from another motion, with a joint of a goal to begin beside.

        A blend moves the joints of both motions, and a way from what was taken over all; nothing is added to
        either.
        """
        if not (goal.is_beside or goal.is_additive):
            return False
        if not self.is_obeyed(self._unchained):
            return True
        before = self.flowed
        return self.known.blends and (before is None or goal.is_additive or bool(goal.why_not_beside(before)))

    def start(self, goal: Goal) -> None:
        """Begin a goal where the robot holds; raises RequestError if it cannot, or may not."""
        self._refuse_to_begin(goal)
        self._start(goal)

    def _refuse_to_begin(self, goal: Goal) -> None:
        self.gate.refuse_to_begin(f"{goal.motion} cannot be played", start=goal.group_start)

    def _start(self, goal: Goal) -> dict[str, Any]:
        """Send a goal that may begin; return what its answer holds; raises RequestError if it cannot."""
        if self.known.reference is None:
            raise RequestError("OFFLINE", self._robot, "the robot went offline", self.message)
        if isinstance(goal, MotionGoal):
            goal.take_rate(self.rate_hz)
        self.sent, answer = self._outlet.begin(goal, self.known.reference)
        goal.number = self.sent
        if goal.is_beside:
            self.beside.append(goal)
        else:
            self.goal = goal
        return answer

    def start_soon(self, goal: Goal) -> None:
        """Begin a goal, as `start`, or let it wait until where it leads has been looked at."""
        self._refuse_to_begin(goal)
        if self._is_looked_at(goal):
            self._start(goal)
        else:
            self.queue.insert(0, goal)

    def _is_looked_at(self, goal: Goal, row: int | None = None) -> bool:
        start = self.known.reference
        return start is None or self._outlet.is_looked_at(goal, start, row)

    def go_on(self) -> None:
        """Go on with what has waited for a look at where it leads."""
        self._start_waiting()
        self._advance()

    def _look_at_begin(self, begin: Begin) -> None:
        if begin.may_have_begun and self._settle_hand_over(begin):
            return
        try:
            self.gate.refuse_to_begin(begin.problem, start=begin.goal.group_start)
            if begin.hand_over and self.goals:
                begin.awaits = "the look at the way from what moves"
                return
            begin.hand_over = 0
            moves = self._base_moves or self.in_the_way(begin.goal)
            if moves and not (begin.goal.is_beside and self.goals):
                begin.awaits = "rest"
            elif not self.is_obeyed(self._unsettled):
                begin.awaits = self._awaited
            elif self._blends_against(begin.goal):
                begin.awaits = "the end of the blend"
            elif not self.known.torque:
                begin.awaits = "torque on"
                self._outlet.refuse_late(begin.goal)
                self.enable(begin.goal.expires_at)
            elif not self._is_looked_at(begin.goal):
                begin.awaits = LOOKED_AT
            else:
                self._end_begin(begin, self._start(begin.goal))
        except RequestError as error:
            self._end_begin(begin, error)

    def _end_begin(self, begin: Begin, outcome: dict[str, Any] | RequestError | None) -> None:
        """End a beginning; where it did not begin, what waits for it begins or ends.

        What it was to take over ends all the same, as it would by any other way to replace it.
        """
        begin.outcome, self.begin = outcome, None
        if begin.hand_over == UNSENT:
            self._end_for(begin.goal, REPLACED)
        if self.goal is None and self.queue:
            if self._may_start(self.queue[0]):
                self._start_next()
            elif not begin.goal.is_beside:
                self.clear_queue(ResultCode.CANCELED, f"{begin.goal.motion}, before it, did not begin")

    def _cancel_begin(self) -> None:
        if self.begin is not None and self.begin.may_have_begun:
            self.begin.is_canceled = True
        elif self.begin is not None:
            stopped, fix = "stopped before the motion began", "play it again"
            self._end_begin(self.begin, RequestError("CANCELED", self._robot, stopped, hint=fix))

    def enable(self, expires_at: float | None = None) -> int:
        """Switch torque on where it is off; a driver that cannot leaves a robot in `fault`.

        After a Unix time in s it stays off.
        """
        return self._settle(messages.Enable(expires_at), "torque on")

    def _may_start(self, goal: Goal) -> bool:
        """Whether what waits could begin now: the robot holds, and all that moves is out of its way."""
        holds = self.known.torque and not self.latched and self.state not in OUT_OF_ORDER
        is_free = self.begin is None and not self._base_moves and not self.in_the_way(goal)
        return is_free and holds and self.is_obeyed(self._unsettled)

    def _start_waiting(self) -> None:
        """Begin what waits, once what plays beside others is out of its way."""
        if self.queue and self._may_start(self.queue[0]):
            self._start_next()

    def _start_next(self) -> None:
        """Begin what waits; what cannot begin ends, and all that wait for it."""
        goal = self.queue[0]
        if not self._is_looked_at(goal):
            return
        self.queue.remove(goal)
        try:
            self.start(goal)
        except RequestError as error:
            code = ResultCode.HARDWARE_FAULT if error.code == "FAULT" else ResultCode.INVALID_GOAL
            ended = messages.Ended(goal.goal_id, code, str(error), None, error.data)
            self._outlet.report_result(goal, ended, None)
            self.clear_queue(ResultCode.CANCELED, f"{goal.motion}, before it, could not be played")
