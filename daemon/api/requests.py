"""What a client may ask of a robot, checked, and how it is refused.

In comes a verb with a JSON object, out comes a checked request or a `RequestError` with a code.

    Exception
    └── RequestError     refused; `.code` is for programs, `str()` for people
"""

from __future__ import annotations

import re
import reprlib
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from motiond.formats.errors import nearest

from ..trajectory.passes import Place, SeamPolicy

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MOST_BYTES = 65536
OnBusy = Literal["reject", "queue", "replace"]

ErrorCode = Literal[
    "INVALID_REQUEST",  # not JSON, an unknown key, a value out of range
    "UNKNOWN_VERB",
    "UNKNOWN_ROBOT",
    "RETAINED",  # a retained request would act again at every reconnect
    "EXPIRED",
    "BUSY",
    "NOT_PLAYING",  # there is nothing to pause, resume or speed up
    "UNKNOWN_MOTION",
    "UNKNOWN_POSE",
    "UNKNOWN_PLACE",  # no such frame, time or marker on the motion
    "TOO_LATE",  # the robot cannot be on the first row by then
    "INVALID_MOTION",  # known, but it cannot be played; the message says why
    "ESTOPPED",
    "FAULT",
    "OFFLINE",
    "NOT_ALLOWED",  # by the configuration
    "CANCELED",  # a stop came before the motion began
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

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)
    transaction: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    expires_at: float | None = None


class PlaceRequest(BaseModel):
    """A place on a motion: one of the three."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)
    frame: Annotated[int, Field(ge=0)] | None = None
    time: Annotated[float, Field(ge=0)] | None = None
    marker: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(one is not None for one in (self.frame, self.time, self.marker)) != 1:
            raise ValueError("it must name one of frame, time and marker")
        return self

    @property
    def place(self) -> Place:
        """The place itself."""
        return Place(self.frame, self.time, self.marker)


class PlayRequest(Request):
    """Play a motion; the answer means accepted, and the end arrives as a result.

    `first` and `last` narrow it to a range. Of several passes, `ping_pong` plays every second one backwards;
    otherwise `seam` says what becomes of a last row from which the first cannot be reached in one tick.
    `start_at` is the Unix time, in s, at which the first row is due.

    Tolerances are by joint, in rad or m; 0 stands for the configured one and -1 for none, for the time (in s)
    too, where none means to wait for ever.
    """

    motion: Annotated[str, Field(min_length=1)]
    speed: Annotated[float, Field(ge=0.1, le=10.0)] = 1.0
    loop: Annotated[int, Field(ge=1)] | Literal["forever"] = 1
    ping_pong: bool = False
    first: PlaceRequest | None = None
    last: PlaceRequest | None = None
    seam: SeamPolicy = "reject"
    start_at: float | None = None
    on_busy: OnBusy = "reject"
    path_tolerance: dict[str, float] = {}
    goal_tolerance: dict[str, float] = {}
    goal_time_tolerance: Annotated[float, Field(ge=0)] | Literal[-1] = 0.0


class GotoRequest(Request):
    """Go to a posture: a configured one by its name, or joint positions in rad or m."""

    pose: Annotated[str, Field(min_length=1)] | None = None
    joints: Annotated[dict[str, float], Field(min_length=1)] | None = None
    on_busy: OnBusy = "reject"


class EnableRequest(Request):
    """Switch torque on, holding where the joints are."""


class DisableRequest(Request):
    """Switch torque off; only while no motion plays."""


class PauseRequest(Request):
    """Slow down on the path and wait there."""


class ResumeRequest(Request):
    """Go on along the path."""


class SpeedRequest(Request):
    """Play at another speed from now on; 1 is the file's."""

    speed: Annotated[float, Field(ge=0.1, le=10.0)]


class SeekRequest(PlaceRequest, Request):
    """Go to another place of the motion, by a way of its own, and play on from there if it played."""


class QueueRequest(Request):
    """List the motions that wait for the one that plays."""


