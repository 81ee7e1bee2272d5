"""The reservation of one robot for a start of its group: from `fleet/prepare` to the end of its motion."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import math
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from ..api import MotionRequest, PlayRequest, Request, RequestError
from ..ipc.states import SLOWING, ResultCode, State
from .session import Hindrance, checked_clock, new_goal, refuse_far, refuse_too_late

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..api import CommitRequest, PrepareRequest, ReleaseStartRequest, ReservationPhase
    from ..planning import Playback
    from .robot import Robot
    from .session import Goal

log = logging.getLogger(__name__)

PREPARATION_S = 0.8
"""From when a robot has to know the time until its approach begins: to plan again, and to be cancelled."""
TOKEN_BYTES = 16
OF_MOTIONS = MotionRequest.model_fields.keys() - Request.model_fields.keys()
NOTHING: dict[str, Any] = {
    "start": None,
    "phase": None,
    "start_at": None,
    "reason": None,
    "expires_at": None,
}


@dataclass(slots=True)
class HeldStart:
    """The start for which a robot is reserved, and how far that is; `_s` are times of the monotonic clock.

    - `number`: that of the last command to the robot before it was reserved
    - `tenure`: who was in control then, as a number; None where a lease is not required
    - `digest`: SHA-256 of the secret that a commit or a release has to carry
    - `was_reported`: whether an earlier `fleet/prepare` of the same start was reported
    - `phase`: None until the robot has planned
    - `ready_in_s`: how long before the first row the robot has to know the time
    - `ends_s`: when the reservation expires; once it is committed, when the approach begins
    - `expires_at`: the expiry in Unix time; None once it is committed
    - `goal`: what plays for it, from its approach on
    - `asked_by`: who has sent `fleet/prepare`, for people; None where that is not known
    """

    request: PrepareRequest
    playback: Playback
    number: int
    tenure: int | None
    digest: bytes
    was_reported: bool = False
    phase: ReservationPhase | None = None
    ready_in_s: float = 0.0
    ends_s: float = math.inf
    expires_at: float | None = None
    commit: CommitRequest | None = None
    goal: Goal | None = None
    asked_by: str | None = None

    @property
    def duration_s(self) -> float | None:
        """How long the passes take, without ways between them; None for ever."""
        passes = self.playback.passes
        if not passes.count:
            return None
        rows = passes.count * (passes.last - passes.first)
        return round(rows / (self.playback.track.rate_hz * self.request.speed), 3)

    def hindrance(self, robot: Robot, now_s: float, tenure: int | None) -> str | None:
        """Return why a robot at rest cannot keep the reservation; `tenure` is of who is in control now."""
        session = robot.session
        expired = self.commit is None and now_s >= self.ends_s
        if (hindrance := session.gate.hindrance(start=self.request.start)) is not None:
            return hindrance.reason
        hindrances = (
            (session.stopped > self.number, "a stop came before the first row"),
            (self.commit is None and tenure != self.tenure, "control of the robot has changed"),
            (self.phase is not None and not session.known.torque, "torque went off"),
            (expired, f"nothing was committed in {self.request.expires_s:g} s"),
        )
        return next((reason for holds, reason in hindrances if holds), None)

    def refuse_stranger(self, where: str, token: str | None) -> None:
        """Refuse a client that has not prepared the start."""
        if token is not None and hmac.compare_digest(digest_of(token), self.digest):
            return
        problem = "the token is missing" if token is None else "the token is wrong"
        reason, hint = f"start '{self.request.start}' belongs to who prepared it", "send the token of that"
        raise RequestError("NOT_ALLOWED", where, problem, reason, hint)

    def refusal(self, where: str, now_s: float) -> RequestError:
        """Return the refusal of a request that would interfere with it."""
        why = self.why_reserved(now_s)
        return RequestError(why.code, where, why.reason, hint=why.hint, **why.details)

    def why_reserved(self, now_s: float) -> Hindrance:
        """Return what it keeps the robot from."""
        start, reason = self.request.start, "it expires by itself"
        if self.commit is not None:
            reason = f"it is committed to start_at {self.commit.start_at:.3f}"
        elif self.expires_at is not None:
            reason = f"it expires in {max(0.0, self.ends_s - now_s):.1f} s"
        hint = "wait, or release it by fleet/release or stop"
        details = {"start": start, "expires_at": self.expires_at}
        return Hindrance("RESERVED", f"reserved for start '{start}'; {reason}", hint, details)


class Reservation:
    """For which start one robot is reserved; it expires, or begins once committed, by itself.

    Parameters
    ----------
    robot : Robot
    tenure : callable
        Returns who is in control of it, as a number; None where nobody is, or has to be.

    Attributes
    ----------
    listeners : list of callable
        Receive each report of the reservation at once; they must not ask for anything then.
    """

    def __init__(self, robot: Robot, tenure: Callable[[], int | None]) -> None:
        self._robot = robot
        self._tenure = tenure
        self._now, self._unix_now = time.monotonic, time.time
        self._held: HeldStart | None = None
        self._preparing = asyncio.Lock()
        robot.session.gate.why_reserved = self._why_reserved
        self.listeners: list[Callable[[dict[str, Any]], None]] = []

    @property
    def holds(self) -> bool:
        """Whether the robot is reserved, or is being prepared."""
        self.look()
        return self._held is not None or self._preparing.locked()

    @property
    def committed(self) -> CommitRequest | None:
        """The commit of the present start; None before it, and once the start has ended."""
        return self._held.commit if self._held else None

    def phase_of(self, start: str) -> ReservationPhase | None:
        """Return how far a start is here; None where the robot is not reserved for it, or not any more."""
        self.look()
        return self._held.phase if self._held and self._held.request.start == start else None

    # -- requests; each raises RequestError where it is refused ---------------------------------------------

    async def prepare(self, request: PrepareRequest, asked_by: str | None = None) -> dict[str, Any]:
        """Plan from where the robot stands, with torque on, and keep the robot for this start."""
        robot = self._robot
        if not robot.settings.groups:
            problem, hint = "it is in no group", "name its groups in the configuration"
            raise RequestError("NOT_ALLOWED", robot.name, problem, hint=hint)
        async with self._preparing:
            self._refuse_prepared(request)
            try:
                return await self._prepare(request, asked_by)
            except BaseException as error:
                held = self._held
                if held is not None and held.request.start == request.start and held.commit is None:
                    self._release(f"it was prepared again and refused; {error}")
                raise

    async def _prepare(self, request: PrepareRequest, asked_by: str | None) -> dict[str, Any]:
        robot, problem = self._robot, f"{request.motion} cannot be prepared"
        session = robot.session
        session.gate.refuse_to_begin(problem, start=request.start)
        if not session.rests:
            raise session.busy("stop it first")
        robot.planner.refuse_virtual("a group starts at", "play it alone")
        clock = checked_clock(robot.name, robot.clock)
        await robot.limits.checked()
        session.gate.refuse_to_begin(problem, start=request.start)
        playback = robot.planner.playback_for(play_of(request))
        # Reserved from here on, so that nothing begins while torque comes on.
        token = None if request.token_sha256 else secrets.token_urlsafe(TOKEN_BYTES)
        digest = digest_of(token) if token else bytes.fromhex(request.token_sha256 or "")
        was_reported = self._held is not None
        held = self._held = HeldStart(
            request, playback, session.sent, self._tenure(), digest, was_reported, asked_by=asked_by
        )
        await robot.obeyed(session.enable(), "torque on")
        goal = new_goal(playback, play_of(request))
        if session.known.reference is not None:
            await robot.looked_at(goal, session.known.reference)
        session.gate.refuse_to_begin(problem, start=request.start)
        self.look()
        reference = session.known.reference
        if self._held is not held or reference is None:
            what = "stopped before it was prepared"
            raise RequestError("CANCELED", robot.name, what, hint="prepare it again")
        with robot.planner.prepare(goal, reference) as prepared:
            held.ready_in_s = prepared.needs_s + PREPARATION_S
        held.ends_s = self._now() + request.expires_s
        held.expires_at = round(self._unix_now() + request.expires_s, 3)
        self._enter(held, "reserved")
        robot.wake()
        return {
            "start": request.start,
            "token": token,
            "ready_in_s": round(held.ready_in_s, 3),
            "duration_s": held.duration_s,
            "expires_at": held.expires_at,
            "clock": clock.payload(),
        }

    def _refuse_prepared(self, request: PrepareRequest) -> None:
        """Refuse a robot that is reserved for another start, by another client, or committed."""
        self.look()
        held, where = self._held, f"{self._robot.name}/fleet/prepare"
        if held is None:
            return
        if held.request.start != request.start:
            raise held.refusal(where, self._now())
        if held.commit is not None:
            problem = f"start '{request.start}' is committed already"
            raise RequestError("BUSY", self._robot.name, problem, hint="send another start")
        held.refuse_stranger(where, request.token)

    async def release(self, request: ReleaseStartRequest) -> dict[str, Any]:
        """Take the robot out of the start; stop softly what has begun of it."""
        held = self._held_for(request.start)
        held.refuse_stranger(f"{self._robot.name}/fleet/release", request.token)
        self._release("released on request", reports_event=False)
        return {"start": request.start}

    async def commit(self, request: CommitRequest) -> dict[str, Any]:
        """Take the time of the first row; the same commit again is answered in the same way."""
        held = self._held_for(request.start)
        where = f"{self._robot.name}/fleet/commit"
        held.refuse_stranger(where, request.token)
        if self._robot.name not in request.robots:
            problem, reason = "'robots' does not name this robot", "it names all that take part"
            raise RequestError("INVALID_REQUEST", where, problem, reason, "add it")
        if held.commit is None:
            self._commit(held, request)
        elif _less_transaction(held.commit) != _less_transaction(request):
            problem = f"start '{request.start}' is committed already, to start_at {held.commit.start_at:.3f}"
            hint = "send another start"
            raise RequestError("BUSY", self._robot.name, problem, "it is committed once", hint)
        return {"start": request.start, "start_at": request.start_at}

    def _commit(self, held: HeldStart, request: CommitRequest) -> None:
        in_s = request.start_at - self._unix_now()
        try:
            refuse_far(self._robot.name, in_s)
            refuse_too_late(self._robot.name, in_s, held.ready_in_s)
        except RequestError as error:
            self._release(str(error))
            raise
        held.commit, held.expires_at = request, None
        held.ends_s = self._now() + in_s - held.ready_in_s
        self._enter(held, "committed")
        self._robot.wake()

    def _held_for(self, start: str) -> HeldStart:
        """Return what is reserved for a start."""
        self.look()
        held = self._held
        if held is None or held.request.start != start or held.phase is None:
            problem = f"not reserved for start '{start}'"
            reason = "it has expired, was released or never was"
            if held is not None:
                other = held.request.start
                reason = f"it is for '{other}'" if other != start else "it is being prepared"
            raise RequestError("NOT_RESERVED", self._robot.name, problem, reason, "prepare it first")
        return held

    def refuse(self, verb: str) -> None:
        """Refuse a request that would interfere with a start that is to come (RESERVED)."""
        self.look()
        if self._held is not None and self._held.phase != "playing":
            raise self._held.refusal(f"{self._robot.name}/{verb}", self._now())

    def _why_reserved(self, start: str | None) -> Hindrance | None:
        """Return what a start that is to come keeps the robot from; None where that is of this start."""
        if self._held is None or self._held.request.start == start:
            return None
        self.look()
        held = self._held
        return held.why_reserved(self._now()) if held is not None and held.phase != "playing" else None

    def break_off(self, start: str, reason: str, member: str | None = None) -> None:
        """Stop softly what belongs to a start, and end the reservation; `member` is the robot that is why."""
        self.look()
        if self._held is not None and self._held.request.start == start:
            self._release(reason, member)

    # -- time, and what the robot does -----------------------------------------------------------------------

    async def watch(self) -> NoReturn:
        """Follow the robot: begin the approach in time, and end what has expired."""
        while True:
            try:
                self.look()
            except Exception:
                log.exception("%s: failed inside motiond", self._robot.name)
            held = self._held
            waits = held is not None and held.goal is None and held.ends_s < math.inf
            await self._robot.change(max(0.001, held.ends_s - self._now()) if held and waits else None)

    def look(self) -> None:
        """Take what the robot has done since, and the time, into account."""
        held = self._held
        if held is None:
            return
        if held.goal is not None:
            self._follow(held, held.goal)
        elif reason := held.hindrance(self._robot, self._now(), self._tenure()):
            self._release(reason)
        elif held.commit is not None and self._now() >= held.ends_s:
            self._begin(held, held.commit)

    def _begin(self, held: HeldStart, commit: CommitRequest) -> None:
        """Begin the approach."""
        coordinated_for = held.request.asked_by and f"for {held.request.asked_by}"
        asked_by = ", ".join(filter(None, (f"group start {commit.start}", coordinated_for, held.asked_by)))
        play = play_of(held.request, commit.start_at)
        goal = new_goal(held.playback, play, commit.start, asked_by=asked_by)
        try:
            self._robot.session.start(goal)
        except RequestError as error:
            self._release(str(error))
        else:
            held.goal = goal

    def _follow(self, held: HeldStart, goal: Goal) -> None:
        """Report how far the goal is; release where it ends, or cannot be on its first row in time."""
        session, last = self._robot.session, self._robot.session.last
        before_first_row = held.phase != "playing"
        if session.goal is not goal:
            if last is None or last.goal_id != goal.goal_id or last.code != ResultCode.SUCCESSFUL:
                self._release(f"{goal.motion} ended with {last.code}; {last.message}" if last else "it ended")
                return
            if before_first_row:
                self._enter(held, "playing")
            self._enter(held, "ended")
            self._held = None
        elif before_first_row and session.state is State.PLAYING:
            self._enter(held, "playing")
        elif before_first_row and session.state in SLOWING:
            did = "stopped" if session.state is State.STOPPING else "paused"
            self._release(f"it was {did} before the first row")
        elif held.phase == "committed" and session.known.waits:
            self._enter(held, "ready")

    # -- reports --------------------------------------------------------------------------------------------

    def _enter(self, held: HeldStart, phase: ReservationPhase) -> None:
        held.phase = phase
        self.report()

    def report(self) -> None:
        """Report for which start the robot is reserved."""
        held = self._held
        if held is None or held.phase is None:
            self._report(NOTHING)
            return
        start_at = held.commit.start_at if held.commit else None
        now = {"start": held.request.start, "phase": held.phase, "start_at": start_at}
        self._report(NOTHING | now | {"expires_at": held.expires_at})

    def _release(self, reason: str, member: str | None = None, *, reports_event: bool = True) -> None:
        """End the reservation, and stop softly what plays for it."""
        held, self._held = self._held, None
        if held is None:
            return
        if held.goal is not None and self._robot.session.goal is held.goal:
            self._robot.session.end_goal(reason, {} if member is None else {"member": member})
        if held.phase is None and not held.was_reported:
            return
        start, start_at = held.request.start, held.commit.start_at if held.commit else None
        self._report(NOTHING | {"start": start, "phase": "released", "start_at": start_at, "reason": reason})
        if reports_event:
            event = {"kind": "start_released", "message": f"{start}: {reason}", "start": start}
            self._robot.report("event", event)

    def _report(self, report: dict[str, Any]) -> None:
        self._robot.report("reservation", report)
        for listener in self.listeners:
            listener(report)


def digest_of(token: str) -> bytes:
    """Return the digest by which a start knows its secret."""
    return hashlib.sha256(token.encode(errors="replace")).digest()


def play_of(request: PrepareRequest, start_at: float | None = None) -> PlayRequest:
    """Return the play that was prepared."""
    keys = {key: getattr(request, key) for key in OF_MOTIONS}
    return PlayRequest(**keys, start_at=start_at, transaction=request.transaction)


def _less_transaction(request: CommitRequest) -> dict[str, Any]:
    """Return what a commit says, whoever sends it again."""
    return request.model_dump(exclude={"transaction", "expires_at", "lease"})
