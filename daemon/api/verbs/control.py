"""Control of a robot: who may command it."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from .verb import Holder, Request, Verb


class HolderRequest(Request):
    """A request for control."""

    holder: Holder
    """By which others see the client."""


class AcquireLeaseRequest(HolderRequest):
    """Get control of the robot if no client has it; with the lease of the one who has, renew it."""


class RenewLeaseRequest(Request):
    """Keep control of the robot for as long again."""


class ReleaseLeaseRequest(Request):
    """Return control of the robot; what plays or waits plays on."""


class TakeLeaseRequest(HolderRequest):
    """Get control of the robot, whoever has it; the other loses it."""


class LeaseAnswer(TypedDict):
    """Who is in control of the robot; `lease` and `ttl_s` where that is the client that asked."""

    holder: str | None
    epoch: int
    expires_at: float | None
    ttl_s: NotRequired[float]
    """How long it lasts without being renewed, in s."""
    lease: NotRequired[str]
    """What requests have to carry."""


CONTROL_VERBS = tuple(
    Verb(name, request, LeaseAnswer, begins=False, interferes=False, needs_lease=False, has_secret=True)
    for name, request in (
        ("lease/acquire", AcquireLeaseRequest),
        ("lease/renew", RenewLeaseRequest),
        ("lease/release", ReleaseLeaseRequest),
        ("lease/take", TakeLeaseRequest),
    )
)
