"""What requests to a session wait for."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...api import RequestError
    from ...ipc import messages
    from .goal import Goal, MotionGoal

UNSENT = sys.maxsize
"""The number of a command that no stream process has taken: only a robot that is offline has obeyed it."""


@dataclass(slots=True, eq=False)
class Pending:
    """What a request waits for.

    - `awaits`: what is to come, for messages
    - `outcome`: what has come; None before
    """

    awaits: str
    outcome: dict[str, Any] | RequestError | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Begin(Pending):
    """A goal that begins once the robot is at rest and holds; `problem` cannot be done, for messages.

    `before` is the goal that it is to take over, and `hand_over` the number of the command by which it is; 0
    where it is not, and `UNSENT` while its way is looked at. `is_canceled`: whether a stop came before that
    was obeyed.
    """

    goal: Goal
    problem: str
    before: Goal | None = None
    hand_over: int = 0
    is_canceled: bool = False

    @property
    def may_have_begun(self) -> bool:
        """Whether it was sent to take over what moves, and nobody knows yet whether it has."""
        return self.hand_over not in {0, UNSENT}


@dataclass(slots=True, eq=False, kw_only=True)
class Pause(Pending):
    """A pause, by the number of its command, up to the rest that it leads to."""

    goal: Goal
    number: int


@dataclass(slots=True, eq=False, kw_only=True)
class Seek(Pending):
    """A way to a row of the goal's track, from a pause; `number` is that of the last command for it.

    `expires_at` is as of `Goal`.
    """

    goal: MotionGoal
    row: int
    goes_on: bool
    number: int
    expires_at: float | None = None
    is_sent: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class Opening(Pending):
    """The next time that the driver is open, or could not be opened."""


@dataclass(slots=True, eq=False, kw_only=True)
class Recovery(Pending):
    """What was asked for to let errors of actuators go; `problem` cannot be done, for messages."""

    command: messages.Recover
    problem: str


@dataclass(slots=True, eq=False, kw_only=True)
class Exit(Pending):
    """What `on_exit` asks for, after the stop of this number; `goal` is the way to the pose `park`.

    `park` is that way before it has begun.
    """

    number: int
    goal: Goal | None = None
    park: Goal | None = None
    releases: bool = False
