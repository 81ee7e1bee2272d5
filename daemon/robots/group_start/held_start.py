"""One start of a group, as a robot holds it."""

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
    from ...planning import Playback
    from ..robot import Robot
    from ..session import Goal

OF_MOTIONS = MotionRequest.model_fields.keys() - Request.model_fields.keys()


@dataclass(slots=True)
class HeldStart:
    """The start for which a robot is reserved, and how far that is; `_s` are times of the monotonic clock.

    Attributes
    ----------
    number : int
        The number of the last command to the robot before it was reserved.
    tenure : int or None
        Who was in control then, as a number; None where a lease is not required.
    digest : bytes
        SHA-256 of the secret that a commit or a release has to carry.
    was_reported : bool
        Whether an earlier `fleet/prepare` of the same start was reported.
    phase : str or None
        None until the robot has planned.
    ready_in_s : float
        How long before the first row the robot has to know the time.
    ends_s : float
        Until it is committed: when the reservation expires. Then: when the approach begins.
    expires_at : float or None
        The expiry in Unix time; None once it is committed.
    goal : Goal or None
        What plays for it, from its approach on.
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
        hindrances = (
            (robot.leaving, SHUTS_DOWN),
            (session.latched, "the emergency stop is latched"),
            (session.state in HALTED, f"the robot is in {session.state}"),
            (session.state is State.OFFLINE, f"the robot is offline; {session.message}"),
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

    def refuse_time(self, robot: str, in_s: float) -> None:
        """Refuse a first row that is too soon for the robot, or too far ahead."""
        if in_s > FARTHEST_S:
            problem = f"start_at is {in_s:.0f} s ahead"
            reason = f"a robot waits no longer than {FARTHEST_S:g} s"
            raise RequestError("INVALID_REQUEST", robot, problem, reason, "send the request later")
        if in_s < self.ready_in_s:
            late_s, needs_s = self.ready_in_s - in_s, round(self.ready_in_s, 3)
            problem = f"start_at is {late_s:.3f} s too early"
            reason = f"the robot needs {needs_s:g} s to the first row"
            hint = "set it later"
            raise RequestError("TOO_LATE", robot, problem, reason, hint, too_late_s=late_s, needs_s=needs_s)

    def refusal(self, where: str, now_s: float) -> RequestError:
        """Return the refusal of a request that would interfere with it."""
        start = self.request.start
        reason = (
            f"it is committed to start_at {self.commit.start_at:.3f}"
            if self.commit
            else "it expires by itself"
        )
        if self.commit is None and self.expires_at is not None:
            reason = f"it expires in {max(0.0, self.ends_s - now_s):.1f} s"
        hint = "wait, or release it by fleet/release or stop"
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
