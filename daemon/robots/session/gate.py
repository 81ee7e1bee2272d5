"""The gate of one robot: what keeps it from what is asked for. Whatever begins a motion passes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...api import RequestError
from ...ipc.states import HALTED, State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...api import ErrorCode
    from .facts import RobotFacts

SHUTS_DOWN = "the daemon shuts down"
OUT_OF_ORDER = HALTED | {State.OFFLINE}
LATCHED = "the emergency stop is latched"


@dataclass(frozen=True, slots=True)
class Hindrance:
    """What keeps a robot from something, what helps, and what a program may want to know of it."""

    code: ErrorCode
    reason: str
    hint: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def refusal(self, robot: str, problem: str) -> RequestError:
        """Return the refusal of what cannot be done because of it."""
        return RequestError(self.code, robot, problem, self.reason, self.hint, **self.details)


TAUGHT = Hindrance("BUSY", "it is being taught", "send teach/stop first")


class Gate:
    """What one robot may do now.

    - `robot`: the robot's name, for messages

    - `why_nobody_could_stop`: returns why nobody could stop it, and what helps; None where somebody could
    - `why_reserved`: returns for which other start of its group it is reserved than the one of an id
    - `why_too_hot`: returns which joint is too hot to move
    """

    def __init__(self, robot: str, facts: RobotFacts) -> None:
        self._robot, self._facts = robot, facts
        self.why_nobody_could_stop: Callable[[], tuple[str, str] | None] = lambda: None
        self.why_reserved: Callable[[str | None], Hindrance | None] = lambda _start: None
        self.why_too_hot: Callable[[], Hindrance | None] = lambda: None

    def hindrance(self, *, moves: bool = True, start: str | None = None) -> Hindrance | None:
        """Return what keeps the robot from beginning something; None where nothing does.

        - `moves`: whether it would move by itself; a hand may move one that is too hot
        - `start`: the start of its group to which that belongs
        """
        if (unable := self._inability()) is not None:
            return unable
        if (lost := self.why_nobody_could_stop()) is not None:
            return Hindrance("NOT_ALLOWED", *lost)
        return self.why_reserved(start) or (self.why_too_hot() if moves else None)

    def _inability(self) -> Hindrance | None:
        facts = self._facts
        if facts.leaving:
            return Hindrance("OFFLINE", SHUTS_DOWN)
        if facts.state is State.OFFLINE:
            return Hindrance("OFFLINE", f"the robot is offline; {facts.message}")
        if facts.state is State.ESTOPPED or facts.latched:
            return Hindrance("ESTOPPED", LATCHED, "reset it when it is safe")
        if facts.state is State.FAULT:
            return Hindrance("FAULT", facts.message, "reset it when it is fixed")
        if facts.teaching is not None:
            return TAUGHT
        return None

    def refuse_to_begin(self, problem: str, *, moves: bool = True, start: str | None = None) -> None:
        """Refuse to begin something; as `hindrance`.

        Raises RequestError: OFFLINE, ESTOPPED, FAULT, BUSY, NOT_ALLOWED or RESERVED.
        """
        self._refuse(problem, self.hindrance(moves=moves, start=start))

    def refuse_hot(self, problem: str) -> None:
        """Refuse to move a joint that is too hot; raises RequestError: FAULT."""
        self._refuse(problem, self.why_too_hot())

    def refuse_unless_able(self, problem: str) -> None:
        """Refuse what a robot that is leaving, offline, halted or taught cannot do.

        Raises RequestError: OFFLINE, ESTOPPED, FAULT or BUSY.
        """
        self._refuse(problem, self._inability())

    def refuse_while_taught(self, problem: str) -> None:
        """Refuse what cannot be done while somebody moves the robot by hand; raises RequestError: BUSY."""
        self._refuse(problem, TAUGHT if self._facts.teaching is not None else None)

    def refuse_unless_loose(self, problem: str) -> None:
        """Refuse what cannot be done while a robot holds, or is about to leave.

        Raises RequestError: OFFLINE, ESTOPPED, BUSY or NOT_ALLOWED.
        """
        facts = self._facts
        self.refuse_while_taught(problem)
        if facts.leaving or facts.state is State.ESTOPPED:
            self.refuse_unless_able(problem)
        if facts.state not in OUT_OF_ORDER and (facts.state is not State.IDLE or facts.known.torque):
            reason, hint = f"the robot is {facts.in_words}", "disable it first, as it may drop"
            raise RequestError("NOT_ALLOWED", self._robot, problem, reason, hint)

    def _refuse(self, problem: str, hindrance: Hindrance | None) -> None:
        if hindrance is not None:
            raise hindrance.refusal(self._robot, problem)
