"""What one robot does, and what follows; pure (docs/architecture.md, "One truth about a robot")."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from motiond.text import echoed

from ...api import RequestError
from ...ipc import messages
from ...ipc.states import HALTED, ResultCode, State
from .facts import OFFLINE, UNSENT, Removed, RobotFacts
from .gate import OUT_OF_ORDER, SHUTS_DOWN, Gate
from .goal import MotionGoal
from .pending import Begin, Exit, Opening, Pause, Pending, Recovery, Seek

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...api import Follows, TeachMode
    from .goal import Goal
    from .outlet import Outlet

    AnyPending = TypeVar("AnyPending", bound="Pending")

LOST_ALREADY = "it was reported as lost already"
MOST_WAITING = 100
AT_REST = OUT_OF_ORDER | {State.PAUSED, State.STOPPING}
"""What a pause ends in; a stop takes the robot to rest as well."""
REPLACED = "another motion was asked to replace this one"
LOOKED_AT = "the look at where it leads"


class RobotSession(RobotFacts):
    """One robot's truth.

    - `robot`: the robot's name, for messages
    - `on_end` ({'hold', 'release', 'park'}): what follows a goal that has ended well, when nothing waits
    - `on_exit` ({'hold', 'release', 'park'}): what the robot does when it leaves

    - `gate`: what keeps it from what is asked for
    """

    def __init__(self, robot: str, *, on_end: Follows, on_exit: str, outlet: Outlet) -> None:
        super().__init__(robot, outlet)
        self.gate = Gate(robot, self)
        self._on_end, self._on_exit = on_end, on_exit
        self._pending: list[Pending] = []
        self._exit: Exit | None = None
        self._unchained = 0
        self._blend_speed = 0.0
        self._claimed: Goal | None = None

    # -- what its stream process does -----------------------------------------------------------------------

    def come_on_line(self) -> None:
        """Mark the driver as open; what it does is reported next."""
        self.message, self.failed, self._unsettled, self._unchained = "", (), 0, 0
        if self.latched:
            self._settle(messages.Estop(), "the halt")

    def take(self, changed: messages.Changed) -> None:
        """Take what has changed in one tick, and go on."""
        before, self.known = self.known, changed
        self.used = True
        if not changed.torque:
            self.alarms.clear()  # without torque nothing is watched
        if self.state is State.IDLE:
            self.message, self.failed = "", ()
        for taught in changed.taught:
            self._conclude_teaching(taught)
        follows = self._conclude_all(changed)
        self._note_arrivals()
        if changed != replace(before, ended=[], taught=[], after=changed.after):
            self._outlet.report_state()
        if before is OFFLINE:
            self._outlet.report("availability", {"state": "online"})
        self._settle_removed()
        if self.state in HALTED:
            self.clear_queue(ResultCode.CANCELED, f"the robot is in {self.state}")
        self._refuse_strangers(changed)
        if self.state is State.TEACHING and self.teaching is None:
            self._stop(messages.Stop(ResultCode.CANCELED, LOST_ALREADY))
        for what in filter(None, follows):
            self._follow(what)
        if before is OFFLINE:
            self._note_opening()
        self._start_waiting()
        self._advance()

    def _note_arrivals(self) -> None:
        """Take goals as on their rows that play and have obeyed all, so that none is sought just now."""
        for goal in self.goals if self.is_obeyed(self.sent) else ():
            if isinstance(goal, MotionGoal) and self.state_of(goal) is State.PLAYING:
                goal.arrive()

    def lose(self, reason: str, actuators: Sequence[str] = (), *, failed: bool = True) -> None:
        """Mark the robot as offline; for which actuators, and whether that is a failure."""
        was_known, self.known = self.known is not OFFLINE, OFFLINE
        self.used = True
        self._lost = self.stopped = self.sent
        self.message, self.failed = reason, actuators
        self.alarms.clear()
        self._settle_removed()
        for goal in self.goals:
            self._conclude(messages.Ended(goal.goal_id, ResultCode.COMM_LOST, reason, None))
        if self.teaching is not None:
            truth = messages.DROPS if self.teaching == "released" else messages.MAY_DROP
            message = f"{reason}; {truth}"
            self._conclude_teaching(messages.TeachingEnded(ResultCode.COMM_LOST, message, holds=False))
            details = {"holds": False}
            self._outlet.report("event", {"kind": "teaching", "message": message, "details": details})
        self.clear_queue(ResultCode.CANCELED, reason)
        if was_known:
            self._outlet.report("availability", {"state": "offline"})
        self._outlet.report_state()
        if failed:
            self._note_opening()
        self._advance()

    def note_recovery(self, notice: messages.Recovered) -> None:
        """Take what became of errors of actuators; the driver of a robot in fault has to be opened again."""
        for pending in self._pending:
            if isinstance(pending, Recovery) and pending.command.actuators == notice.actuators:
                failed = RequestError("FAULT", self._robot, pending.problem, notice.error)
                pending.outcome = failed if notice.error else {}
        if self.state is State.FAULT and not notice.error:
            done = "restarted" if notice.by == "reboot" else "cleared"
            names = ", ".join(notice.actuators)
            self.message = notice.still or f"{names}: {done} on request; reset the robot to go on"
            self.failed = [name for name in self.failed if notice.still or name not in notice.actuators]
            self._outlet.report_state()
        self._advance()

    def _note_opening(self) -> None:
        for pending in self._pending:
            if isinstance(pending, Opening):
                pending.outcome = {}

    def _conclude_all(self, changed: messages.Changed) -> list[str | None]:
        """End what has ended, in its order, and return what follows by itself."""
        follows = []
        for ended in changed.ended:
            self._claim(ended.goal_id)
            follows.append(self._conclude(ended))
        self._claim(changed.goal_id)
        return follows

    def _conclude(self, ended: messages.Ended) -> str | None:
        """End what plays, and return what follows by itself."""
        goal = next((goal for goal in self.goals if goal.goal_id == ended.goal_id), None)
        if goal is None:
            what = f"a result for goal {ended.goal_id}, which is not active: {ended.code}"
            self._outlet.warn(what)
            return None
        is_base, self.last = goal is self.goal, ended
        self.goal = None if is_base else self.goal
        self.beside = [other for other in self.beside if other is not goal]
        if is_base:
            self.chained = None
            if (following := self._flows_into(ended)) is not None:
                self._flow(goal, following, ended)
                return None
        follows: Follows | None = None
        why_not = ""
        if ended.code != ResultCode.SUCCESSFUL:
            why_not = f"{goal.motion}, before it, ended with {ended.code}"
        elif goal.number <= self.stopped or goal.is_stopped:
            why_not = f"{goal.motion}, before it, was stopped"
        elif not (self.stands or self.goals):
            why_not = f"the robot is in {self.state}"
        elif self.queue:
            follows = "queue" if self._may_start(self.queue[0]) else None
        elif goal.motion != "park" and not self.goals:
            follows = self._on_end
        self._outlet.report_result(goal, ended, follows)
        if why_not and is_base and self._begin_of_base is None:  # else what waits, waits for that
            self.clear_queue(ResultCode.CANCELED, why_not)
        return follows

    def _flows_into(self, ended: messages.Ended) -> Goal | None:
        """Take what a goal has flowed into out of what waits, or was taken out just now; None if it rests."""
        goal_id = ended.details.get("flowed_into")
        for goal in self.queue:
            if goal.goal_id == goal_id:
                self.queue.remove(goal)
                return goal
        return next((removed.goal for removed in self._removed if removed.goal.goal_id == goal_id), None)

    def _flow(self, before: Goal, goal: Goal, ended: messages.Ended) -> None:
        """Go on with a goal that has begun; what was asked of the one before, it does."""
        self.goal, self.flowed = goal, before
        goal.resumed = before.resumed
        self._outlet.report_result(before, ended, "queue")
        self._outlet.flow(goal)
        for pending in self._pending:
            if isinstance(pending, Pause) and pending.goal is before:
                pending.goal = goal
            elif isinstance(pending, Seek) and pending.goal is before and pending.goes_on:
                goal.resumed = self._send(messages.Resume())
        for removed in [one for one in self._removed if one.goal is goal]:
            self._removed.remove(removed)
            if self.begin is None or not self.begin.hand_over:  # else what takes over ends it
                self._stop(messages.Stop(removed.code, removed.reason))

    def _settle_removed(self) -> None:
        """End what was taken out of the queue, once it is known that nothing flows into it."""
        for removed in [one for one in self._removed if self.is_obeyed(one.number)]:
            self._removed.remove(removed)
            self._end_unbegun(removed.goal, removed.code, removed.reason)

    def _conclude_teaching(self, ended: messages.TeachingEnded) -> None:
        self.teaching, self.untaught = None, ended
        self._outlet.end_teaching(ended)

    def _follow(self, what: str) -> None:
        """Go on with what waits, or do what `on_end` asks for."""
        if what == "queue":
            self._start_waiting()
        elif what == "release":
            self.release()
        elif what == "park":
            try:
                self.start_soon(self._outlet.park_goal("on_end"))
            except RequestError as error:
                self._outlet.report("event", {"kind": "not_parked", "message": str(error)})

    def _refuse_strangers(self, changed: messages.Changed) -> None:
        """Stop what plays though it is known to have ended: it was sent while its robot was being lost."""
        known = {goal.goal_id for goal in self.goals}
        is_known = changed.goal_id is None or changed.goal_id in known
        if not is_known and self.state is not State.STOPPING:
            self._stop(messages.Stop(ResultCode.CANCELED, LOST_ALREADY))
        for goal_id, state in changed.beside.items():
            if goal_id not in known and state != State.STOPPING:
                self._send(messages.Stop(ResultCode.CANCELED, LOST_ALREADY, goal_id=goal_id))

    # -- what is to begin -----------------------------------------------------------------------------------

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
        if self.begin is not None and self.begin.hand_over:
            what, why = "another motion is about to take over", "one at a time"
            raise RequestError("BUSY", self._robot, what, why, "send it again")

    def _hand_over(self, begin: Begin) -> None:
        """Let what moves be taken over, or stop it where that cannot be asked for."""
        try:
            begin.hand_over = begin.goal.number = self._note_sent(self._outlet.take_over(begin.goal))
        except RequestError as error:
            self._report_rest(self.goal, begin.goal, error)
            self._send(messages.Stop(ResultCode.PREEMPTED, REPLACED))
            self.stopped = self.sent

    def _claim(self, goal_id: str | None) -> None:
        """Take what was to take over as what plays, once it does."""
        begin = self.begin
        if begin is not None and begin.hand_over and begin.goal.goal_id == goal_id and self.goal is None:
            self.goal = self._claimed = begin.goal
            self.flowed = None
            self._outlet.flow(begin.goal)

    def _settle_hand_over(self, begin: Begin) -> bool:
        """Look whether a motion has taken over; return whether that is settled, or still to come."""
        if not self.is_obeyed(begin.hand_over):
            begin.awaits = "the way from what moves"
            return True
        begin.hand_over = 0
        has_begun = begin.goal is self.goal or begin.goal is self._claimed
        if has_begun:
            self._end_begin(begin, {"goal_id": begin.goal.goal_id})
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
        if begin.hand_over and self._settle_hand_over(begin):
            return
        try:
            self.gate.refuse_to_begin(begin.problem, start=begin.goal.group_start)
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
        """End a beginning; where it did not begin, what waits for it begins or ends."""
        begin.outcome, self.begin = outcome, None
        if self.goal is None and self.queue:
            if self._may_start(self.queue[0]):
                self._start_next()
            elif not begin.goal.is_beside:
                self.clear_queue(ResultCode.CANCELED, f"{begin.goal.motion}, before it, did not begin")

    def _cancel_begin(self) -> None:
        if self.begin is not None and self.begin.hand_over:
            self.begin.is_canceled = True
        elif self.begin is not None:
            stopped, fix = "stopped before the motion began", "play it again"
            self._end_begin(self.begin, RequestError("CANCELED", self._robot, stopped, hint=fix))

    # -- what waits -----------------------------------------------------------------------------------------

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

    # -- what is asked; each returns the number of its command, or what it waits for ------------------------

    def stop(self, reason: str) -> int:
        """Stop softly; nothing that waits or is about to begin does, and nothing follows."""
        self.clear_queue(ResultCode.CANCELED, reason)
        number = self._stop(messages.Stop(ResultCode.CANCELED, reason))
        self._cancel_begin()
        self._advance()
        return number

    def stop_goal(self, goal: Goal, reason: str) -> int:
        """Stop one goal softly that plays; what plays beside it plays on."""
        goal.is_stopped = True
        return self._send(messages.Stop(ResultCode.CANCELED, reason, goal_id=goal.goal_id))

    def end_goal(self, reason: str, details: dict[str, Any]) -> None:
        """Stop what plays softly; what is about to begin may begin."""
        self._stop(messages.Stop(ResultCode.CANCELED, reason, details))

    def end_follow(self, goal: Goal) -> int:
        """Let the robot follow no more, softly; that ends it well."""
        return self._send(messages.FollowStop(goal.goal_id))

    def disable(self) -> int:
        """Switch torque off, where the robot is not halted; a motion that has not begun does not begin."""
        self.clear_queue(ResultCode.CANCELED, "torque was switched off on request")
        number = self.release()
        self.stopped = self.sent
        self._cancel_begin()
        self._advance()
        return number

    def teach(self, mode: TeachMode, expires_at: float | None = None) -> int:
        """Let a robot at rest be moved by hand, but not from a Unix time in s on, until a stop."""
        self.untaught = None
        number = self._settle(messages.Teach(mode, expires_at), "teaching")
        self.teaching = mode if number != UNSENT else None
        return number

    def estop(self) -> int:
        """Halt in the next tick, and stay so until `reset`, whatever becomes of the stream process."""
        self.latched, was_latched = True, self.latched
        if not was_latched and self.state in OUT_OF_ORDER:
            self._outlet.report_state()  # it stays in it, so that nothing else does
        number = self._settle(messages.Estop(), "the halt")
        self.stopped = self.sent
        self._advance()
        return number

    def reset(self) -> int:
        """Leave `estopped`, also where it is not reported yet."""
        self.latched = False
        return self._settle(messages.Reset(), "the end of the emergency stop")

    def enable(self, expires_at: float | None = None) -> int:
        """Switch torque on where it is off; a driver that cannot leaves a robot in `fault`.

        After a Unix time in s it stays off.
        """
        return self._settle(messages.Enable(expires_at), "torque on")

    def release(self) -> int:
        """Switch torque off, of a robot at rest."""
        return self._settle(messages.Disable(), "torque off")

    def pause(self, goal: Goal) -> Pause:
        """Slow down on a goal's path and wait there; a seek stays where it leads to."""
        for seek in self._seeks_of(goal):
            seek.goes_on = False
        pause = Pause("rest", goal=goal, number=self._send(messages.Pause(_beside(goal))))
        self._pending.append(pause)
        return pause

    def resume(self, goal: Goal, expires_at: float | None = None) -> int:
        """Go on along a goal's path, but not after a Unix time in s; on a seek's way, once it is there."""
        for seek in self._seeks_of(goal):
            if not seek.is_sent:
                seek.goes_on = True
                return 0
        goal.resumed = self._send(messages.Resume(expires_at, _beside(goal)))
        return goal.resumed

    def _seeks_of(self, goal: Goal) -> list[Seek]:
        return [pending for pending in self._pending if isinstance(pending, Seek) and pending.goal is goal]

    def set_speed(self, goal: MotionGoal, speed: float, clock_acceleration: float) -> int:
        """Play a goal at another speed from now on; a blend is planned again, if that is too fast for it."""
        if self.chained is not None and goal is self.goal and speed > self._blend_speed:
            self._unchain(self.chained)
        number = self._send(messages.Speed(speed, clock_acceleration, goal.goal_id))
        self._advance()
        return number

    def seek(self, goal: MotionGoal, row: int, expires_at: float | None = None) -> Seek:
        """Come to rest, go to a row, and on from there unless the motion was paused.

        After a Unix time in s the way there does not begin.

        Raises RequestError: BUSY, if it is on the way to another place.
        """
        if self._seeks_of(goal):
            problem, fix = "on the way to another place already", "wait for it"
            raise RequestError("BUSY", self._robot, problem, hint=fix)
        is_paused = self.state_of(goal) in {State.PAUSING, State.PAUSED}
        goes_on = not is_paused or not self.is_obeyed(goal.resumed)
        number = self._send(messages.Pause(_beside(goal)))
        seek = Seek("rest", goal=goal, row=row, goes_on=goes_on, number=number, expires_at=expires_at)
        self._pending.append(seek)
        return seek

    def expect_opening(self) -> Opening:
        """Wait for what the stream process reports at its end; or, where that comes first, for the exit."""
        return self._expect(Opening("its driver"))

    def expect_recovery(self, command: messages.Recover, problem: str) -> Recovery:
        """Wait for what becomes of errors of actuators; likewise. `problem` is what cannot be done.

        Raises RequestError: BUSY, if another is under way.
        """
        if any(isinstance(pending, Recovery) for pending in self._pending):
            reason, fix = "another such request is under way", "wait for its answer"
            raise RequestError("BUSY", self._robot, problem, reason, fix)
        return self._expect(Recovery("the servos", command=command, problem=problem))

    def _expect(self, pending: AnyPending) -> AnyPending:
        self._pending.append(pending)
        self._advance()
        return pending

    def give_up(self, pending: Pending) -> None:
        """Let nobody wait for it any more; what has not begun does not begin."""
        if pending is self.begin and self.begin.hand_over:
            return  # it may have begun
        if pending is self.begin:
            self._end_begin(self.begin, None)
        self._pending = [other for other in self._pending if other is not pending]

    def leave(self) -> None:
        """Stop softly, do what `on_exit` asks for, then end the stream process; once."""
        if self.leaving:
            return
        self.leaving = True
        self.clear_queue(ResultCode.CANCELED, SHUTS_DOWN)
        self.stopped = self.sent
        moves = self._on_exit != "hold" and self.known.torque and self.state not in HALTED
        moves |= self.teaching is not None
        if moves:
            self._stop(messages.Stop(ResultCode.CANCELED, SHUTS_DOWN))
        self._exit = Exit("rest", number=self.sent)
        self._pending.append(self._exit)
        if not moves:
            self.end_exit()
        self._advance()

    def end_exit(self, reason: str = "") -> None:
        """Let the stream process end now; `reason` is what kept the robot from what `on_exit` asks for."""
        if self._exit is not None and not self.has_left:
            if reason:
                self._outlet.warn(f"on_exit {self._on_exit} was given up; {reason}")
            self._exit.outcome = {}
            self._outlet.end()

    @property
    def has_left(self) -> bool:
        """Whether nothing is left to do before the end."""
        return self._exit is not None and self._exit.outcome is not None

    # -- how it goes on -------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Look at all that is waited for."""
        for pending in [*self._pending]:
            if pending.outcome is None:
                match pending:
                    case Begin():
                        self._look_at_begin(pending)
                    case Pause():
                        self._look_at_pause(pending)
                    case Seek():
                        self._look_at_seek(pending)
                    case Exit():
                        self._look_at_exit(pending)
                    case Opening() if self.leaving:
                        pending.outcome = {}
                    case Recovery() if self.leaving:
                        pending.outcome = RequestError("OFFLINE", self._robot, pending.problem, SHUTS_DOWN)
        self._look_at_chain()
        self._pending = [pending for pending in self._pending if pending.outcome is None]
        self._outlet.wake()

    def _look_at_pause(self, pause: Pause) -> None:
        goal = pause.goal
        goes_on = goal not in self.goals or goal.resumed > pause.number
        if self.is_obeyed(pause.number) and (goes_on or self.state_of(goal) in AT_REST):
            pause.outcome = {}

    def _look_at_seek(self, seek: Seek) -> None:
        state = self.state_of(seek.goal)
        if seek.is_sent:
            seek.outcome = {} if self.is_obeyed(seek.number) else None
        elif not self._goes_on(seek.goal) or state is State.STOPPING:
            ended = f"{seek.goal.motion} ended before"
            seek.outcome = RequestError("NOT_PLAYING", self._robot, ended, hint="play it again")
        elif self.is_obeyed(seek.number) and state is State.PAUSED and self.known.reference is not None:
            if not self._is_looked_at(seek.goal, seek.row):
                seek.awaits = LOOKED_AT
                return
            try:
                self.gate.refuse_hot(f"no seek in {seek.goal.motion}")
                seek.number = self._note_sent(self._outlet.seek(seek, self.known.reference))
            except RequestError as error:
                seek.outcome = error
            seek.awaits, seek.is_sent = "the way there", True

    def _look_at_exit(self, leaving: Exit) -> None:
        if leaving.goal is not None or self.state in OUT_OF_ORDER:
            if not self.goals:
                self.end_exit()
        elif not self.goals and self.state is State.IDLE and self.is_obeyed(self._unsettled):
            if leaving.releases or not self.known.torque or self._on_exit == "hold":
                self.end_exit()
            elif self._on_exit == "release":
                self.release()
                leaving.releases = True
            elif self.stopped > leaving.number:
                self.end_exit("it was stopped")
            else:
                try:
                    self.gate.refuse_hot("park cannot be played")
                    leaving.park = leaving.park or self._outlet.park_goal("on_exit")
                    if self._is_looked_at(leaving.park):
                        self._start(leaving.park)
                        leaving.goal = self.goal
                except RequestError as error:
                    self.end_exit(str(error))


def _beside(goal: Goal) -> str | None:
    """Return whose a command is: a goal's that plays beside others; None for what else plays by then."""
    return goal.goal_id if goal.is_beside else None
