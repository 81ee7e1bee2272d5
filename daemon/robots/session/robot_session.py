"""What one robot does, and what follows; pure (docs/architecture.md, "One truth about a robot")."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ...api import RequestError
from ...ipc import messages
from ...ipc.states import HALTED, ResultCode, State
from .beginning import LOOKED_AT, BeginningGoals
from .facts import OFFLINE
from .gate import OUT_OF_ORDER, SHUTS_DOWN
from .goal import MotionGoal
from .pending import UNSENT, Begin, Exit, Opening, Pause, Pending, Recovery, Seek

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...api import Follows, TeachMode
    from .goal import Goal
    from .outlet import Outlet

    AnyPending = TypeVar("AnyPending", bound="Pending")

LOST_ALREADY = "it was reported as lost already"
AT_REST = OUT_OF_ORDER | {State.PAUSED, State.STOPPING}
"""What a pause ends in; a stop takes the robot to rest as well."""


class RobotSession(BeginningGoals):
    """One robot's truth.

    - `robot`: the robot's name, for messages
    - `on_end` ({'hold', 'release', 'park'}): what follows a goal that has ended well, when nothing waits
    - `on_exit` ({'hold', 'release', 'park'}): what the robot does when it leaves
    """

    def __init__(self, robot: str, *, on_end: Follows, on_exit: str, outlet: Outlet) -> None:
        super().__init__(robot, outlet)
        self._on_end, self._on_exit = on_end, on_exit
        self._exit: Exit | None = None

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
        self._take_up(before, goal)
        for removed in [one for one in self._removed if one.goal is goal]:
            self._removed.remove(removed)
            if self.begin is None or not self.begin.may_have_begun:  # else what takes over ends it
                self._stop(messages.Stop(removed.code, removed.reason))

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
        if self.begin is not None:
            self.begin.is_canceled = True
        self._advance()
        return number

    def reset(self) -> int:
        """Leave `estopped`, also where it is not reported yet."""
        self.latched = False
        return self._settle(messages.Reset(), "the end of the emergency stop")

    def release(self) -> int:
        """Switch torque off, of a robot at rest."""
        return self._settle(messages.Disable(), "torque off")

    def pause(self, goal: Goal) -> Pause:
        """Slow down on a goal's path and wait there; a seek stays where it leads to."""
        for seek in self._seeks_of(goal):
            seek.goes_on = False
        self._preempt(goal)
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
        self._preempt(goal)
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
        if pending is self.begin and self.begin.may_have_begun:
            return
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
