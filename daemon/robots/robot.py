"""One robot in the daemon: its life, and the shell around its session, which decides what it does."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from motiond.drivers import ActuatorLimits

from ..api import PlayRequest, Report, RequestError, refuse_expired
from ..clock import utc
from ..ipc import messages
from ..ipc.states import ACTIVE, HALTED
from ..recording import Recorder
from . import payloads
from .error_totals import ErrorTotals
from .heat import too_hot
from .look_ahead import LookAhead
from .motions import LearnedLimits, MotionLoader
from .session import LOOKED_AT, FollowGoal, GoalPlanner, MotionGoal, RobotSession, new_goal
from .taught import Draft
from .telemetry_reporter import TelemetryReporter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from motiond.formats import RobotModel
    from motiond.formats.arrays import Floats

    from ..api import Follows, RecordingReport, ReportHub, RobotStatus, Subject
    from ..clock import ClockMonitor
    from ..config.robot import RobotSettings
    from ..history import History
    from ..joints import JointMap
    from ..planning import MotionLibrary
    from ..recording import RecordingFiles
    from ..telemetry import Observer, Tap
    from .process import StreamSupervisor
    from .session import Goal, Hindrance, Pending, Seek, WayOver
    from .telemetry_reporter import TelemetryRates

log = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 4.5
"""Clients wait for 5 s."""
NUMBERED: frozenset[Subject] = frozenset({"state", "result"})
"""Subjects whose reports have a number and a time."""
REASONS = frozenset({"fault", "deadline_missed"})
"""Kinds of events that are why a robot is in the state that it is in."""
MAY_COME = "it may come yet; its state shows it"
GIVEN_UP = "it does not begin any more; ask again"
LOOKS_ON = "it does not begin any more, but the look goes on; ask again in some seconds"
FORESEEN_S = 0.3
"""So far ahead it is foreseen from where a goal takes over: its way is planned and looked at by then."""
TURNS = 10
"""In how many turns an answer is waited for: while the daemon stands still, only one of them goes by."""


class Robot:
    """One robot.

    Parameters
    ----------
    name : str
    settings : RobotSettings
    joint_map : JointMap
        Its joints and actuators, with the limits of the description and the configuration.
    library : MotionLibrary
        Its motions; loaded by `run`.
    stream : StreamSupervisor
        Of its stream process.
    telemetry : TelemetryRates
        How often telemetry is reported.
    hub : ReportHub
        Takes the reports.
    clock : ClockMonitor
        Of the machine.
    history : History
        Keeps its results.
    recordings : RecordingFiles
        Writes what is recorded of it.
    turns : asyncio.Semaphore, optional
        In which robots read their motions.
    model : RobotModel, optional
        Its description, where it has one.

    Attributes
    ----------
    session : RobotSession
        What it does, and what follows.
    max_rate_hz : float or None
        The highest rate at which its driver takes setpoints; None until it was open.
    planner : GoalPlanner
    limits : LearnedLimits
        Those that its actuators report.
    motions : MotionLoader
    telemetry : TelemetryReporter
        Reports what its stream process records.
    recorder : Recorder
    draft : Draft
        What it was taught by hand.
    taps : list of Tap
        What gets every record of its stream processes.
    """

    def __init__(
        self,
        name: str,
        settings: RobotSettings,
        *,
        joint_map: JointMap,
        library: MotionLibrary,
        stream: StreamSupervisor,
        telemetry: TelemetryRates,
        hub: ReportHub,
        clock: ClockMonitor,
        history: History,
        recordings: RecordingFiles,
        turns: asyncio.Semaphore | None = None,
        model: RobotModel | None = None,
    ) -> None:
        self.name = name
        self.settings = settings
        self.library = library
        self.stream = stream
        self.clock = clock
        self.history = history
        self.planner = GoalPlanner(name, settings, library, clock, model)
        self.session = RobotSession(name, on_end=settings.on_end, on_exit=settings.on_exit, outlet=self)
        self.session.gate.why_too_hot = self._why_too_hot
        self.planner.warn = self._warn_of_goal
        self._ahead = LookAhead(name, self.planner, self.session.go_on)
        self.max_rate_hz: float | None = None
        self._bodies: list[str] = []
        self._hub = hub
        self._numbers = Counter[str]()
        self._changed = asyncio.Event()
        self._lost_for = ""
        self._warnings: list[str] = []
        self._left_on: list[str] = []
        self._has_held = False
        self.motions = MotionLoader(name, library, self._take_motions, turns)
        self.limits = LearnedLimits(joint_map, library, self.motions)
        self._servo_errors = ErrorTotals(joint_map, partial(self.report, "event"))
        self.telemetry = TelemetryReporter(
            self.report,
            telemetry,
            hub.has_listeners,
            lambda: {"clock": clock.payload(), "errors": self._servo_errors.payload()},
        )
        self.recorder = Recorder(
            name, settings.recording, recordings, self._report_recording, self._warn_of_disk
        )
        self.draft = Draft(joint_map.joints, partial(self.report, "teaching"), self.session.stop)
        self.taps: list[Tap] = [self.recorder.take, self.draft.take]

    # -- life -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep the robot on line until `leave`; may be called again after it has failed."""
        try:
            self.report("availability", {"state": "offline"})
            await self.motions.load_first()
            if self.session.leaving:
                return
            self.describe()
            self.report_state()
            async with asyncio.TaskGroup() as tasks:
                exiting = tasks.create_task(self._exit(), name=f"{self.name}.exit")
                await self.stream.run(self)
                exiting.cancel()
        finally:
            self._ahead.end()
            self.planner.close()

    async def rest(self, duration_s: float) -> None:
        """Wait, but no longer than until `leave`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(duration_s):
                await self._comes(lambda: self.session.leaving)

    def leave(self) -> None:
        """Stop softly, do what `on_exit` asks for, let the stream process end, and let `run` return."""
        try:
            self.session.leave()
        finally:
            self.motions.leave()
            self.wake()

    async def _exit(self) -> None:
        """Bound the time that `on_exit` may take."""
        await self._comes(lambda: self.session.leaving)
        try:
            async with asyncio.timeout(self.settings.exit_timeout_s):
                await self._comes(lambda: self.session.has_left)
        except TimeoutError:
            self.session.end_exit("timeout")
            self.stream.leave()  # whatever the session makes of it

    def _take_motions(self) -> None:
        """Report what the library holds now, and free what it has dropped."""
        self.planner.forget_dropped()
        self.report("motions", self.library.payload())

    # -- what requests wait for -----------------------------------------------------------------------------

    def wake(self) -> None:
        """Let those look again who wait for a change."""
        self._changed.set()
        self._changed.clear()

    async def _comes(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._changed.wait()

    async def change(self, within_s: float | None) -> None:
        """Wait until something has changed, or for so long; None for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._changed.wait()

    async def obeyed(self, number: int, awaited: str, fix: str = MAY_COME) -> None:
        """Wait until a command has been obeyed, or the robot is lost; `awaited` is what it leads to.

        Raises RequestError: TIMEOUT, with the state and what was awaited.
        """
        await self._until(lambda: self.session.is_obeyed(number), lambda: awaited, lambda: fix)

    async def settled(self, pending: Pending, came_s: float | None = None) -> dict[str, Any]:
        """Wait for what the session has begun, and return what came of it; raises as `obeyed`, or what came.

        Who does not wait any more gives it up. `came_s`: when the request came, by the event loop's clock,
        where something was waited for before.
        """

        def fix() -> str:
            begin = self.session.begin
            if begin is not pending or begin.may_have_begun:
                return MAY_COME
            return LOOKS_ON if pending.awaits == LOOKED_AT else GIVEN_UP

        try:
            await self._until(lambda: pending.outcome is not None, lambda: pending.awaits, fix, came_s)
        finally:
            self.session.give_up(pending)
        if isinstance(pending.outcome, RequestError):
            raise pending.outcome
        return pending.outcome or {}

    async def rested(self) -> None:
        """Wait until nothing moves any more, or something plays; raises as `obeyed`."""
        session = self.session
        await self._until(lambda: session.state not in ACTIVE or bool(session.goals), lambda: "rest")

    async def _until(
        self,
        holds: Callable[[], bool],
        awaits: Callable[[], str],
        fix: Callable[[], str] = lambda: MAY_COME,
        came_s: float | None = None,
    ) -> None:
        """Wait for a change; time in which the daemon itself stands still meanwhile does not count.

        What was waited for since the request came does: its client waits no longer for it. It gets one turn.
        """
        waited_s = 0.0 if came_s is None else asyncio.get_running_loop().time() - came_s
        for _ in range(max(TURNS - math.ceil(TURNS * waited_s / ANSWER_TIMEOUT_S), 1)):
            with suppress(TimeoutError):
                async with asyncio.timeout(ANSWER_TIMEOUT_S / TURNS):
                    await self._comes(holds)
                    return
        awaited = awaits()
        reason = f"the robot is {self.session.in_words}, and {awaited} is still awaited"
        what = f"not done in {ANSWER_TIMEOUT_S:g} s"
        state, torque = self.session.state, self.session.known.torque
        raise RequestError(
            "TIMEOUT", self.name, what, reason, fix(), state=state, torque=torque, awaited=awaited
        )

    # -- what the stream process does (`process.Listener`) --------------------------------------------------

    def on_notice(self, notice: messages.Notice) -> None:
        """Take a notice of the stream process."""
        match notice:
            case messages.Ready():
                self._come_on_line(notice)
            case messages.Failed():
                self.session.message, self.session.failed = notice.message, notice.actuators
            case messages.Lost():
                self._lose(notice.message, notice.actuators)
            case messages.Changed():
                self.session.take(notice)
                self._report_return(notice)
                self._report_torque(notice)
            case messages.Foreseen():
                self._look_over(notice)
            case messages.Reached() | messages.Followed():
                self._take_progress(notice)
            case messages.Recovered():
                self._note_recovery(notice)
            case messages.Counted():
                self._servo_errors.take(notice.errors, self.stream.pid)
                self._servo_errors.tell(asyncio.get_running_loop().time())
            case messages.Happened():
                self._take_event(notice)

    def _take_progress(self, notice: messages.Reached | messages.Followed) -> None:
        """Report a marker that a goal has passed, or note what has become of its targets."""
        goal = self.session.moving(notice.goal_id)
        if isinstance(goal, MotionGoal) and isinstance(notice, messages.Reached):
            self.report("event", payloads.marker_event(goal, notice))
        elif isinstance(goal, FollowGoal) and isinstance(notice, messages.Followed):
            is_news = goal.note(notice, asyncio.get_running_loop().time())
            if is_news:
                self.report_state()

    def on_records(self, observer: Observer) -> None:
        """Report telemetry, and once a second diagnostics and, in motion, the state."""
        goal = self.session.goal
        frames_per_tick = goal.frames_per_tick if goal else 1.0
        moving = self.session.state in ACTIVE
        if self.telemetry.take(observer, frames_per_tick, moving=moving):
            self._servo_errors.tell(asyncio.get_running_loop().time())
            if moving:
                self.report_state(renews=True)

    def _why_too_hot(self) -> Hindrance | None:
        """Return which joint is too hot to move, as of the newest record; without torque as well."""
        limit_c, observer = self.settings.checks.temperature_c, self.stream.observer
        self.read_records()
        if limit_c is None or observer is None or observer.sample is None:
            return None
        return too_hot(
            self.library.joint_map.joints,
            observer.sample.vector("temperature_c"),
            limit_c,
            is_failing="temperature" in self.session.alarms,
            holds=self.session.is_on,
        )

    def read_records(self) -> None:
        """Read what the stream process has recorded until now, so that whatever begins, begins behind it."""
        if self.stream.observer is not None:
            self.stream.observer.take()

    def on_batch(self, records: Floats, lost: int) -> None:
        """Pass all records on."""
        for tap in self.taps:
            tap(records, lost)

    def on_exit(self, reason: str) -> None:
        """Take the end of the stream process; no `reason` if it was to end."""
        has_said_so = reason == self.session.message  # it could not open its driver
        self._lose(reason, self.session.failed if has_said_so else ())

    def _lose(self, reason: str, actuators: Sequence[str]) -> None:
        """Take that nothing can be moved; `actuators`: those that it is about, as far as that is known."""
        if reason and reason != self._lost_for:
            log.error("%s: %s", self.name, reason, extra={"robot": self.name})
            self.report("event", {"kind": "stream_lost", "message": reason})
            self._lost_for = reason
        expected = "shut down" if self.session.leaving else "its driver is opened again"
        self.session.lose(reason or expected, actuators, failed=bool(reason))

    def _take_event(self, notice: messages.Happened) -> None:
        """Report what has happened; a check that fails is in the state until it passes again."""
        session = self.session
        if notice.kind in REASONS:
            session.message, session.failed = notice.message, notice.details.get("actuators", [])
        event = {"kind": notice.kind, "message": notice.message}
        self.report("event", event | ({"details": notice.details} if notice.details else {}))
        if notice.kind == "check_failed":
            session.alarms[notice.details["check"]] = notice.message
            self.report_state()
            self.wake()
        elif notice.kind == "blend_dropped":
            session.drop_blend(notice.details["goal_id"])
        elif notice.kind == "check_passed":
            session.alarms.pop(notice.details["check"], None)
            self.report_state()

    def _note_recovery(self, notice: messages.Recovered) -> None:
        self.session.note_recovery(notice)
        if not notice.error:
            names = ", ".join(notice.actuators)
            done = f"errors cleared on request: {names}"
            if notice.by == "reboot":
                done = f"restarted on request: {names}; torque is off there"
            self.report("event", {"kind": "driver", "message": done})

    def _report_return(self, changed: messages.Changed) -> None:
        """Report that actuators are back that were lost, and which of them hold as they were left."""
        if not self._lost_for:
            return
        self._lost_for = ""
        back = "the actuators are back; they are not held until torque is enabled, or a motion plays"
        if (left_on := self._found(changed, 1.0)) and not changed.torque:
            back = f"the actuators are back; {self._as_left(changed)}"
            self._left_on = left_on
        self.report("event", {"kind": "back", "message": f"{back}{self._reset_first}"})

    def _report_torque(self, changed: messages.Changed) -> None:
        """Report actuators that are found holding, as whoever drove them before left them; once each time."""
        self._has_held |= changed.torque
        if self._has_held:
            return
        left_on = self._found(changed, 1.0)
        if left_on and left_on != self._left_on:
            message = f"{self._as_left(changed)}{self._reset_first}"
            self.report("event", {"kind": "torque", "message": message})
        self._left_on = left_on

    def _found(self, changed: messages.Changed, torque: float) -> list[str]:
        """Return the actuators that report this of their torque."""
        names = self.library.joint_map.actuators
        return [name for name, found in zip(names, changed.found, strict=False) if found == torque]

    @property
    def _reset_first(self) -> str:
        """What comes before any enable or disable of a robot that is halted, for messages."""
        is_halted = self.session.latched or self.session.state in HALTED
        return "; reset the robot first" if is_halted else ""

    def _as_left(self, changed: messages.Changed) -> str:
        """Say which actuators hold as they were left, and which do not."""
        on, off = self._found(changed, 1.0), self._found(changed, 0.0)
        which = f"{len(on)} of {len(self.library.joint_map.actuators)} actuators ({', '.join(on)})"
        but = f", and off in {', '.join(off)}" if off else ""
        hint = "enable the robot to hold it, or disable it to release it"
        return f"torque is on in {which}, as it was left{but}; {hint}"

    def _come_on_line(self, ready: messages.Ready) -> None:
        for warning in dict.fromkeys(ready.warnings):
            if warning not in self._warnings:  # or it was reported when the actuators were found before
                self.report("event", {"kind": "warning", "message": warning})
        self._warnings = ready.warnings
        self._left_on, self._has_held = [], False
        self.max_rate_hz = ready.max_rate_hz
        self._bodies = ready.bodies
        self.recorder.name_bodies(ready.bodies)
        self.limits.take(ActuatorLimits.from_lists(ready.allowed))
        self.session.come_on_line()
        self.describe()

    # -- what the session has decided (`session.Outlet`) ----------------------------------------------------

    def send(self, command: messages.Command) -> int:
        """Send a command and return its number; 0 if nobody takes it."""
        return self.stream.send(command)

    def refuse_late(self, goal: Goal) -> None:
        """Raise RequestError where nobody waits for a goal to begin any more."""
        refuse_expired(self.name, goal.expires_at, time.time())

    def is_looked_at(self, goal: Goal, start: list[float], row: int | None = None) -> bool:
        """Whether where a goal leads has been looked at; begin to look where not."""
        return self._ahead.is_done(goal, start, self.session.goals, row)

    async def looked_at(self, goal: Goal, start: list[float]) -> None:
        """Wait until where a goal leads has been looked at; raises as `obeyed`."""
        await self._until(lambda: self.is_looked_at(goal, start), lambda: LOOKED_AT, lambda: LOOKS_ON)

    def _warn_of_goal(self, warning: str) -> None:
        self.report("event", {"kind": "warning", "message": warning})

    def begin(self, goal: Goal, start: list[float]) -> tuple[int, dict[str, Any]]:
        """Send a goal; return the command's number, and what its answer holds; raises RequestError."""
        self.refuse_late(goal)
        with self.planner.prepare(goal, start, self.session.goals) as prepared:
            # The stream process may put out the first row before `send` returns.
            observer, plan = self.stream.observer, goal.plan
            if observer is not None and goal.is_beside and plan is not None:
                observer.start_beside(goal.goal_id, plan.driven)
            elif observer is not None:
                observer.start_goal(goal.drift(), goal.frames_per_tick)
            self.recorder.play(goal.goal_id, goal.motion, self._file_of(goal), beside=goal.is_beside)
            try:
                number = self._send_surely(prepared.command, prepared.fds)
            except RequestError:
                self.recorder.played(goal.goal_id, "OFFLINE")
                raise
        return number, goal.accepted() | prepared.answer

    def chain(self, before: MotionGoal, goal: MotionGoal) -> int:
        """Send what a goal flows into; return the command's number; raises RequestError."""
        with self.planner.prepare_chain(before, goal, self.session.beside) as (command, fds):
            return self.stream.send(command, fds)

    def foresee(self, goal: Goal) -> bool:
        """Ask from where a goal is to take over what moves, if its way has to be looked at before."""
        if self.planner.foresees:
            self._send_surely(messages.Foresee(goal.goal_id, FORESEEN_S))
        return self.planner.foresees

    def take_over(self, goal: Goal, over: WayOver | None = None) -> int:
        """Send a goal that is to begin from what moves; return the command's number; raises RequestError."""
        self.refuse_late(goal)
        with self.planner.prepare_take_over(goal, over) as (command, fds):
            return self._send_surely(command, fds)

    def _send_surely(self, command: messages.Command, fds: tuple[int, ...] = ()) -> int:
        """Send a command and return its number; raises RequestError if nobody takes it."""
        if number := self.stream.send(command, fds):
            return number
        raise RequestError("OFFLINE", self.name, "the stream process does not listen", hint="try again")

    def _look_over(self, foreseen: messages.Foreseen) -> None:
        """Look at the way by which a goal takes over from where that was foreseen, then send it."""
        begin = self.session.begin
        if begin is not None and begin.goal.goal_id == foreseen.goal_id:
            self._ahead.look_over(begin.goal, foreseen, partial(self.session.hand_over, begin.goal))

    def flow(self, goal: Goal) -> None:
        """Take that a goal has begun, as the one before flows into it."""
        if self.stream.observer is not None:
            self.stream.observer.start_goal(goal.drift(), goal.frames_per_tick)
        self.recorder.play(goal.goal_id, goal.motion, self._file_of(goal))

    def _file_of(self, goal: Goal) -> Path | None:
        """Return the file of a goal's motion; None for the way to a posture."""
        if not isinstance(goal, MotionGoal):
            return None
        entry = self.library.get(goal.motion)
        return entry.file if entry is not None and entry.plan is goal.own.plan else None

    def seek(self, seek: Seek, start: list[float]) -> int:
        """Send the way to a row; return the command's number; raises RequestError."""
        with self.planner.way_to(seek.goal, seek.row, start, self.session.goals) as (fd, turned):
            command = messages.Seek(seek.goal.goal_id, seek.row, start, seek.goes_on, seek.expires_at, turned)
            return self.stream.send(command, (fd,))

    def park_goal(self, option: str) -> MotionGoal:
        """Return a goal that goes to the pose `park`, as an option asks for; raises RequestError."""
        playback = self.planner.playback_to_park()
        request = PlayRequest(motion=playback.plan.motion)
        return new_goal(playback, request, asked_by=f"motiond, by {option}")

    def end(self) -> None:
        """Let the stream process end."""
        self.stream.leave()

    def warn(self, message: str) -> None:
        """Write to the log."""
        log.warning("%s: %s", self.name, message, extra={"robot": self.name})

    # -- reports --------------------------------------------------------------------------------------------

    def report(self, subject: Subject, data: Mapping[str, Any], *, renews: bool = False) -> None:
        """Publish a report; of samples, a page that falls behind wants but the newest."""
        if subject in NUMBERED:
            self._numbers[subject] += 1
            data = {**data, "sequence": self._numbers[subject], "stamp_utc": utc(time.time())}
        if subject == "result":
            self.history.add(self.name, data)
        self._hub.publish(Report(self.name, subject, data, renews=renews or subject == "samples"))
        self.recorder.note(subject, data)

    def _report_recording(self, recording: RecordingReport, renews: bool) -> None:  # noqa: FBT001
        self.report("recording", recording, renews=renews)

    def _warn_of_disk(self, message: str) -> None:
        self.report("event", {"kind": "recording", "message": message})

    def report_state(self, *, renews: bool = False) -> None:
        """Publish what the robot does now; whether only how far it is."""
        self.report("state", self.state_payload(), renews=renews)

    def report_result(self, goal: Goal, ended: messages.Ended, follows: Follows | None) -> None:
        """Publish how a goal ended, and what the robot then does by itself."""
        observer = self.stream.observer if ended.played_s is not None else None
        timing, extremes = (observer.goal, observer.extremes) if observer else (None, None)
        if goal.is_beside:
            timing, extremes = observer.beside.pop(goal.goal_id, (None, None)) if observer else (None, None)
        result = payloads.result_payload(
            goal,
            ended,
            self.library.joint_map,
            timing=timing,
            extremes=extremes,
            bodies=observer.bodies if observer else (),
            follows=follows,
            drift=observer.drift if observer and not goal.is_beside else None,
            recording=self.recorder.file if goal.number else None,
        )
        self.report("result", result)
        self.planner.forget_added(goal.goal_id)
        self.recorder.played(goal.goal_id, ended.code)

    def end_teaching(self, ended: messages.TeachingEnded) -> None:
        """Publish why the robot is not taught any more."""
        self.draft.end(ended)
        self.recorder.taught()

    def state_payload(self) -> RobotStatus:
        """Return what the robot does now, JSON-ready."""
        return payloads.state_payload(self.session, self.stream.observer, self.library.joint_map)

    def describe(self) -> None:
        """Publish what the robot is."""
        description = payloads.description_payload(
            self.library.joint_map, self.settings, self.max_rate_hz, self._bodies
        )
        self.report("description", description)
