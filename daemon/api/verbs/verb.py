"""What a verb is, and what its requests share."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from ..errors import ErrorCode

MOST_BYTES, MOST_BYTES_WITHOUT_JOINTS = 65_536, 16_384
MOST_VALUES = 1024
LATEST_UNIX_S = 1e10  # in the year 2286
# Units in which a time of our days has so many digits: the least of each.
FINER_UNITS = ((1e17, "nanoseconds"), (1e14, "microseconds"), (1e11, "milliseconds"))
LONGEST_HOLDER, LONGEST_LEASE = 60, 100
# A file's name has at most 255 bytes, each of which may stand as an escape of four characters.
LONGEST_MOTION, LONGEST_NAME = 1_020, 255


def _unix_time(value: float) -> float:
    """Refuse what is no Unix time in s, and name the unit in which it could be one."""
    if 0.0 <= value <= LATEST_UNIX_S:
        return value
    unit = next(
        (f", and looks like {name}" for least, name in FINER_UNITS if least <= value < 1e3 * least), ""
    )
    raise ValueError(f"it must be Unix time in s, from 0 to {LATEST_UNIX_S:g}{unit}")


def _printable(name: str) -> str:
    """Refuse what would not be seen, or would change what is seen beside it, as line ends do."""
    if not name.isprintable() or name != name.strip():
        raise ValueError("it must be a name without control characters, and without blanks around it")
    return name


UnixTime = Annotated[float, AfterValidator(_unix_time)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
MotionName = Annotated[str, Field(min_length=1, max_length=LONGEST_MOTION)]
Holder = Annotated[str, Field(min_length=1, max_length=LONGEST_HOLDER), AfterValidator(_printable)]
OnBusy = Literal["reject", "queue", "replace", "beside", "blend"]
"""What a robot that plays does with another motion: `beside` plays it too, on joints that nothing moves."""
CHECKED = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True, defer_build=True)


class Request(BaseModel):
    """What every request may carry; unknown keys are refused."""

    model_config = CHECKED
    transaction: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Comes back in the answer; a repeated one gets its first answer again and acts once."""
    expires_at: UnixTime | None = None
    """Unix time in s after which the request is refused."""
    lease: Annotated[str, Field(min_length=1, max_length=LONGEST_LEASE)] | None = None
    """What was given to the client with control of the robot, where that is required."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One thing that a robot can be asked for, declared once for every transport and document.

    Attributes
    ----------
    name : str
        A part of topics and paths; with `_` for `/`, the method of the robot's request handlers.
    request : type of Request
        What its JSON object holds; the first line of its docstring describes the verb.
    answer : type
        The dictionary that the answer's `data` holds.
    begins : bool
        Whether it may set the robot going, so that a stop that was sent later must not find it done.
    interferes : bool
        Whether it is refused while the robot is reserved for a start of its group.
    stops : bool
        Whether it stops the robot: served however many requests are being served, as often as it is sent,
        and whatever it carries, since whoever sends it wants the robot to stop.
    needs_lease : bool
        Whether only who is in control may ask for it, where a lease is required.
    is_logged : bool
        Whether the log says who has asked for it, as it does of stops and of what needs a lease.
    has_secret : bool
        Whether its answer holds a secret: it is repeated only to who proves control as before.
    streams : bool
        Whether it comes many times a second: it is not logged, and where nobody waits for an answer, none is
        sent.
    most_bytes, most_values : int
        How long its payload may be, and how many values it may hold, brackets counted.
    """

    name: str
    request: type[Request]
    answer: type
    _: KW_ONLY
    begins: bool
    interferes: bool
    stops: bool = False
    needs_lease: bool = True
    is_logged: bool = False
    has_secret: bool = False
    streams: bool = False
    most_bytes: int = MOST_BYTES_WITHOUT_JOINTS
    most_values: int = MOST_VALUES

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return first_line(self.request)


def first_line(kind: type) -> str:
    """Return the first line of a docstring."""
    return (kind.__doc__ or "").partition("\n")[0]


class Answer(TypedDict):
    """A request was served."""

    status: Literal["ok"]
    data: dict[str, Any]
    """By the verb, see docs/mqtt.md."""
    transaction: str | None
    """That of the request."""


class RefusedProblem(TypedDict):
    """One thing that is wrong, in parts; those that are empty are left out."""

    subject: NotRequired[str]
    """The robot, the robot and the verb, or the motion."""
    problem: str
    reason: NotRequired[str]
    hint: NotRequired[str]
    """What the client can do."""
    field: NotRequired[str]
    """The key of the request."""


class Refusal(TypedDict):
    """A request was refused."""

    status: Literal["error"]
    code: ErrorCode
    """For programs."""
    error: str
    """For people: what is wrong, why, and how to fix it; one line for each problem."""
    problems: NotRequired[list[RefusedProblem]]
    """The same in parts, where it is not the message of what was asked for there."""
    data: dict[str, Any]
    """What a program may want to know besides."""
    transaction: str | None
    """That of the request, where it could be read."""
