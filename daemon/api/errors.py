"""How a request is refused: with a code for programs and a message for people.

Exception
└── RequestError     refused
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

from motiond.text import echoed, listed, nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

ErrorCode = Literal[
    "INVALID_REQUEST",  # not JSON, an unknown key, a value out of range
    "UNKNOWN_VERB",
    "UNKNOWN_ROBOT",
    "RETAINED",  # a retained request would act again at every reconnect
    "EXPIRED",
    "BUSY",
    "NOT_PLAYING",  # there is nothing to pause, resume or speed up
    "UNKNOWN_MOTION",
    "UNKNOWN_RECORDING",
    "NOT_RECORDING",  # there is nothing to stop
    "DISK_TROUBLE",  # full, read-only or gone; the message has which
    "UNKNOWN_POSE",
    "UNKNOWN_MODEL",  # the robot has only joints, or its model names no such mesh
    "UNKNOWN_GOAL",  # no such motion waits
    "UNKNOWN_PLACE",  # no such frame, time or marker on the motion
    "UNKNOWN_GROUP",  # no robot is in it
    "MEMBER_REFUSED",  # a robot of the group does not take part; the message has which, and why
    "CLOCK",  # the machine's clock, or those of a group, are not good enough for an appointed time
    "TOO_LATE",  # the robot cannot be on the first row by then
    "INVALID_MOTION",  # known, but it cannot be played; the message has the reason
    "ESTOPPED",
    "FAULT",
    "OFFLINE",
    "NOT_ALLOWED",  # by the configuration
    "RESERVED",  # for a start of its group
    "NOT_RESERVED",  # for this start; any more, or never
    "NOT_IN_CONTROL",  # another client commands the robot, or no client does
    "CANCELED",  # a stop came before the motion began
    "PREEMPTED",  # a newer motion came before it began
    "TIMEOUT",
    "TOO_LARGE",  # longer than the broker takes; the message has whether the request was served
    "INTERNAL",
]


class RequestProblem(NamedTuple):
    """One thing that is wrong with a request; as a text, `subject: problem; reason; hint`.

    Parameters
    ----------
    subject : str
        The robot, the robot and the verb, or the motion; '' where the message names none.
    problem, reason, hint : str
        What is wrong, why that is so, and what the client can do.
    field : str
        The key of the request that it is about, with dots between keys and those inside; '' where it is about
        none.
    """

    subject: str = ""
    problem: str = ""
    reason: str = ""
    hint: str = ""
    field: str = ""

    def __str__(self) -> str:
        message = "; ".join(part for part in (self.problem, self.reason, self.hint) if part)
        return f"{self.subject}: {message}" if self.subject else message


class RequestError(Exception):
    """A request that was refused; `str()` has one line for each problem.

    Parameters
    ----------
    code : str
        One of `ErrorCode`.
    subject, problem, reason, hint, field : str
        As of `RequestProblem`.
    **data : object
        What a program may want to know besides; JSON-ready.

    Attributes
    ----------
    code : str
    problems : tuple of RequestProblem
        What the message is made of; empty where that is another error's.
    data : dict
    transaction : str or None
        Of the request, where it could be read.
    target_of : str or None
        The goal for which a target was meant that could not be read; None of anything else.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        code: ErrorCode,
        subject: str,
        problem: str,
        reason: str = "",
        hint: str = "",
        *,
        field: str = "",
        **data: Any,
    ) -> None:
        problem_here = RequestProblem(subject, problem, reason, hint, field)
        super().__init__(str(problem_here))
        self.code: ErrorCode = code
        self.problems: tuple[RequestProblem, ...] = (problem_here,)
        self.data = data
        self.transaction: str | None = None
        self.target_of: str | None = None

    @classmethod
    def of(cls, code: ErrorCode, message: object, data: dict[str, Any] | None = None) -> Self:
        """Return a refusal whose message is whole already: another error's, or one of several lines."""
        error = cls(code, "", str(message), **(data or {}))
        error.problems = ()
        return error

    @classmethod
    def of_several(cls, code: ErrorCode, problems: Sequence[RequestProblem]) -> Self:
        """Return a refusal for several problems."""
        error = cls.of(code, "\n".join(map(str, problems)))
        error.problems = tuple(problems)
        return error

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
        """Return the refusal that an answer holds; a newer daemon may have codes that are not known here."""
        error = cls.of(answer["code"], answer["error"], answer.get("data"))
        error.problems = tuple(
            RequestProblem(**{key: part for key, part in problem.items() if key in RequestProblem._fields})
            for problem in answer.get("problems", ())
        )
        return error

    def payload(self, transaction: str | None) -> dict[str, Any]:
        """Return the answer that refuses a request, JSON-ready."""
        answer: dict[str, Any] = {"status": "error", "code": self.code, "error": str(self), "data": self.data}
        if self.problems:
            answer["problems"] = [
                {key: part for key, part in problem._asdict().items() if part} for problem in self.problems
            ]
        return {**answer, "transaction": transaction}


def unknown_robot(robot: str, known: Collection[str]) -> RequestError:
    """Return the refusal of a request to a robot that does not exist, with the nearest name that does."""
    there_are = f"there are {listed(known)}" if known else "there is none"
    return RequestError("UNKNOWN_ROBOT", "", f"no robot '{echoed(robot)}'", there_are, nearest(robot, known))