class ClearQueueRequest(Request):
    """Take all motions that wait out of the queue; what plays plays on."""


class StopRequest(Request):
    """Stop softly, on the path, and clear the queue; allowed at any time."""


class FaultRequest(Request):
    """Let a fault of simulated actuators happen; other keys are the driver's own (docs/faults.md)."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False, strict=True)
    fault: Annotated[str, Field(min_length=1)]
    joint: Annotated[str, Field(min_length=1)] | None = None


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
    "goto": GotoRequest,
    "enable": EnableRequest,
    "disable": DisableRequest,
    "pause": PauseRequest,
    "resume": ResumeRequest,
    "speed": SpeedRequest,
    "seek": SeekRequest,
    "queue": QueueRequest,
    "queue/clear": ClearQueueRequest,
    "stop": StopRequest,
    "estop": EstopRequest,
    "reset": ResetRequest,
    "fault": FaultRequest,
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


def refusal(
    code: ErrorCode, where: str, what: str, why: str = "", mend: str = "", **data: str | float
) -> RequestError:
    """Make the refusal of a request, with its message in the house's form and its data."""
    message = "; ".join(part for part in (what, why, mend) if part)
    return RequestError(code, f"{where}: {message}", data)


def read_body(where: str, payload: bytes) -> dict[str, Any]:
    """Read the JSON object that a request carries; an empty payload is an empty object.

    Parameters
    ----------
    where : str
        The robot and the verb, as messages name them: `arm/play`.
    payload : bytes
        What the client sent, of any kind and length.

    Raises
    ------
    RequestError
        INVALID_REQUEST, if it is no JSON object or too large.
    """
    invalid = partial(refusal, "INVALID_REQUEST", where)
    if len(payload) > MOST_BYTES:
        raise invalid(f"{len(payload)} bytes", f"a request has at most {MOST_BYTES}", "send less")
    try:
        body = orjson.loads(payload or b"{}")
    except orjson.JSONDecodeError as error:
        what = f"not JSON at line {error.lineno} column {error.colno}"
        raise invalid(what, "a request is a JSON object in UTF-8, without NaN", "correct it") from error
    if not isinstance(body, dict):
        raise invalid(f"{reprlib.repr(body)} is no JSON object", "", "put keys and values in { }")
    return body


def check_request(where: str, verb: str, body: dict[str, Any]) -> Request:
    """Check what a request asks for.

    Parameters
    ----------
    where : str
        The robot and the verb, as messages name them: `arm/play`.
    verb : str
        Any; only those in `VERBS` are served.
    body : dict
        The request's keys and values.

    Raises
    ------
    RequestError
        UNKNOWN_VERB, or INVALID_REQUEST with every problem, one a line.
    """
    kind = VERBS.get(verb)
    if kind is None:
        known = f"motiond knows {', '.join(VERBS)}"
        raise refusal("UNKNOWN_VERB", where, "unknown verb", known, nearest(verb, VERBS))
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        refusals = [
            refusal("INVALID_REQUEST", where, *_problem(found, verb, kind)) for found in error.errors()
        ]
        raise RequestError("INVALID_REQUEST", "\n".join(map(str, refusals))) from error


def _problem(found: ErrorDetails, verb: str, kind: type[Request]) -> tuple[str, str, str]:
    """Say what pydantic found in the house's words."""
    key = str(found["loc"][0]) if found["loc"] else verb
    match found["type"]:
        case "extra_forbidden":
            known = sorted(kind.model_fields, key=Request.model_fields.__contains__)  # its own keys first
            return f"unknown key '{key}'", f"{verb} knows {', '.join(known)}", nearest(key, known)
        case "missing":
            return f"'{key}' is missing", f"{verb} needs it", "add it"
        case _:
            must = re.sub(r"^\w+ should", "it must", found["msg"].removeprefix("Value error, "))
            return f"'{key}' is {reprlib.repr(found['input'])}", must, "correct it"
