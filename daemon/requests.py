"""What a client may ask of a robot, checked, and how it is refused.

In comes a verb with a JSON object, out comes a checked request or a `RequestError` with a code.

    Exception
    └── RequestError     refused; `.code` is for programs, `str()` for people
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

ErrorCode = Literal[
    "INVALID_REQUEST",  # not JSON, an unknown key, a value out of range
    "UNKNOWN_VERB",
    "UNKNOWN_ROBOT",
    "RETAINED",  # a retained request would act again at every reconnect
    "EXPIRED",
    "BUSY",
    "UNKNOWN_MOTION",
    "INVALID_MOTION",  # known, but it cannot be played; the message says why
    "ESTOPPED",
    "FAULT",
    "OFFLINE",
    "TIMEOUT",
    "INTERNAL",
]


class RequestError(Exception):
    """A request that was refused.

    Attributes
    ----------
    code : str
        One of `ErrorCode`.
    data : dict
        What a program may want to know besides, JSON-ready.
    """

    def __init__(self, code: ErrorCode, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data or {}


class Request(BaseModel):
    """What every request may carry; anything unknown is refused.

    Attributes
    ----------
    transaction : str, optional
        Comes back in the response; a repeated one gets its first answer again and acts once.
    expires_at : float, optional
        Unix time in seconds after which the request is refused.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    transaction: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    expires_at: float | None = None


class PlayRequest(Request):
    """Play a motion; the answer means accepted, and the end arrives as a result."""

    motion: Annotated[str, Field(min_length=1)]
    speed: Annotated[float, Field(ge=0.1, le=10.0)] = 1.0
    on_busy: Literal["reject", "replace"] = "reject"


class StopRequest(Request):
    """Stop softly, on the path; allowed at any time."""


class EstopRequest(Request):
    """Halt in the next tick and latch; not a safety-rated stop."""


class ResetRequest(Request):
    """Leave `estopped` or `fault`."""


class StatusRequest(Request):
    """Say what the robot does now."""


class ReloadMotionsRequest(Request):
    """Read the motion folders again."""


VERBS: dict[str, type[Request]] = {
    "play": PlayRequest,
    "stop": StopRequest,
    "estop": EstopRequest,
    "reset": ResetRequest,
    "status": StatusRequest,
    "motions/reload": ReloadMotionsRequest,
}


class Commands(Protocol):
    """The one who acts on requests: the supervisor, or a test's stand-in."""

    @property
    def robots(self) -> tuple[str, ...]:
        """The names of all robots."""

    async def handle(self, robot: str, verb: str, request: Request) -> dict[str, Any]:
        """Act on a request and give the data of its answer.

        Raises
        ------
        RequestError
            If it is refused.
        """
