"""A motion that a robot plays for a test, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .connection import Message
LEAVE_S = 30.0
RESULT_S = 60.0


@dataclass(frozen=True, slots=True)
class Result:
    """How a goal ended, as published on `<robot>/result`."""

    goal_id: str
    motion: str
    code: str
    message: str
    transaction: str | None
    played_s: float | None
    details: dict[str, Any] = field(repr=False)
    timing: dict[str, Any] | None = field(repr=False)


def result_from(data: Mapping[str, Any]) -> Result:
    """Return the result that a message on `<robot>/result` describes."""
    values: dict[str, Any] = {key.name: data.get(key.name) for key in fields(Result)}
    return Result(**values)


Found = TypeVar("Found")


class Watched(Protocol):
    """The robot that plays it."""

    @property
    def state(self) -> dict[str, Any]:
        """The latest report of its state."""

    def messages(self, subject: str) -> list[Message]:
        """Return what it has reported on a subject."""

    def wait(self, find: Callable[[], Found | None], timeout_s: float, failure: str) -> Found:
        """Wait until `find` returns something."""


class Goal:
    """A motion that a robot has accepted; made by `MotiondRobot.play(…, wait=False)`.

    Attributes
    ----------
    goal_id : str
    sent_s : float
        The time of the request, as `time.monotonic()`.
    """

    def __init__(self, robot: Watched, goal_id: str, sent_s: float) -> None:
        self.goal_id = goal_id
        self.sent_s = sent_s
        self._robot = robot

    def result(self, timeout_s: float = RESULT_S) -> Result:
        """Wait until the goal has ended and the robot is free again, and return the result."""
        __tracebackhide__ = True
        robot = self._robot
        message = robot.wait(self.ended, timeout_s, f"no result of goal {self.goal_id}")
        robot.wait(self._left, LEAVE_S, f"goal {self.goal_id} has a result and is still active")
        return result_from(message.data)

    def ended(self) -> Message | None:
        """Return the message with the result, or None if it has not arrived."""
        results = self._robot.messages("result")
        return next((one for one in results if one.data["goal_id"] == self.goal_id), None)

    def _left(self) -> bool | None:
        return self._robot.state["goal_id"] != self.goal_id or None
