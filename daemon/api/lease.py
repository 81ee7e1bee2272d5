"""Who commands one robot: a lease that one client has at a time, until it is returned, taken or runs out.

A lease is proven by a secret that its holder alone was given. What is published of it names the holder and
proves nothing. Time is that of a monotonic clock: a clock that is set neither ends a lease nor prolongs it.
"""

from __future__ import annotations

import hmac
import secrets
import time
from typing import TYPE_CHECKING, NamedTuple

from .errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .verbs.control import LeaseAnswer

SECRET_BYTES = 16
REPORTED_A_TTL = 4  # renewals that are reported: a client may send them as often as it likes


class Loss(NamedTuple):
    """How a client lost control, which it did not return; `taker` is None where the lease ran out."""

    holder: str
    taker: str | None = None


class Lease:
    """The lease of one robot. Nothing here waits, so of two clients that come at once the first one has it.

    Parameters
    ----------
    robot : str
        The robot's name, for messages.
    ttl_s : float
        A lease that is not renewed for so long is lost.
    takeover : bool
        Whether it may be taken from its holder.
    on_loss : callable
        Is called with a loss, before anybody else can command the robot.
    on_change : callable
        Is called whenever there is something new to publish; of a renewal with `renewed=True`.
    now, unix_now : callable
        Return the time of a monotonic clock and Unix time, in s.

    Attributes
    ----------
    epoch : int
        Grows with each holder; the first one is beyond Unix time, so that it grows over restarts, too.
    """

    def __init__(
        self,
        robot: str,
        *,
        ttl_s: float,
        takeover: bool,
        on_loss: Callable[[Loss], None],
        on_change: Callable[..., None],
        now: Callable[[], float] = time.monotonic,
        unix_now: Callable[[], float] = time.time,
    ) -> None:
        self._robot = robot
        self._ttl_s = ttl_s
        self._takeover = takeover
        self._on_loss = on_loss
        self._on_change = on_change
        self._now = now
        self._unix_now = unix_now
        self._holder: str | None = None
        self._secret = b""
        self._ends_s = self._reported_s = 0.0
        self.epoch = int(unix_now())

    # -- requests; each raises RequestError where it is refused ---------------------------------------------

    def acquire(self, holder: str, lease: str | None = None) -> LeaseAnswer:
        """Give control to a client if no client has it; renew it for the one that has."""
        self.look()
        if self._is_proven_by(lease):
            return {**self._renew(), "lease": lease or ""}
        if self._holder is not None:
            raise self._not_in_control(f"{self._robot}/lease/acquire")
        return self._grant(holder)

    def renew(self, lease: str | None) -> LeaseAnswer:
        """Let the holder keep control for `ttl_s` from now on."""
        self.admit(f"{self._robot}/lease/renew", lease)
        return self._renew()

    def release(self, lease: str | None) -> LeaseAnswer:
        """Take control back from the holder, who wants it so: nothing stops."""
        self.admit(f"{self._robot}/lease/release", lease)
        self._holder, self._secret = None, b""
        self._on_change()
        return self.payload()

    def take(self, holder: str, lease: str | None = None) -> LeaseAnswer:
        """Give control to a client, whoever has it, if that is allowed."""
        self.look()
        before = self._holder
        if before is None or self._is_proven_by(lease):
            return self.acquire(holder, lease)
        if not self._takeover:
            problem, reason = f"control cannot be taken from {before}", "lease.takeover is off"
            hint = "ask them to release it, or wait until it runs out"
            raise RequestError(
                "NOT_ALLOWED", f"{self._robot}/lease/take", problem, reason, hint, **self.payload()
            )
        granted = self._grant(holder, publish=False)
        self._on_loss(Loss(before, holder))
        self._on_change()
        return granted

    def admit(self, where: str, lease: str | None) -> None:
        """Refuse whoever has no control.

        Raises
        ------
        RequestError
            NOT_IN_CONTROL, which names the one who has.
        """
        self.look()
        if not self._is_proven_by(lease):
            raise self._not_in_control(where)

    def is_valid(self, lease: str | None) -> bool:
        """Whether a lease proves now that its holder has control."""
        self.look()
        return self._is_proven_by(lease)

    @property
    def tenure(self) -> int | None:
        """The epoch of the holder; None where there is none."""
        self.look()
        return None if self._holder is None else self.epoch

    # -- time ------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Let a lease that was not renewed in time be lost."""
        if self._holder is not None and self._now() >= self._ends_s:
            loss = Loss(self._holder)
            self._holder, self._secret = None, b""
            self._on_loss(loss)
            self._on_change()

    # -- what is reported ------------------------------------------------------------------------------------

    def payload(self) -> LeaseAnswer:
        """Return who has control, JSON-ready; without the secret."""
        left_s = None if self._holder is None else self._ends_s - self._now()
        return {
            "holder": self._holder,
            "epoch": self.epoch,
            "expires_at": None if left_s is None else round(self._unix_now() + left_s, 3),
        }

    def _is_proven_by(self, lease: str | None) -> bool:
        return (
            self._holder is not None
            and lease is not None
            and hmac.compare_digest(lease.encode(errors="replace"), self._secret)
        )

    def _grant(self, holder: str, *, publish: bool = True) -> LeaseAnswer:
        lease = secrets.token_urlsafe(SECRET_BYTES)
        self._holder, self._secret = holder, lease.encode()
        self.epoch += 1
        self._ends_s = self._reported_s = self._now() + self._ttl_s
        if publish:
            self._on_change()
        return {**self._granted(), "lease": lease}

    def _renew(self) -> LeaseAnswer:
        self._ends_s = self._now() + self._ttl_s
        if self._ends_s - self._reported_s >= self._ttl_s / REPORTED_A_TTL:
            self._reported_s = self._ends_s
            self._on_change(renewed=True)
        return self._granted()

    def _granted(self) -> LeaseAnswer:
        return {**self.payload(), "ttl_s": self._ttl_s}

    def _not_in_control(self, where: str) -> RequestError:
        problem, hint = "not in control", "acquire it by lease/acquire"
        reason = "nobody has control"
        if self._holder is not None:
            reason = f"{self._holder} has it"
            otherwise = "take control" if self._takeover else "wait until it runs out"
            hint = f"ask them to release it, or {otherwise}"
        return RequestError("NOT_IN_CONTROL", where, problem, reason, hint, **self.payload())
