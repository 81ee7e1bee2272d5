"""The reservation of one robot for a start of its group: from `fleet/prepare` to the end of its motion.

Whoever decides that the start goes on says so in time, or the reservation lets itself go: nothing moves
because somebody has died.
"""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NoReturn

from ...api import RequestError
from ...ipc.states import SLOWING, ResultCode, State
from ..session import checked_clock, new_goal
from .held_start import HeldStart, digest_of, play_of
from .reservation_reporter import ReservationReporter

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...api import CommitRequest, PrepareRequest, ReleaseStartRequest, ReservationPhase
    from ..robot import Robot
    from ..session import Goal

log = logging.getLogger(__name__)

GUARD_S = 0.3
"""So long before the first row everybody has to be known to be ready."""
TELLING_S = 0.5
"""For planning anew, and until everybody has heard of everybody."""
LATE_BEGIN_S = TELLING_S / 2
"""`begin` is said till `ready_in_s` before the first row; so long after that it is waited for no more."""
MOST_REMEMBERED = 20
TOKEN_BYTES = 16


class Reservation:
    """For which start one robot is reserved. What changes it wakes whoever waits for the robot's status.

    Parameters
    ----------
    robot : Robot
    tenure : callable
        Returns who is in control of it, as a number; None where nobody is, or has to be.
    now, unix_now : callable
        Return the time of a monotonic clock and Unix time, in s.

    Attributes
    ----------
    listeners : list of callable
        Are told at once what the world is told; they must not ask for anything then.
    """

    def __init__(
        self,
        robot: Robot,
        tenure: Callable[[], int | None],
        now: Callable[[], float] = time.monotonic,
        unix_now: Callable[[], float] = time.time,
    ) -> None:
        self._robot = robot
        self._tenure = tenure
        self._now = now
        self._unix_now = unix_now
        self._reporter = ReservationReporter(robot)
        self.listeners = self._reporter.listeners
        self._held: HeldStart | None = None
        self._preparing = asyncio.Lock()
        self._commits: OrderedDict[str, CommitRequest] = OrderedDict()

    @property
    def holds(self) -> bool:
        """Whether the robot is reserved, or is being prepared."""
        self.look()
        return self._held is not None or self._preparing.locked()

    @property
    def waits_agreed(self) -> bool:
        """Whether the robot stands and waits for the first row, on which all of its group have agreed."""
        self.look()
        return self._held is not None and self._held.agreed and self._held.phase == "ready"

    def phase_of(self, start: str) -> ReservationPhase | None:
        """Return how far a start is here; None where the robot is not reserved for it, or not any more."""
        self.look()
        return self._held.phase if self._held and self._held.request.start == start else None

    # -- requests; each raises RequestError where it is refused ---------------------------------------------

    async def prepare(self, request: PrepareRequest) -> dict[str, Any]:
        """Plan from where the robot stands, with torque on, and keep the robot for this start."""
        robot = self._robot
        if not robot.settings.groups:
            problem, hint = "it is in no group", "name its groups in the configuration"
            raise RequestError("NOT_ALLOWED", robot.name, problem, hint=hint)
        async with self._preparing:
            before = self._prepared_before(request)
            try:
                return await self._prepare(request, before)
            except BaseException as error:
                held = self._held
                if held is not None and held.request.start == request.start and held.commit is None:
                    self._let_go(f"it was prepared anew and refused; {error}")
                raise

    async def _prepare(self, request: PrepareRequest, before: HeldStart | None) -> dict[str, Any]:
        robot, problem = self._robot, f"{request.motion} cannot be prepared"
        session = robot.session
        session.refuse_unless_able(problem)
        if not session.rests:
            raise session.busy("stop it first")
        robot.planner.refuse_virtual("a group starts at", "play it alone")
        clock = checked_clock(robot.name, robot.clock)
        await robot.limits.checked()
        session.refuse_unless_able(problem)
        playback = robot.planner.playback_for(play_of(request))
        # Reserved from here on, so that nothing begins while torque comes on.
        token = None if request.token_sha256 else secrets.token_urlsafe(TOKEN_BYTES)
        digest = digest_of(token) if token else bytes.fromhex(request.token_sha256 or "")
        held = self._held = HeldStart(
            request, playback, session.sent, self._tenure(), digest, was_told=before is not None
        )
        await robot.obeyed(session.enable(), "torque on")
        session.refuse_unless_able(problem)
        self.look()
        reference = session.known.reference
        if self._held is not held or reference is None:
            raise RequestError(
                "CANCELED", robot.name, "stopped before it was prepared", hint="prepare it again"
            )
        with robot.planner.prepare(new_goal(playback, play_of(request)), reference) as prepared:
            held.ready_in_s = prepared.needs_s + TELLING_S + GUARD_S
        held.phase = "reserved"
        held.ends_s = self._now() + request.expires_s
        held.expires_at = round(self._unix_now() + request.expires_s, 3)
        self._changed()
        return {
            "start": request.start,
            "token": token,
            "ready_in_s": round(held.ready_in_s, 3),
            "duration_s": held.duration_s,
            "expires_at": held.expires_at,
            "clock": clock.payload(),
        }

    def _prepared_before(self, request: PrepareRequest) -> HeldStart | None:
        """Refuse what is reserved for another start, by another, or committed; return what was prepared."""
        self.look()
        held, where = self._held, f"{self._robot.name}/fleet/prepare"
        if held is None:
            return None
        if held.request.start != request.start:
            raise held.refusal(where, self._now())
        if held.commit is not None:
            problem = f"start '{request.start}' is committed already"
            raise RequestError("BUSY", self._robot.name, problem, hint="send another start")
        held.refuse_stranger(where, request.token)
        return held

    async def release(self, request: ReleaseStartRequest) -> dict[str, Any]:
        """Let the reservation go."""
        return self.release_now(request.start, request.token)

    def release_now(self, start: str, token: str | None) -> dict[str, Any]:
        """Let the reservation go; also of a start that is committed, before its first row."""
        self._held_for(start).refuse_stranger(f"{self._robot.name}/fleet/release", token)
        self._let_go("released on request", tells=False)
        return {"start": start}

    def commit(self, request: CommitRequest) -> dict[str, Any]:
        """Take the time of the first row; the robot stays where it is until `begin`.

        The same commit again is answered in the same way while the start lasts, and changes nothing; nor does
        one of who has not prepared the start.
        """
        self.look()
        known = self._commits.get(request.start)
        if known is None:
            self._commit(request)
        elif known.model_copy(update={"transaction": request.transaction}) != request:
            problem = f"start '{request.start}' is committed already, to start_at {known.start_at:.3f}"
            raise RequestError(
                "BUSY", self._robot.name, problem, "it is committed once", "send another start"
            )
        elif self.phase_of(request.start) is None:
            problem, reason = f"start '{request.start}' is over", "it is committed once"
            raise RequestError("NOT_RESERVED", self._robot.name, problem, reason, "send another start")
        return {"start": request.start, "start_at": request.start_at}

    def _commit(self, request: CommitRequest) -> None:
        try:
            held = self._held_for(request.start)
        except RequestError as error:
            self._reporter.tell_released(request.start, str(error), request, self._held)
            raise
        held.refuse_stranger(f"{self._robot.name}/fleet/commit", request.tokens.get(self._robot.name))
        in_s = request.start_at - self._unix_now()
        try:
            held.refuse_time(self._robot.name, request, in_s)
        except RequestError as error:
            self._let_go(str(error))
            raise
        while len(self._commits) >= MOST_REMEMBERED:
            self._commits.popitem(last=False)
        self._commits[request.start] = held.commit = request
        held.phase, held.expires_at = "committed", None
        held.ends_s = self._now() + in_s - request.ready_in_s + LATE_BEGIN_S
        self._changed()

    def _held_for(self, start: str) -> HeldStart:
        """Return what is reserved for a start, which has not come to its first row."""
        self.look()
        held = self._held
        if held is None or held.request.start != start or held.phase in {None, "playing"}:
            problem = f"not reserved for start '{start}'"
            reason = "it has expired, was released or never was"
            if held is not None and held.request.start != start:
                reason = f"it is for '{held.request.start}'"
            elif held is not None:
                reason = "it plays already" if held.phase else "it is being prepared"
            raise RequestError("NOT_RESERVED", self._robot.name, problem, reason, "prepare it first")
        return held

    def refuse(self, verb: str) -> None:
        """Refuse a request that would interfere with a start that is to come.

        Raises
        ------
        RequestError
            RESERVED.
        """
        self.look()
        if self._held is not None and self._held.phase != "playing":
            raise self._held.refusal(f"{self._robot.name}/{verb}", self._now())

    # -- what is decided elsewhere ---------------------------------------------------------------------------

    def begin(self, start: str) -> None:
        """Begin the approach: everybody was heard to be committed."""
        self.look()
        held = self._held
        if held is None or held.request.start != start or held.commit is None or held.goal is not None:
            return
        goal = new_goal(held.playback, play_of(held.request, held.commit.start_at), start)
        try:
            self._robot.session.start(goal)
        except RequestError as error:
            self._let_go(str(error))
        else:
            held.goal = goal

    def go(self, start: str) -> None:
        """Let the motion begin when its time has come: everybody was heard to be ready."""
        self.look()
        if self._held is not None and self._held.request.start == start and self._held.goal is not None:
            self._held.agreed = True
            self._robot.session.go(self._held.goal)

    def break_off(self, start: str, reason: str, member: str | None = None) -> None:
        """Stop softly what belongs to a start, and let the reservation go; `member` is because of whom."""
        self.look()
        if self._held is not None and self._held.request.start == start:
            self._let_go(reason, member)

    # -- time, and what the robot does -----------------------------------------------------------------------

    async def watch(self) -> NoReturn:
        """Follow the robot, and let go what has expired."""
        while True:
            try:
                self.look()
            except Exception:
                log.exception("%s: failed inside motiond", self._robot.name)
            held = self._held
            waits = held is not None and held.goal is None and held.ends_s < math.inf
            await self._robot.change(max(0.001, held.ends_s - self._now()) if held and waits else None)

    def look(self) -> None:
        """Take note of what the robot has done since, and of the time."""
        held = self._held
        if held is None:
            return
        if held.goal is not None:
            self._follow(held, held.goal)
        elif reason := held.hindrance(self._robot, self._now(), self._tenure()):
            self._let_go(reason)

    def _follow(self, held: HeldStart, goal: Goal) -> None:
        """Tell how far the goal is, and let go where it ends, or cannot be on its first row in time."""
        session, last = self._robot.session, self._robot.session.last
        before_first_row = held.phase != "playing"
        if session.goal is not goal:
            if last is None or last.goal_id != goal.goal_id or last.code != ResultCode.SUCCESSFUL:
                self._let_go(f"{goal.motion} ended with {last.code}; {last.message}" if last else "it ended")
                return
            if before_first_row:
                self._enter(held, "playing")
            self._held = None
            self.tell()
        elif before_first_row and session.state is State.PLAYING:
            self._enter(held, "playing")
        elif before_first_row and session.state in SLOWING:
            self._let_go(
                f"it was {'stopped' if session.state is State.STOPPING else 'paused'} before the first row"
            )
        elif held.phase == "committed" and session.known.waits:
            self._enter(held, "ready")

    def _enter(self, held: HeldStart, phase: ReservationPhase) -> None:
        held.phase = phase
        self.tell()

    def _let_go(self, reason: str, member: str | None = None, *, tells: bool = True) -> None:
        """End the reservation, and with it what plays; whether an event tells of it, too."""
        held, self._held = self._held, None
        if held is None:
            return
        if held.goal is not None and self._robot.session.goal is held.goal:
            self._robot.session.end_goal(reason, {} if member is None else {"member": member})
        if held.phase is None and not held.was_told:
            return
        self._reporter.tell_released(held.request.start, reason, held.commit)
        if tells:
            self._reporter.tell_event(held.request.start, reason)

    def _changed(self) -> None:
        self.tell()
        self._robot.wake()

    def tell(self) -> None:
        """Tell the world for which start the robot is reserved."""
        self._reporter.tell(self._held)
