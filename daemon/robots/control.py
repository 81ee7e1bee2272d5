"""Control of one robot: its lease, where one is required, and what follows when that is lost."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, NoReturn

from ..api import Lease, LeaseReport, RequestError

if TYPE_CHECKING:
    from ..api import HolderRequest, LeaseAnswer, Loss, Request
    from .robot import Robot

log = logging.getLogger(__name__)

LOOK_PERIOD_S = 0.05


class Control:
    """Who commands a robot.

    - `lease`: None where everybody may command the robot
    """

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._settings = robot.settings.lease
        self.lease: Lease | None = None
        if self._settings.required:
            self.lease = Lease(
                robot.name,
                ttl_s=self._settings.ttl_s,
                takeover=self._settings.takeover,
                on_loss=self._lose,
                on_change=self.report,
            )

    def tenure(self) -> int | None:
        """Return the number of who is in control; None where nobody is, or has to be."""
        return self.lease.tenure if self.lease else None

    # -- requests -------------------------------------------------------------------------------------------

    async def acquire(self, request: HolderRequest) -> LeaseAnswer:
        """Give control to a client, if nobody has it."""
        return self._required().acquire(request.holder, request.lease)

    async def renew(self, request: Request) -> LeaseAnswer:
        """Let the holder keep control."""
        return self._required().renew(request.lease)

    async def release(self, request: Request) -> LeaseAnswer:
        """Take control back from its holder; teaching and following end, as nobody could go on with them."""
        lease = self._required()
        holder = lease.payload()["holder"]
        released = lease.release(request.lease)
        self._end_uncontrolled(f"{holder} has released control")
        return released

    async def take(self, request: HolderRequest) -> LeaseAnswer:
        """Give control to a client, whoever has it."""
        return self._required().take(request.holder, request.lease)

    def _required(self) -> Lease:
        """Return the lease; one that keeps nobody from commanding would promise what is not so."""
        if self.lease is None:
            reason, hint = "everybody may command it", "command it without, or set lease.required"
            raise RequestError("NOT_ALLOWED", self._robot.name, "there is no lease to have", reason, hint)
        return self.lease

    # -- what follows ---------------------------------------------------------------------------------------

    async def watch(self) -> NoReturn:
        """Notice that a lease has run out."""
        while True:
            await asyncio.sleep(LOOK_PERIOD_S)
            try:
                self._required().look()
            except Exception:
                log.exception("%s: failed inside motiond", self._robot.name)

    def report(self, *, renewed: bool = False) -> None:
        """Publish who has control."""
        settings = self._settings
        held = self.lease.payload() if self.lease else None
        report = LeaseReport(
            required=settings.required,
            holder=held and held["holder"],
            epoch=held and held["epoch"],
            expires_at=held and held["expires_at"],
            ttl_s=settings.ttl_s,
            takeover=settings.takeover,
        )
        self._robot.report("lease", report, renews=renewed)
        self._robot.wake()

    def _lose(self, loss: Loss) -> None:
        """Stop softly if that is wanted, unless the daemon shuts down, and report it."""
        reason = f"the lease of {loss.holder} has run out; it was not renewed for {self._settings.ttl_s:g} s"
        if loss.taker is not None:
            reason = f"{loss.taker} took control from {loss.holder}"
        if self._settings.on_loss == "stop" and not self._robot.session.leaving:
            self._robot.session.stop(reason)
        else:
            self._end_uncontrolled(reason, is_taken=loss.taker is not None)
        kind = "lease_lost" if loss.taker is None else "lease_taken"
        event = {"kind": kind, "message": reason, "holder": loss.holder, "taker": loss.taker}
        self._robot.report("event", event)

    def _end_uncontrolled(self, reason: str, *, is_taken: bool = False) -> None:
        """End what nobody can go on with now; who has taken control can let a taught robot be caught."""
        session = self._robot.session
        if not session.leaving and (session.needs_control or (session.teaching is not None and not is_taken)):
            session.stop(reason)
