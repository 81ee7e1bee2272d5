"""How a request is refused: with a code for programs and a message for people.

Exception
└── RequestError     refused
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from motiond.text import listed, nearest, quoted_briefly, shortened

if TYPE_CHECKING:
    from collections.abc import Collection

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
    "UNKNOWN_MODEL",  # the robot has only joints, or its model names no such mesh
    "UNKNOWN_GOAL",  # no such motion waits
    "UNKNOWN_PLACE",  # no such frame, time or marker on the motion
    "UNKNOWN_GROUP",  # no robot is in it
    "MEMBER_REFUSED",  # a robot of the group does not take part; the message says which, and why
    "CLOCK",  # the machine's clock, or those of a group, are not good enough for an appointed time
    "TOO_LATE",  # the robot cannot be on the first row by then
    "INVALID_MOTION",  # known, but it cannot be played; the message says why
    "ESTOPPED",
    "FAULT",
    "OFFLINE",
    "NOT_ALLOWED",  # by the configuration
    "RESERVED",  # for a start of its group
    "NOT_RESERVED",  # for this start; any more, or never
    "NOT_IN_CONTROL",  # another client commands the robot, or nobody does
    "CANCELED",  # a stop came before the motion began
    "PREEMPTED",  # a newer motion came before it began
    "TIMEOUT",
    "TOO_LARGE",  # longer than the broker takes; the message says whether the request was served
    "INTERNAL",
]


LONGEST_NAME = 60  # of what a client has made up


class RequestError(Exception):
    """A request that was refused; `str()` is `subject: problem; reason; hint`, without empty parts.

    Parameters
    ----------
    code : str
        One of `ErrorCode`.
    subject : str
        The robot, the robot and the verb, or the motion; '' where the message names none.
    problem, reason, hint : str
        What is wrong, why that is so, and what the client can do.
    **data : object
        What a program may want to know besides; JSON-ready.

    Attributes
    ----------
    code : str
    data : dict
    transaction : str or None
        Of the request, where it could be read.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self, code: ErrorCode, subject: str, problem: str, reason: str = "", hint: str = "", **data: Any
    ) -> None:
        message = "; ".join(part for part in (problem, reason, hint) if part)
        super().__init__(quoted_briefly(f"{subject}: {message}" if subject else message))
        self.code: ErrorCode = code
        self.data = data
        self.transaction: str | None = None

    @classmethod
    def of(cls, code: ErrorCode, message: object, data: dict[str, Any] | None = None) -> Self:
        """Return a refusal whose message is whole already: another error's, or one from an answer."""
        return cls(code, "", str(message), **(data or {}))


def unknown_robot(robot: str, known: Collection[str]) -> RequestError:
    """Return the refusal of a request to a robot that does not exist, with the nearest name that does."""
    there_are = f"there are {listed(known)}" if known else "there is none"
    what = f"no robot '{shortened(robot, LONGEST_NAME)}'"
    return RequestError("UNKNOWN_ROBOT", "", what, there_are, nearest(robot, known))
