"""A start of a group as one robot holds it: what was prepared, what has come between, and what it refuses."""

from __future__ import annotations

import hashlib
import hmac
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...api import MotionRequest, PlayRequest, Request, RequestError
from ...ipc.states import HALTED, State
from ..session import FARTHEST_S, SHUTS_DOWN

if TYPE_CHECKING:
    from ...api import CommitRequest, PrepareRequest, ReservationPhase
    from ...planning.playback import Playback
    from ..robot import Robot
    from ..session import Goal

OF_MOTIONS = MotionRequest.model_fields.keys() - Request.model_fields.keys()


@dataclass(slots=True)
class HeldStart:
    """The start for which a robot is reserved, and how far that is.

    Attributes
    ----------
    request : PrepareRequest
    playback : Playback
    number : int
        That of the last command to the robot before.
    tenure : int or None
        Who was in control then, as a number; None where nobody had to be.
    digest : bytes
        SHA-256 of the secret of who prepared it, which a commit or a release of the start has to carry.
    phase : str or None
        None until the robot has planned.
    was_told : bool
        Whether it was prepared for the same start before.
    ready_in_s : float
        How long before the first row it has to begin.
    ends_s : float
        By the monotonic clock: when it lets itself go, unless its goal has begun.
    expires_at : float or None
        The same in Unix time, as clients are told; None once it is committed.
    commit : CommitRequest or None
    goal : Goal or None
        What plays for it, from its approach on.
    agreed : bool
        Whether the goal was told to go on, as all robots of the start are ready.
    """

    request: PrepareRequest
    playback: Playback
    number: int
    tenure: int | None
    digest: bytes
    phase: ReservationPhase | None = None
    was_told: bool = False
    ready_in_s: float = 0.0
    ends_s: float = math.inf
    expires_at: float | None = None
    commit: CommitRequest | None = None
    goal: Goal | None = None
    agreed: bool = False

    @property
    def duration_s(self) -> float | None:
        """How long the passes take, without ways between them; None for ever."""
        passes = self.playback.passes
        if not passes.count:
            return None
        rows = passes.count * (passes.last - passes.first)
        return round(rows / (self.playback.track.rate_hz * self.request.speed), 3)

    def hindrance(self, robot: Robot, now_s: float, tenure: int | None) -> str | None:
        """Return why a robot that stands cannot be reserved for it any more.

        Parameters
        ----------
        tenure : int or None
            Who is in control now; what is committed goes on without whoever prepared it.
        """
        session = robot.session
        late = "not all robots were heard to be committed in time"
        if self.commit is None:
            late = f"nothing was committed in {self.request.expires_s:g} s"
        hindrances = (
            (robot.leaving, SHUTS_DOWN),
            (session.latched, "the emergency stop is latched"),
            (session.state in HALTED, f"the robot is in {session.state}"),
            (session.state is State.OFFLINE, f"the robot is offline; {session.message}"),
            (session.stopped > self.number, "a stop came before the first row"),
            (self.commit is None and tenure != self.tenure, "control of the robot has changed"),
            (self.phase is not None and not session.known.torque, "torque went off"),
            (now_s >= self.ends_s, late),
        )
        return next((reason for holds, reason in hindrances if holds), None)

    def refuse_stranger(self, where: str, token: str | None) -> None:
        """Refuse who has not prepared it, and change nothing.

        Raises
        ------
        RequestError
            NOT_ALLOWED.
        """
        if token is not None and hmac.compare_digest(digest_of(token), self.digest):
            return
        problem = "the token is missing" if token is None else "the token is wrong"
        reason, hint = f"start '{self.request.start}' belongs to who prepared it", "send the token of that"
        raise RequestError("NOT_ALLOWED", where, problem, reason, hint)

    def refuse_time(self, robot: str, request: CommitRequest, in_s: float) -> None:
        """Refuse a first row that the robot could not be on in time, or that is too far ahead.

        Raises
        ------
        RequestError
            INVALID_REQUEST or TOO_LATE.
        """
        if in_s > FARTHEST_S:
            problem, reason = (
                f"start_at is {in_s:.0f} s ahead",
                f"a robot waits no longer than {FARTHEST_S:g} s",
            )
            raise RequestError("INVALID_REQUEST", robot, problem, reason, "send the request later")
        needs_s = round(self.ready_in_s, 3)
        if request.ready_in_s < needs_s:
            problem = f"ready_in_s is {request.ready_in_s:g}"
            reason, hint = (
                f"the robot has said that it needs {needs_s:g} s",
                "send the longest of all answers",
            )
            raise RequestError("TOO_LATE", robot, problem, reason, hint, needs_s=needs_s)
        if in_s < request.ready_in_s:
            late_s = request.ready_in_s - in_s
            problem = f"start_at is {late_s:.3f} s too early"
            reason = f"the robots need {request.ready_in_s:g} s to the first row"
            raise RequestError("TOO_LATE", robot, problem, reason, "set it later", too_late_s=late_s)

    def refusal(self, where: str, now_s: float) -> RequestError:
        """Return the refusal of what would interfere with it."""
        start = self.request.start
        reason = (
            f"it is committed to start_at {self.commit.start_at:.3f}"
            if self.commit
            else "it expires by itself"
        )
        if self.commit is None and self.expires_at is not None:
            reason = f"it expires in {max(0.0, self.ends_s - now_s):.1f} s"
        hint = "wait, or let it go by fleet/release or stop"
        return RequestError(
            "RESERVED",
            where,
            f"reserved for start '{start}'",
            reason,
            hint,
            start=start,
            expires_at=self.expires_at,
        )


def digest_of(token: str) -> bytes:
    """Return the digest by which a start knows its secret."""
    return hashlib.sha256(token.encode(errors="replace")).digest()


def play_of(request: PrepareRequest, start_at: float | None = None) -> PlayRequest:
    """Return the play that was prepared."""
    keys = {key: getattr(request, key) for key in OF_MOTIONS}
    return PlayRequest(**keys, start_at=start_at, transaction=request.transaction)
